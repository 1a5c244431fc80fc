"""Check, verify, adversity, repair and load: for estimators of this package, ONNX files and their bytes."""

import json
import os
import pathlib
import time
import warnings

import numpy as np

from . import _core, _restored, _saved
from ._answer import Answer
from ._progress import Progress
from ._subject import existing, given_features, labelled, onnx_of, rows_of, rules_for, schema_of, targets_of, threads_of, traced_or_onnx


class Verification(Answer):
    """What was decided: ``verdict`` is "proved", "refuted" (with ``rule``, ``input`` and ``output``) or "unknown" (with ``why``).

    Proved: ``certificate`` is the proof about the ONNX file ``model``. Both are also there where the verdict is "unknown" only because the
    file that was read rounds differently in places: deploy ``model`` instead.
    """

    certificate = None
    model = None
    rule_file = None

    def save(self, folder, force=False):
        """Writes model.onnx, rules.toml and certificate.json for ``deepsade check``; ``force`` replaces a model that is there."""
        if self.certificate is None:
            raise ValueError(f"nothing was proved: the verdict is {self['verdict']}")
        write_files(folder, self.model, self.certificate, self.rule_file, force)


def check(model, rules=None, certificate=None, *, real=False, allow_library=False):
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
    allow_library : bool
        Without effect: every proof is about the ONNX file. Kept for programs that say it.

    Returns a dict with ``verdict`` "accepted" or "rejected" (with ``step`` and ``reason``); printed, its words.
    """
    folder = existing(model) if isinstance(model, (str, os.PathLike)) else None
    folder = folder if folder is not None and os.path.isdir(folder) else None
    if not (certificate is None or isinstance(certificate, (str, os.PathLike))):
        raise TypeError(f"certificate must be its text or its file, not {type(certificate).__name__}")
    if certificate is None:
        if folder is not None:
            certificate = os.path.join(folder, _core.CERTIFICATE)
        else:
            certificate = getattr(model, "certificate_", None)
        if certificate is None:
            raise ValueError("there is no certificate: no rules were enforced, or it must be given")
    if isinstance(certificate, os.PathLike) or not str(certificate).lstrip().startswith("{"):
        with open(certificate, encoding="utf-8") as file:
            certificate = file.read()
    if rules is None and folder is not None:
        rules = pathlib.Path(folder, _core.RULES)
    onnx = onnx_of(model)
    fields, words = _core.check(onnx, rules_for(rules, onnx), certificate, real)
    return Answer(words, json.loads(fields))


def verify(model, rules=None, *, domain=None, task=None, target_names=None, classes=None, timeout=_core.VERIFY_SECONDS, arithmetic="float32",
           threads=None, output=None, example_input=None):
    """Decides for any network whether rules hold for every input: proved, refuted with a counter-example, or unknown.

    Parameters
    ----------
    model : estimator, path of a folder or an ONNX file, bytes, or torch.nn.Module
        A network of this package or of another tool. A module is exported first (docs/onnx.md says what can be read); one logit for
        two ``classes`` means the second where it is above 0.
    rules : optional
        A rule file (path), or rules as an estimator takes them. Default: those that the model carries, for its own domain.
    domain, task, target_names, classes : optional
        Only beside ``rules`` that are no file. A model of this package knows them; of them ``domain`` may state another range for a
        feature. A model of another tool does not name its columns: then ``domain`` must state the features, in their order, ``task``
        what is predicted (default: a regression, or one of ``classes``), and ``target_names`` what rules call it.
    timeout : float
        Seconds to try.
    arithmetic : {"float32", "real"}
    output : str, optional
        A tensor at which to stop reading the network: the scores before a Softmax, say.
    example_input : tensor or array, optional
        Rows to trace a module with. Default: rows of as many columns as ``domain`` states.

    Returns
    -------
    Verification
    """
    onnx = traced_or_onnx(model, domain, task, classes, example_input)
    asked = rules_for(rules, onnx, domain, task, target_names, classes)
    fields, words, rule_file, proof = _core.verify(onnx, asked, timeout, arithmetic, threads_of(threads), output)
    answer = Verification(words, json.loads(fields))
    answer.rule_file = rule_file
    if proof is not None:
        answer.model, answer.certificate = proof
    return answer


class Adversity(dict):
    """The fields of ``deepsade adversity --json``; ``rows`` holds what was found near each row."""

    def __init__(self, rows, outside, radius, seconds):
        super().__init__(json.loads(_core.adversity_index([json.dumps(row) for row in rows], radius, outside, seconds)))
        self.near = rows


def adversity(model, X, rules=None, *, radius=_core.RADIUS, timeout=_core.ADVERSITY_SECONDS, threads=None, verbose=False, domain=None, task=None,
              target_names=None, classes=None):
    """For every row of X, looks for an input near it that breaks a rule: the Adversity Index.

    ``radius`` is a share of each feature's range, ``timeout`` seconds for each row; the rest as in :func:`verify`. Returns a dict;
    ``"adversity"`` is a percentage, 0 to 100: of the rows inside the domain those near which a rule is broken (``"at_most"`` counts
    the undecided among them). Its attribute ``near`` says for each such row "broken" (with an input), "safe" or "undecided".
    """
    onnx = traced_or_onnx(model, domain, task, classes)
    asked = rules_for(rules, onnx, domain, task, target_names, classes)
    rows = rows_of(X, onnx)
    begun = time.perf_counter()
    with Progress(verbose, "row") as progress:
        lines, outside = _core.adversity(onnx, asked, rows, radius, timeout, threads_of(threads), progress)
    if not lines:
        raise ValueError(f"no row of X lies in the domain ({outside} lie outside)")
    return Adversity([json.loads(line) for line in lines], outside, radius, time.perf_counter() - begun)


def repair(model, rules=None, X=None, y=None, *, domain=None, task=None, target_names=None, classes=None):
    """Changes the last layer of a network as little as possible so that rules hold for every input, with proof.

    With rows X, and their labels y if they are known, predictions on these change little; without, on inputs drawn from the domain.
    Of the rules only those given hold afterwards: those that the model carries must be named again, or a warning says that they are
    dropped. The rest is as in :func:`verify`. Returns a fitted estimator with ``repair_``, the fields of ``deepsade repair --json``.
    Raises ``ContradictionError`` where no output obeys the rules for some input, and ``InfeasibleError`` where the last layer can't do
    it; decoding then can (:func:`deepsade.from_torch` with ``enforce="decode"``).
    """
    onnx = traced_or_onnx(model, domain, task, classes)
    asked = rules_for(rules, onnx, domain, task, target_names, classes)
    if X is None and y is not None:
        raise ValueError("y needs X: labels without their rows say nothing")
    table = None if X is None or y is None else labelled(X, y, onnx, domain, target_names, classes)
    rows = rows_of(X, onnx) if X is not None and y is None else None
    (fields, outside), rule_file, (repaired, certificate) = _core.repair(onnx, asked, table, rows)
    if outside:
        warnings.warn(f"{outside} rows lie outside the domain or are incomplete; they do not count", UserWarning, stacklevel=2)
    told = _restored.without(_told(model, onnx), _restored.RULES)
    if classes is not None and "classes" not in told:
        told["classes"] = _saved.kind_of(np.array(classes))
    estimator = estimator_of(_core.Model(repaired), certificate, rule_file, told=told)
    estimator.repair_ = json.loads(fields)
    if rules is not None and schema_of(onnx) is not None:
        kept = {r["text"] for r in json.loads(estimator.model_.rules)}
        dropped = [r["name"] for r in json.loads(_core.Model(onnx).rules) if r["text"] not in kept]
        if dropped:
            words = f"rules that the model carried are not among those given, and need not hold any more: {', '.join(dropped)}"
            warnings.warn(words, UserWarning, stacklevel=2)
    return estimator


def _told(model, onnx):
    """What is known of an estimator beside its network, whose file this is."""
    if hasattr(model, "model_") and hasattr(model, "get_params"):
        return _saved.described(model)
    path = _beside(os.fspath(model), _saved.NAME) if isinstance(model, (str, os.PathLike)) else None
    return {} if path is None else _saved.read(_text(path), path, _core.Model(onnx))


def _beside(path, name):
    """The file of this name in a model's folder; None if there is none. A network of another name may be of another folder."""
    folder = path if os.path.isdir(path) else os.path.dirname(path) if os.path.basename(path) == _core.MODEL else None
    found = None if folder is None else os.path.join(folder, name)
    return found if found is not None and os.path.exists(found) else None


def _text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        raise _core.ModelError(f"{path}: not UTF-8 text") from None


def load(path):
    """The fitted estimator of a folder that ``deepsade train`` or ``save`` wrote, or of an ONNX file of this program.

    The checker is asked anew, and ``certified_`` is what it says to the certificate of the folder; a file that is called model.onnx
    stands for its folder. Parameters are those of ``save``, or those that the command line's rules.toml states. Raises ``ModelError``
    for an estimator.json that was written for another model, or says other rules, domains or classes than the model.
    """
    path = existing(path)
    model = _core.Model(onnx_of(path))
    rules, certificate, summary, log = (_beside(path, n) for n in (_core.RULES, _core.CERTIFICATE, _core.SUMMARY, _core.LOG))
    rule_file = "" if rules is None else _text(rules)
    told = _told(path, model.onnx)
    if not told and rule_file:
        said = json.loads(_core.settings(rule_file))
        parameters = {**said["network"], **said["train"]}
        if parameters["update"] != "paper":
            del parameters["paper"]
        # The engine has these in float32: 0.001, not 0.0010000000474974513.
        parameters.update({n: float(str(np.float32(parameters[n]))) for n in ("learning_rate", "momentum", "weight_decay", "average")})
        told = {"parameters": parameters}
    estimator = estimator_of(model, certificate and _text(certificate), rule_file, rules and pathlib.Path(rules), told)
    if summary is not None and log is not None:
        said = _saved.parsed(_text(summary), summary)
        # Those of another model: a proof was written into the folder of its training.
        if not isinstance(said, dict) or said.get("model_sha256") in (None, _saved.sha256_of(model.onnx)):
            estimator.summary_ = said
            estimator.history_ = [_saved.parsed(line, log) for line in _text(log).splitlines()]
    return estimator


def estimator_of(model, certificate=None, rule_file="", rules=None, told=None):
    """The fitted estimator of a model; the checker is asked about `rules` (a path), or those that the model carries."""
    schema = json.loads(model.schema)
    stated = [(r["name"], r["text"]) for r in json.loads(model.rules)]
    names = targets_of(schema["task"])
    estimator = _restored.estimator_class(schema)(rules=stated, target_names=names[0] if "classes" in schema["task"] else names)
    _restored.restore(estimator, _restored.without(told or {}, _restored.strange(told or {}, model)))
    features = [f["name"] for f in given_features(schema)]
    estimator.n_features_in_ = len(features)
    if features != [f"x{k}" for k in range(len(features))]:
        estimator.feature_names_in_ = np.array(features, dtype=object)
    said, words = {}, None
    if certificate is not None:
        fields, words = _core.check(model.onnx, rules, certificate)
        said = json.loads(fields)
    estimator._take(model, certificate, said.get("verdict") == "accepted", rule_file)
    estimator.verdict_ = words
    estimator.margins_ = {r["name"]: r["margin"] for r in said.get("rules", ()) if "margin" in r} if estimator.certified_ else {}
    return estimator


def write_files(folder, model, certificate, rules, force=False):
    _saved.free_folder(folder, force)
    _core.write_proof(folder, model, rules, certificate)
    _saved.forget_another(folder, model)
