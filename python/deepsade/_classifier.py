"""One of several classes."""

import inspect

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ._estimator import PARAMETERS, DeepSaDeEstimator, names_of
from ._settings import kind_for, level_text


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

    __doc__ = (__doc__ or "") + PARAMETERS

    def __init__(self, rules=(), *, classes=None, class_weight=None, **parameters):
        super().__init__(rules, **parameters)
        self.classes = classes
        self.class_weight = class_weight

    # scikit-learn reads the names of parameters here.
    __init__.__signature__ = inspect.Signature(
        [
            *inspect.signature(DeepSaDeEstimator.__init__).parameters.values(),
            inspect.Parameter("classes", inspect.Parameter.KEYWORD_ONLY, default=None),
            inspect.Parameter("class_weight", inspect.Parameter.KEYWORD_ONLY, default=None),
        ]
    )

    def _read_target(self, y):
        values = np.asarray(y)
        name = names_of(y, values.ravel(), self.target_names)
        y = column_or_1d(values, warn=True)
        if y.dtype.kind == "O" and any(v is None or v != v for v in y):
            raise ValueError("Input y contains NaN.")
        check_classification_targets(y)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        if self.classes is None:
            self.classes_, codes = np.unique(y, return_inverse=True)
        else:
            self.classes_, codes = self._stated_classes(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class, {self.classes_.tolist()}; a classifier needs two or more")
        named = self.classes_ if self.classes is None else np.unique(np.asarray(self.classes))
        return kind_for(self.classes_), [(name[0], [level_text(c) for c in named.tolist()], codes.ravel())]

    def _stated_classes(self, y):
        """The classes in their order, and the index of each value of y."""
        classes = np.unique(np.asarray(self.classes))
        index = {c: k for k, c in enumerate(classes.tolist())}
        codes = [index.get(v, -1) for v in y.tolist()]
        numbers = np.arange(len(classes))
        if y.dtype.kind in "iu" and all(code == -1 for code in codes) and np.array_equal(np.unique(y), numbers):
            # A meta-estimator has numbered the classes, in their order.
            return numbers, y.astype(np.int64)
        if -1 in codes:
            row = codes.index(-1)
            raise ValueError(
                f"y[{row}] = {y[row].item() if hasattr(y[row], 'item') else y[row]!r} is none of the classes {classes.tolist()}; "
                "did another estimator encode y anew? Then state rules and classes in its codes, or let it have rows of every class"
            )
        return classes, np.array(codes, dtype=np.int64)

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
        p, outside = self._model().probabilities(self._rows(X))
        if outside:
            self._say_outside(outside, len(p))
        return p[:, :-1]
