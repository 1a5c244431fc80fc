"""pandas, polars and Arrow: names, categories, gaps."""

import numpy as np
import pytest

from deepsade import DeepSaDeClassifier

pandas = pytest.importorskip("pandas")

RULES = ["income < 5000 and history == 0 => loan == 'N'", "area == 'Rural' and income < 2000 => loan == 'N'"]


def frame(loans):
    income, history, area, loan = loans
    X = pandas.DataFrame({"income": income, "history": history.astype(int), "area": area})
    return X, pandas.Series(loan, name="loan")


def estimator(**more):
    return DeepSaDeClassifier(**{"rules": RULES, "hidden": (12, 6), "epochs": 20, **more})


def kinds(X):
    yield "text", X
    yield "category", X.assign(area=X["area"].astype("category"))
    yield "nullable", X.astype({"income": "Float64", "history": "Int32"})
    polars = pytest.importorskip("polars")
    yield "polars", polars.DataFrame({c: X[c].to_numpy() if c != "area" else X[c].tolist() for c in X.columns})
    yield "polars categorical", polars.DataFrame(
        {c: X[c].to_numpy() if c != "area" else X[c].tolist() for c in X.columns}, schema_overrides={"area": polars.Categorical}
    )
    arrow = pytest.importorskip("pyarrow")
    yield "arrow", arrow.Table.from_pandas(X, preserve_index=False)


def test_every_kind_of_frame_gives_the_same_model(loans):
    X, y = frame(loans)
    models = {kind: estimator().fit(rows, y) for kind, rows in kinds(X)}
    first = models["text"]
    assert first.certified_ and first.feature_names_in_.tolist() == ["income", "history", "area"]
    for kind, rows in kinds(X):
        assert models[kind].model_.onnx == first.model_.onnx, kind
        assert (first.predict(rows) == first.predict(X)).all(), kind


def test_declared_categories_are_the_domain(loans):
    X, y = frame(loans)
    declared = ["Urban", "Rural", "Semiurban", "Island"]
    X["area"] = pandas.Categorical(X["area"], categories=declared)
    assert estimator().fit(X, y).domain_["area"] == {"kind": "category", "levels": declared}
    polars = pytest.importorskip("polars")
    P = polars.DataFrame({"income": X["income"].to_numpy(), "history": X["history"].to_numpy(), "area": X["area"].astype(str).tolist()})
    P = P.with_columns(polars.col("area").cast(polars.Enum(declared)))
    assert estimator().fit(P, y).domain_["area"] == {"kind": "category", "levels": declared}


def test_an_unknown_level_is_outside_the_domain(loans):
    X, y = frame(loans)
    model = estimator(outside="ignore").fit(X, y)
    new = X.head(3).assign(area=["Rural", "Moon", "Urban"])
    assert model.in_domain(new).tolist() == [True, False, True]


def test_names_are_checked(loans):
    X, y = frame(loans)
    model = estimator().fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={"area": "place"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["area", "income", "history"]])


def test_gaps_and_objects_are_refused(loans):
    X, y = frame(loans)
    gap = X.copy()
    gap.loc[3, "income"] = np.nan
    with pytest.raises(ValueError, match="the first in row 3, column 'income'"):
        estimator().fit(gap, y)
    model = estimator().fit(X, y)
    with pytest.raises(ValueError, match="NaN in row 3, column 'income'"):
        model.predict(gap)
    odd = X.assign(area=[{"a": 1}] * len(X))
    with pytest.raises(TypeError, match="column 'area'"):
        estimator().fit(odd, y)
    with pytest.raises(TypeError, match="column 'when' holds datetime"):
        estimator().fit(X.assign(when=pandas.Timestamp("2024-01-01")), y)
    with pytest.raises(ValueError):
        estimator().fit(X.head(0), y.head(0))


def test_a_lazy_frame_must_be_collected(loans):
    polars = pytest.importorskip("polars")
    X, y = frame(loans)
    lazy = polars.LazyFrame({"income": X["income"].to_numpy()})
    with pytest.raises(TypeError, match=r"give X.collect\(\)"):
        estimator().fit(lazy, y)


def test_numbers_as_levels(loans):
    income, history, _, loan = loans
    X = np.column_stack([income, history])
    model = DeepSaDeClassifier(
        rules=["x0 < 5000 and x1 == '0' => loan == 'N'"], target_names="loan", domain={"x1": [0, 1]}, hidden=(8,), epochs=10
    ).fit(X, loan)
    assert model.domain_["x1"] == {"kind": "category", "levels": ["0", "1"]}
    assert set(model.predict(np.column_stack([np.linspace(100, 4999, 50), np.zeros(50)]))) == {"N"}
