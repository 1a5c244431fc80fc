"""What was told of an estimator and the model that it is about enter; the estimator leaves, and what of it all is not the model's."""

import json

import numpy as np

from . import _core
from ._settings import domains_of, level_text, names_in
from ._subject import given_features, targets_of

#: The parameters that state rules: either all of them say the model's, or none is told.
RULES = ("rules", "increasing", "decreasing", "unaffected", "monotonic_cst")


def estimator_class(schema):
    """The estimator of such a task."""
    from ._classifier import DeepSaDeClassifier
    from ._labels import DeepSaDeMultilabel, DeepSaDeRanker
    from ._regressor import DeepSaDeRegressor

    kinds = {"regression": DeepSaDeRegressor, "multilabel": DeepSaDeMultilabel, "ranking": DeepSaDeRanker}
    return kinds.get(schema["task"]["kind"], DeepSaDeClassifier)


def restore(estimator, told):
    """Gives an estimator of a model its parameters and classes back; names that it has no parameter for are left out."""
    known = estimator.get_params(deep=False)
    for name, value in told.get("parameters", {}).items():
        if name in known:
            setattr(estimator, name, _shaped(name, value))
    if "classes" in told:
        estimator.classes_ = np.array(told["classes"]["values"], dtype=np.dtype(told["classes"]["dtype"]))
    if "flat" in told:
        estimator._flat = bool(told["flat"])
    return estimator


def _shaped(name, value):
    if name == "rules":
        return [tuple(rule) for rule in value]
    return tuple(value) if name == "hidden" and value is not None else value


def strange(told, model):
    """What is not the model's: "classes_" and names of parameters, each with words."""
    schema, parameters = json.loads(model.schema), told.get("parameters", {})
    task, found = schema["task"], {}
    classes = told.get("classes")
    if classes is not None and [level_text(c) for c in classes["values"]] != task.get("classes"):
        found["classes_"] = f"the classes are {classes['values']}, the model's {task.get('classes')}"

    def look(names, differs):
        names = [name for name in names if name in parameters and name not in found]
        words = _said(differs) if names else None
        found.update(dict.fromkeys(names, words) if words else {})

    estimator = estimator_class(schema)
    for name, value in parameters.items():
        look([name], lambda: _unreadable(restore(estimator(), {"parameters": {name: value}}), name))
    stated = restore(estimator(), {"parameters": parameters})
    look(["target_names"], lambda: _other_targets(stated.target_names, targets_of(task)))
    look(["domain"], lambda: _other_domain(stated.domain, model.schema))
    look(RULES, lambda: _other_rules(stated, schema, json.loads(model.rules)))
    return found


def without(told, found):
    """The same without what was found strange."""
    kept = {key: value for key, value in told.items() if key != "classes" or "classes_" not in found}
    if "parameters" in kept:
        kept["parameters"] = {name: value for name, value in kept["parameters"].items() if name not in found}
    return kept


def _said(differs):
    """Words about a difference; what can't be read is one, too."""
    try:
        return differs()
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        return str(error)


def _unreadable(estimator, name):
    try:
        estimator._readable()
        return None
    except (TypeError, ValueError) as error:
        value = f"{name} = {getattr(estimator, name)!r}"
        return str(error) if value in str(error) else f"{value}: {error}"


def _other_targets(stated, own):
    if stated is not None and names_in(stated) != own:
        return f"target_names = {stated!r}, the model's are {own}"
    return None


def _other_rules(estimator, schema, own):
    task = schema["task"]
    features = [feature["name"] for feature in given_features(schema)]
    said = estimator._rules_about(features, task["kind"], targets_of(task), task.get("classes"))
    if said == own:
        return None
    other = next((rule for rule in said if rule not in own), None)
    if other is None:
        return f"it states {len(said)} rules, the model {len(own)}"
    of_model = next((rule["text"] for rule in own if rule["name"] == other["name"]), None)
    words = "has no such rule" if of_model is None else f"has {of_model!r}"
    return f"the rule {other['name']!r} is {other['text']!r}; the model {words}"


def _other_domain(stated, schema):
    own = json.loads(_core.stated(schema, []))["features"]
    for name, table in domains_of(stated).items():
        key = next((key for key in ("range", "levels", "order", "kind") if name in own and _differs(key, table, own[name])), None)
        if key is not None:
            return f"domain[{name!r}] has the {key} {table[key]}, the model's is {own[name].get(key)}"
    return None


def _differs(key, stated, own):
    if stated.get(key) is None:
        return False
    if key == "range":
        # The model has float32 numbers.
        return not np.allclose(stated["range"], own.get("range", [np.nan] * 2), rtol=1e-6, atol=1e-37)
    if key == "kind":
        return "step" not in stated and "order" not in stated and stated["kind"] != own["kind"]
    # A level that stands for missing values may come behind those that are stated.
    levels = [level_text(v) for v in stated[key]]
    return levels != own.get(key, [])[: len(levels)] or ("missing" not in stated and len(levels) != len(own[key]))
