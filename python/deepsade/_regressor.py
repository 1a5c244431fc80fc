"""Numbers."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, column_or_1d

from ._estimator import PARAMETERS, DeepSaDeEstimator, names_of


class DeepSaDeRegressor(RegressorMixin, DeepSaDeEstimator):
    """A regression of one or several numbers whose rules hold for every input of its domain, proved.

    >>> import numpy as np
    >>> from deepsade import DeepSaDeRegressor
    >>> rng = np.random.default_rng(2)
    >>> income = rng.uniform(1, 100, (300, 1))
    >>> spent = income * rng.dirichlet([1, 2, 3], 300)[:, :2]
    >>> model = DeepSaDeRegressor(rules=["food + rent <= x0", "food >= 0", "rent >= 0"], target_names=["food", "rent"],
    ...                           hidden=(8,), epochs=20).fit(income, spent)
    >>> model.certified_, model.summary_["gate"]
    (True, 'x0')
    """

    __doc__ = (__doc__ or "") + PARAMETERS

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _read_target(self, y):
        values = np.asarray(y)
        several = values.ndim == 2
        names = names_of(y, values, self.target_names)
        if several:
            values = check_array(values, dtype=np.float64, input_name="y")
        else:
            values = check_array(column_or_1d(values), ensure_2d=False, dtype=np.float64, input_name="y").reshape(-1, 1)
        if len(names) != values.shape[1]:
            raise ValueError(f"target_names names {len(names)} targets, y has {values.shape[1]}")
        self._flat = not several
        return "regression", [(name, None, values[:, k]) for k, name in enumerate(names)]

    def _take_schema(self, task):
        self.target_names_ = list(task["targets"])
        if not hasattr(self, "_flat"):
            self._flat = len(self.target_names_) == 1

    def predict(self, X):
        """The numbers of each row: float32 values, handed over as float64."""
        y, outside = self._model().outputs(self._rows(X))
        if outside:
            self._say_outside(outside, len(y))
        y = y.astype(np.float64)
        return y[:, 0] if self._flat else y
