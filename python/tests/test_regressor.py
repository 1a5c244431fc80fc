"""The regression: gating, several targets, and decoding by the nearest outputs."""

import numpy as np
import pytest

import deepsade
from deepsade import DeepSaDeRegressor

RULES = ["food + rent <= x0", "food >= 0", "rent >= 0"]


def estimator(**more):
    return DeepSaDeRegressor(**{"rules": RULES, "target_names": ["food", "rent"], "hidden": (12, 6), "epochs": 30, **more})


def anywhere(n=20_000):
    rng = np.random.default_rng(5)
    return np.column_stack([rng.uniform(11, 99, n), rng.uniform(1, 6, n)]).astype(np.float32)


def test_sums_never_exceed_income(expenses):
    X, Y = expenses
    model = estimator().fit(X, Y)
    assert model.certified_ and model.summary_["gate"] == "x0"
    x = anywhere()
    y = model.predict(x)
    assert y.shape == (len(x), 2) and (y >= 0).all() and (y.sum(axis=1) <= x[:, 0]).all()
    assert model.score(X, Y) > 0.3


def test_decoded_numbers_obey_and_are_proved(expenses, tmp_path):
    X, Y = expenses
    x = anywhere()
    model = estimator(enforce="decode", rules=["food + rent <= 0.5 * x0"]).fit(X, Y)
    assert model.certified_ and model.model_.place == "in-graph"
    assert (model.predict(x).sum(axis=1) <= 0.5 * x[:, 0]).all()
    # Three faces that can hold at once have no closed form.
    model = estimator(enforce="decode").fit(X, Y)
    assert model.certified_ and model.model_.place == "in-graph"
    model.save_onnx(tmp_path / "m.onnx")
    for same in (model, deepsade.load(tmp_path / "m.onnx")):
        y = same.predict(x)
        assert (y >= 0).all() and (y.sum(axis=1) <= x[:, 0]).all()


def test_certified_models_and_models_without_rules_are_not_warned_of(expenses, tmp_path, recwarn):
    X, Y = expenses
    for settings in ({}, {"rules": ()}, {"enforce": "none"}):
        estimator(epochs=2, **settings).fit(X, Y).save_onnx(tmp_path / "m.onnx")
    assert not [w for w in recwarn.list if issubclass(w.category, deepsade.UncertifiedWarning)]


def test_a_model_that_has_learnt_nothing_is_warned_of_though_it_is_certified(expenses):
    X, Y = expenses
    with pytest.warns(UserWarning, match="no better than one constant prediction") as told:
        model = estimator(epochs=5, learning_rate=1e6).fit(X, Y)
    assert model.summary_["warnings"][0] in [str(w.message) for w in told]
    assert estimator().fit(X, Y).summary_["warnings"] == []


def test_one_target_is_flat(expenses):
    X, Y = expenses
    model = DeepSaDeRegressor(rules=["y >= 0"], hidden=(8,), epochs=10).fit(X, Y[:, 0])
    assert model.predict(X).shape == (len(X),) and (model.predict(X) >= 0).all()


def test_names_come_from_frames(expenses):
    pandas = pytest.importorskip("pandas")
    X, Y = expenses
    X, Y = pandas.DataFrame(X, columns=["income", "size"]), pandas.DataFrame(Y, columns=["food", "rent"])
    model = DeepSaDeRegressor(rules=["food + rent <= income", "food >= 0", "rent >= 0"], hidden=(8,), epochs=10).fit(X, Y)
    assert model.certified_ and model.feature_names_in_.tolist() == ["income", "size"] and model.target_names_ == ["food", "rent"]


def test_impossible_rules_are_named(expenses):
    X, Y = expenses
    with pytest.raises(deepsade.ContradictionError, match="can't be obeyed"):
        estimator(rules=["food >= 50", "food <= x0"]).fit(X, Y)


def test_targets_are_checked(expenses):
    X, Y = expenses
    with pytest.raises(ValueError, match="target_names names 2 targets, y has 1"):
        estimator().fit(X, Y[:, :1])
    with pytest.raises(ValueError, match="NaN"):
        estimator().fit(X, np.where(Y > Y.max() - 1e-9, np.nan, Y))


def test_parts_of_a_stepped_feature_add_up_exactly(expenses, tmp_path):
    X, Y = expenses
    X = np.column_stack([np.round(X[:, 0] * 4) / 4, X[:, 1]])
    Y = np.column_stack([Y[:, 0], X[:, 0] - Y[:, 0]])
    rules = ["food + rent == x0", "food >= 0 and rent >= 0"]
    with pytest.raises(Exception, match="step = 0.25"):
        estimator(rules=rules, enforce="decode", epochs=2).fit(X, Y)
    model = estimator(rules=rules, domain={"x0": {"step": 0.25}}, breaking_rows="keep", enforce="decode", epochs=5).fit(X, Y)
    assert model.certified_
    x = anywhere()
    x[:, 0] = np.clip(np.round(x[:, 0] * 4) / 4, X[:, 0].min(), X[:, 0].max())
    y = model.predict(x).astype(np.float32)
    assert (y >= 0).all() and (y[:, 0] + y[:, 1] == x[:, 0]).all()
    assert "multiples of 0.25 from" in str(model.explain())
    x[:2, 0] = [50.25, 50.3]
    assert list(model.in_domain(x[:2])) == [True, False]
    with pytest.raises(ValueError, match="step = 0.01"):
        estimator(rules=rules, domain={"x0": {"step": 0.01}}, enforce="decode").fit(X, Y)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_order_in_memory_does_not_matter(kind):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(1000, 2000, 50), rng.uniform(0, 1, 50)]).astype(kind)
    model = DeepSaDeRegressor(rules=["y <= 3000"], hidden=(4,), epochs=2).fit(X, X[:, 0])
    expected = model.predict(X)
    # Column by column, as `X[:, [0, 1]]` and a frame's to_numpy() lie; every second row; backwards.
    wide = np.repeat(X, 2, axis=0)
    for other in (np.asfortranarray(X), X[:, [0, 1]], wide[::2], X[::-1][::-1], X.T.copy().T):
        assert (model.predict(other) == expected).all() and model.in_domain(other).all()
        assert (model.scores(other) == model.scores(X)).all()


@pytest.mark.parametrize("wrong", [
    {"random_state": 2**70}, {"random_state": -1}, {"domain": {"x0": (0, 10**400)}}, {"domain": {"x0": range(0, 2**70)}},
    {"learning_rate": 10**400}, {"margin": -(10**400)}, {"epochs": 2**70}, {"hidden": (10**400,)},
])
def test_numbers_beyond_all_bounds_are_value_errors(expenses, wrong):
    X, Y = expenses
    with pytest.raises(ValueError, match="x0" if "domain" in wrong else next(iter(wrong))):
        DeepSaDeRegressor(**{"hidden": (2,), "epochs": 1, **wrong}).fit(X, Y)


def test_masked_values_are_missing(expenses):
    X, Y = expenses
    masked, gaps = np.ma.masked_array(X, mask=X > 80), np.where(X > 80, np.nan, X)
    settings = {"rules": ["y0 >= 0"], "hidden": (2,), "epochs": 1}
    plain = DeepSaDeRegressor(**settings).fit(X, Y)
    for call in (plain.predict, plain.scores, plain.in_domain, lambda rows: plain.fit(rows, Y), lambda rows: plain.fit(X, Y, eval_set=(rows, Y))):
        with pytest.raises(ValueError, match="NaN"):
            call(masked)
    with pytest.raises(ValueError, match="y contains NaN"):
        plain.fit(X, np.ma.masked_array(Y, mask=Y > 20))
    with pytest.raises(ValueError, match="y contains NaN"):
        deepsade.DeepSaDeClassifier(hidden=(2,), epochs=1).fit(X, np.ma.masked_array(np.where(Y[:, 0] > 20, "a", "b"), mask=Y[:, 0] > 30))
    filled = [DeepSaDeRegressor(missing="impute", **settings).fit(rows, Y) for rows in (masked, gaps)]
    assert filled[0].model_.onnx == filled[1].model_.onnx and (filled[0].predict(masked) == filled[0].predict(gaps)).all()
    # Where nothing is masked there is nothing to say.
    assert (plain.predict(np.ma.masked_array(X)) == plain.predict(X)).all()


@pytest.mark.parametrize("kind", ["M8[s]", "m8[D]"])
def test_dates_are_no_numbers(expenses, kind):
    X, Y = expenses
    dates = X.astype(kind)
    model = DeepSaDeRegressor(hidden=(2,), epochs=1).fit(X, Y)
    for call in (
        model.predict, lambda rows: model.fit(rows, Y), lambda rows: model.fit(X, rows), lambda rows: deepsade.adversity(model, rows, ["y0 >= 0"]),
        lambda rows: deepsade.DeepSaDeClassifier(hidden=(2,), epochs=1).fit(X, rows[:, 0]),
    ):
        with pytest.raises(TypeError, match="holds (datetime|timedelta)64.*make numbers of it first"):
            call(dates)
