"""Label sets and orderings."""

import numpy as np
import pytest

import deepsade
from deepsade import DeepSaDeMultilabel, DeepSaDeRanker


def rows(n=300, features=4):
    return np.random.default_rng(2).normal(size=(n, features))


def test_label_sets_obey_the_rules_for_any_input():
    X = rows()
    Y = (X > 0).astype(int)
    model = DeepSaDeMultilabel(rules=["label[0] => label[1]", "at_most(3, label[i] for i in 0..4)"], hidden=(12,), epochs=80, batch=8).fit(X, Y)
    assert model.certified_
    y = model.set_params(outside="ignore").predict(10 * rows(3000))
    assert set(np.unique(y)) == {0, 1} and (y[:, 0] <= y[:, 1]).all() and (y.sum(axis=1) <= 3).all()
    p = model.predict_proba(X)
    with pytest.warns(deepsade.OutsideDomainWarning, match="outside the domain") as told:
        model.set_params(outside="warn").predict_proba(10 * X)
    assert told[0].filename == __file__
    assert p.shape == (300, 4) and (0 <= p).all() and (p <= 1).all() and (p[:, 0] <= p[:, 1] + 1e-9).all()
    valid = (Y[:, 0] <= Y[:, 1]) & (Y.sum(axis=1) <= 3)
    assert model.score(X[valid], Y[valid]) > 0.5


def test_labels_are_zero_or_one():
    with pytest.raises(ValueError, match=r"y\[0, 1\] = 2: a label is 0 or 1"):
        DeepSaDeMultilabel().fit(rows(3), [[0, 2], [1, 1], [0, 0]])


def test_orderings_are_orderings_for_any_input():
    X = rows(600)
    places = X.argsort(axis=1).argsort(axis=1) + 1
    model = DeepSaDeRanker(hidden=(32,), epochs=40).fit(X, places)
    assert model.certified_ and model.items_ == ["y0", "y1", "y2", "y3"]
    y = model.set_params(outside="ignore").predict(10 * rows(2000))
    assert (np.sort(y, axis=1) == [1, 2, 3, 4]).all()
    assert model.score(X, places) > 0.3
    p = model.predict_proba(X)
    assert p.shape == (600, 4, 4) and np.allclose(p.sum(axis=2), 1)


def test_rules_of_ones_own_do_not_undo_the_ordering():
    X = rows(600)
    places = X.argsort(axis=1).argsort(axis=1) + 1
    model = DeepSaDeRanker(rules=["not at[0, 0]"], hidden=(32,), epochs=20, outside="ignore").fit(X, places)
    y = model.predict(10 * rows(2000))
    assert model.certified_ and (np.sort(y, axis=1) == [1, 2, 3, 4]).all() and (y[:, 0] > 1).all()
    assert model.get_params()["rules"] == ["not at[0, 0]"]


def test_places_are_checked():
    with pytest.raises(ValueError, match="a place is a whole number from 1 to 2"):
        DeepSaDeRanker().fit(rows(2), [[1, 2], [0, 1]])
    with pytest.raises(ValueError, match="every place from 1 to 2 once"):
        DeepSaDeRanker().fit(rows(2), [[1, 2], [1, 1]])
