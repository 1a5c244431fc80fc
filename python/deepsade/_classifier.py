"""One of several classes."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ._estimator import DeepSaDeEstimator, names_of
from ._settings import level_text


class DeepSaDeClassifier(ClassifierMixin, DeepSaDeEstimator):
    """A classifier whose rules hold for every input of its domain, proved.

    >>> import numpy as np
    >>> from deepsade import DeepSaDeClassifier
    >>> rng = np.random.default_rng(1)
    >>> X = np.column_stack([rng.uniform(0, 10_000, 300), rng.integers(0, 2, 300)])
    >>> loan = np.where(X[:, 0] * (0.5 + X[:, 1]) + rng.normal(0, 1500, 300) > 5000, "Y", "N")
    >>> rule = "x0 < 5000 and x1 == 0 => loan == 'N'"
    >>> model = DeepSaDeClassifier(rules=[rule], target_names="loan", domain={"x1": range(0, 2)}, hidden=(8,), epochs=30)
    >>> model.fit(X, loan).certified_
    True
    >>> print(model.predict([[4999.0, 0]])[0])
    N
    """

    __doc__ += DeepSaDeEstimator.__doc__.partition("\n")[2]

    def _read_target(self, y):
        values = np.asarray(y)
        name = names_of(y, values.ravel(), self.target_names)
        y = column_or_1d(values, warn=True)
        check_classification_targets(y)
        if y.dtype.kind == "O" and any(v is None or v != v for v in y):
            raise ValueError("Input y contains NaN.")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class, {self.classes_.tolist()}; a classifier needs two or more")
        kind = "binary" if len(self.classes_) == 2 else "multiclass"
        return kind, [(name[0], [level_text(c) for c in self.classes_.tolist()], codes.ravel())]

    def _take_schema(self, task):
        if not hasattr(self, "classes_"):
            self.classes_ = np.array(task["classes"])

    def predict(self, X):
        """The class of each row."""
        model = self._model()
        classes, outside = model.classes(self._rows(X))
        if outside:
            self._say_outside(outside, len(classes))
        return self.classes_.take(classes)

    def predict_proba(self, X):
        """The probability of each class of each row; with ``enforce="decode"`` among those that obey the rules."""
        model = self._model()
        rows = self._rows(X)
        if model.place is not None:
            return model.probabilities(rows)[:, :-1]
        scores = model.scores(rows).astype(np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores
