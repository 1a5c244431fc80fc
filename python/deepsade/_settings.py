"""Python's parameters enter; the tables of a rule file leave, as the engine reads them."""

import json
import math
import numbers
import operator

from . import _core


def rules_of(rules):
    """A list of names and texts: of texts, of (name, text) pairs, or of a mapping from names to texts."""
    if isinstance(rules, str):
        raise TypeError("rules must be a list of texts, not one text: write [text]")
    if hasattr(rules, "items"):
        rules = list(rules.items())
    out = []
    try:
        rules = list(() if rules is None else rules)
    except TypeError:
        raise TypeError(f"rules must be a list of texts, not {type(rules).__name__}") from None
    for k, rule in enumerate(rules):
        pair = (f"rule {k + 1}", rule) if isinstance(rule, str) else rule
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
            raise TypeError(f"rules[{k}] = {rule!r}: must be a text, or a pair of name and text")
        out.append({"name": pair[0], "text": pair[1]})
    return out


def whole(name, value):
    """A whole number; 3.0 is one, 3.5 and True are none."""
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, numbers.Integral)) and number(name, value).is_integer():
        value = int(value)
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {value!r}: must be a whole number") from None


def number(name, value):
    """A number, as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} = {value!r}: must be a number") from None
    except OverflowError:
        raise ValueError(f"{name}: a number beyond the range of float64") from None


def word(name, value):
    """A text; the engine knows which."""
    if not isinstance(value, str):
        raise TypeError(f"{name} = {value!r}: must be a text")
    return value


def layers_of(hidden):
    """Units of each hidden layer."""
    if isinstance(hidden, (str, numbers.Number)) or not hasattr(hidden, "__iter__"):
        raise TypeError(f"hidden = {hidden!r}: must hold the units of each hidden layer, as in hidden=(50, 30)")
    return [whole(f"hidden[{k}]", units) for k, units in enumerate(hidden)]


def class_weight_of(stated):
    """What rows of each class count: "balanced", or a number for each class."""
    if isinstance(stated, str):
        return one_of("class_weight", stated, ("balanced",))
    if not hasattr(stated, "items"):
        raise TypeError(f"class_weight = {stated!r}: must be 'balanced', or a dict from classes to numbers")
    return {level_text(c): number(f"class_weight[{c!r}]", w) for c, w in stated.items()}


def one_of(name, value, choices):
    """A word that must be one of these."""
    if value not in choices:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(map(repr, choices))}")
    return value


def domain_of(stated, name):
    """One feature's table: (lo, hi) for a real, a range for whole numbers, a list of levels for a category, or the table itself."""
    if isinstance(stated, dict):
        return dict(stated)
    if isinstance(stated, range):
        if stated.step != 1 or not stated:
            raise ValueError(f"domain['{name}'] = {stated}: a range of whole numbers must go up by 1 and hold one")
        return {"kind": "integer", "range": [stated[0], stated[-1]]}
    if isinstance(stated, tuple) and len(stated) == 2 and all(isinstance(v, numbers.Real) for v in stated):
        ends = [number(f"domain['{name}']", v) for v in stated]
        if not all(math.isfinite(v) for v in ends):
            raise ValueError(f"domain['{name}'] = {stated}: both ends must be finite; state the largest range that can occur")
        return {"kind": "real", "range": ends}
    if isinstance(stated, (list, tuple)):
        return {"kind": "category", "levels": [level_text(v) for v in stated]}
    raise TypeError(
        f"domain['{name}'] must be (lo, hi) for a real, range(lo, hi + 1) for whole numbers, or a list of levels for a category"
    )


def level_text(value):
    """A level or class as rules write it: 1, not 1.0; any number as the engine spells those of data."""
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return _core.number_text(value)
    return str(value)


def names_in(names):
    """One name, or several, as a list."""
    return [names] if isinstance(names, str) else [str(name) for name in names]


def kind_for(classes):
    """The task where it is not stated: numbers, or so many classes."""
    return "regression" if classes is None else "binary" if len(classes) == 2 else "multiclass"


def domains_of(domain):
    """The tables of all stated features, in their order."""
    if domain is not None and not hasattr(domain, "items"):
        raise TypeError(f"domain must be a dict from features to domains, not {type(domain).__name__}")
    return {str(name): domain_of(stated, name) for name, stated in (domain or {}).items()}


def question(rules, kind, targets=None, classes=None, domain=None, one_hot="full"):
    """A rule file without data or training, as JSON."""
    task = {"kind": kind}
    if targets is not None:
        task["targets"] = names_in(targets)
    if classes is not None:
        task["classes"] = [level_text(c) for c in classes]
    tables = {"task": task, "features": domains_of(domain), "rule": rules_of(rules)}
    return json.dumps(tables if one_hot == "full" else {"data": {"one_hot": one_hot}, **tables})
