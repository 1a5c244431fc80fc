"""Data for the tests, of which every answer is known by construction."""

import os

# Before scipy is imported: scikit-learn then checks array API inputs, too.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest

from needs import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401


@pytest.fixture
def loans():
    """Incomes, histories and an area; the loan is given if the income is large enough."""
    rng = np.random.default_rng(0)
    n = 400
    income, history = rng.uniform(0, 10_000, n), rng.integers(0, 2, n)
    area = rng.choice(["Rural", "Semiurban", "Urban"], n)
    loan = np.where(income * (0.5 + history) + 500 * (area == "Urban") + rng.normal(0, 800, n) > 5000, "Y", "N")
    return income, history.astype(float), area, loan


@pytest.fixture
def expenses():
    """Incomes, household sizes, and two expenses that stay within the income."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(10, 100, 400), rng.integers(1, 7, 400)])
    share = rng.dirichlet([2, 3, 4], 400)[:, :2]
    return X, X[:, :1] * share
