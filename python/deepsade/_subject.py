"""A network, rules and rows as people give them enter; what the native module reads leaves."""

import errno
import json
import os
import pathlib

import numpy as np

from . import _core
from ._frame import add_classes, columns_of, is_frame, readable, table_of, texts_of
from ._settings import domains_of, kind_for, level_text, names_in, question, whole


def onnx_of(model):
    """The bytes of a model's ONNX file."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "model_"):
        return model.model_.onnx
    if isinstance(getattr(model, "onnx", None), bytes):
        return model.onnx
    if isinstance(model, (str, os.PathLike)):
        path = existing(model)
        path = os.path.join(path, _core.MODEL) if os.path.isdir(path) else path
        _core.settle(os.path.dirname(path))
        with open(path, "rb") as file:
            return file.read()
    raise TypeError(f"expected a fitted estimator, a path, the bytes of an ONNX file or a module of torch, not {type(model).__name__}")


def is_module(model):
    """Whether it is a ``torch.nn.Module``; torch is not loaded for that."""
    return any(base.__module__.partition(".")[0] == "torch" for base in type(model).__mro__)


def traced_or_onnx(model, domain=None, task=None, classes=None, example_input=None):
    """The bytes of a model's ONNX file; a module of torch is traced, with `example_input` or a row of the domain."""
    if not is_module(model):
        if example_input is not None:
            raise ValueError("example_input= is for modules of torch, which are traced with it")
        return onnx_of(model)
    from .torch import to_onnx, torch, two_scores

    if example_input is None:
        if domain is None:
            raise ValueError("a module is traced with rows: state its features by domain={...}, or give some rows by example_input=")
        width = sum(len(stated["levels"]) if "levels" in stated else 1 for stated in domains_of(domain).values())
        example = torch.zeros(2, width)
    else:
        example = torch.as_tensor(np.asarray(example_input, dtype=np.float32) if not hasattr(example_input, "float") else example_input)
    binary = (kind_for(classes) if task is None else task) == "binary"
    return to_onnx(two_scores(model, example) if binary else model, example)


def is_rule_file(rules):
    """Whether rules are named by the path of their file."""
    return isinstance(rules, os.PathLike) or (isinstance(rules, str) and rules.endswith(".toml"))


def rule_file(rules, beside):
    """The path of a rule file; `beside` are the arguments that were given and that it states itself."""
    if beside:
        raise ValueError(f"{', '.join(beside)} can't be given beside a rule file: state it there")
    return pathlib.Path(existing(rules))


def existing(path):
    """A path at which there is something."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, "there is no such file or folder", path)
    return path


def threads_of(threads):
    """How many threads, or None for as many as there are cores."""
    if threads is not None and whole("threads", threads) < 1:
        raise ValueError(f"threads = {threads}: must be 1 or above, or None for as many as there are cores")
    return threads


def rules_for(rules, onnx, domain=None, task=None, target_names=None, classes=None):
    """What the native module reads: None, JSON, or a path."""
    described = {"domain": domain, "task": task, "target_names": target_names, "classes": classes}
    described = [f"{name}=" for name, value in described.items() if value is not None]
    if rules is None:
        if described:
            raise ValueError(
                f"{', '.join(described)} needs rules=...: without it the rules that the model carries are meant, with its own domain"
            )
        return None
    if is_rule_file(rules):
        return rule_file(rules, described)
    if target_names is not None:
        target_names = names_in(target_names)
    schema = schema_of(onnx)
    if schema is None:
        if domain is None or target_names is None:
            raise _core.ModelError(
                "the model does not name its columns: state its features, in their order, by domain={...}, and target_names"
            )
        task = kind_for(classes) if task is None else task
    else:
        own = schema["task"]
        _same("task", task, own["kind"])
        _same("target_names", target_names, targets_of(own))
        _same("classes", None if classes is None else [level_text(c) for c in classes], own.get("classes"))
        task, target_names, classes = own["kind"], targets_of(own), own.get("classes")
        domain = {**domain_of_schema(schema), **domains_of(domain)}
    return question(rules, task, target_names, classes, domain, (schema or {}).get("one_hot", "full"))


def domain_of_schema(schema):
    """What a model says of its features, as a rule file states it."""
    return json.loads(_core.stated(json.dumps(schema), []))["features"]


def given_features(schema):
    """The features that data have: all but those that say where another has no value."""
    indicators = sum(f.get("indicator", False) for f in schema.get("filled", ()))
    return schema["features"][: len(schema["features"]) - indicators]


def _same(name, given, own):
    if given is not None and given != own:
        raise ValueError(f"{name}={given!r}: the model says {own!r} itself; leave it out")


def schema_of(onnx):
    """Features and task as the model states them, or None."""
    try:
        return json.loads(_core.Model(onnx).schema)
    except _core.ModelError:
        return None


def targets_of(task):
    """What rules call what is predicted."""
    return [task["target"]] if "target" in task else list(task.get("targets", task.get("labels", task.get("items"))))


def _features(onnx, domain):
    schema = schema_of(onnx)
    if schema is None:
        return list(domain or ()), {}
    levels = {f["name"]: f["domain"]["levels"] for f in schema["features"] if "levels" in f["domain"]}
    return [f["name"] for f in schema["features"]], levels


def rows_of(X, onnx):
    """Rows to look around."""
    names, levels = _features(onnx, None)
    if is_frame(X):
        return table_of(X, columns_of(X), levels)[0]
    X = np.asarray(readable(X, "X"), dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"expected a matrix of rows, got {X.ndim} dimension(s)")
    return table_of(X, names, levels)[0] if levels else np.ascontiguousarray(X)


def labelled(X, y, onnx, domain, target_names, classes):
    """Rows with their labels."""
    names, levels = _features(onnx, domain)
    if not is_frame(X):
        X = np.asarray(readable(X, "X"), dtype=np.float64)
    y = readable(y, "y")
    table = table_of(X, names, levels)[0]
    schema = schema_of(onnx)
    if schema is None:
        names = names_in(target_names)
        task = {"target": names[0], "classes": classes} if classes is not None else {"targets": names}
    else:
        task = schema["task"]
    if "classes" in task:
        add_classes(table, task["target"], texts_of(task["classes"]), texts_of(y), "y")
        return table
    values = np.asarray(y, dtype=np.float64).reshape(len(table), -1)
    table.add_matrix(targets_of(task), np.ascontiguousarray(values))
    return table
