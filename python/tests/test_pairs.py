"""Rules between two inputs by parameters, beside other rules."""

import json
import warnings

import numpy as np
import pytest

import deepsade


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (n, 3))
    return x, 3 * x[:, 0] - 2 * x[:, 1] ** 2 + np.sin(6 * x[:, 2]) + rng.normal(0, 0.3, n)


def test_monotone_features_by_name_column_and_as_scikit_learn_says():
    x, y = rows()
    common = dict(hidden=(16, 8), epochs=20, random_state=1)
    by_column = deepsade.DeepSaDeRegressor(increasing=[0], decreasing=[1], **common).fit(x, y)
    by_sign = deepsade.DeepSaDeRegressor(monotonic_cst=[1, -1, 0], **common).fit(x, y)
    by_name = deepsade.DeepSaDeRegressor(monotonic_cst={"x0": 1, "x1": -1}, **common).fit(x, y)
    assert by_column.certified_ and by_sign.certified_ and by_name.certified_
    assert "signs" in by_column.certificate_
    np.testing.assert_array_equal(by_column.predict(x), by_sign.predict(x))
    np.testing.assert_array_equal(by_column.predict(x), by_name.predict(x))
    low, high = x.copy(), x.copy()
    low[:, 0], high[:, 0] = np.nextafter(x[:, 0].astype(np.float32), -1), np.nextafter(x[:, 0].astype(np.float32), 2)
    inside = by_column.in_domain(low) & by_column.in_domain(high)
    assert inside.any() and (by_column.predict(high)[inside] >= by_column.predict(low)[inside]).all()
    assert by_column.score(x, y) > 0.5, "it has learnt"


def test_unaffected_and_monotone_classes_beside_a_rule():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (500, 4))
    y = np.where(x[:, 0] + 0.5 * x[:, 3] + rng.normal(0, 0.2, 500) > 0.7, "yes", "no")
    model = deepsade.DeepSaDeClassifier(
        ["x0 < 0.1 => loan == 'no'"], target_names="loan", increasing=0, unaffected=["x3"], hidden=(12, 6), epochs=30, outside="ignore"
    ).fit(x, y)
    assert model.certified_ and len(json.loads(model.model_.rules)) == 3
    other = x.copy()
    other[:, 3] = rng.permutation(x[:, 3])
    assert (model.predict(other) == model.predict(x)).all()
    up = x.copy()
    up[:, 0] = np.minimum(x[:, 0] + rng.uniform(0, 0.5, 500), x[:, 0].max())
    assert not ((model.predict(x) == "yes") & (model.predict(up) == "no")).any()
    assert (model.predict(x) == y).mean() > 0.7


def test_rankings_and_label_sets_that_are_unaffected():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(200, 3))
    scores = np.column_stack([x[:, 1] + x[:, 0], x[:, 2], -x[:, 1]])
    places = np.argsort(np.argsort(-scores, axis=1), axis=1) + 1
    other = x.copy()
    other[:, 0] = rng.permutation(x[:, 0])
    for kind, y in [(deepsade.DeepSaDeRanker, places), (deepsade.DeepSaDeMultilabel, (scores > 0).astype(int))]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = kind(unaffected=[0], hidden=(8,), epochs=40, outside="ignore").fit(x, y)
        assert model.certified_ and (model.predict(x) == model.predict(other)).all()
        assert len(np.unique(model.predict(x), axis=0)) > 2
        with pytest.raises(ValueError, match=r"increasing\((at\['y0', 0\]|y0), feature\)"):
            kind(increasing=[0], hidden=(8,), epochs=1).fit(x, y)


def test_what_can_not_be_meant_is_refused():
    x, y = rows(60)
    fit = lambda **more: deepsade.DeepSaDeRegressor(hidden=(4,), epochs=1, **more).fit(x, y)  # noqa: E731
    for parameters, word in [
        (dict(increasing=["age"]), "no feature 'age'"),
        (dict(increasing=[7]), "no column 7"),
        (dict(monotonic_cst=[1, 0]), "3 features"),
        (dict(monotonic_cst=[2, 0, 0]), "-1"),
        (dict(monotonic_cst={"z": 1}), "no feature 'z'"),
        (dict(increasing=[0], decreasing=[0]), "unaffected"),
    ]:
        with pytest.raises(ValueError, match=word):
            fit(**parameters)
    with pytest.raises(ValueError, match="compares two inputs"):
        fit(increasing=[0], enforce="decode")
    with pytest.raises(ValueError, match="write the rule itself"):
        deepsade.DeepSaDeClassifier(increasing=[0], hidden=(4,), epochs=1).fit(x, np.arange(60) % 3)


def test_a_category_with_an_order():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    grade = rng.choice(["A", "B", "C"], 300)
    frame = pd.DataFrame({"grade": grade, "x": rng.uniform(0, 1, 300)})
    rate = np.select([grade == "A", grade == "B"], [1.0, 2.0], 4.0) + frame["x"].to_numpy()
    model = deepsade.DeepSaDeRegressor(
        ["grade >= 'B' => rate >= 1"], target_names="rate", domain={"grade": {"order": ["A", "B", "C"]}}, increasing=["grade"], epochs=30
    ).fit(frame, rate)
    assert model.certified_
    at = [model.predict(frame.assign(grade=level)) for level in "ABC"]
    assert (at[0] <= at[1]).all() and (at[1] <= at[2]).all() and at[1].min() >= 1


def test_levels_of_an_order_that_spell_numbers():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(6)
    grade = rng.integers(0, 3, 200)
    frame = pd.DataFrame({"grade": grade, "x": rng.uniform(0, 1, 200)})
    model = deepsade.DeepSaDeRegressor(
        ["rate <= 100"], target_names="rate", domain={"grade": {"order": ["2", "1", "0"]}}, increasing=["grade"], hidden=(8,), epochs=5
    ).fit(frame, 2.0 - grade + frame["x"].to_numpy())
    at = [model.predict(frame.assign(grade=level)) for level in (2, 1, 0)]
    assert (at[0] <= at[1]).all() and (at[1] <= at[2]).all() and (at[0] < at[2]).any()
    near = deepsade.adversity(model, frame[:3])
    assert near["adversity"] == 0 and len(near["not_looked_at"]) == 1
    with pytest.raises(ValueError, match="'grade' must be one of"):
        model.predict(frame.assign(grade="foo"))


@pytest.mark.parametrize("how", [{"increasing": [0]}, {"unaffected": [1]}, {"monotonic_cst": [1, 0]}, {"rules": ["change(y, {x0}, by = 0.1) <= 5", "y <= 90"]}])
def test_saved_models_with_such_rules_load(how, tmp_path):
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, (120, 2))
    model = deepsade.DeepSaDeRegressor(hidden=(8,), epochs=5, **how).fit(x, 3 * x[:, 0] + rng.normal(0, 1, 120))
    model.save(tmp_path / "run")
    again = deepsade.load(tmp_path / "run")
    assert again.certified_ and again.margins_ == model.margins_
    assert (again.predict(x) == model.predict(x)).all()


def test_scaling_and_what_is_filled_in_are_parameters():
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 10, (200, 2))
    y = x[:, 0] * 2
    x[::5, 1] = np.nan
    model = deepsade.DeepSaDeRegressor(["0 <= y <= 30"], hidden=(8,), epochs=5, scaling="standard", impute="mean").fit(x, y)
    assert model.certified_ and np.isfinite(model.predict(x)).all()
    assert model.get_params()["impute"] == "mean"
    with pytest.raises(deepsade.SettingsError, match="scaling"):
        deepsade.DeepSaDeRegressor(scaling="none").fit(x[:, :1], y)
