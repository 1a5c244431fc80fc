"""A fitted model of another library enters; its ONNX file leaves, and what the model says of itself."""

import copy
import json
import os

import numpy as np

from . import _core
from ._converters import register
from ._needs import needed, shortened
from ._subject import onnx_of
from ._validation import unused

OPSET = {"": 15, "ai.onnx.ml": 3}


class Converted:
    """A model as ONNX.

    ``classes`` are those of its outputs, or None; ``probabilities`` whether its numbers are; ``columns`` whether each feature is
    an input of its own.
    """

    def __init__(self, onnx, classes=None, probabilities=False, columns=False, kind=None):
        self.onnx, self.classes, self.probabilities, self.columns, self.kind = onnx, classes, probabilities, columns, kind


def library_of(model):
    """Whose model it is: "torch", "lightgbm", "xgboost", "sklearn" or "onnx"."""
    if isinstance(model, (bytes, bytearray, memoryview, str, os.PathLike)) or hasattr(model, "model_") or isinstance(model, _core.Model):
        return "onnx"
    origins = {base.__module__.partition(".")[0] for base in type(model).__mro__}
    for library in ("torch", "lightgbm", "xgboost", "sklearn"):
        if library in origins:
            return library
    if type(model).__module__.partition(".")[0] == "onnx":
        return "proto"
    raise TypeError(
        f"expected a model of scikit-learn, LightGBM, XGBoost or PyTorch, or ONNX as bytes or a path, not {type(model).__name__}"
    )


def converted(model, names, texts, framed, example):
    """The model as ONNX.

    `names` are its features, `texts` those of them that are texts, `framed` whether rows come as frames, `example` some rows for
    those that are traced.
    """
    library = library_of(model)
    if library == "onnx":
        return Converted(onnx_of(model))
    if library == "proto":
        return Converted(model.SerializeToString())
    if library == "torch":
        return _traced(model, example)
    if hasattr(model, "get_params"):
        return _estimator(model, names, texts, framed)
    return _booster(model, library, names, texts)


def _traced(module, example):
    if example is None:
        raise ValueError("a module is traced with rows: give some by data=...")
    from .torch import to_onnx, torch

    return Converted(to_onnx(module, torch.from_numpy(np.ascontiguousarray(example, dtype=np.float32))))


def _estimator(model, names, texts, framed):
    needed("skl2onnx", "shield", "models of scikit-learn")
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.base import is_classifier
    from sklearn.pipeline import Pipeline

    register(_parts(model))
    columns = bool(texts) or (framed and isinstance(model, Pipeline))
    if columns:
        types = [(name, (StringTensorType if name in texts else FloatTensorType)([None, 1])) for name in names]
    else:
        types = [("x", FloatTensorType([None, len(names)]))]
    classes = getattr(model, "classes_", None) if is_classifier(model) else None
    labels = isinstance(classes, list)
    if labels:
        _only_labels(model, classes)
    options = {"zipmap": False} if is_classifier(model) else None
    proto = _by_skl2onnx(_prepared(model), initial_types=types, options=options)
    _rename(proto, [name for name, _ in types])
    _regrouped(proto, model)
    if labels:
        _join_labels(proto)
        return Converted(_open(proto), None, True, columns, "multilabel")
    proba = classes is not None and hasattr(model, "predict_proba")
    kind = "regression" if classes is None else None
    return Converted(_open(proto), classes, proba, columns, kind)


def _by_skl2onnx(model, options, **given):
    from skl2onnx import convert_sklearn

    try:
        try:
            return convert_sklearn(model, options=options and {id(model): options}, target_opset=OPSET, **given)
        except NameError:
            # Not every classifier has the option.
            return convert_sklearn(model, target_opset=OPSET, **given)
    except ImportError:
        raise
    except Exception as error:
        what = type(model).__name__
        if hasattr(model, "steps"):
            what += " of " + ", ".join(step if isinstance(step, str) else type(step).__name__ for _, step in model.steps)
        raise _core.ModelError(
            f"this {what} can't be converted by skl2onnx: {shortened(error)}. Give `shield` an ONNX file of the model that was made in "
            "another way, or fit another kind of model"
        ) from error


def _only_labels(model, classes):
    odd = next((k for k, values in enumerate(classes) if np.asarray(values).tolist() != [0, 1]), None)
    if odd is not None:
        values = np.asarray(classes[odd]).tolist()
        raise TypeError(
            f"several targets can be shielded together where each is 0 or 1, and target {odd} has the classes {values}: shield one a target"
        )
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"a model of several labels must have predict_proba to be shielded, and this {type(model).__name__} has none")


def _join_labels(proto):
    """Makes one column a label, its probability, of those of 0 and 1 that the converter gives in a tensor or a sequence of tensors."""
    from onnx import TensorProto, helper, numpy_helper

    graph, port = proto.graph, proto.graph.output[-1]
    if len(graph.output) == 1:
        # Ours, of a chain, is one already.
        return
    # What the converter says of the labels themselves is not read, and not always of the type that it states.
    del graph.output[0]
    taken = {name for node in graph.node for name in (*node.input, *node.output)} | {tensor.name for tensor in graph.initializer}
    joined, second = unused("label_probabilities", taken), unused("second_class", taken)
    graph.initializer.append(numpy_helper.from_array(np.array([1], dtype=np.int64), second))
    if port.type.WhichOneof("value") == "sequence_type":
        made = next(node for node in graph.node if port.name in node.output)
        parts = [unused(f"label_{k}", taken) for k in range(len(made.input))]
        graph.node.extend(helper.make_node("Gather", [tensor, second], [part], axis=1) for tensor, part in zip(made.input, parts))
        graph.node.remove(made)
        graph.node.append(helper.make_node("Concat", parts, [joined], axis=1))
    else:
        # Labels, rows, classes.
        chosen, flat, axis = unused("chosen_class", taken), unused("labels_and_rows", taken), unused("class_axis", taken)
        graph.initializer.append(numpy_helper.from_array(np.array([2], dtype=np.int64), axis))
        graph.node.append(helper.make_node("Gather", [port.name, second], [chosen], axis=2))
        graph.node.append(helper.make_node("Squeeze", [chosen, axis], [flat]))
        graph.node.append(helper.make_node("Transpose", [flat], [joined], perm=[1, 0]))
    port.CopyFrom(helper.make_tensor_value_info(joined, TensorProto.FLOAT, [None, None]))


def _regrouped(proto, model):
    """A network of several targets: its converter puts all their numbers into one column."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    targets = getattr(last, "n_outputs_", 1)
    if targets == 1 or not hasattr(last, "coefs_"):
        return
    from onnx import numpy_helper

    shapes = {node.input[1] for node in proto.graph.node if node.op_type == "Reshape" and node.output[0] == proto.graph.output[0].name}
    for tensor in proto.graph.initializer:
        if tensor.name in shapes and numpy_helper.to_array(tensor).tolist() == [-1, 1]:
            tensor.CopyFrom(numpy_helper.from_array(np.array([-1, targets]), tensor.name))


def _rename(proto, names):
    """Gives the inputs the names that the columns have: the converter makes identifiers of them."""
    there = [port.name for port in proto.graph.input]
    if len(there) != len(names):
        raise _core.ModelError(f"the converted model reads {there}, not the columns {names}")
    new = {old: name for old, name in zip(there, names) if old != name}
    made = {output for node in proto.graph.node for output in node.output} | {tensor.name for tensor in proto.graph.initializer}
    clash = made.intersection(new.values())
    if clash:
        raise _core.ModelError(f"the converted model uses the names {sorted(clash)} itself: rename these columns")
    for port in proto.graph.input:
        port.name = new.get(port.name, port.name)
    for node in proto.graph.node:
        for k, name in enumerate(node.input):
            node.input[k] = new.get(name, name)


def _parts(model):
    """The model, and those that it is made of, fitted or not."""
    seen = [model]
    for value in model.get_params(deep=True).values():
        if hasattr(value, "get_params"):
            seen.append(value)
    return seen


def _prepared(model):
    """The model as its converters want it: XGBoost without names of columns of its own (they want numbers), votes that are not laid
    flat, what a search found, and a tree of several labels as a forest of one (theirs says which probabilities are above 0)."""
    if any(type(part).__module__.startswith("xgboost") or hasattr(part, "flatten_transform") for part in _parts(model)):
        model = copy.deepcopy(model)
    stack = [model]
    while stack:
        part = stack.pop()
        if hasattr(part, "get_booster"):
            booster = part.get_booster()
            booster.feature_names = booster.feature_types = None
            continue
        if hasattr(part, "flatten_transform"):
            part.flatten_transform = False
        inner = [step for _, step in getattr(part, "steps", ())] + list(getattr(part, "estimators_", ()))
        stack += [step for step in inner if hasattr(step, "get_params")]
    if hasattr(model, "steps"):
        last = _as_forest(_found(model.steps[-1][1]))
        return model if last is model.steps[-1][1] else type(model)([*model.steps[:-1], (model.steps[-1][0], last)])
    return _as_forest(_found(model))


def _found(model):
    return getattr(model, "best_estimator_", model)


def _as_forest(model):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    if not isinstance(model, DecisionTreeClassifier) or model.n_outputs_ == 1:
        return model
    forest = RandomForestClassifier(1)
    forest.estimators_ = [model]
    for name in ("n_outputs_", "n_classes_", "classes_", "n_features_in_"):
        setattr(forest, name, getattr(model, name))
    return forest


def _booster(model, library, names, texts):
    if texts:
        raise TypeError(f"a booster reads numbers alone, and {sorted(texts)} are texts: shield a Pipeline that encodes them")
    tools = needed("onnxmltools", "shield", f"models of {library}")
    from onnxmltools.convert.common.data_types import FloatTensorType

    types = [("x", FloatTensorType([None, len(names)]))]
    if library == "lightgbm":
        objective = model.dump_model(num_iteration=1)["objective"]
        proto = tools.convert_lightgbm(model, initial_types=types, zipmap=False, target_opset=OPSET[""])
    else:
        model = copy.deepcopy(model)
        model.feature_names = model.feature_types = None
        objective = json.loads(model.save_config())["learner"]["objective"]["name"]
        proto = tools.convert_xgboost(model, initial_types=types, target_opset=OPSET[""])
    classes = objective.startswith(("binary", "multi"))
    return Converted(_open(proto), None, classes, kind=None if classes else "regression")


def _open(proto):
    """The file, with the number of columns of its outputs left open: for several targets converters state one."""
    for output in proto.graph.output:
        shape = output.type.tensor_type.shape
        if len(shape.dim) == 2 and shape.dim[1].dim_value == 1:
            shape.dim[1].ClearField("dim_value")
    return proto.SerializeToString()
