"""A pytest plugin: with CI=true no test may be skipped, whatever the reason; what it needed and did not find is its failure.

Elsewhere a test that lacks something (torch, Marabou, a browser, the public data) is skipped, and `-rs` says why.
"""

import os

import pytest


def _insist(report):
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        path, line, reason = report.longrepr
        report.outcome, report.longrepr = "failed", f"{path}:{line}: CI=true lets no test be skipped: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _insist((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _insist((yield))
