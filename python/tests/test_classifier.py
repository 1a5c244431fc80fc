"""The classifier: rules hold everywhere, and scikit-learn's manners."""

import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import deepsade
from deepsade import DeepSaDeClassifier

RULE = "x0 < 5000 and x1 == 0 => loan == 'N'"


def estimator(**more):
    settings = {"rules": [RULE], "target_names": "loan", "domain": {"x1": range(0, 2)}, "hidden": (12, 6), "epochs": 40, "batch": 8, **more}
    return DeepSaDeClassifier(**settings)


def matrix(loans):
    income, history, _, loan = loans
    return np.column_stack([income, history]), loan


def forbidden(n=5000):
    rng = np.random.default_rng(7)
    return np.column_stack([rng.uniform(100, 4999.9, n), np.zeros(n)])


def test_rules_hold_everywhere_and_are_certified(loans):
    X, y = matrix(loans)
    # Labels that break the rule do not get through.
    y = np.where((X[:, 0] < 5000) & (X[:, 0] > 1500) & (X[:, 1] == 0), "Y", y)
    model = estimator(enforce="weights").fit(X, y)
    assert model.certified_ and model.margins_["rule 1"] > 0
    assert "accepted" in model.verdict_
    assert set(model.predict(forbidden())) == {"N"}
    assert (model.predict_proba(forbidden())[:, 0] > 0.5).all()
    free = DeepSaDeClassifier(hidden=(12, 6), epochs=40, batch=8).fit(X, y)
    assert not free.certified_ and free.certificate_ is None
    assert set(free.predict(forbidden())) == {"N", "Y"}


def test_the_same_seed_gives_the_same_bytes(loans):
    X, y = matrix(loans)
    one, two, other = (estimator(random_state=s).fit(X, y).model_.onnx for s in (3, 3, 4))
    assert one == two != other


def test_predictions_are_the_onnx_files(loans, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, y = matrix(loans)
    model = estimator(enforce="weights").fit(X, y)
    model.save_onnx(tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    scores = session.run(None, {"x": X.astype(np.float32)})[0]
    assert np.allclose(scores, model.scores(X), rtol=1e-4, atol=1e-4)
    assert (model.classes_[scores.argmax(axis=1)] == model.predict(X)).mean() > 0.999


def test_probabilities_agree_with_predictions(loans):
    X, y = matrix(loans)
    for enforce in ("weights", "decode"):
        model = estimator(enforce=enforce).fit(X, y)
        assert model.certified_
        p = model.predict_proba(X)
        assert p.shape == (len(X), 2) and np.allclose(p.sum(axis=1), 1)
        assert (model.classes_[p.argmax(axis=1)] == model.predict(X)).all()


def test_pickle_clone_and_parameters(loans):
    X, y = matrix(loans)
    model = estimator().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all() and again.certificate_ == model.certificate_
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert fresh.set_params(hidden=(3,)).hidden == (3,)


def test_inside_pipeline_grid_search_and_cross_validation(loans):
    X, y = matrix(loans)
    pipe = make_pipeline(FunctionTransformer(), estimator(epochs=10, outside="ignore"))
    search = GridSearchCV(pipe, {"deepsadeclassifier__hidden": [(4,), (8, 4)]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7 and search.best_estimator_[-1].certified_
    assert cross_val_score(estimator(epochs=10, outside="ignore"), X, y, cv=3).min() > 0.7


def test_labels_of_any_kind_come_back_as_they_were():
    X = np.random.default_rng(0).normal(size=(90, 2))
    for y in (X[:, 0] > 0, (X[:, 0] > 0).astype(int) + 3, np.where(X[:, 0] > 0, 1.0, -1.0), np.digitize(X[:, 0], [-0.5, 0.5])):
        model = DeepSaDeClassifier(hidden=(4,), epochs=5).fit(X, y)
        assert model.predict(X).dtype == y.dtype and set(model.classes_) == set(y)
    model = DeepSaDeClassifier(rules=["x0 > 1 => y == '4'"], hidden=(4,), epochs=5).fit(X, (X[:, 0] > 0).astype(int) + 3)
    assert set(model.predict([[1.5, 0.0], [1.1, 0.3]])) == {4}


def test_rows_outside_the_domain_are_told_of(loans):
    X, y = matrix(loans)
    model = estimator().fit(X, y)
    far = np.array([[20_000.0, 0.0], [100.0, 0.5], [100.0, 1.0]])
    assert model.in_domain(far).tolist() == [False, False, True]
    with pytest.warns(deepsade.OutsideDomainWarning, match="2 of 3 rows"):
        model.predict(far)
    for enforce in ("weights", "decode"):
        with pytest.warns(deepsade.OutsideDomainWarning, match="2 of 3 rows") as told:
            estimator(enforce=enforce, epochs=2).fit(X, y).predict_proba(far)
        assert told[0].filename == __file__
    with pytest.raises(deepsade.DataError, match="2 of 3 rows"):
        model.set_params(outside="raise").predict(far)
    with pytest.raises(deepsade.DataError, match="2 of 3 rows"):
        model.predict_proba(far)
    with pytest.raises(ValueError, match="outside = 'no'"):
        model.set_params(outside="no").predict(far)
    wider = estimator(margin=1.5, outside="raise").fit(X, y)
    assert wider.in_domain(far).tolist() == [True, False, True]
    assert wider.domain_["x0"]["hi"] > 20_000 and wider.domain_["x1"] == {"kind": "integer", "lo": 0, "hi": 1}


def test_contradictory_and_unreadable_rules(loans):
    X, y = matrix(loans)
    with pytest.raises(deepsade.ContradictionError, match="can't be obeyed together"):
        estimator(rules=["x0 > 10 => loan == 'N'", "x0 > 20 => loan == 'Y'"]).fit(X, y)
    with pytest.raises(deepsade.RuleError, match="nothing is called 'incme'"):
        estimator(rules=["incme < 5 => loan == 'N'"]).fit(X, y)
    with pytest.raises(deepsade.SettingsError, match="train.batch = 0: must be 1 or above"):
        estimator(batch=0).fit(X, y)
    with pytest.raises(TypeError, match="a list of texts"):
        estimator(rules=RULE).fit(X, y)
    with pytest.raises(TypeError, match=r"rules\[0\] = 3: must be a text"):
        estimator(rules=[3]).fit(X, y)
    assert issubclass(deepsade.RuleError, ValueError)


@pytest.mark.parametrize("wrong, error, words", [
    ({"activation": "gelu"}, deepsade.SettingsError, "^network.activation: unknown value `gelu`, expected one of `relu`, `sigmoid`, `tanh`$"),
    ({"enforce": "always"}, deepsade.SettingsError, "^train.enforce: unknown value `always`, expected one of"),
    ({"missing": "guess"}, deepsade.SettingsError, "^data.missing: unknown value `guess`, expected"),
    ({"breaking_rows": "burn"}, deepsade.SettingsError, "breaking_rows: .*expected \"keep\", \"drop\" or a weight from 0 to 1.*burn"),
    ({"outside": "shout"}, ValueError, "outside = 'shout': must be one of 'warn', 'raise', 'ignore'"),
    ({"hidden": 5}, TypeError, "hidden = 5: must hold the units of each hidden layer"),
    ({"hidden": [3.5]}, TypeError, r"hidden\[0\] = 3.5: must be a whole number"),
    ({"optimiser": 5}, TypeError, "optimiser = 5: must be a text"),
    ({"learning_rate": "high"}, TypeError, "learning_rate = 'high': must be a number"),
    ({"batch": True}, TypeError, "batch = True: must be a whole number"),
    ({"domain": {"x0": (0, np.inf)}}, ValueError, r"domain\['x0'\] = \(0, inf\): both ends must be finite"),
    ({"domain": 3}, TypeError, "domain must be a dict"),
])
def test_wrong_parameters_are_named(loans, wrong, error, words):
    X, y = matrix(loans)
    with pytest.raises(error, match=words):
        estimator(**wrong).fit(X, y)


def test_stated_classes(loans):
    X, y = matrix(loans)
    only = y == "N"
    model = estimator(classes=["Y", "N"], outside="ignore").fit(X[only], y[only])
    assert model.classes_.tolist() == ["N", "Y"] and model.predict_proba(X).shape == (len(X), 2)
    # Not every class is there, so the numbers may mean something else.
    with pytest.raises(ValueError, match=r"y\[0\] = \d is none of the classes \['A', 'N', 'Y'\]; did another estimator encode y anew"):
        estimator(classes=["Y", "N", "A"]).fit(X, (y == "Y").astype(int))
    assert clone(model).get_params()["classes"] == ["Y", "N"]


def test_inside_estimators_that_encode_y_anew(loans):
    from sklearn.ensemble import VotingClassifier
    from sklearn.model_selection import cross_val_predict

    X, y = matrix(loans)
    codes = (y == "Y").astype(int)
    inner = estimator(rules=["x0 < 5000 and x1 == 0 => loan == '0'"], classes=[0, 1], epochs=5, outside="ignore")
    assert VotingClassifier([("a", inner)]).fit(X, codes).estimators_[0].certified_
    p = cross_val_predict(inner, X, codes, cv=3, method="predict_proba")
    assert (p[(X[:, 0] < 5000) & (X[:, 1] == 0), 0] > 0.5).all()


def test_meta_estimators_keep_the_names_of_classes_in_rules(loans):
    from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
    from sklearn.linear_model import LogisticRegression

    X, y = matrix(loans)
    # A sample's own range would leave rows outside, where nothing is promised.
    domain = {"x0": (float(X[:, 0].min()), float(X[:, 0].max())), "x1": range(0, 2)}
    inner = estimator(classes=["N", "Y"], epochs=3, domain=domain)
    bound = (X[:, 0] < 5000) & (X[:, 1] == 0)
    voting = VotingClassifier([("a", inner)]).fit(X, y)
    assert voting.estimators_[0].certified_ and voting.estimators_[0].classes_.tolist() == [0, 1]
    assert (voting.predict(X)[bound] == "N").all() and set(voting.predict(X)) == {"N", "Y"}
    bagging = BaggingClassifier(inner, n_estimators=2, random_state=0).fit(X, y)
    assert (bagging.predict(X)[bound] == "N").all()
    stacking = StackingClassifier([("a", inner)], LogisticRegression(), cv=2).fit(X, y)
    assert set(stacking.predict(X)) <= {"N", "Y"}


def test_a_fit_warns_once(loans):
    X, y = matrix(loans)
    # Notes of several kinds: constant predictions, a rule that says nothing.
    rules = ["loan == 'N'", "x0 >= 0 => loan == 'N'"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        estimator(rules=rules, epochs=2).fit(X, y)
    assert len([w for w in told if issubclass(w.category, UserWarning)]) == 1, [str(w.message) for w in told]


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(loans):
    X, y = matrix(loans)
    model = estimator().fit(X, y)
    before = model.predict(X)
    with pytest.raises(deepsade.DataError, match="no such column"):
        model.fit(X[:, :1], np.where(y == "Y", "yes", "no"))
    assert (model.predict(X) == before).all() and model.n_features_in_ == 2


def test_bad_rows_are_refused_as_scikit_learn_does(loans):
    X, y = matrix(loans)
    model = estimator().fit(X, y)
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[5, 1] = bad
        with pytest.raises(ValueError, match="NaN|inf"):
            model.fit(broken, y)
        with pytest.raises(ValueError, match="NaN|inf"):
            model.predict(broken)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, ["a"] * len(X))
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError):
        model.fit([["a", "b"]] * len(y), y)


def test_missing_values_can_be_dropped_or_filled(loans):
    X, y = matrix(loans)
    X = X.copy()
    X[::10, 0] = np.nan
    for missing in ("drop", "impute"):
        assert estimator(missing=missing).fit(X, y).certified_


def test_what_was_filled_in_is_filled_in_ever_after(loans):
    """In predict, for arrays and lists alike, and the domain says so."""
    X, y = matrix(loans)
    X = X.copy()
    X[::10, 0] = np.nan
    model = estimator(missing="impute").fit(X, y)
    filled = {f["feature"]: f["with"] for f in json.loads(model.model_.schema)["filled"]}
    whole = X.copy()
    whole[np.isnan(X[:, 0]), 0] = filled["x0"]
    assert np.isnan(X).any() and (model.predict(X) == model.predict(whole)).all()
    assert (model.predict(X.tolist()) == model.predict(whole)).all() and model.in_domain(X).all()
    with pytest.raises(ValueError, match="contains NaN"):
        estimator(missing="drop").fit(X, y).predict(X)


def test_explain_before_and_after_training(loans):
    X, y = matrix(loans)
    before = estimator().explain(X, y)
    assert before["rows"] == len(X) and "Task: binary" in str(before)
    after = estimator().fit(X, y).explain()
    assert after["conflict"] is None and after["enforce"]["means"] == "weights"
