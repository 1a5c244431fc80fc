"""What an estimator is beside its network enters; a table for estimator.json leaves, and the other way round."""

import json

import numpy as np

from ._settings import domains_of, level_text, rules_of

#: The file of a saved folder that holds it; only this package reads it.
NAME = "estimator.json"


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
        except (TypeError, ValueError):
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
    return tuple(value) if name == "hidden" else value


def _is_json(value):
    try:
        return json.loads(json.dumps(value)) == value
    except (TypeError, ValueError):
        return False
