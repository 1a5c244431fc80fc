"""``increasing``, ``decreasing``, ``unaffected`` and ``monotonic_cst`` of the estimators enter; rules between two inputs leave."""

import numbers

import numpy as np

from . import _core


def pair_rules(increasing, decreasing, unaffected, monotonic_cst, features, kind, targets, classes):
    """Rules for the features of one estimator, of names and texts."""
    up, down = _features("increasing", increasing, features), _features("decreasing", decreasing, features)
    more = _constraints(monotonic_cst, features)
    up += [name for name, sign in more if sign > 0 and name not in up]
    down += [name for name, sign in more if sign < 0 and name not in down]
    same = _features("unaffected", unaffected, features)
    both = sorted(set(up) & set(down))
    if both:
        raise ValueError(f"{both[0]!r} is stated to be increasing and decreasing: say `unaffected` if predictions must not depend on it")
    rules = []
    for word, names in (("increasing", up), ("decreasing", down), ("unaffected", same)):
        if names:
            what = _predicted(word, kind, targets, classes)
            text = " and ".join(f"{word}({w}, {{{', '.join(map(_quoted, names))}}})" for w in what)
            rules.append({"name": f"{word} in {', '.join(names)}" if word != "unaffected" else f"unaffected by {', '.join(names)}", "text": text})
    return rules


def _predicted(word, kind, targets, classes):
    """What is predicted, each a condition or a number of the rules; of a ranking which item is in which place."""
    if word != "unaffected" and kind != "regression":
        return [_class(word, kind, targets, classes)]
    if kind == "ranking":
        return [f"at[{_level(t)}, {place}]" for t in targets for place in range(len(targets))]
    return [_quoted(t) for t in targets]


def _level(name):
    spelled = _core.spelled_level(name)
    if spelled is None:
        raise ValueError(f"{name!r}: a name with both quotation marks can't stand in a rule; rename it")
    return spelled


def _class(word, kind, targets, classes):
    """What rises in a classification: as for scikit-learn's trees, the second of two classes."""
    if kind == "binary" and len(classes) == 2:
        return f"{_quoted(targets[0])} == {_level(classes[1])}"
    said = {"multilabel": _quoted(targets[0]), "ranking": f"at[{_level(targets[0])}, 0]"}.get(kind, f"{_quoted(targets[0])} == '...'")
    raise ValueError(
        f"{word} is about numbers or the second of two classes; for a {kind} task write the rule itself, "
        f"such as {word}({said}, feature), into `rules`"
    )


def _features(parameter, given, features):
    """Names of features, given by name or by column."""
    if given is None:
        return []
    if isinstance(given, (str, numbers.Integral)):
        given = [given]
    names = []
    for item in given:
        if isinstance(item, numbers.Integral) and not isinstance(item, bool):
            if not 0 <= item < len(features):
                raise ValueError(f"{parameter}: there is no column {item}; there are {len(features)}, from 0 on")
            item = features[item]
        if item not in features:
            raise ValueError(f"{parameter}: there is no feature {item!r}; there are {', '.join(features[:10])}")
        if item not in names:
            names.append(item)
    return names


def _constraints(monotonic_cst, features):
    """(name, 1, 0 or -1), as scikit-learn's histogram boosting reads it: a value a feature, or a dict of names."""
    if monotonic_cst is None:
        return []
    if hasattr(monotonic_cst, "items"):
        pairs = list(monotonic_cst.items())
        unknown = [name for name, _ in pairs if name not in features]
        if unknown:
            raise ValueError(f"monotonic_cst: there is no feature {unknown[0]!r}; there are {', '.join(features[:10])}")
    else:
        values = np.asarray(monotonic_cst)
        if values.shape != (len(features),):
            raise ValueError(f"monotonic_cst has shape {values.shape}, but the input data X has {len(features)} features")
        pairs = list(zip(features, values.tolist()))
    for name, sign in pairs:
        if sign not in (-1, 0, 1):
            raise ValueError(f"monotonic_cst of {name!r} is {sign!r}: must be -1 (decreasing), 0 or 1 (increasing)")
    return [(name, int(sign)) for name, sign in pairs]


def _quoted(name):
    spelled = _core.spelled_name(name)
    if spelled is None:
        raise ValueError(f"{name!r}: a name with a backtick, or without a letter, can't stand in a rule; rename the column")
    return spelled
