"""A model of any library and rules enter; the model leaves with an output step behind it that keeps the rules, proved."""

import json
import os
import warnings

import numpy as np

from . import _core
from ._convert import converted
from ._frame import columns_of, is_frame, readable, table_of
from ._graph import Graph
from ._settings import domain_of, domains_of, number, question, rules_of
from ._shielded import Shielded
from ._subject import is_rule_file, rule_file
from ._target import Target

#: So many rows are enough to see whether a converted model is the model.
_COMPARED = 200


def shield(model, rules, *, data=None, target=None, domain=None, features=None, classes=None, output=None, threshold=None,
           task=None, target_names=None, probabilities=None):
    """Puts an output step behind any model, so that rules hold for every input, proved, within the ONNX graph.

    The model is converted to ONNX and carried over as it is. Where its outputs obey the rules they are given unchanged; elsewhere the
    step gives ones that do.

    Parameters
    ----------
    model : estimator, module, bytes or path
        A fitted model or Pipeline of scikit-learn, LightGBM or XGBoost (also a Booster), a ``torch.nn.Module``, or an ONNX file. Its
        library's converter is needed: ``pip install 'deepsade[shield]'``. A classifier of several targets of 0 and 1 is one of labels.
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
        The classes in the order of the model's outputs. Default: those of the model. Of a model whose classes are just 0, 1, ..., as
        XGBoost wants them, their names in this order.
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
    >>> safe = deepsade.shield(model, ["y <= 2 * x0 + 1"], data=X)
    >>> safe.certified_, bool((safe.predict(X) <= 2 * X[:, 0] + 1).all())
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
    classes = told.get("classes") if classes is None else classes
    target_names = told.get("targets") if target_names is None else target_names
    task = Target(found, target, task or told.get("kind"), classes, target_names)
    if threshold is None and task.kind == "multilabel" and (found.probabilities if probabilities is None else probabilities):
        threshold = 0.5
    graph = Graph(found.onnx, names)
    own = None if rows is None else _own_outputs(graph, rows, output)
    if own is not None:
        _compared(model, found, own, rows)
        task.fits(own, threshold)
    if path is None and task.kind != "regression" and set(stated) >= set(names):
        # Nothing is left for rows to say.
        table = None
    if table is not None:
        task.add(table, own, {*told.get("whole", ()), *(name for name, table in stated.items() if table.get("kind") == "integer")})
    asked = path if path is not None else _question(rules, task, stated, table)
    probabilities = found.probabilities if probabilities is None else bool(probabilities)
    if output is None and not isinstance(model, (bytes, str, os.PathLike)):
        # What a converter wrote is compared with the model itself; its labels beside the numbers need not be read.
        numbers = [name for name, rows_of_numbers in graph.outputs.items() if rows_of_numbers]
        output = numbers[0] if len(numbers) == 1 else None
    native = _core.shield(found.onnx, asked, table, output, None if threshold is None else number("threshold", threshold), probabilities)
    if native.numbered and (found.classes is None or task.named):
        warnings.warn(native.numbered, UserWarning, stacklevel=2)
    if native.note:
        warnings.warn(native.note, UserWarning, stacklevel=2)
    if native.warning:
        warnings.warn(native.warning, UserWarning, stacklevel=2)
    return Shielded(native, task.classes_for(json.loads(native.schema)["task"]), task.flat, threshold, probabilities)


def _rule_file(rules, **described):
    """The path of a rule file and what it says of the task, if it is one."""
    if not is_rule_file(rules):
        rules_of(rules)
        return None, {}
    path = rule_file(rules, [f"{name}=" for name, value in described.items() if value is not None])
    settings = json.loads(_core.settings(path.read_text(encoding="utf-8")))
    return path, {**settings["task"], "whole": settings["whole"]}


def _question(rules, task, stated, table):
    if table is None:
        return question(rules, task.kind, task.names, task.texts, stated)
    asked = {"kind": task.kind, "targets": task.names}
    if task.texts is not None:
        asked["classes"] = task.texts
    return json.dumps({"task": asked, "features": stated, "rule": rules_of(rules)})


def _array(data):
    data = np.asarray(data.detach().cpu() if hasattr(data, "detach") else readable(data, "data"))
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
    predict = getattr(model, "predict_proba" if found.probabilities or found.classes is not None else "predict", None)
    if predict is None or not hasattr(model, "get_params"):
        return
    theirs = predict(data[:_COMPARED])
    if isinstance(theirs, list):
        # Of each label the probabilities of 0 and 1.
        theirs = np.column_stack([both[:, 1] for both in theirs])
    theirs = np.asarray(theirs, dtype=np.float64)
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
