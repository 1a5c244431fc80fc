"""What an estimator is beside its network enters; a table for estimator.json leaves, and the other way round."""

import errno
import hashlib
import json
import os
import re

import numpy as np

from . import _core
from ._restored import strange, without
from ._settings import domains_of, rules_of

#: The file of a saved folder that holds it; only this package reads it.
NAME = "estimator.json"
#: The files of such a folder; they belong together.
_TOGETHER = (_core.MODEL, _core.RULES, _core.CERTIFICATE, _core.SUMMARY, _core.LOG, "split.csv", NAME)


def free_folder(folder, force):
    """Makes a folder; one that holds what would be replaced is an error, unless ``force`` replaces it."""
    held = None if force else _core.occupied(folder)
    if held is not None:
        raise FileExistsError(errno.EEXIST, f"the folder holds {held}; name another, or replace it with force=True", os.fspath(folder))
    os.makedirs(folder, exist_ok=True)


def not_over_a_model(path):
    """Refuses to write a single file in place of one of a model's folder."""
    folder, name = os.path.split(os.fspath(path))
    others = any(os.path.exists(os.path.join(folder, other)) for other in _TOGETHER if other != name)
    if name in _TOGETHER and os.path.exists(path) and others:
        words = "this would replace one of the files of a model, which belong together; name another file"
        raise FileExistsError(errno.EEXIST, words, os.fspath(path))


def forget_another(folder, onnx):
    """Removes an estimator.json that was written for another model than the one that the folder has now."""
    path = os.path.join(os.fspath(folder), NAME)
    try:
        with open(path, encoding="utf-8") as file:
            named = json.load(file)["model_sha256"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return
    if named != sha256_of(onnx):
        os.remove(path)


def described(estimator):
    """Parameters and the kind of the classes, as far as JSON can hold them."""
    told = {"estimator": type(estimator).__name__, "parameters": {}}
    for name, value in estimator.get_params(deep=False).items():
        try:
            value = _plain(name, value)
        except (TypeError, ValueError):
            continue
        if _is_json(value):
            told["parameters"][name] = value
    classes = getattr(estimator, "classes_", None)
    if classes is not None and _is_json(classes.tolist()):
        told["classes"] = kind_of(classes)
    if hasattr(estimator, "_flat"):
        told["flat"] = estimator._flat
    return told


def parsed(text, path):
    """JSON that somebody may have changed: what can't be read is a ``ModelError`` that names the file."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _core.ModelError(f"{path}: no JSON that can be read ({type(error).__name__})") from None


def belonging(told, model):
    """The same for a file beside the model that it names: without parameters that were changed since, which are not the model's."""
    return {"model_sha256": sha256_of(model.onnx), **without(told, strange(told, model))}


def sha256_of(onnx):
    return hashlib.sha256(onnx).hexdigest()


def read(text, path, model):
    """The table of an estimator.json, each part of the kind that :func:`described` writes.

    A file that names its model must fit it; one that doesn't, of an earlier version, gives what fits.
    """
    told = _shape_of(parsed(text, path), path)
    named = told.pop("model_sha256", None)
    if named is not None and named != sha256_of(model.onnx):
        raise _core.ModelError(
            f"{path}: written for another model than the one beside it, whose SHA-256 is {sha256_of(model.onnx)[:12]}... "
            "(was a save interrupted?); save the model again, or remove this file: the model can be loaded without it"
        )
    found = strange(told, model)
    if found and named is not None:
        raise _core.ModelError(f"{path}: {next(iter(found.values()))}; without the file the model can still be loaded")
    return without(told, found)


def _shape_of(told, path):
    parameters, classes = (told.get("parameters", {}), told.get("classes")) if isinstance(told, dict) else (None, None)
    fits = isinstance(parameters, dict) and isinstance(told.get("flat", False), bool) and isinstance(told.get("model_sha256", ""), str)
    if fits and classes is not None:
        fits = isinstance(classes, dict) and _are_classes(classes.get("values"), classes.get("dtype"))
    if fits and "rules" in parameters:
        pairs = parameters["rules"]
        fits = isinstance(pairs, list) and all(isinstance(r, list) and len(r) == 2 and _texts(r) for r in pairs)
    # Where `hidden` is None the shape of the data decides.
    if fits and parameters.get("hidden") is not None:
        fits = isinstance(parameters["hidden"], list) and all(isinstance(n, int) for n in parameters["hidden"])
    if not fits:
        raise _core.ModelError(f"{path}: not what save() writes; without the file the model can still be loaded")
    return told


def _are_classes(values, dtype):
    """Whether an array of this type holds just these values: another type may cut texts short, or make one of two numbers."""
    # A type of so many bytes a value that the memory is full is no type of classes.
    if not isinstance(values, list) or re.fullmatch(r"[<>|=]?(O|[?bifuU]\d{0,4})", str(dtype)) is None:
        return False
    # And a whole number that is no float64 has no text as rules write it.
    if not all(isinstance(v, str) or isinstance(v, (int, float)) and abs(v) < 2**64 for v in values):
        return False
    try:
        held = np.array(values, dtype=np.dtype(dtype)).tolist()
    except (TypeError, ValueError, OverflowError):
        return False
    return [(type(v), v) for v in held] == [(type(v), v) for v in values]


def _texts(values):
    return all(isinstance(value, str) for value in values)


def kind_of(classes):
    """Classes with their type."""
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def _plain(name, value):
    if name == "rules":
        return [[r["name"], r["text"]] for r in rules_of(value)]
    if name == "domain" and value is not None:
        return domains_of(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (tuple, list, np.ndarray)):
        return [_plain(None, v) for v in value]
    return value


def _is_json(value):
    try:
        return json.loads(json.dumps(value)) == value
    except (TypeError, ValueError):
        return False
