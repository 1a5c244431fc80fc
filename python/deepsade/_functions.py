"""Check, verify, adversity, repair and load: for estimators of this package, ONNX files and their bytes."""

import json
import os

import numpy as np

from . import _core
from ._frame import columns_of, is_frame, table_of
from ._progress import Progress
from ._settings import question


class Answer(dict):
    """The fields of the command's ``--json``; printed, its words."""

    def __init__(self, words, fields):
        super().__init__(fields)
        self._words = words

    def __str__(self):
        return self._words


class Verification(Answer):
    """What was decided: ``verdict`` is "proved", "refuted" (with ``rule``, ``input`` and ``output``) or "unknown" (with ``why``).

    Proved: ``certificate`` is the proof about the ONNX file ``model``.
    """

    certificate = None
    model = None
    rule_file = None

    def save(self, folder):
        """Writes model.onnx, rules.toml and certificate.json for ``deepsade check``."""
        if self.certificate is None:
            raise ValueError(f"nothing was proved: the verdict is {self['verdict']}")
        _write(folder, self.model, self.certificate, self.rule_file)


def check(model, rules=None, certificate=None, *, real=False):
    """Asks the exact checker whether a certificate proves the rules of a model for every input of its domain.

    Parameters
    ----------
    model : estimator, path of a folder or an ONNX file, or bytes
    rules : optional
        A rule file (path), or rules as an estimator takes them. Default: rules.toml of the folder, or those that the model carries.
    certificate : str or path, optional
        Its text or file. Default: that of the estimator or the folder.
    real : bool
        Whether a proof for exact real arithmetic is enough.

    Returns a dict with ``verdict`` "accepted" or "rejected" (with ``step`` and ``reason``); printed, its words.
    """
    folder = os.fspath(model) if isinstance(model, (str, os.PathLike)) and os.path.isdir(model) else None
    if certificate is None:
        if folder is not None:
            certificate = os.path.join(folder, "certificate.json")
        else:
            certificate = getattr(model, "certificate_", None)
        if certificate is None:
            raise ValueError("there is no certificate: no rules were enforced, or it must be given")
    if isinstance(certificate, os.PathLike) or not str(certificate).lstrip().startswith("{"):
        with open(certificate, encoding="utf-8") as file:
            certificate = file.read()
    if rules is None and folder is not None:
        rules = _path(os.path.join(folder, "rules.toml"))
    onnx = onnx_of(model)
    fields, words = _core.check(onnx, _rules(rules, onnx), certificate, real)
    return Answer(words, json.loads(fields))


def verify(model, rules=None, *, domain=None, task="regression", target_names=None, classes=None, timeout=60.0, arithmetic="float32",
           threads=None, output=None):
    """Decides for any network whether rules hold for every input: proved, refuted with a counter-example, or unknown.

    Parameters
    ----------
    model : estimator, path of a folder or an ONNX file, or bytes
        A network of this package or of another tool. One of another tool does not name its columns: then ``domain`` must state
        the features, in their order, ``task`` what is predicted, and ``target_names`` (and ``classes``) what rules call it.
    rules : optional
        A rule file (path), or rules as an estimator takes them. Default: those that the model carries.
    timeout : float
        Seconds to try.
    arithmetic : {"float32", "real"}
    output : str, optional
        A tensor at which to stop reading the network: the scores before a Softmax, say.

    Returns
    -------
    Verification
    """
    onnx = onnx_of(model)
    asked = _rules(rules, onnx, domain, task, target_names, classes)
    fields, words, rule_file, proof = _core.verify(onnx, asked, timeout, arithmetic, threads, output)
    answer = Verification(words, json.loads(fields))
    answer.rule_file = rule_file
    if proof is not None:
        answer.model, answer.certificate = proof
    return answer


class Adversity(dict):
    """The fields of ``deepsade adversity --json``; ``rows`` holds what was found near each row."""

    def __init__(self, rows, outside, radius):
        count = {near: sum(r["near"] == near for r in rows) for near in ("broken", "safe", "undecided")}
        share = 100.0 / len(rows)
        first = next((r for r in rows if r["near"] == "broken"), None)
        super().__init__(
            adversity=share * count["broken"],
            at_most=share * (count["broken"] + count["undecided"]),
            radius=radius,
            rows=len(rows),
            outside_domain=outside,
            example=None if first is None else {k: first[k] for k in ("rule", "input", "output")},
            **count,
        )
        self.near = rows


def adversity(model, X, rules=None, *, radius=0.1, timeout=10.0, threads=None, verbose=False, domain=None, task="regression",
              target_names=None, classes=None):
    """For every row of X, looks for an input near it that breaks a rule: the Adversity Index.

    ``radius`` is a share of each feature's range, ``timeout`` seconds for each row; the rest as in :func:`verify`. Returns a dict;
    its attribute ``near`` says for each row inside the domain "broken" (with an input), "safe" or "undecided".
    """
    onnx = onnx_of(model)
    rows = _rows_of(model, X, onnx)
    with Progress(verbose, "row") as progress:
        lines, outside = _core.adversity(
            onnx, _rules(rules, onnx, domain, task, target_names, classes), rows, radius, timeout, threads, progress
        )
    if not lines:
        raise ValueError(f"no row of X lies in the domain ({outside} lie outside)")
    return Adversity([json.loads(line) for line in lines], outside, radius)


def repair(model, rules=None, X=None, y=None, *, domain=None, task="regression", target_names=None, classes=None):
    """Changes the last layer of a network as little as possible so that rules hold for every input, with proof.

    With rows X and their labels y, predictions on these change little; without, on inputs drawn from the domain.
    Returns a fitted estimator with ``repair_``, the fields of ``deepsade repair --json``. Raises ``InfeasibleError`` where the last
    layer can't do it; decoding then can (:func:`deepsade.from_torch` with ``enforce="decode"``).
    """
    onnx = onnx_of(model)
    asked = _rules(rules, onnx, domain, task, target_names, classes)
    table = None
    if X is not None and y is not None:
        table = _labelled(model, X, y, onnx, domain, task, target_names, classes)
    fields, rule_file, (repaired, certificate) = _core.repair(onnx, asked, table)
    estimator = estimator_of(_core.Model(repaired), certificate, True, rule_file)
    estimator.repair_ = json.loads(fields)
    return estimator


def load(path):
    """The fitted estimator of a folder that ``deepsade train`` or ``save`` wrote, or of an ONNX file of this program.

    With a certificate beside the model the checker is asked anew, and ``certified_`` is what it says.
    """
    path = os.fspath(path)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    model = _core.Model(onnx_of(path))
    rules, certificate = (os.path.join(folder, name) for name in ("rules.toml", "certificate.json"))
    text, certified, rule_file = None, False, ""
    if os.path.isdir(path) and os.path.exists(certificate):
        with open(certificate, encoding="utf-8") as file:
            text = file.read()
        certified = json.loads(_core.check(model.onnx, _path(rules), text)[0])["verdict"] == "accepted"
    if os.path.isdir(path) and os.path.exists(rules):
        with open(rules, encoding="utf-8") as file:
            rule_file = file.read()
    estimator = estimator_of(model, text, certified, rule_file)
    summary, log = (os.path.join(folder, name) for name in ("summary.json", "run.jsonl"))
    if os.path.isdir(path) and os.path.exists(summary) and os.path.exists(log):
        with open(summary, encoding="utf-8") as file:
            estimator.summary_ = json.load(file)
        with open(log, encoding="utf-8") as file:
            estimator.history_ = [json.loads(line) for line in file]
    return estimator


def estimator_of(model, certificate, certified, rule_file):
    """The fitted estimator of a model."""
    from ._classifier import DeepSaDeClassifier
    from ._labels import DeepSaDeMultilabel, DeepSaDeRanker
    from ._regressor import DeepSaDeRegressor

    schema = json.loads(model.schema)
    kind = {"regression": DeepSaDeRegressor, "multilabel": DeepSaDeMultilabel, "ranking": DeepSaDeRanker}
    rules = [(r["name"], r["text"]) for r in json.loads(model.rules)]
    estimator = kind.get(schema["task"]["kind"], DeepSaDeClassifier)(rules=rules)
    names = [f["name"] for f in schema["features"]]
    estimator.n_features_in_ = len(names)
    if names != [f"x{k}" for k in range(len(names))]:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._take(model, certificate, certified, rule_file)
    estimator.margins_ = {}
    if certified:
        said = json.loads(_core.check(model.onnx, None, certificate)[0])
        estimator.margins_ = {r["name"]: r["margin"] for r in said.get("rules", ())}
    return estimator


def onnx_of(model):
    """The bytes of a model's ONNX file."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "model_"):
        return model.model_.onnx
    if isinstance(model, _core.Model):
        return model.onnx
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        with open(os.path.join(path, "model.onnx") if os.path.isdir(path) else path, "rb") as file:
            return file.read()
    raise TypeError(f"expected a fitted estimator, a path or the bytes of an ONNX file, not {type(model).__name__}")


def _path(path):
    import pathlib

    return pathlib.Path(path)


def _rules(rules, onnx, domain=None, task="regression", target_names=None, classes=None):
    """What the native module reads: None, JSON, or a path."""
    if rules is None:
        return None
    if isinstance(rules, os.PathLike) or (isinstance(rules, str) and rules.endswith(".toml")):
        return _path(rules)
    if isinstance(target_names, str):
        target_names = [target_names]
    try:
        schema = json.loads(_core.Model(onnx).schema)
    except _core.ModelError:
        if domain is None or target_names is None:
            raise _core.ModelError(
                "the model does not name its columns: state its features, in their order, by domain={...}, and target_names"
            ) from None
    else:
        task = schema["task"]["kind"]
    return question(rules, task, target_names, classes, domain)


def _features(model, onnx, domain):
    try:
        schema = json.loads(_core.Model(onnx).schema)
    except _core.ModelError:
        return list(domain or ()), {}
    levels = {f["name"]: f["domain"]["levels"] for f in schema["features"] if f["domain"]["kind"] == "category"}
    return [f["name"] for f in schema["features"]], levels


def _rows_of(model, X, onnx):
    if is_frame(X):
        names, levels = _features(model, onnx, None)
        return table_of(X, columns_of(X), levels)[0]
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"expected a matrix of rows, got {X.ndim} dimension(s)")
    names, levels = _features(model, onnx, None)
    return table_of(X, names, levels)[0] if levels else np.ascontiguousarray(X)


def _labelled(model, X, y, onnx, domain, task, target_names, classes):
    names, levels = _features(model, onnx, domain)
    if not is_frame(X):
        X = np.asarray(X, dtype=np.float64)
    table = table_of(X, names, levels)[0]
    try:
        task = json.loads(_core.Model(onnx).schema)["task"]
    except _core.ModelError:
        names = [target_names] if isinstance(target_names, str) else list(target_names)
        task = {"target": names[0], "classes": classes} if classes is not None else {"targets": names}
    if "classes" in task:
        from ._settings import level_text

        known = [level_text(c) for c in task["classes"]]
        codes = np.array([known.index(level_text(v)) for v in np.asarray(y).tolist()], dtype=np.int64)
        table.add_levels(task["target"], known, codes)
        return table
    names = task.get("targets", task.get("labels", task.get("items")))
    values = np.asarray(y, dtype=np.float64).reshape(len(table), -1)
    table.add_matrix(names, np.ascontiguousarray(values))
    return table


def _write(folder, model, certificate, rules):
    os.makedirs(folder, exist_ok=True)
    for name, content in (("model.onnx", model), ("rules.toml", rules.encode()), ("certificate.json", certificate.encode())):
        _core.write_whole(os.path.join(os.fspath(folder), name), content)
