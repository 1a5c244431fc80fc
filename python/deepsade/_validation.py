"""Rows to learn from and rows that choose enter; one table's worth of rows leaves, and names for what is said beside them."""

import numpy as np
from sklearn.utils.validation import check_consistent_length

from ._frame import is_frame, readable, stacked


def with_validation(X, y, eval_set):
    """The rows to learn from with those of `eval_set` below them."""
    pairs = eval_set if isinstance(eval_set, list) else [eval_set]
    if len(pairs) != 1 or not isinstance(pairs[0], (tuple, list)) or len(pairs[0]) != 2:
        raise ValueError("eval_set must be (X, y), or a list of one such pair")
    other_X, other_y = readable(pairs[0][0], "the X of eval_set"), readable(pairs[0][1], "the y of eval_set")
    check_consistent_length(X, y)
    check_consistent_length(other_X, other_y)
    name = getattr(y, "name", None)
    X = stacked(X, other_X, "the X of eval_set")
    y = stacked(y, other_y, "the y of eval_set") if is_frame(y) else np.concatenate([np.asarray(y), np.asarray(other_y)])
    if isinstance(name, str) and name:
        # What rules call it stands in its name.
        y = _Named(y, name)
    return X, y


class _Named(np.ndarray):
    """An array with the name of the series that it was."""

    def __new__(cls, values, name):
        self = np.asarray(values).view(cls)
        self.name = name
        return self


def unused(name, names):
    """A name that no column has."""
    while name in names:
        name += "_"
    return name
