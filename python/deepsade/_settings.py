"""Python's parameters enter; the tables of a rule file leave, as the engine reads them."""

import json
import numbers


def rules_of(rules):
    """A list of names and texts: of texts, of (name, text) pairs, or of a mapping from names to texts."""
    if isinstance(rules, str):
        raise TypeError("rules must be a list of texts, not one text: write [text]")
    if hasattr(rules, "items"):
        rules = list(rules.items())
    out = []
    for k, rule in enumerate(rules or ()):
        name, text = (f"rule {k + 1}", rule) if isinstance(rule, str) else rule
        if not (isinstance(name, str) and isinstance(text, str)):
            raise TypeError(f"rules[{k}] must be a text, or a pair of name and text")
        out.append({"name": name, "text": text})
    return out


def domain_of(stated, name):
    """One feature's table: (lo, hi) for a real, a range for whole numbers, a list of levels for a category, or the table itself."""
    if isinstance(stated, dict):
        return dict(stated)
    if isinstance(stated, range):
        if stated.step != 1 or not stated:
            raise ValueError(f"domain['{name}'] = {stated}: a range of whole numbers must go up by 1 and hold one")
        return {"kind": "integer", "range": [stated[0], stated[-1]]}
    if isinstance(stated, tuple) and len(stated) == 2 and all(isinstance(v, numbers.Real) for v in stated):
        return {"kind": "real", "range": [float(v) for v in stated]}
    if isinstance(stated, (list, tuple)):
        return {"kind": "category", "levels": [level_text(v) for v in stated]}
    raise TypeError(
        f"domain['{name}'] must be (lo, hi) for a real, range(lo, hi + 1) for whole numbers, or a list of levels for a category"
    )


def level_text(value):
    """A level or class as rules write it: 1, not 1.0."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and float(value).is_integer():
        return str(int(value))
    return str(value)


def domains_of(domain):
    """The tables of all stated features, in their order."""
    return {str(name): domain_of(stated, name) for name, stated in (domain or {}).items()}


def question(rules, kind, targets=None, classes=None, domain=None):
    """A rule file without data or training, as JSON."""
    task = {"kind": kind}
    if targets is not None:
        task["targets"] = [str(t) for t in targets]
    if classes is not None:
        task["classes"] = [level_text(c) for c in classes]
    return json.dumps({"task": task, "features": domains_of(domain), "rule": rules_of(rules)})
