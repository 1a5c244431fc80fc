"""A converted model, a target and words about it enter; what is predicted leaves: the task, its names, its classes."""

import numpy as np

from . import _core
from ._estimator import names_of
from ._frame import add_classes, readable, texts_of
from ._settings import kind_for, names_in


class Target:
    """What is predicted, as far as model, target and words say it."""

    def __init__(self, found, target, kind, classes, names):
        self.target = None if target is None else np.asarray(target.detach().cpu() if hasattr(target, "detach") else readable(target, "target"))
        y = self.target
        own = None if found.classes is None else np.asarray(found.classes).tolist()
        #: Whether the model only numbers its classes, as XGBoost wants them, and `classes` are their names in this order.
        self.named = classes is not None and own is not None and _names_of_numbers(texts_of(classes), texts_of(own))
        if classes is not None and own is not None and not self.named and texts_of(classes) != texts_of(own):
            raise ValueError(f"classes={list(classes)!r}: the model's are {own!r}, in this order")
        if kind is None:
            kind = found.kind or ("multilabel" if y is not None and y.ndim == 2 and _is_labels(y) else None)
        known = classes if classes is not None else found.classes
        if kind in (None, "binary", "multiclass") and known is None and y is not None and y.ndim == 1:
            known = np.unique(y) if found.probabilities or y.dtype.kind not in "fiu" or kind is not None else None
        self.classes = None if known is None or kind in ("multilabel", "regression", "ranking") else np.asarray(known)
        if kind is None:
            kind = kind_for(self.classes)
        self.kind, self.texts = kind, None if self.classes is None else texts_of(self.classes)
        self.names = None
        if names is not None:
            self.names = names_in(names)
        elif y is not None:
            self.names = names_of(target, y, None)
        elif self.classes is not None:
            self.names = ["y"]
        self.flat = self.kind == "regression" and (y is None or y.ndim == 1)

    @property
    def width(self):
        """How many outputs there are, if that is known."""
        if self.classes is not None:
            return len(self.classes)
        count = None if self.names is None else len(self.names)
        return count if self.kind != "ranking" or count is None else count * count

    def fits(self, own, threshold):
        """Names what has none yet; refuses outputs of another width."""
        found = own.shape[1]
        if self.kind == "binary" and found == 1:
            if threshold is None:
                words = "the model has one number a row for two classes: say from where on the second is meant"
                raise _core.ModelError(f"{words} (threshold=0 for logits, 0.5 for probabilities)")
            return
        if self.names is None and self.kind in ("regression", "multilabel"):
            self.names = ["y"] if found == 1 else [f"y{k}" for k in range(found)]
        if self.width not in (None, found):
            raise _core.ModelError(f"the model has {found} outputs a row, the rules speak of {self.width}")

    def add(self, table, own, whole=()):
        """The targets of the rows; where there are none, what the model gives, rounded for those that are whole numbers."""
        rows = len(table)
        if self.names is None:
            raise ValueError("what do rules call the outputs? Give target, or target_names")
        if self.classes is not None:
            values = [self.texts[0]] * rows if self.target is None else self._spelled(texts_of(self.target))
            add_classes(table, self.names[0], self.texts, values, "target")
            return
        if self.target is not None:
            y = self.target.reshape(len(self.target), -1).astype(np.float64)
        elif self.kind == "regression" and own is not None:
            y = own.astype(np.float64)
            if y.shape[1] == len(self.names):
                rounded = [name in whole for name in self.names]
                y[:, rounded] = np.rint(y[:, rounded])
        else:
            y = np.tile(np.arange(1.0, len(self.names) + 1) if self.kind == "ranking" else np.zeros(len(self.names)), (rows, 1))
        if y.shape != (rows, len(self.names)):
            raise ValueError(f"target is {y.shape[0]} x {y.shape[1]}; expected {rows} rows and the columns {self.names}")
        table.add_matrix(self.names, np.ascontiguousarray(y))

    def _spelled(self, values):
        """Names in place of a model's numbers."""
        names = dict(zip(_numbers(self.texts), self.texts)) if self.named else {}
        coded = not set(values) <= set(self.texts) and set(values) <= set(names)
        odd = next((k for k, value in enumerate(values) if value not in self.texts), None)
        if odd is not None and not coded and self.texts == _numbers(self.texts):
            words = f"the model's classes are the numbers {', '.join(self.texts)}: name them, in this order, by classes=[...]"
            raise ValueError(f"target[{odd}] = '{values[odd]}', and {words}")
        return [names[value] for value in values] if coded else values

    def classes_for(self, task):
        """The classes as Python has them, in the order of the outputs."""
        stated = task.get("classes")
        if stated is None or self.classes is None:
            return None if stated is None else np.array(stated)
        if texts_of(self.classes) != stated:
            raise ValueError(f"the rules state the classes {stated}, the model gives {self.texts}: state `classes` in that order")
        return self.classes


def _numbers(classes):
    return [str(k) for k in range(len(classes))]


def _names_of_numbers(classes, own):
    """Whether these can be names of 0, 1, ... in turn: the same numbers in another order are a mistake."""
    return own == _numbers(own) and len(classes) == len(own) and set(classes) != set(own)


def _is_labels(y):
    return y.dtype.kind in "biuf" and bool(((y == 0) | (y == 1)).all())
