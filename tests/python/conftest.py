"""What every test of this folder runs under."""

from needs import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401
