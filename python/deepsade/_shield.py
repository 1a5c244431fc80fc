"""A model of any library and rules enter; the model leaves with an output step behind it that keeps the rules, proved."""

import json
import os
import pathlib
import warnings
from collections import namedtuple

import numpy as np

from . import _core
from ._convert import converted
from ._estimator import OutsideDomainWarning, UncertifiedWarning, names_of
from ._frame import columns_of, is_frame, table_of
from ._functions import Answer, write_files
from ._graph import Graph
from ._settings import domain_of, domains_of, level_text, number, question, rules_of
from ._subject import existing, targets_of

#: The score of a forbidden class is below this, and no other.
_FORBIDDEN = -(2.0**30) * 1.5
#: The least probability whose logarithm is taken.
_LEAST = 1e-37
#: So many rows are enough to see whether a converted model is the model.
_COMPARED = 200

Flags = namedtuple("Flags", ["in_domain", "ok"])


def shield(model, rules, *, data=None, target=None, domain=None, features=None, classes=None, output=None, threshold=None,
           task=None, target_names=None, probabilities=None):
    """Puts an output step behind any model, so that rules hold for every input, proved, within the ONNX graph.

    The model is converted to ONNX and carried over as it is. Where its outputs obey the rules they are given unchanged; elsewhere the
    step gives ones that do.

    Parameters
    ----------
    model : estimator, module, bytes or path
        A fitted model or Pipeline of scikit-learn, LightGBM or XGBoost (also a Booster), a ``torch.nn.Module``, or an ONNX file. Its
        library's converter is needed: ``pip install 'deepsade[shield]'``.
    rules : as an estimator takes them, or the path of a rule file
    data : frame or array, optional
        Rows that the model was fitted on: they say the columns and the domain, and whether the converted model is the model.
    target : frame, series or array, optional
        What it was fitted to: says what rules call the outputs, and where these usually are. Default: the model's own outputs.
    domain : dict, (lo, hi) or range, optional
        As an estimator takes it, or one for all features. Without ``data`` it must state all features in the order of the columns.
    features : list of str, optional
        What rules call the columns of an array. Default: ``x0``, ``x1``, ...; of images, row by row.
    classes : list, optional
        The classes in the order of the model's outputs. Default: those of the model.
    output : str, optional
        The tensor of the graph that holds the outputs, where several could.
    threshold : float, optional
        From where on a label is present or, for two classes and one number a row, the second is meant: 0 for logits, 0.5 for
        probabilities.
    task : {"regression", "binary", "multiclass", "multilabel", "ranking"}, optional
        Default: what the model, ``classes`` and ``target`` say.
    target_names : str or list of str, optional
        What rules call the outputs. Default: the names of ``target``, or "y"; "y0", "y1", ... for several.
    probabilities : bool, optional
        Whether the model's numbers are probabilities and not logits; for ``predict_proba``. Default: what is known of the model.

    Returns
    -------
    Shielded

    >>> import numpy as np, deepsade
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, (100, 1))
    >>> model = LinearRegression().fit(X, 3 * X[:, 0] + rng.normal(size=100))
    >>> safe = deepsade.shield(model, ["y <= 2 * x0 + 1"], data=X)   # doctest: +SKIP
    >>> safe.certified_, bool((safe.predict(X) <= 2 * X[:, 0] + 1).all())   # doctest: +SKIP
    (True, True)
    """
    path, told = _rule_file(rules, domain=domain, classes=classes, task=task, target_names=target_names)
    framed = is_frame(data) if data is not None else hasattr(model, "feature_names_in_")
    rows = data if data is None or framed else _array(data)
    names = _feature_names(model, rows, features, domain)
    stated = _stated(domain, names)
    flat = rows if framed or rows is None else rows.reshape(len(rows), -1)
    levels = {name: table["levels"] for name, table in stated.items() if "levels" in table}
    table, declared = (None, {}) if rows is None else table_of(flat, names, levels)
    for name, known in declared.items():
        stated.setdefault(name, {"kind": "category", "levels": known})
    texts = {*(() if table is None else table.texts), *levels}
    example = None if rows is None else Graph(None, names).matrix(flat)[:2] if framed and not texts else rows[:2]
    found = converted(model, names, texts, framed, example)
    task = _Task(found, target, task or told.get("kind"), classes or told.get("classes"), target_names or told.get("targets"))
    if threshold is None and task.kind == "multilabel" and (found.probabilities if probabilities is None else probabilities):
        threshold = 0.5
    graph = Graph(found.onnx, names)
    own = None if rows is None else _own_outputs(graph, data, output)
    if own is not None:
        _compared(model, found, own, data)
        task.fits(own, threshold)
    if path is None and task.kind != "regression" and set(stated) >= set(names):
        # Nothing is left for rows to say.
        table = None
    if table is not None:
        task.add(table, own)
    asked = path if path is not None else _question(rules, task, stated, table)
    native = _core.shield(found.onnx, asked, table, output, None if threshold is None else number("threshold", threshold))
    return Shielded(native, task.classes_for(json.loads(native.schema)["task"]), task.flat, threshold,
                    found.probabilities if probabilities is None else bool(probabilities))


def _rule_file(rules, **described):
    """The path of a rule file and what it says of the task, if it is one."""
    if not (isinstance(rules, os.PathLike) or (isinstance(rules, str) and rules.endswith(".toml"))):
        rules_of(rules)
        return None, {}
    given = [f"{name}=" for name, value in described.items() if value is not None]
    if given:
        raise ValueError(f"{', '.join(given)} can't be given beside a rule file: state it there")
    path = pathlib.Path(existing(rules))
    return path, json.loads(_core.settings(path.read_text(encoding="utf-8")))["task"]


def _question(rules, task, stated, table):
    if table is None:
        return question(rules, task.kind, task.names, task.texts, stated)
    asked = {"kind": task.kind, "targets": task.names}
    if task.texts is not None:
        asked["classes"] = task.texts
    return json.dumps({"task": asked, "features": stated, "rule": rules_of(rules)})


def _array(data):
    data = np.asarray(data.detach().cpu() if hasattr(data, "detach") else data)
    if data.ndim < 2:
        raise ValueError(f"expected rows of numbers, got {data.ndim} dimension(s)")
    return data


def _feature_names(model, rows, features, domain):
    if features is not None:
        if is_frame(rows):
            raise ValueError("features= names the columns of an array; a frame names its own")
        names = [str(name) for name in features]
    elif is_frame(rows):
        names = columns_of(rows)
    elif rows is not None:
        names = [f"x{k}" for k in range(int(np.prod(rows.shape[1:])))]
    elif hasattr(domain, "items"):
        names = [str(name) for name in domain]
    elif hasattr(model, "feature_names_in_"):
        names = [str(name) for name in model.feature_names_in_]
    elif hasattr(model, "n_features_in_"):
        names = [f"x{k}" for k in range(model.n_features_in_)]
    else:
        names = []
    if rows is not None and not is_frame(rows) and len(names) != np.prod(rows.shape[1:]):
        raise ValueError(f"features names {len(names)} columns, data has {int(np.prod(rows.shape[1:]))}")
    wanted = [str(n) for n in getattr(model, "feature_names_in_", ())]
    if is_frame(rows) and wanted and wanted != names:
        raise ValueError(f"data has the columns {names}; the model was fitted on {wanted}")
    return names


def _stated(domain, names):
    """The tables of the features, in the order of the columns."""
    if domain is None or hasattr(domain, "items"):
        stated = domains_of(domain)
        return {name: stated[name] for name in [*[n for n in names if n in stated], *[n for n in stated if n not in names]]}
    if not names:
        raise ValueError("one domain for all features needs to know them: name them by features=..., or give data")
    return {name: domain_of(domain, name) for name in names}


def _own_outputs(graph, data, output):
    """What the model gives for the rows, as a matrix; None where that is for the engine to find."""
    numbers = [name for name, holds in graph.outputs.items() if holds]
    name = output if output is not None else numbers[0] if len(numbers) == 1 else None
    if name not in numbers:
        return None
    own = np.asarray(graph.run(data, [name])[0])
    rows = len(data)
    return own.reshape(rows, -1) if own.size % rows == 0 and own.shape[0] == rows else own


def _compared(model, found, own, data):
    """Refuses a conversion that predicts otherwise than the model: converters have their limits."""
    predict = getattr(model, "predict_proba" if found.classes is not None else "predict", None)
    if predict is None or not hasattr(model, "get_params"):
        return
    theirs = np.asarray(predict(data[:_COMPARED]), dtype=np.float64)
    theirs = theirs.reshape(len(theirs), -1)
    ours = own[: len(theirs)].astype(np.float64)
    if ours.shape == theirs.shape:
        size = np.abs(theirs).max(initial=1e-6)
        # Trees may take the other branch in float32, for a few rows.
        near = (np.abs(ours - theirs) <= 1e-3 * size).all(axis=1).mean()
        if near >= 0.5:
            return
        words = f"of {len(theirs)} rows only {near:.0%} get the same outputs"
    else:
        words = f"it gives {ours.shape[1]} outputs for {theirs.shape[1]}, or not one row a row"
    raise _core.ModelError(f"the model can't be converted to ONNX by its library's converter: {words}")


class _Task:
    """What is predicted, as far as model, target and words say it."""

    def __init__(self, found, target, kind, classes, names):
        self.target = None if target is None else np.asarray(target.detach().cpu() if hasattr(target, "detach") else target)
        y = self.target
        if classes is not None and found.classes is not None and _texts(classes) != _texts(found.classes):
            raise ValueError(f"classes={list(classes)!r}: the model's are {list(found.classes)!r}, in this order")
        if kind is None:
            kind = found.kind or ("multilabel" if y is not None and y.ndim == 2 and _is_labels(y) else None)
        known = classes if classes is not None else found.classes
        if kind in (None, "binary", "multiclass") and known is None and y is not None and y.ndim == 1:
            known = np.unique(y) if found.probabilities or y.dtype.kind not in "fiu" or kind is not None else None
        self.classes = None if known is None or kind in ("multilabel", "regression", "ranking") else np.asarray(known)
        if kind is None:
            kind = "regression" if self.classes is None else "binary" if len(self.classes) == 2 else "multiclass"
        self.kind, self.texts = kind, None if self.classes is None else _texts(self.classes)
        self.names = None
        if names is not None:
            self.names = [names] if isinstance(names, str) else [str(n) for n in names]
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

    def add(self, table, own):
        """The targets of the rows; where there are none, what the model gives."""
        rows = len(table)
        if self.names is None:
            raise ValueError("what do rules call the outputs? Give target, or target_names")
        if self.classes is not None:
            index = {text: k for k, text in enumerate(self.texts)}
            values = [self.texts[0]] * rows if self.target is None else _texts(self.target)
            odd = next((k for k, text in enumerate(values) if text not in index), None)
            if odd is not None:
                raise ValueError(f"target[{odd}] = '{values[odd]}' is none of the classes {self.texts}")
            table.add_levels(self.names[0], self.texts, np.array([index[text] for text in values], dtype=np.int64))
            return
        if self.target is not None:
            y = self.target.reshape(len(self.target), -1).astype(np.float64)
        elif self.kind == "regression" and own is not None:
            y = own.astype(np.float64)
        else:
            y = np.tile(np.arange(1.0, len(self.names) + 1) if self.kind == "ranking" else np.zeros(len(self.names)), (rows, 1))
        if y.shape != (rows, len(self.names)):
            raise ValueError(f"target is {y.shape[0]} x {y.shape[1]}; expected {rows} rows and the columns {self.names}")
        table.add_matrix(self.names, np.ascontiguousarray(y))

    def classes_for(self, task):
        """The classes as Python has them, in the order of the outputs."""
        stated = task.get("classes")
        if stated is None or self.classes is None:
            return None if stated is None else np.array(stated)
        if _texts(self.classes) != stated:
            raise ValueError(f"the rules state the classes {stated}, the model gives {self.texts}: state `classes` in that order")
        return self.classes


def _texts(values):
    return [level_text(v) for v in np.asarray(values).tolist()]


def _is_labels(y):
    return y.dtype.kind in "biuf" and bool(((y == 0) | (y == 1)).all())


class Shielded:
    """A model whose rules hold for every input of the domain, proved; predictions are those of the ONNX graph itself.

    ``onnx`` is its file, ``certified_``, ``verdict_`` and ``certificate_`` say what was proved, ``made_`` how outputs are made to
    obey, ``output_`` which tensor of the model is read; ``classes_``, ``target_names_``, ``feature_names_`` and ``domain_`` what the
    rules are about.
    """

    def __init__(self, native, classes, flat, threshold, probabilities):
        self.onnx, self.certificate_, self.rule_file_ = native.onnx, native.certificate, native.rules
        self.certified_, self.verdict_ = native.certified, native.verdict
        self.made_, self.output_ = native.made, native.output
        schema = json.loads(native.schema)
        self._schema, self._task = schema, schema["task"]["kind"]
        self.target_names_ = targets_of(schema["task"])
        self.feature_names_ = [feature["name"] for feature in schema["features"]]
        if classes is not None:
            self.classes_ = classes
        self._flat, self._threshold, self._probabilities = flat, threshold, probabilities
        levels = {f["name"]: f["domain"]["levels"] for f in schema["features"] if f["domain"]["kind"] == "category"}
        self._graph = Graph(self.onnx, self.feature_names_, levels)
        if not self.certified_:
            warnings.warn(f"the rules are not proved: {self.verdict_}", UncertifiedWarning, stacklevel=3)

    @property
    def domain_(self):
        """For each feature its domain, as the certificate has it."""
        return {feature["name"]: feature["domain"] for feature in self._schema["features"]}

    def _run(self, X):
        """`y`, `in_domain` and `ok`, which come first, and what comes behind them."""
        return self._graph.run(X, self._graph.outputs)

    def _inside(self, X, stacklevel=3):
        y, inside, ok, *scores = self._run(X)
        outside = int((~inside).sum())
        if outside:
            words = f"{outside} of {len(y)} rows lie outside the domain, where the rules are not guaranteed; flags(X) says which"
            warnings.warn(words, OutsideDomainWarning, stacklevel=stacklevel + 1)
        return y, ok, scores

    def predict(self, X):
        """For each row its class, its numbers (float32 values, as float64), 0 or 1 a label, or the place of each item."""
        y, _, _ = self._inside(X)
        if self._task == "regression":
            y = y.astype(np.float64)
            return y[:, 0] if self._flat and y.shape[1] == 1 else y
        if self._task == "multilabel":
            return (y > 0.5).astype(np.int64)
        if self._task == "ranking":
            at = y.reshape(len(y), len(self.target_names_), -1) > 0.5
            return np.where(at.any(axis=2), at.argmax(axis=2) + 1, 0)
        return self.classes_.take(y.argmax(axis=1))

    def predict_proba(self, X):
        """For each row the probability of each class among those that the rules allow there.

        Logits: their softmax. Probabilities p: the softmax of log p, so p divided by what is allowed of it; a p of 0 counts as 1e-37.
        A row of which the step had to fall back has its class for certain. Of labels: the probability of each label among the sets
        that obey, of independent labels with the model's probabilities.
        """
        y, ok, scores = self._inside(X)
        if self._task == "multilabel":
            return self._of_labels(X, scores)
        if not hasattr(self, "classes_"):
            raise AttributeError(f"a {self._task} has no probabilities of classes")
        allowed = y > _FORBIDDEN
        z = self._logarithms(y.astype(np.float64), allowed)
        z[~allowed] = -np.inf
        chosen = np.zeros_like(z)
        chosen[np.arange(len(y)), y.argmax(axis=1)] = 1.0
        with np.errstate(invalid="ignore"):
            p = np.exp(z - z.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
        return np.where(ok[:, None], p, chosen)

    def _logarithms(self, y, allowed):
        """Logits, or logarithms of probabilities."""
        if self._threshold is None:
            return np.log(np.clip(y, _LEAST, None)) if self._probabilities else y
        # One number a row became the distances from the threshold.
        one = np.where(allowed[:, 1], y[:, 1] + self._threshold, self._threshold - y[:, 0])
        if self._probabilities:
            return np.log(np.clip(np.column_stack([1 - one, one]), _LEAST, None))
        return np.column_stack([np.zeros(len(one)), one])

    def _of_labels(self, X, scores):
        if not scores:
            raise AttributeError("the graph does not give its scores, so there are no probabilities")
        z = scores[0].astype(np.float64)
        if self._threshold is not None:
            z = z + self._threshold
        if self._probabilities:
            p = np.clip(z, _LEAST, 1 - 2.0**-53)
            z = np.log(p) - np.log1p(-p)
        if not hasattr(self, "_rules"):
            domain = {
                f["name"]: f["domain"] if f["domain"]["kind"] == "category" else
                {"kind": f["domain"]["kind"], "range": [f["domain"]["lo"], f["domain"]["hi"]]} for f in self._schema["features"]
            }
            rules = json.loads(_core.settings(self.rule_file_))["rule"]
            self._rules = _core.Rules(question([(r["name"], r["text"]) for r in rules], self._task, self.target_names_, None, domain))
        return self._rules.log_valid(z, self._graph.matrix(X).reshape(len(z), -1))[1]

    def flags(self, X):
        """For each row ``in_domain``, whether the rules are guaranteed, and ``ok``, whether the step had not to fall back."""
        _, inside, ok, *_ = self._run(X)
        return Flags(inside, ok)

    def fallbacks_(self, X):
        """For each row whether its outputs are the step's fallback: neither the model's, nor the nearest to them."""
        return ~self.flags(X).ok

    def check(self):
        """What the exact checker says to the certificate, as :func:`deepsade.check`."""
        fields, words = _core.check(self.onnx, None, self.certificate_)
        return Answer(words, json.loads(fields))

    def save(self, folder):
        """Writes model.onnx, certificate.json and rules.toml for ``deepsade check``."""
        write_files(folder, self.onnx, self.certificate_, self.rule_file_)
