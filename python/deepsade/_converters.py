"""The parts of a scikit-learn model enter; skl2onnx then knows those that it has no converter for, or a broken one."""

import numpy as np

from . import _core
from ._needs import needed

#: Converters of skl2onnx that were mended already.
_MENDED = set()


def register(parts):
    """Teaches skl2onnx the models of other libraries, chains of classifiers, and histogram boosting as this onnx wants it."""
    held = {type(part).__module__.partition(".")[0] for part in parts}
    names = {base.__name__ for part in parts for base in type(part).__mro__}
    if "lightgbm" in held:
        _lightgbm()
    if "xgboost" in held:
        _xgboost()
    if "ClassifierChain" in names:
        _chains()
    for kind in ("Classifier", "Regressor"):
        if f"HistGradientBoosting{kind}" in names:
            _histograms(f"SklearnHistGradientBoosting{kind}")


def _lightgbm():
    needed("onnxmltools", "shield", "models of LightGBM")
    import lightgbm
    from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm as convert
    from skl2onnx import update_registered_converter

    classes, numbers = _shapes()
    update_registered_converter(lightgbm.LGBMClassifier, "LightGbmLGBMClassifier", classes, convert, options=_of_classes())
    update_registered_converter(lightgbm.LGBMRegressor, "LightGbmLGBMRegressor", numbers, convert, options={"split": None})


def _xgboost():
    needed("onnxmltools", "shield", "models of XGBoost")
    import xgboost
    from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost as convert
    from skl2onnx import update_registered_converter

    classes, numbers = _shapes()
    update_registered_converter(xgboost.XGBClassifier, "XGBoostXGBClassifier", classes, convert, options=_of_classes())
    update_registered_converter(xgboost.XGBRegressor, "XGBoostXGBRegressor", numbers, convert)


def _shapes():
    from skl2onnx.common import shape_calculator

    return shape_calculator.calculate_linear_classifier_output_shapes, shape_calculator.calculate_linear_regressor_output_shapes


def _of_classes():
    return {"nocl": [True, False], "zipmap": [True, False, "columns"]}


def _histograms(alias):
    """The converter of skl2onnx hands over booleans for whole numbers, which protobuf refuses."""
    from skl2onnx.common._registration import get_converter, register_converter

    if alias in _MENDED:
        return
    convert = get_converter(alias)

    def converted(scope, operator, container):
        categories = getattr(operator.raw_operator, "is_categorical_", None)
        if categories is not None and np.any(categories):
            raise _core.ModelError("its converter does not know categories inside histogram boosting: encode them in a Pipeline")
        add_node = container.add_node
        container.add_node = lambda *args, **attributes: add_node(*args, **{name: _whole(v) for name, v in attributes.items()})
        try:
            convert(scope, operator, container)
        finally:
            del container.add_node

    register_converter(alias, converted, overwrite=True, options=convert.get_allowed_options())
    _MENDED.add(alias)


def _whole(value):
    if isinstance(value, list) and any(isinstance(v, (bool, np.bool_)) for v in value):
        return [int(v) for v in value]
    return value


def _chains():
    from skl2onnx import update_registered_converter
    from sklearn.multioutput import ClassifierChain

    update_registered_converter(ClassifierChain, "DeepsadeClassifierChain", lambda operator: None, _chain, parser=_one_output)


def _one_output(scope, model, inputs, custom_parsers=None):
    from skl2onnx.common.data_types import FloatTensorType

    operator = scope.declare_local_operator("DeepsadeClassifierChain", model)
    operator.inputs.extend(inputs)
    operator.outputs.append(scope.declare_local_variable("probabilities", FloatTensorType([None, len(model.estimators_)])))
    return operator.outputs


def _chain(scope, operator, container):
    """The probability of each label; the models behind the first also read what those before them say."""
    from skl2onnx.algebra.onnx_operator import OnnxSubEstimator
    from skl2onnx.algebra.onnx_ops import OnnxCast, OnnxConcat, OnnxGather, OnnxReshape

    model, version = operator.raw_operator, container.target_opset
    how = getattr(model, "chain_method_", "predict")
    if how not in ("predict", "predict_proba"):
        raise _core.ModelError(f"a chain by {how} can't be converted: chain by predict or predict_proba")
    second, column = np.array([1], dtype=np.int64), np.array([-1, 1], dtype=np.int64)
    read, found = [operator.inputs[0]], [None] * len(model.estimators_)
    for label, part in zip(model.order_, model.estimators_):
        rows = OnnxConcat(*read, axis=1, op_version=version) if len(read) > 1 else read[0]
        said = OnnxSubEstimator(part, rows, op_version=version, options={"zipmap": False})
        found[label] = OnnxGather(said[1], second, axis=1, op_version=version)
        predicted = OnnxCast(OnnxReshape(said[0], column, op_version=version), to=1, op_version=version)
        read.append(found[label] if how == "predict_proba" else predicted)
    OnnxConcat(*found, axis=1, op_version=version, output_names=[operator.outputs[0]]).add_to(scope, container)
