"""A fitted model of another library enters; its ONNX file leaves, and what the model says of itself."""

import copy
import json
import os

import numpy as np

from . import _core
from ._needs import needed
from ._subject import onnx_of

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
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.base import is_classifier
    from sklearn.pipeline import Pipeline

    _register(model)
    columns = bool(texts) or (framed and isinstance(model, Pipeline))
    if columns:
        types = [(name, (StringTensorType if name in texts else FloatTensorType)([None, 1])) for name in names]
    else:
        types = [("x", FloatTensorType([None, len(names)]))]
    options = {id(model): {"zipmap": False}} if is_classifier(model) else None
    try:
        proto = convert_sklearn(_unnamed(model), initial_types=types, options=options, target_opset=OPSET)
    except NameError:
        # Not every classifier has the option.
        proto = convert_sklearn(_unnamed(model), initial_types=types, target_opset=OPSET)
    _rename(proto, [name for name, _ in types])
    _regrouped(proto, model)
    classes = getattr(model, "classes_", None) if is_classifier(model) else None
    if isinstance(classes, list):
        raise TypeError("a model of several class targets can't be shielded: shield one a target")
    proba = classes is not None and hasattr(model, "predict_proba")
    kind = "regression" if classes is None else None
    return Converted(_open(proto), classes, proba, columns, kind)


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


def _register(model):
    """Teaches skl2onnx the boosted trees that a scikit-learn model may hold."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import (
        calculate_linear_classifier_output_shapes as classes,
        calculate_linear_regressor_output_shapes as numbers,
    )

    held = {type(part).__module__.partition(".")[0] for part in _parts(model)}
    options = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
    if "lightgbm" in held:
        needed("onnxmltools", "shield", "models of LightGBM")
        import lightgbm
        from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm as convert

        update_registered_converter(lightgbm.LGBMClassifier, "LightGbmLGBMClassifier", classes, convert, options=options)
        update_registered_converter(lightgbm.LGBMRegressor, "LightGbmLGBMRegressor", numbers, convert, options={"split": None})
    if "xgboost" in held:
        needed("onnxmltools", "shield", "models of XGBoost")
        import xgboost
        from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost as convert

        update_registered_converter(xgboost.XGBClassifier, "XGBoostXGBClassifier", classes, convert, options=options)
        update_registered_converter(xgboost.XGBRegressor, "XGBoostXGBRegressor", numbers, convert)


def _parts(model):
    """The model, and those that it is made of, fitted or not."""
    seen = [model]
    for value in model.get_params(deep=True).values():
        if hasattr(value, "get_params"):
            seen.append(value)
    return seen


def _unnamed(model):
    """XGBoost's own names of columns: its converter wants them to be numbers."""
    if not any(type(part).__module__.startswith("xgboost") for part in _parts(model)):
        return model
    model = copy.deepcopy(model)
    stack = [model]
    while stack:
        part = stack.pop()
        if hasattr(part, "get_booster"):
            booster = part.get_booster()
            booster.feature_names = booster.feature_types = None
        else:
            inner = [step for _, step in getattr(part, "steps", ())] + list(getattr(part, "estimators_", ()))
            stack += [step for step in inner if hasattr(step, "get_params")]
    return model


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
