"""Sets of labels, and orderings of items."""

import numpy as np
from sklearn.utils.validation import check_array

from . import _core
from ._estimator import PARAMETERS, DeepSaDeEstimator, names_of


class _Columns(DeepSaDeEstimator):
    """A column of y for each label or item."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def _columns(self, y, kind, good, words):
        values = np.asarray(y)
        if values.ndim == 1:
            values = values.reshape(-1, 1)
        names = names_of(y, values, self.target_names)
        values = check_array(values, dtype=np.float64, input_name="y")
        if len(names) != values.shape[1]:
            raise ValueError(f"target_names names {len(names)} targets, y has {values.shape[1]}")
        bad = np.argwhere(~good(values))
        if len(bad):
            row, column = bad[0]
            raise ValueError(f"y[{row}, {column}] = {values[row, column]:g}: {words}")
        return kind, [(name, None, values[:, k]) for k, name in enumerate(names)]

    def _outputs(self, X):
        y, outside = self._model().outputs(self._rows(X))
        if outside:
            self._say_outside(outside, len(y), stacklevel=4)
        return y

    def _probabilities(self, X):
        """Where sets are decoded those among the sets that obey, else of each label on its own."""
        p, outside = self._model().probabilities(self._rows(X))
        if outside:
            self._say_outside(outside, len(p), stacklevel=4)
        return p[:, :-1]

    def score(self, X, y):
        """The share of rows of which everything is predicted right."""
        return float((self.predict(X) == np.asarray(y).reshape(len(y), -1)).all(axis=1).mean())


def places_of(at):
    """The place of each item, from 1 on, of rows x items x places; 0 where there is none."""
    return np.where(at.any(axis=2), at.argmax(axis=2) + 1, 0)


class DeepSaDeMultilabel(_Columns):
    """Sets of labels that obey the rules for every input, proved; y has a column of 0 and 1 for each label.

    Rules say ``label[k]`` for the k-th label, counted from 0, or its name.

    >>> import numpy as np
    >>> from deepsade import DeepSaDeMultilabel
    >>> rng = np.random.default_rng(3)
    >>> X = rng.normal(size=(200, 3))
    >>> Y = (X > 0).astype(int)
    >>> model = DeepSaDeMultilabel(rules=["count(label[i] for i in 0..3) <= 2"], hidden=(8,), epochs=20).fit(X, Y)
    >>> model.certified_, int(model.predict(X).sum(axis=1).max()) <= 2
    (True, True)
    """

    __doc__ = (__doc__ or "") + PARAMETERS

    def _read_target(self, y):
        return self._columns(y, "multilabel", lambda v: (v == 0) | (v == 1), "a label is 0 or 1")

    def _take_schema(self, task):
        self.labels_ = list(task["labels"])

    def predict(self, X):
        """For each row 0 or 1 a label."""
        return (self._outputs(X) > 0).astype(np.int64)

    def predict_proba(self, X):
        """For each row the probability of each label; where sets are decoded, among those that obey the rules."""
        return self._probabilities(X)


class DeepSaDeRanker(_Columns):
    """Orderings of items that obey the rules for every input, proved; y holds the place of each item, from 1 on.

    Rules say ``at[i, p]`` for "item i is on place p", both counted from 0. Besides ``rules``, each item always has one place and
    each place one item.

    >>> import numpy as np
    >>> from deepsade import DeepSaDeRanker
    >>> rng = np.random.default_rng(4)
    >>> X = rng.normal(size=(200, 3))
    >>> places = X.argsort(axis=1).argsort(axis=1) + 1
    >>> model = DeepSaDeRanker(hidden=(16,), epochs=30).fit(X, places)
    >>> model.certified_, sorted(model.predict(X[:1])[0].tolist())
    (True, [1, 2, 3])
    """

    __doc__ = (__doc__ or "") + PARAMETERS

    def _rules_about(self, features, kind, targets, classes):
        stated = super()._rules_about(features, kind, targets, classes)
        texts = {rule["text"] for rule in stated}
        return stated + [{"name": name, "text": text} for name, text in _core.orderings(len(targets)) if text not in texts]

    def _read_target(self, y):
        shape = np.asarray(y).shape
        n = shape[1] if len(shape) == 2 else 1
        return self._columns(y, "ranking", lambda v: (v >= 1) & (v <= n) & (v % 1 == 0), f"a place is a whole number from 1 to {n}")

    def _take_schema(self, task):
        self.items_ = list(task["items"])

    def predict(self, X):
        """For each row the place of each item, from 1 on; 0 where a model of the command line has none for it."""
        y = self._outputs(X)
        return places_of(y.reshape(len(y), len(self.items_), -1) > 0)

    def predict_proba(self, X):
        """For each row and item the probability of each place (rows x items x places), among orderings that obey the rules."""
        p = self._probabilities(X)
        n = len(self.items_)
        return p.reshape(-1, n, n)
