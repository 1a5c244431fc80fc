"""What rows and classes count, and rows that choose the best epoch."""

import numpy as np
import pytest

from deepsade import DeepSaDeClassifier, DeepSaDeRegressor

RULES = ["0 <= y <= 10"]


def contradicting():
    """Each x twice: once with y = 2, once with y = 8."""
    x = np.repeat(np.linspace(0, 1, 100), 2).reshape(-1, 1)
    return x, np.tile([2.0, 8.0], 100)


def test_rows_of_no_weight_teach_nothing():
    X, y = contradicting()
    weight = np.tile([0.0, 1.0], 100)
    model = DeepSaDeRegressor(RULES, hidden=(8,), epochs=200, outside="ignore").fit(X, y, sample_weight=weight)
    assert model.certified_ and np.abs(model.predict(X) - 8).max() < 0.5
    even = DeepSaDeRegressor(RULES, hidden=(8,), epochs=200, outside="ignore").fit(X, y, sample_weight=np.ones(200))
    assert np.abs(even.predict(X) - 5).max() < 1.5
    with pytest.raises(ValueError, match="[Nn]egative"):
        DeepSaDeRegressor(RULES).fit(X, y, sample_weight=-weight)
    with pytest.raises(ValueError, match="inconsistent|shape"):
        DeepSaDeRegressor(RULES).fit(X, y, sample_weight=weight[:-1])


def test_weights_of_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where((X[:, 0] > 0) & (rng.uniform(size=600) < 0.3), "rare", "usual")

    def found(weight):
        model = DeepSaDeClassifier(class_weight=weight, hidden=(8,), epochs=60, outside="ignore").fit(X, y)
        return (model.predict(X)[y == "rare"] == "rare").mean()

    assert found(None) < 0.5 < found("balanced")
    assert found({"rare": 5.0}) > 0.5
    with pytest.raises(ValueError, match="class_weight = 'even'"):
        found("even")


@pytest.mark.parametrize("framed", [False, True])
def test_rows_that_choose_the_best_epoch(framed):
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, (120, 1))
    y = X[:, 0] + rng.normal(0, 0.3, 120)
    learned, chosen = (X[:100], y[:100]), (X[100:], y[100:])
    if framed:
        pandas = pytest.importorskip("pandas")
        frame = lambda rows, target: (pandas.DataFrame(rows, columns=["size"]), pandas.Series(target, name="price"))
        learned, chosen = frame(*learned), frame(*chosen)
    rules = ["price >= -5"] if framed else ["y >= -5"]
    model = DeepSaDeRegressor(rules, hidden=(8,), epochs=60, outside="ignore").fit(*learned, eval_set=chosen)
    assert model.certified_ and model.summary_["validation"]["rows_all"] == 20 and model.summary_["train"]["rows_all"] == 100
    again = DeepSaDeRegressor(rules, hidden=(8,), epochs=60, outside="ignore").fit(*learned, eval_set=[chosen])
    assert (again.predict(learned[0]) == model.predict(learned[0])).all()
    with pytest.raises(ValueError, match="a list of one such pair"):
        DeepSaDeRegressor(rules).fit(*learned, eval_set=[chosen, chosen])
