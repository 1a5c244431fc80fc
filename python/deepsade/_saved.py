"""What an estimator is beside its network enters; a table for estimator.json leaves, and the other way round."""

import errno
import json
import os
import re

import numpy as np

from . import _core
from ._settings import domains_of, level_text, rules_of

#: The file of a saved folder that holds it; only this package reads it.
NAME = "estimator.json"


def free_folder(folder, force):
    """Makes a folder; one that holds what would be replaced is an error, unless ``force`` replaces it."""
    held = None if force else _core.occupied(folder)
    if held is not None:
        raise FileExistsError(errno.EEXIST, f"the folder holds {held}; name another, or replace it with force=True", os.fspath(folder))
    os.makedirs(folder, exist_ok=True)


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


def read(text, path):
    """The table of an estimator.json, each part of the kind that :func:`described` writes."""
    told = parsed(text, path)
    parameters, classes = (told.get("parameters", {}), told.get("classes")) if isinstance(told, dict) else (None, None)
    fits = isinstance(parameters, dict) and isinstance(told.get("flat", False), bool)
    if fits and classes is not None:
        # A type of so many bytes a value that the memory is full is no type of classes.
        fits = isinstance(classes, dict) and isinstance(classes.get("values"), list)
        fits = fits and re.fullmatch(r"[<>|=]?(O|[?biufUS]\d{0,4})", str(classes.get("dtype"))) is not None
        # And a whole number that is no float64 has no text as rules write it.
        fits = fits and all(isinstance(v, str) or isinstance(v, (int, float)) and abs(v) < 2**64 for v in classes["values"])
    if fits and "rules" in parameters:
        pairs = parameters["rules"]
        fits = isinstance(pairs, list) and all(isinstance(r, list) and len(r) == 2 and _texts(r) for r in pairs)
    # Where `hidden` is None the shape of the data decides.
    if fits and parameters.get("hidden") is not None:
        fits = isinstance(parameters["hidden"], list) and all(isinstance(n, int) for n in parameters["hidden"])
    if not fits:
        raise _core.ModelError(f"{path}: not what save() writes; without the file the model can still be loaded")
    return told


def _texts(values):
    return all(isinstance(value, str) for value in values)


def kind_of(classes):
    """Classes with their type."""
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def restore(estimator, told):
    """Gives an estimator of a model its parameters and classes back; what does not fit it is left out."""
    known = estimator.get_params(deep=False)
    for name, value in told.get("parameters", {}).items():
        if name in known:
            setattr(estimator, name, _shaped(name, value))
    if "classes" in told:
        try:
            dtype = np.dtype(told["classes"]["dtype"])
            estimator.classes_ = np.array(told["classes"]["values"], dtype=dtype)
        except (TypeError, ValueError, OverflowError):
            pass
    if "flat" in told:
        estimator._flat = bool(told["flat"])


def fitting(told, schema):
    """The same without classes that are not the model's: its file may have been changed for another."""
    task, classes = schema["task"], told.get("classes")
    if classes is not None and [level_text(c) for c in classes["values"]] != task.get("classes"):
        told = {key: value for key, value in told.items() if key != "classes"}
    return told


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


def _shaped(name, value):
    if name == "rules":
        return [tuple(rule) for rule in value]
    return tuple(value) if name == "hidden" and value is not None else value


def _is_json(value):
    try:
        return json.loads(json.dumps(value)) == value
    except (TypeError, ValueError):
        return False
