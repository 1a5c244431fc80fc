"""Frameworks -> small ONNX files with inputs and expected outputs, for crates/net/tests/fixtures.rs.

    python make_fixtures.py torch sklearn      (needs torch, onnxscript, scikit-learn, skl2onnx)
    python make_fixtures.py keras              (needs tensorflow-cpu, tf2onnx)

The files are committed; run this only to renew them. Expected outputs are onnxruntime's. `output` in the JSON names the tensor to
stop at where it is not the graph's own output; `inexact` says how many nodes import must report as not kept one to one.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

HERE = pathlib.Path(__file__).parent
FIXTURES = HERE.parent.parent / "crates" / "net" / "tests" / "fixtures"
ROWS = 12


def save(name, model, x, output=None, inexact=0):
    """Writes name.onnx and name.json; `model` is a ModelProto."""
    del model.metadata_props[:]
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    path = FIXTURES / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    assert path.stat().st_size < 50_000, (name, path.stat().st_size)
    wanted = output or float_output(model)
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    if wanted not in [o.name for o in probe.graph.output]:
        probe.graph.output.append(onnx.helper.make_tensor_value_info(wanted, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    y = session.run([wanted], {session.get_inputs()[0].name: x})[0]
    case = {
        "producer": f"{model.producer_name} {model.producer_version}",
        "x": x.reshape(len(x), -1).tolist(),
        "y": np.asarray(y).reshape(len(x), -1).tolist(),
        "inexact": inexact,
    }
    if output:
        case["output"] = output
    (FIXTURES / f"{name}.json").write_text(json.dumps(case) + "\n")
    print(f"{name}: opset {[(o.domain, o.version) for o in model.opset_import]} {[n.op_type for n in model.graph.node]}")


def float_output(model):
    floats = [o.name for o in model.graph.output if o.type.tensor_type.elem_type == onnx.TensorProto.FLOAT]
    assert len(floats) == 1, floats
    return floats[0]


def reads(model, op):
    """The tensor that the last node of this operator reads."""
    return [n.input[0] for n in model.graph.node if n.op_type == op][-1]


def rows(seed, *shape):
    return np.random.default_rng(seed).uniform(-3, 3, (ROWS, *shape)).astype(np.float32)


def torch_fixtures():
    import io

    import torch
    from torch import nn

    class SkipGate(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 6), nn.Linear(8, 3)

        def forward(self, x):
            z = torch.relu(self.a(x))
            z = torch.cat([z, x[:, 1:3]], dim=1)
            return self.b(z) * x[:, 0:1]

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.tensor([1.0, -2.0, 0.5]))
            self.register_buffer("std", torch.tensor([3.0, 0.7, 1.1]))
            self.body = nn.Linear(3, 2, bias=False)

        def forward(self, x):
            return 1.5 - torch.tanh(self.body((x - self.mean) / self.std)) * 2

    class Columns(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 2)
            self.register_buffer("columns", torch.tensor([4, 0, 2]))

        def forward(self, x):
            return torch.sigmoid(self.body(torch.index_select(x, 1, self.columns)))

    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 3), nn.Sigmoid())
    norm = nn.Sequential(nn.Linear(4, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Dropout(0.3), nn.Linear(7, 2))
    with torch.no_grad():
        norm[1].running_mean.uniform_(-1, 1)
        norm[1].running_var.uniform_(0.5, 2)
        norm[1].weight.uniform_(0.5, 2)
    image = nn.Sequential(nn.Flatten(), nn.Linear(16, 5), nn.ReLU(), nn.Linear(5, 2))
    cases = [
        ("mlp", mlp, (5,), 0),
        ("batchnorm", norm, (4,), 1),
        ("image", image, (1, 4, 4), 0),
        ("skip_gate", SkipGate(), (4,), 0),
        ("scaled", Scaled(), (3,), 1),
        ("columns", Columns(), (5,), 0),
    ]
    for k, (name, module, shape, inexact) in enumerate(cases):
        module.eval()
        x = rows(k, *shape)
        for exporter in ["legacy", "dynamo"]:
            buffer = io.BytesIO()
            if exporter == "legacy":
                torch.onnx.export(module, (torch.from_numpy(x),), buffer, dynamo=False, input_names=["features"],
                                  output_names=["scores"], dynamic_axes={"features": {0: "n"}})
                model = onnx.load_model_from_string(buffer.getvalue())
            else:
                program = torch.onnx.export(module, (torch.from_numpy(x),), dynamo=True, input_names=["features"],
                                            output_names=["scores"], dynamic_shapes=({0: torch.export.Dim("n")},))
                model = program.model_proto
            count = sum(n.op_type in ("BatchNormalization", "Div") for n in model.graph.node) if inexact else 0
            save(f"torch_{exporter}_{name}", model, x, inexact=count)


def sklearn_fixtures():
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(1)
    data = rng.normal(size=(200, 4)).astype(np.float32)
    target = data[:, 0] * 2 - data[:, 1]
    settings = {"hidden_layer_sizes": (6, 5), "max_iter": 40, "random_state": 0}
    x = rows(9, 4)

    regressor = MLPRegressor(**settings).fit(data, target)
    save("sklearn_regressor", to_onnx(regressor, data[:1]), x)
    two = MLPRegressor(activation="tanh", **settings).fit(data, np.stack([target, data[:, 2]], axis=1))
    # skl2onnx reshapes both outputs into one column of 2 N rows: the file's own output mixes the rows of the batch.
    model = to_onnx(two, data[:1])
    save("sklearn_two_outputs", model, x, output=reads(model, "Reshape"))
    piped = make_pipeline(StandardScaler(), regressor).fit(data, target)
    save("sklearn_pipeline", to_onnx(piped, data[:1]), x)

    binary = MLPClassifier(activation="logistic", **settings).fit(data, target > 0)
    save("sklearn_binary", to_onnx(binary, data[:1], options={"zipmap": False}), x)
    classes = np.digitize(target, [-1, 1])
    three = MLPClassifier(**settings).fit(data, classes)
    model = to_onnx(three, data[:1], options={"zipmap": False})
    save("sklearn_classes", model, x, output=reads(model, "Softmax"))
    model = to_onnx(three, data[:1])
    save("sklearn_classes_zipmap", model, x, output=reads(model, "Softmax"))


def keras_fixtures():
    import keras
    import tensorflow as tf
    import tf2onnx

    keras.utils.set_random_seed(0)
    dense = keras.layers.Dense
    sequential = lambda n, *layers: keras.Sequential([keras.Input((n,)), *layers])
    features = keras.Input((4,))
    hidden = dense(6, activation="relu")(features)
    joined = keras.layers.Concatenate()([hidden, features[:, 1:3]])
    cases = [
        ("mlp", sequential(5, dense(8, "relu"), dense(6, "tanh"), dense(3, "sigmoid")), 5, None),
        ("softmax", sequential(4, dense(6, "relu"), keras.layers.Dropout(0.2), dense(3, "softmax")), 4, "Softmax"),
        ("skip", keras.Model(features, dense(2)(joined)), 4, None),
        ("batchnorm", sequential(4, dense(6), keras.layers.BatchNormalization(), keras.layers.ReLU(), dense(2)), 4, None),
        ("rescaled", sequential(3, keras.layers.Rescaling(1 / 255.0, offset=-0.5), dense(2, use_bias=False)), 3, None),
    ]
    for k, (name, module, width, stop) in enumerate(cases):
        x = rows(20 + k, width)
        # Fresh layers have zero biases, whose Add the converters leave out; variances must stay positive.
        rng = np.random.default_rng(k)
        module.set_weights([rng.uniform(0.2, 1, w.shape) * rng.choice([1, 1 if "variance" in v.name else -1], w.shape)
                            for v, w in zip(module.weights, module.get_weights())])
        signature = [tf.TensorSpec((None, width), tf.float32, name="features")]
        model, _ = tf2onnx.convert.from_function(tf.function(lambda x: module(x, training=False)), signature, opset=15)
        save(f"keras_tf2onnx_{name}", model, x, output=reads(model, stop) if stop else None)
        path = pathlib.Path("/tmp") / f"keras_{name}.onnx"
        module.export(path, format="onnx", verbose=False)
        model = onnx.load(path)
        save(f"keras_export_{name}", model, x, output=reads(model, stop) if stop else None)


if __name__ == "__main__":
    FIXTURES.mkdir(parents=True, exist_ok=True)
    for section in sys.argv[1:]:
        {"torch": torch_fixtures, "sklearn": sklearn_fixtures, "keras": keras_fixtures}[section]()
