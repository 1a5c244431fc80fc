"""Output steps behind models of other libraries: what breaks rules without them obeys with them, and the rest stays as it was."""

import pickle
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import deepsade

pd = pytest.importorskip("pandas")
pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")


def exact(values):
    """float32 numbers as fractions: sums of them are exact."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(values, dtype=np.float32).astype(np.float64))


def proved(shielded, tmp_path):
    """The checker accepts what is in memory, and what is saved."""
    assert shielded.certified_, shielded.verdict_
    docs = (Path(__file__).parents[2] / "docs" / "verify.md").read_text(encoding="utf-8")
    listed = next(line for line in docs.splitlines() if line.startswith("| `shield`, accepted |")).split(" | ")[-1]
    assert sorted(shielded.answer_) == re.findall(r"`(\w+)`", listed)
    assert shielded.check()["verdict"] == "accepted"
    assert deepsade.check(shielded)["verdict"] == "accepted"
    shielded.save(tmp_path / "saved")
    assert deepsade.check(tmp_path / "saved")["verdict"] == "accepted"
    assert {p.name for p in (tmp_path / "saved").iterdir()} == {"model.onnx", "certificate.json", "rules.toml"}


# Loans: a pipeline with categories; one rule is about a sum of features.

LOAN_RULES = {
    "history": "history == 0 and area == 'Rural' => loan == 'N'",
    "together": "income + partner < 3000 => loan == 'N'",
}


@pytest.fixture(scope="module")
def applicants():
    rng = np.random.default_rng(0)
    n = 600
    X = pd.DataFrame({
        "income": rng.uniform(0, 8000, n).astype(np.float32).astype(float),
        "partner": rng.uniform(0, 4000, n).astype(np.float32).astype(float),
        "history": rng.integers(0, 2, n),
        "area": rng.choice(["Rural", "Semiurban", "Urban"], n),
    })
    given = X["income"] + 1.5 * X["partner"] + 800 * X["history"] + rng.normal(0, 1500, n) > 4500
    return X, pd.Series(np.where(given, "Y", "N"), name="loan")


def loans_that_break(X, loan):
    small = (exact(X["income"]) + exact(X["partner"])) < 3000
    return (loan == "Y") & (small | ((X["history"] == 0) & (X["area"] == "Rural")).to_numpy())


def pipeline(model):
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encode = make_column_transformer((OneHotEncoder(), ["area"]), (StandardScaler(), ["income", "partner"]), remainder="passthrough")
    return make_pipeline(encode, model)


def test_a_pipeline_with_categories(applicants, tmp_path):
    from sklearn.linear_model import LogisticRegression

    X, loan = applicants
    model = pipeline(LogisticRegression()).fit(X, loan)
    raw, p = model.predict(X), model.predict_proba(X)
    shielded = deepsade.shield(model, LOAN_RULES, data=X, target=loan, domain={"history": range(0, 2)})
    proved(shielded, tmp_path)
    breaks = loans_that_break(X, raw)
    assert breaks.sum() > 5
    y = shielded.predict(X)
    assert not loans_that_break(X, y).any()
    # Classes are those of the model wherever it obeys; near a tie float32 may choose otherwise.
    clear = ~breaks & (np.abs(p[:, 0] - p[:, 1]) > 1e-4)
    assert (y[clear] == raw[clear]).all()
    q = shielded.predict_proba(X)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    forbidden = loans_that_break(X, np.full(len(X), "Y"))
    assert (q[forbidden] == [1, 0]).all()
    np.testing.assert_allclose(q[~forbidden], p[~forbidden], atol=1e-4)
    flags = shielded.flags(X)
    assert flags.in_domain.all() and flags.ok.all() and not shielded.fallbacks_(X).any()
    again = pickle.loads(pickle.dumps(shielded))
    assert (again.predict(X) == y).all()
    assert list(shielded.classes_) == ["N", "Y"] and shielded.domain_["area"]["levels"] == ["Rural", "Semiurban", "Urban"]


def test_rows_outside_the_domain_are_named(applicants):
    from sklearn.linear_model import LogisticRegression

    X, loan = applicants
    shielded = deepsade.shield(pipeline(LogisticRegression()).fit(X, loan), LOAN_RULES, data=X, target=loan)
    odd = X[:3].assign(income=[1e6, 10.0, 20.0])
    with pytest.warns(deepsade.OutsideDomainWarning, match="1 of 3 rows"):
        shielded.predict(odd)
    assert shielded.flags(odd).in_domain.tolist() == [False, True, True]


# Numbers.

@pytest.fixture(scope="module")
def spending():
    rng = np.random.default_rng(1)
    X = rng.uniform([10, 1], [100, 7], (400, 2)).astype(np.float32).astype(float)
    return X, X[:, :1] * rng.dirichlet([2, 3, 4], 400)[:, :2]


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_two_numbers_with_a_rule_between_them(kind, spending, tmp_path):
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.multioutput import MultiOutputRegressor

    X, y = spending
    model = RandomForestRegressor(20, random_state=0) if kind == "forest" else MultiOutputRegressor(GradientBoostingRegressor(random_state=0))
    model.fit(X, y)
    names = {"features": ["income", "members"], "target_names": ["food", "rent"]}
    shielded = deepsade.shield(model, ["food + rent <= 0.5 * income", "food <= rent"], data=X, target=y, **names)
    proved(shielded, tmp_path)
    rng = np.random.default_rng(2)
    rows = rng.uniform(X.min(axis=0), X.max(axis=0), (4000, 2)).astype(np.float32)
    rows = rows[shielded.flags(rows).in_domain]
    raw, safe = model.predict(rows), shielded.predict(rows)

    def broken(out):
        food, rent, income = (exact(c) for c in (out[:, 0], out[:, 1], rows[:, 0]))
        return (food + rent > income / 2) | (food > rent)

    breaks = broken(raw)
    assert breaks.mean() > 0.1 and not broken(safe).any()
    # Moved where it broke, and within rounding of the border; the same elsewhere.
    assert np.abs(safe - raw)[~breaks].max() < 1e-3
    assert np.abs(safe - raw).max() < 100
    assert not shielded.fallbacks_(rows).any()


def test_one_number_keeps_its_shape_and_needs_no_target(spending):
    from sklearn.linear_model import LinearRegression

    X, y = spending
    model = LinearRegression().fit(X, y[:, 0])
    shielded = deepsade.shield(model, ["y <= 0.1 * x0"], data=X)
    safe = shielded.predict(X)
    assert safe.shape == (len(X),)
    assert (exact(safe) <= exact(X[:, 0]) * Fraction(1, 10)).all() and (model.predict(X) > 0.1 * X[:, 0]).any()
    with pytest.raises(AttributeError):
        shielded.predict_proba(X)


# Boosted trees.

def test_a_lightgbm_classifier(applicants, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    pytest.importorskip("onnxmltools")
    X, loan = applicants
    numbers = X[["income", "partner", "history"]].astype(float)
    model = lightgbm.LGBMClassifier(n_estimators=30, verbose=-1).fit(numbers, loan)
    shielded = deepsade.shield(model, {"together": LOAN_RULES["together"]}, data=numbers, target=loan)
    proved(shielded, tmp_path)
    raw, y = model.predict(numbers), shielded.predict(numbers)
    small = (exact(X["income"]) + exact(X["partner"])) < 3000
    assert (raw[small] == "Y").any() and (y[small] == "N").all()
    assert (y[~small] == raw[~small]).mean() > 0.99
    np.testing.assert_allclose(shielded.predict_proba(numbers)[~small], model.predict_proba(numbers)[~small], atol=1e-3)


@pytest.mark.parametrize("booster", [False, True])
def test_a_lightgbm_regressor(booster, spending, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    pytest.importorskip("onnxmltools")
    X, y = spending
    model = lightgbm.LGBMRegressor(n_estimators=30, verbose=-1).fit(X, y[:, 0])
    model = model.booster_ if booster else model
    shielded = deepsade.shield(model, ["y <= 0.2 * x0", "y >= 0.1 * x0"], data=X, target=y[:, 0])
    proved(shielded, tmp_path)
    raw, safe = model.predict(X), shielded.predict(X)

    def broken(out):
        return (exact(out) > exact(X[:, 0]) / 5) | (exact(out) < exact(X[:, 0]) / 10)

    breaks = broken(raw)
    assert breaks.any() and not broken(safe).any()
    assert np.abs(safe - raw)[~breaks].max() < 1e-3


def test_a_lightgbm_model_within_a_pipeline(applicants, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    pytest.importorskip("onnxmltools")
    X, loan = applicants
    model = pipeline(lightgbm.LGBMClassifier(n_estimators=20, verbose=-1)).fit(X, loan)
    shielded = deepsade.shield(model, LOAN_RULES, data=X, target=loan, domain={"history": range(0, 2)})
    proved(shielded, tmp_path)
    assert not loans_that_break(X, shielded.predict(X)).any()


@pytest.mark.parametrize("booster", [False, True])
def test_an_xgboost_model(booster, applicants, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    pytest.importorskip("onnxmltools")
    X, loan = applicants
    numbers, given = X[["income", "partner", "history"]].astype(float), (loan == "Y").astype(int)
    model = xgboost.XGBClassifier(n_estimators=20).fit(numbers, given)
    p = model.predict_proba(numbers)
    model = model.get_booster() if booster else model
    shielded = deepsade.shield(model, ["income + partner < 3000 => loan == '0'"], data=numbers, target=given, target_names="loan")
    proved(shielded, tmp_path)
    small = (exact(X["income"]) + exact(X["partner"])) < 3000
    y = shielded.predict(numbers)
    assert (p[small, 1] > 0.5).any() and (y[small] == 0).all() and y.dtype.kind == "i"
    np.testing.assert_allclose(shielded.predict_proba(numbers)[~small], p[~small], atol=1e-3)


@pytest.mark.parametrize("framed", [False, True])
def test_a_network_of_several_targets_which_its_converter_writes_as_one_column(framed, spending, tmp_path):
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = spending
    X = pd.DataFrame(X, columns=["income", "members"]) if framed else X
    model = MLPRegressor(hidden_layer_sizes=(5,), max_iter=20, random_state=0)
    model = make_pipeline(StandardScaler(), model) if framed else model
    with pytest.warns(UserWarning):
        model.fit(X, y)
    shielded = deepsade.shield(model, ["y0 <= y1"], data=X, target=y)
    proved(shielded, tmp_path)
    raw, safe = model.predict(X), shielded.predict(X)
    fine = raw[:, 0] < raw[:, 1] - 1e-3
    assert (safe[:, 0] <= safe[:, 1]).all() and np.allclose(safe[fine], raw[fine], atol=1e-3)


def numbered_classes(applicants):
    """An ONNX file whose classes are 0 and 1, for N and Y."""
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression

    X, loan = applicants
    numbers = X[["income", "partner"]].to_numpy(np.float32)
    model = LogisticRegression().fit(numbers, (loan == "Y").astype(int))
    return numbers, to_onnx(model, numbers[:1]).SerializeToString()


def test_the_classes_of_a_file_are_compared_with_those_of_the_rules(applicants):
    numbers, onnx = numbered_classes(applicants)
    about = {"data": numbers, "features": ["income", "partner"], "target_names": "loan"}
    with pytest.warns(UserWarning, match="0 as 'N', 1 as 'Y'"):
        shielded = deepsade.shield(onnx, ["income + partner < 3000 => loan == 'N'"], classes=["N", "Y"], **about)
    assert set(shielded.predict(numbers)) == {"N", "Y"}
    with pytest.raises(deepsade.ModelError, match=r'classes = \["0", "1"\]'):
        deepsade.shield(onnx, ["income + partner < 3000 => loan == '0'"], classes=[1, 0], **about)


def test_a_conversion_that_predicts_otherwise_is_refused(spending):
    X, y = spending
    # Several targets of boosted trees become one target and zeros.
    xgboost = pytest.importorskip("xgboost")
    with pytest.raises(deepsade.ModelError, match="can't be converted"):
        deepsade.shield(xgboost.XGBRegressor(n_estimators=5).fit(X, y), ["y0 <= y1"], data=X, target=y)


# Images.

def test_a_convolution_with_labels(tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    rng = np.random.default_rng(3)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(36, 10)
    )
    with torch.no_grad():
        module[-1].weight *= 10
        module[-1].bias -= 2.2
    X = (rng.uniform(0, 1, (300, 1, 8, 8)) * rng.integers(0, 2, (300, 1, 8, 8))).astype(np.float32)
    labels = (rng.uniform(size=(300, 10)) < 0.4).astype(int)
    shielded = deepsade.shield(
        module, ["sum(i * label[i] for i in 0..10) > 10"], data=X, target=labels, domain=(0.0, 1.0)
    )
    proved(shielded, tmp_path)
    with torch.no_grad():
        raw = (module(torch.from_numpy(X)).numpy() > 0).astype(int)
    breaks = raw @ np.arange(10) <= 10
    safe = shielded.predict(X)
    assert breaks.any() and (safe @ np.arange(10) > 10).all()
    assert (safe[~breaks] == raw[~breaks]).all()
    p = shielded.predict_proba(X)
    assert p.shape == (300, 10) and (p >= 0).all() and (p <= 1).all() and (p @ np.arange(10) > 10).all()


def test_labels_by_probabilities(tmp_path):
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 3)).astype(np.float32).astype(float)
    Y = (X + rng.normal(0, 1, X.shape) > 0).astype(int)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    shielded = deepsade.shield(model, ["count(label[i] for i in 0..3) <= 2", "label[0] => label[1]"], data=X, target=Y)
    proved(shielded, tmp_path)
    raw, safe = model.predict(X), shielded.predict(X)

    def broken(y):
        return (y.sum(axis=1) > 2) | (y[:, 0] > y[:, 1])

    assert broken(raw).any() and not broken(safe).any()
    assert (safe[~broken(raw)] == raw[~broken(raw)]).all()
    p = model.predict_proba(X)
    sets = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 0]])
    weight = np.exp(np.log(p) @ sets.T + np.log(1 - p) @ (1 - sets.T))
    np.testing.assert_allclose(shielded.predict_proba(X), weight @ sets / weight.sum(axis=1, keepdims=True), atol=1e-4)


def labeller(kind):
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    if kind == "lightgbm":
        return MultiOutputClassifier(pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=10, verbose=-1))
    if kind == "xgboost":
        return MultiOutputClassifier(pytest.importorskip("xgboost").XGBClassifier(n_estimators=10))
    return {
        "forest": RandomForestClassifier(20, max_depth=4, random_state=0),
        "tree": DecisionTreeClassifier(max_depth=4, min_samples_leaf=7, random_state=0),
        "neighbours": KNeighborsClassifier(7),
        "each": MultiOutputClassifier(LogisticRegression()),
        "search": GridSearchCV(DecisionTreeClassifier(min_samples_leaf=7, random_state=0), {"max_depth": [4]}, cv=2),
        "histograms": MultiOutputClassifier(HistGradientBoostingClassifier(max_iter=5)),
        "chain": ClassifierChain(LogisticRegression(), order=[2, 0, 1]),
        "chain of probabilities": ClassifierChain(LogisticRegression(), order=[2, 0, 1], chain_method="predict_proba"),
    }[kind]


LABELLERS = ["forest", "tree", "neighbours", "each", "search", "histograms", "lightgbm", "xgboost", "chain", "chain of probabilities"]


@pytest.mark.parametrize(("piped", "kind"), [(False, int), (True, float)])
@pytest.mark.parametrize("made_by", LABELLERS)
def test_labels_of_models_that_give_probabilities_a_label(made_by, piped, kind, tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 3)).astype(np.float32).astype(float)
    Y = (X + rng.normal(0, 1, X.shape) > 0).astype(kind)
    model = labeller(made_by)
    model = (make_pipeline(StandardScaler(), model) if piped else model).fit(X, Y)
    shielded = deepsade.shield(model, ["count(label[i] for i in 0..3) <= 2", "y0 => y1"], data=X, target=Y)
    proved(shielded, tmp_path)
    raw, safe, p = np.asarray(model.predict(X)), shielded.predict(X), model.predict_proba(X)
    p = np.column_stack([both[:, 1] for both in p]) if isinstance(p, list) else p

    def broken(y):
        return (y.sum(axis=1) > 2) | (y[:, 0] > y[:, 1])

    assert broken(raw).any() and not broken(safe).any() and safe.dtype.kind == "i"
    # Trees behind a scaler, or neighbours, may say otherwise in float32 for a row or two.
    kept = ~broken(raw) & (np.abs(p - 0.5) > 1e-4).all(axis=1)
    assert kept.sum() > 100 and (safe == raw)[kept].all(axis=1).mean() > 0.98
    q = shielded.predict_proba(X)
    assert ((q >= 0) & (q <= 1)).all() and (q.sum(axis=1) <= 2 + 1e-6).all() and (q[:, 0] <= q[:, 1] + 1e-6).all()


def test_targets_that_are_no_labels_are_named():
    from sklearn.tree import DecisionTreeClassifier

    X = np.random.default_rng(0).normal(size=(60, 2))
    Y = np.column_stack([X[:, 0] > 0, np.where(X[:, 1] > 0, 2, 3)])
    with pytest.raises(TypeError, match=r"where each is 0 or 1, and target 1 has the classes \[2, 3\]"):
        deepsade.shield(DecisionTreeClassifier().fit(X, Y), ["y0 => y1"], data=X, target=Y)


# Classes that are only numbered.

@pytest.mark.parametrize("target", ["names", "numbers", None])
def test_classes_that_the_model_numbers_get_their_names(target, applicants, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    pytest.importorskip("onnxmltools")
    X, loan = applicants
    numbers, codes = X[["income", "partner", "history"]].astype(float), (loan == "Y").astype(int)
    model = xgboost.XGBClassifier(n_estimators=20).fit(numbers, codes)
    rules = ["income + partner < 3000 => loan == 'N'"]
    asked = {"data": numbers, "target": {"names": loan, "numbers": codes.rename("loan")}.get(target), "target_names": "loan"}
    with pytest.warns(UserWarning, match="0 as 'N', 1 as 'Y'"):
        shielded = deepsade.shield(model, rules, classes=["N", "Y"], **asked)
    proved(shielded, tmp_path)
    small = (exact(X["income"]) + exact(X["partner"])) < 3000
    raw, y = np.array(["N", "Y"])[model.predict(numbers)], shielded.predict(numbers)
    assert (raw[small] == "Y").any() and (y[small] == "N").all() and (y[~small] == raw[~small]).mean() > 0.99
    for classes in ([1, 0], ["N"], ["N", "Y", "Z"]):
        with pytest.raises(ValueError, match=r"the model's are \[0, 1\], in this order"):
            deepsade.shield(model, rules, classes=classes, **asked)
    if target == "names":
        with pytest.raises(ValueError, match=r"target\[\d+\] = '[YN]', and the model's classes are the numbers 0, 1: name them"):
            deepsade.shield(model, rules, **asked)


# What converters fail at.

@pytest.mark.parametrize(("kind", "piped"), [("histograms", False), ("vote", False), ("vote", True)])
def test_histogram_boosting_and_votes(kind, piped, applicants, tmp_path):
    from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, loan = applicants
    numbers = X[["income", "partner", "history"]].astype(float)
    model = HistGradientBoostingClassifier(max_iter=10)
    if kind == "vote":
        model = VotingClassifier([("a", make_pipeline(StandardScaler(), LogisticRegression())), ("b", model)], voting="soft")
    model = (make_pipeline(StandardScaler(), model) if piped else model).fit(numbers, loan)
    shielded = deepsade.shield(model, ["income + partner < 6000 => loan == 'N'"], data=numbers, target=loan)
    proved(shielded, tmp_path)
    raw, y, p = model.predict(numbers), shielded.predict(numbers), model.predict_proba(numbers)
    small = (exact(X["income"]) + exact(X["partner"])) < 6000
    assert (raw[small] == "Y").any() and (y[small] == "N").all()
    # Behind a scaler trees take another branch for some rows, in float32.
    near = np.abs(shielded.predict_proba(numbers) - p)[~small].max(axis=1) < 1e-3
    assert near.mean() > (0.9 if piped else 0.99) and (y[~small] == raw[~small])[near].all()


def test_histogram_boosting_of_numbers(spending, tmp_path):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y = spending
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, y[:, 0])
    shielded = deepsade.shield(model, ["y <= 0.2 * x0"], data=X, target=y[:, 0])
    proved(shielded, tmp_path)
    raw, safe = model.predict(X), shielded.predict(X)
    fine = raw < 0.2 * X[:, 0] - 1e-3
    assert fine.any() and not fine.all() and (exact(safe) <= exact(X[:, 0]) / 5).all() and np.abs(safe - raw)[fine].max() < 1e-3


def test_what_its_converter_cannot_do_is_said_in_short(applicants):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.semi_supervised import LabelSpreading

    X, loan = applicants
    numbers = X[["income", "partner"]].astype(float)
    by_categories = HistGradientBoostingClassifier(categorical_features=[0], max_iter=3)
    for model in (LabelSpreading(), by_categories):
        few = numbers if model is not by_categories else numbers.assign(income=X["history"])
        with pytest.raises(deepsade.ModelError, match=f"this {type(model).__name__} can't be converted by skl2onnx.*Give `shield` an ONNX file") as error:
            deepsade.shield(model.fit(few, loan), ["partner < 100 => loan == 'N'"], data=few, target=loan)
        assert len(str(error.value)) < 500 and "\n" not in str(error.value)


def test_a_graph_that_does_not_run_is_said_in_short():
    xgboost = pytest.importorskip("xgboost")
    from sklearn.neighbors import RadiusNeighborsClassifier

    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    with pytest.raises(deepsade.ModelError, match="onnxruntime can't run the model's graph: .*out of range") as error:
        deepsade.shield(RadiusNeighborsClassifier(3.0).fit(X, (X > 0).astype(int)), ["y0 => y1"], data=X, target=(X > 0).astype(int))
    model = xgboost.XGBClassifier(n_estimators=3).fit(X, (X > 0).astype(int))
    with pytest.raises(deepsade.ModelError, match="onnxruntime can't run the model's graph: .*base_values") as error:
        deepsade.shield(model, ["y0 => y1"], data=X, target=(X > 0).astype(int))
    assert len(str(error.value)) < 400


# Plain ONNX.

def dense(weights, outputs=("scores",)):
    """x W as an ONNX file, under several names if asked for."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    weights = np.asarray(weights, dtype=np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], [name]) for name in outputs]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", weights.shape[0]])
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", weights.shape[1]]) for name in outputs]
    graph = helper.make_graph(nodes, "dense", [x], ports, [numpy_helper.from_array(weights, "w")])
    return onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


BOX = {"a": (0.0, 1.0), "b": (0.0, 1.0)}


@pytest.mark.parametrize("as_path", [False, True])
def test_plain_onnx(as_path, tmp_path):
    model = dense([[1, 0, 0.5], [0, 1, 0.5]])
    if as_path:
        (tmp_path / "m.onnx").write_bytes(model)
        model = tmp_path / "m.onnx"
    shielded = deepsade.shield(model, ["a > 0.5 => kind != 'low'"], domain=BOX, classes=["low", "high", "middle"], target_names="kind")
    proved(shielded, tmp_path)
    rows = np.random.default_rng(4).uniform(0, 1, (2000, 2)).astype(np.float32)
    scores = rows @ np.array([[1, 0, 0.5], [0, 1, 0.5]], dtype=np.float32)
    raw, safe = shielded.classes_.take(scores.argmax(axis=1)), shielded.predict(rows)
    ruled = rows[:, 0] > 0.5
    assert (raw[ruled] == "low").any() and (safe[ruled] != "low").all()
    kept = ~(ruled & (raw == "low"))
    assert (safe[kept] == raw[kept]).mean() > 0.999
    p = shielded.predict_proba(rows)
    allowed = np.where(ruled[:, None] & [True, False, False], 0, np.exp(scores))
    np.testing.assert_allclose(p, allowed / allowed.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6)


def test_a_rule_file(tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text(
        '[task]\nkind = "regression"\ntargets = ["p", "q"]\n[features.a]\nkind = "real"\nrange = [0, 1]\n'
        '[features.b]\nkind = "real"\nrange = [0, 1]\n[[rule]]\nname = "order"\ntext = "p <= q"\n'
    )
    rows = np.random.default_rng(5).uniform(0, 1, (500, 2)).astype(np.float32)
    for data in (None, pd.DataFrame(rows, columns=["a", "b"])):
        shielded = deepsade.shield(dense(np.eye(2)), file, data=data)
        assert shielded.certified_ and shielded.target_names_ == ["p", "q"]
        safe = shielded.predict(rows)
        assert (safe[:, 0] <= safe[:, 1]).all()
        kept = rows[:, 0] <= rows[:, 1]
        np.testing.assert_allclose(safe[kept], rows[kept], atol=1e-6)
    with pytest.raises(ValueError, match="beside a rule file"):
        deepsade.shield(dense(np.eye(2)), file, domain=BOX)


def test_frames_are_encoded_as_the_rules_have_them(tmp_path):
    """An ordered feature is one column, a category one for each level. What is no level is outside the domain."""
    file = tmp_path / "rules.toml"
    file.write_text(
        '[task]\nkind = "regression"\ntargets = ["p"]\n[features.grade]\norder = ["A", "B", "C"]\n'
        '[features.area]\nkind = "category"\nlevels = ["x", "y", "z"]\n[[rule]]\nname = "least"\ntext = "area == \'y\' => p >= 5"\n'
    )
    shielded = deepsade.shield(dense(np.eye(4)[:, :1]), file)
    rows = pd.DataFrame({"grade": ["A", "C", "C", "B", "D"], "area": ["x", "x", "y", "q", "x"]})
    with pytest.warns(UserWarning, match="2 of 5 rows"):
        predicted = shielded.predict(rows)
    assert predicted[:3].ravel().tolist() == [0, 2, 5]
    assert shielded.flags(rows).in_domain.tolist() == [True, True, True, False, False]


@pytest.mark.parametrize(("threshold", "probabilities"), [(0.0, False), (0.5, True)])
def test_one_column_for_two_classes(threshold, probabilities):
    model = dense([[1.0], [-1.0]] if not probabilities else [[0.5], [0.5]])
    asked = {"domain": BOX, "classes": ["no", "yes"], "target_names": "loan"}
    shielded = deepsade.shield(model, ["a > 0.9 => loan == 'no'"], threshold=threshold, probabilities=probabilities, **asked)
    rows = np.random.default_rng(6).uniform(0, 1, (500, 2)).astype(np.float32)
    one = (rows[:, 0] - rows[:, 1] if not probabilities else rows.mean(axis=1)).astype(float)
    p = one if probabilities else 1 / (1 + np.exp(-one))
    ruled = rows[:, 0] > np.float32(0.9)
    assert (shielded.predict(rows)[ruled] == "no").all()
    np.testing.assert_allclose(shielded.predict_proba(rows)[~ruled, 1], p[~ruled], atol=1e-5)
    assert (shielded.predict_proba(rows)[ruled] == [1, 0]).all()


def test_masked_values_and_dates_are_no_numbers():
    shielded = deepsade.shield(dense(np.eye(2)), ["p <= q"], domain=BOX, target_names=["p", "q"])
    rows = np.ma.masked_array(np.full((3, 2), 0.5, np.float32), mask=[[0, 0], [0, 1], [0, 0]])
    assert shielded.flags(rows).in_domain.tolist() == [True, False, True]
    with pytest.raises(TypeError, match="X holds datetime64.*make numbers of it first"):
        shielded.predict(np.zeros((3, 2), "M8[s]"))


# Refusals.

@pytest.mark.parametrize(("weights", "asked", "error", "words"), [
    (np.eye(2), {"domain": BOX, "target_names": ["p", "q", "r"]}, deepsade.ModelError, "2 columns, but the rules speak of 3"),
    (np.eye(3), {"domain": BOX, "target_names": ["p", "q", "r"]}, deepsade.ModelError, "has 3 columns, the schema 2"),
    (np.eye(2), {"domain": BOX, "target_names": ["p", "q"], "output": "nothing"}, deepsade.ModelError, "there is no tensor 'nothing'"),
    (np.ones((2, 1)), {"domain": BOX, "classes": ["p", "q"]}, deepsade.ModelError, "one number a row for two classes"),
    (np.eye(2), {"domain": BOX, "target_names": ["p", "q"], "features": ["a"], "data": np.zeros((3, 2))}, ValueError, "names 1 columns"),
])
def test_what_does_not_fit_is_refused(weights, asked, error, words):
    rule = "y == 'p'" if "classes" in asked else "p <= q"
    with pytest.raises(error, match=words):
        deepsade.shield(dense(weights), [rule], **asked)


def test_several_outputs_and_a_second_step_are_refused():
    asked = {"domain": BOX, "target_names": ["p", "q"]}
    with pytest.raises(deepsade.ModelError, match="several outputs hold numbers"):
        deepsade.shield(dense(np.eye(2), ("one", "two")), ["p <= q"], **asked)
    shielded = deepsade.shield(dense(np.eye(2), ("one", "two")), ["p <= q"], output="two", **asked)
    assert shielded.output_ == "two"
    with pytest.raises(deepsade.ModelError, match="an output step already"):
        deepsade.shield(shielded.onnx, ["p <= q"], **asked)
    with pytest.raises(ValueError, match="X has the shape"):
        shielded.predict(np.zeros((3, 5)))


def test_rules_that_nothing_obeys_are_a_contradiction():
    with pytest.raises(deepsade.ContradictionError):
        deepsade.shield(dense(np.eye(2)), ["p <= a", "p >= a + 1"], domain=BOX, target_names=["p", "q"])
    with pytest.raises(deepsade.RuleError):
        deepsade.shield(dense(np.eye(2)), [], domain=BOX, target_names=["p", "q"])


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="expected a model of"):
        deepsade.shield(3, ["p <= q"], domain=BOX)


WITHOUT = """
import sys

class NotThere:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "{package}":
            raise ModuleNotFoundError("No module named '{package}'", name="{package}")

sys.meta_path.insert(0, NotThere())
import numpy as np, deepsade
from sklearn.linear_model import LinearRegression
X = np.random.default_rng(0).uniform(size=(20, 2))
deepsade.shield(LinearRegression().fit(X, X), ["y0 <= y1"], data=X, target=X).predict(X)
"""


@pytest.mark.parametrize("package", ["skl2onnx", "onnxruntime"])
def test_a_missing_package_is_named(package):
    said = subprocess.run([sys.executable, "-c", WITHOUT.format(package=package)], capture_output=True, text=True).stderr
    assert f"pip install {package}, or 'deepsade[shield]'" in said
