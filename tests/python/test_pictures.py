"""Convolutions and pools: onnxruntime stays within the bounds at every optimisation level, verdicts hold there, and forged proofs fall.

Hand-made graphs need onnx and onnxruntime alone; the networks of the verdicts come from torch."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from graphs import Drawn
from levels import LEVELS, enclose, outside, session
from onnx import TensorProto, helper, numpy_helper

import program

GRAPHS, ROWS = 300, 8
# Operators that must occur among the files that import calls exact.
KEPT = "Conv MaxPool AveragePool GlobalAveragePool GlobalMaxPool Relu Flatten Reshape Transpose Add Div Concat Cast".split()


class Graph(Drawn):
    """A random chain of operators on pictures or signals, down to one row of numbers."""

    def __init__(self, rng):
        super().__init__(rng)
        self.rank = int(rng.choice([1, 2]))
        self.shape = [int(rng.integers(1, 4)), *rng.integers(4, 9, size=self.rank).tolist()]
        self.inputs, self.now, self.bare = list(self.shape), "x", True

    def weights(self, *shape):
        w = np.float32(self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:])))
        if self.rng.random() < 0.2:
            # A double that a Cast rounds.
            wide = self.constant(self.rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:])), np.float64)
            return self.node("Cast", [wide], to=TensorProto.FLOAT)
        return self.constant(w)

    def window(self, dilate):
        """Attributes of a window, and the size of its results."""
        sizes = self.shape[1:]
        kernel = [int(self.rng.integers(1, min(4, n) + 1)) for n in sizes]
        strides = [int(self.rng.integers(1, 4)) for _ in sizes]
        kind = str(self.rng.choice(["none", "pads", "VALID", "SAME_UPPER", "SAME_LOWER"]))
        # onnxruntime has no dilations beside SAME, and no pads as large as the window.
        dilate = dilate and not kind.startswith("SAME")
        dilations = [int(self.rng.integers(1, 3)) if dilate and (k - 1) * 2 + 1 <= n else 1 for k, n in zip(kernel, sizes)]
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
        attributes = {"kernel_shape": kernel, "strides": strides}
        if any(d > 1 for d in dilations):
            attributes["dilations"] = dilations
        if kind == "pads":
            pads = [int(self.rng.integers(0, k)) for k in kernel + kernel]
            attributes["pads"] = pads
            sizes = [n + a + b for n, a, b in zip(sizes, pads, pads[self.rank :])]
        elif kind != "none":
            attributes["auto_pad"] = kind
        if kind.startswith("SAME"):
            return attributes, [-(-n // s) for n, s in zip(sizes, strides)]
        return attributes, [(n - r) // s + 1 for n, r, s in zip(sizes, reach, strides)]

    def conv(self):
        attributes, sizes = self.window(True)
        groups = int(self.rng.choice([g for g in (1, 2, 3) if self.shape[0] % g == 0]))
        outputs = groups * int(self.rng.integers(1, 4))
        w = self.weights(outputs, self.shape[0] // groups, *attributes["kernel_shape"])
        if self.rng.random() < 0.5:
            del attributes["kernel_shape"]
        inputs = [self.now, w]
        bias = self.rng.random() < 0.6
        if bias:
            inputs.append(self.constant(self.rng.standard_normal(outputs)))
        self.now = self.node("Conv", inputs, group=groups, **attributes)
        self.shape, self.bare = [outputs, *sizes], False
        if not bias and self.rng.random() < 0.6:
            self.now = self.node("Add", [self.now, self.constant(self.rng.standard_normal((outputs, *[1] * self.rank)))])
        elif self.rng.random() < 0.15:
            scale = self.rng.standard_normal((outputs, *[1] * self.rank))
            self.now = self.node(str(self.rng.choice(["Mul", "Add", "Div"])), [self.now, self.constant(scale)])
        elif self.rng.random() < 0.15:
            of = [self.constant(np.abs(self.rng.standard_normal(outputs)) + 0.1) for _ in range(4)]
            self.now = self.node("BatchNormalization", [self.now, *of])

    def max_pool(self):
        attributes, sizes = self.window(self.opset >= 10)
        self.now, self.shape = self.node("MaxPool", [self.now], **attributes), [self.shape[0], *sizes]

    def average_pool(self):
        attributes, sizes = self.window(False)
        if self.rng.random() < 0.7:
            attributes["count_include_pad"] = 1
        self.now, self.shape = self.node("AveragePool", [self.now], **attributes), [self.shape[0], *sizes]

    def relu(self):
        self.now, self.bare = self.node("Relu", [self.now]), True

    def divide(self):
        channels = np.abs(self.rng.standard_normal((self.shape[0], *[1] * self.rank))) + 0.1
        self.now = self.node("Div", [self.now, self.constant(channels)])

    def turn(self):
        order = self.rng.permutation(len(self.shape))
        self.now = self.node("Transpose", [self.now], perm=[0, *(int(k) + 1 for k in order)])
        self.shape = [self.shape[k] for k in order]

    def skip(self):
        before = self.now
        if self.rng.random() < 0.5:
            before = self.node("Relu", [before])
            self.now = before
        if self.rng.random() < 0.6:
            # A block of a residual network: the other operand starts the sums of the convolution.
            w = self.weights(self.shape[0], self.shape[0], *[3] * self.rank)
            bias = [self.constant(self.rng.standard_normal(self.shape[0]))] if self.rng.random() < 0.5 else []
            conv = self.node("Conv", [before, w, *bias], pads=[1] * (2 * self.rank))
            pair = [before, conv] if self.rng.random() < 0.5 else [conv, before]
            self.now = self.node(str(self.rng.choice(["Add", "Sub"])), pair)
            return
        other = self.node(str(self.rng.choice(["Relu", "Sigmoid"])), [before])
        self.now = self.node(str(self.rng.choice(["Add", "Sub"])), [before, other])

    def join(self):
        other = self.node("Relu", [self.now])
        self.now = self.node("Concat", [self.now, other], axis=1)
        self.shape[0] *= 2

    def model(self):
        steps = [self.conv, self.conv, self.relu, self.relu, self.max_pool, self.average_pool, self.divide, self.turn, self.skip, self.join]
        for _ in range(int(self.rng.integers(1, 6))):
            if int(np.prod(self.shape)) < 400:
                steps[self.rng.integers(len(steps))]()
        end = self.rng.random()
        if end < 0.3:
            self.now = self.node(str(self.rng.choice(["GlobalAveragePool", "GlobalMaxPool"])), [self.now])
            self.shape = [self.shape[0]] + [1] * self.rank
        width = int(np.prod(self.shape))
        if self.rng.random() < 0.5:
            self.now = self.node("Flatten", [self.now])
        else:
            self.now = self.node("Reshape", [self.now, self.constant([0, width], np.int64)])
        y = self.node("Gemm", [self.now, self.weights(width, 3), self.constant(self.rng.standard_normal(3))])
        self.nodes[-1].output[0] = "y"
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, *self.inputs])
        out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])
        graph = helper.make_graph(self.nodes, "g", [x], [out], initializer=self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def test_files_that_import_calls_exact_stay_within_their_bounds_at_every_level(tmp_path):
    rng = np.random.default_rng(18)
    inputs = {}
    for k in range(GRAPHS):
        graph = Graph(rng)
        model = graph.model()
        x = np.float32(rng.standard_normal((ROWS, *graph.inputs)) * rng.choice([1, 100]))
        try:
            session(model.SerializeToString(), "disable_all").run(None, {"x": x[:1]})
        except Exception:
            continue
        name = f"g{k:04}"
        onnx.save(model, tmp_path / f"{name}.onnx")
        inputs[name] = x
        inputs[name].reshape(ROWS, -1).astype("<f8").tofile(tmp_path / f"{name}.x")
    found = enclose(tmp_path)
    kept, read, ranks = set(), 0, set()
    for name, x in inputs.items():
        said = found[name]
        if said["refused"] is not None or said["inexact"]:
            continue
        path = tmp_path / f"{name}.onnx"
        read += 1
        kept |= {node.op_type for node in onnx.load(path).graph.node}
        ranks.add(x.ndim)
        for level in LEVELS:
            run = session(str(path), level)
            y = np.concatenate([run.run(None, {"x": x[r : r + 1]})[0] for r in range(ROWS)])
            wrong, _ = outside(y, said)
            assert not wrong.any(), f"{name} at {level}"
    refused = [said["refused"] for said in found.values() if said["refused"]]
    assert read > GRAPHS / 3 and ranks == {3, 4}, (read, ranks, refused[:5])
    assert kept >= set(KEPT), set(KEPT) - kept
    assert all("count_include_pad" in why or "auto_pad" in why for why in refused), refused


@pytest.mark.parametrize(
    ("op", "attributes", "said"),
    [
        ("ConvTranspose", {}, "ConvTranspose"),
        ("MaxPool", {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}, "ceil_mode"),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}, "ceil_mode"),
        # onnxruntime pads for the window without its dilations.
        ("MaxPool", {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER", "dilations": [2, 2]}, "state the pads"),
        ("AveragePool", {"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER", "dilations": [1, 2]}, "state the pads"),
        ("MaxPool", {"kernel_shape": [2, 2], "auto_pad": "VALID", "pads": [1, 1, 1, 1]}, "beside auto_pad"),
        ("LpPool", {"kernel_shape": [2, 2]}, "LpPool"),
        # onnxruntime does not load it.
        ("Relu", {}, "it has 2 outputs"),
        ("Softmax", {}, "import the file up to"),
    ],
)
def test_what_is_refused_is_named_with_what_to_do(tmp_path, op, attributes, said):
    inputs = ["x", "w"] if op == "ConvTranspose" else ["x"]
    node = helper.make_node(op, inputs, ["t", "u"] if op == "Relu" else ["t"], name="here", **attributes)
    flat = helper.make_node("Flatten", ["t"], ["y"])
    w = numpy_helper.from_array(np.ones((1, 1, 2, 2), np.float32), "w")
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in [("x", [1, 1, 6, 6]), ("y", None)]]
    graph = helper.make_graph([node, flat], "g", [ports[0]], [ports[1]], initializer=[w])
    path = tmp_path / "m.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=8).SerializeToString())
    property = "(declare-const X_0 Real) (declare-const Y_0 Real) (assert (>= X_0 0)) (assert (<= X_0 1)) (assert (>= Y_0 0))"
    (tmp_path / "p.vnnlib").write_text(property)
    done = program.run("verify", "--model", path, "--vnnlib", tmp_path / "p.vnnlib", capture_output=True, text=True)
    assert done.returncode == 2 and "'here'" in done.stderr and said in done.stderr, done.stderr


def test_a_normalisation_behind_a_flattened_convolution_is_one_of_its_columns(tmp_path):
    """Behind a Flatten its channels are columns: it is no part of the convolution, and what is read gives the file's numbers."""
    rng = np.random.default_rng(4)
    w, x = np.float32(rng.standard_normal((2, 1, 2, 2))), np.float32(rng.standard_normal((5, 1, 3, 3)))
    of = [np.float32(rng.uniform(0.5, 1.5, 8)) for _ in range(4)]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Flatten", ["c"], ["f"]),
        helper.make_node("BatchNormalization", ["f", "s", "b", "m", "v"], ["y"]),
    ]
    tensors = [numpy_helper.from_array(value, name) for value, name in zip([w, *of], "wsbmv")]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in [("x", ["N", 1, 3, 3]), ("y", ["N", 8])]]
    graph = helper.make_graph(nodes, "g", [ports[0]], [ports[1]], initializer=tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    x.reshape(5, -1).astype("<f8").tofile(tmp_path / "m.x")
    said = enclose(tmp_path)["m"]
    y = session(model.SerializeToString(), "disable_all").run(None, {"x": x})[0]
    assert said["inexact"] and np.abs(y - said["centre"]).max() < 1e-5, said["nodes"]


HIDING = {
    "a quotient by 1": [("Div", ["c", "one"], "d", {}), ("Mul", ["d", "far"], "p", {})],
    "transposes": [("Transpose", ["c"], "t", {"perm": [0, 2, 3, 1]}), ("Mul", ["t", "far"], "m", {}), ("Transpose", ["m"], "p", {"perm": [0, 3, 1, 2]})],
    "transposes side by side": [
        ("Transpose", ["c"], "t", {"perm": [0, 2, 3, 1]}), ("Transpose", ["t"], "u", {"perm": [0, 3, 1, 2]}), ("Mul", ["u", "far"], "p", {}),
    ],
    "nothing": [("Mul", ["c", "far"], "p", {})],
}


@pytest.mark.parametrize("between", HIDING)
def test_what_vanishes_hides_no_convolution(tmp_path, between):
    """Two factors of 2^70: where a runtime multiplies them beforehand, small inputs give infinity. What stands between them may go."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"])]
    nodes += [helper.make_node(op, inputs, [output], **more) for op, inputs, output, more in HIDING[between]]
    nodes.append(helper.make_node("Flatten", ["p"], ["y"]))
    far = np.float32(2.0**70)
    tensors = {"w": np.eye(2, dtype=np.float32).reshape(2, 2, 1, 1) * far, "one": np.float32(1), "far": far}
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in [("x", ["N", 2, 1, 2]), ("y", None)]]
    graph = helper.make_graph(nodes, "g", [ports[0]], [ports[1]], initializer=[numpy_helper.from_array(v, n) for n, v in tensors.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    x = np.full((1, 2, 1, 2), 1e-22, np.float32)
    outputs = {level: session(model.SerializeToString(), level).run(None, {"x": x})[0] for level in LEVELS}
    assert not all(np.isfinite(y).all() for y in outputs.values()), "the runtime no longer folds: this test shows nothing"
    features = "".join(f"[features.x{k}]\nrange = [0, 1e-22]\n" for k in range(4))
    rules = f'[task]\nkind = "regression"\ntargets = ["y0", "y1", "y2", "y3"]\n{features}[[rule]]\nname = "r"\ntext = "y0 <= 1e30"\n'
    (tmp_path / "r.toml").write_text(rules)
    done = program.run("verify", "--model", tmp_path / "m.onnx", "--rules", tmp_path / "r.toml", capture_output=True, text=True)
    assert done.returncode == 3 and "fold" in done.stdout + done.stderr, done.stdout + done.stderr


def test_a_mean_over_places_is_added_up_otherwise_from_row_to_row(tmp_path):
    """onnxruntime gives the same numbers another mean at another place of the batch: no exact word on two inputs."""
    mean = helper.make_node("ReduceMean", ["x"], ["m"], axes=[2, 3], keepdims=1)
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in [("x", ["N", 2, 3, 3]), ("y", None)]]
    graph = helper.make_graph([mean, helper.make_node("Flatten", ["m"], ["y"])], "g", [ports[0]], [ports[1]])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    features = "".join(f"[features.x{k}]\nrange = [0, 1]\n" for k in range(18))
    for rule in ["increasing(y0, x0)", "unaffected(y0, {x9, x10})"]:
        rules = f'[task]\nkind = "regression"\ntargets = ["y0", "y1"]\n{features}[[rule]]\nname = "r"\ntext = "{rule}"\n'
        (tmp_path / "r.toml").write_text(rules)
        done = program.run("verify", "--model", tmp_path / "m.onnx", "--rules", tmp_path / "r.toml", capture_output=True, text=True)
        assert done.returncode == 3 and "ReduceMean" in done.stdout + done.stderr, done.stdout + done.stderr


def test_a_huge_window_over_a_small_picture_is_refused_at_once(tmp_path):
    wide = 1 << 19
    pool = helper.make_node("MaxPool", ["x"], ["t"], name="here", kernel_shape=[wide], pads=[wide - 1, wide - 1])
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in [("x", ["N", 1, 1]), ("y", None)]]
    graph = helper.make_graph([pool, helper.make_node("Flatten", ["t"], ["y"])], "g", [ports[0]], [ports[1]])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    (tmp_path / "p.vnnlib").write_text("(declare-const X_0 Real) (declare-const Y_0 Real) (assert (>= X_0 0)) (assert (<= X_0 1)) (assert (>= Y_0 2))")
    done = program.run("verify", "--model", tmp_path / "m.onnx", "--vnnlib", tmp_path / "p.vnnlib", "--timeout", 2, capture_output=True, text=True, timeout=120)
    # One number in each of half a million windows: decided, or given up in time.
    assert done.returncode in (0, 2, 3), done.stderr


def network(kind, seed):
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install torch)")
    torch.manual_seed(seed)
    nn = torch.nn
    layers, shape = {
        "plain": ([nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(36, 10), nn.ReLU(), nn.Linear(10, 3)], (1, 8, 8)),
        "pools": ([nn.Conv2d(2, 4, 3, groups=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 3, 2), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(3, 3)], (2, 8, 8)),
        "signal": ([nn.Conv1d(2, 4, 3, padding=2, dilation=2), nn.ReLU(), nn.MaxPool1d(3, stride=2, padding=1), nn.Flatten(), nn.Linear(16, 3)], (2, 7)),
        "global": ([nn.Conv2d(1, 5, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 3)], (1, 5, 7)),
    }[kind]
    return torch, nn.Sequential(*layers).eval(), shape


@pytest.mark.parametrize("kind", ["plain", "pools", "signal", "global"])
def test_verdicts_hold_in_onnxruntime_and_forged_proofs_fall(tmp_path, kind):
    """A box of radius 0.02 around a random input: the largest output that ascent finds there plus a slack is proved, less a slack is refuted."""
    torch, net, shape = network(kind, 4)
    path, rng = tmp_path / "m.onnx", np.random.default_rng(3)
    torch.onnx.export(net, torch.zeros(1, *shape), str(path), input_names=["x"], output_names=["y"], dynamo=False)
    centre = np.float32(rng.uniform(0.2, 0.8, shape))
    x = np.float32(centre + 0.02 * rng.choice([-1, 1, 0.3], (20_000, *shape)))
    climber = torch.tensor(x[:200])
    low, high = torch.tensor(centre - 0.02), torch.tensor(centre + 0.02)
    for _ in range(10):
        climber.requires_grad_(True)
        (slope,) = torch.autograd.grad(net(climber)[:, 0].sum(), climber)
        climber = (climber + 0.01 * slope.sign()).detach().clamp(low, high)
    x[:200] = climber.numpy()
    y = net(torch.tensor(x)).detach().numpy()
    spread = float(y[:, 0].max() - y[:, 0].min())
    assert spread > 1e-3
    width = int(np.prod(shape))
    declared = [f"(declare-const X_{i} Real)" for i in range(width)] + [f"(declare-const Y_{j} Real)" for j in range(3)]
    # Decimals without an exponent; the ends of the box as they were sampled.
    box = [f"(assert (>= X_{i} {c - 0.02:.8f}))\n(assert (<= X_{i} {c + 0.02:.8f}))" for i, c in enumerate(centre.reshape(-1).astype(float))]

    def verify(bound):
        text = "\n".join([*declared, *box, f"(assert (>= Y_0 {bound:.6f}))" if bound >= 0 else f"(assert (>= Y_0 (- {-bound:.6f})))"])
        (tmp_path / "p.vnnlib").write_text(text + "\n")
        done = program.run("verify", "--model", path, "--vnnlib", tmp_path / "p.vnnlib", "--timeout", 60, "--json", "--certificate", tmp_path / "proof", "--force", capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout)

    code, report = verify(float(y[:, 0].max()) + spread)
    assert code == 0 and report["verdict"] == "proved" and report["proof_bytes"] > 0, report
    # The model of the proof computes what the file does.
    ours = session(str(tmp_path / "proof" / "model.onnx"), "enable_all").run(["y"], {"x": x[:500].reshape(500, -1)})[0]
    assert np.abs(ours - y[:500]).max() < 1e-5 * (1 + np.abs(y).max())
    assert program.run("check", tmp_path / "proof", capture_output=True).returncode == 0
    forge(tmp_path / "proof", rng, x[:2000].reshape(2000, -1), float(y[:, 0].max()) + spread)
    code, report = verify(float(y[:, 0].max()) - 0.2 * spread)
    assert code == 1 and report["in_every_runtime"], report
    at = np.float32(report["row"]).reshape(1, *shape)
    for level in LEVELS:
        out = session(str(path), level).run(None, {"x": at})[0]
        assert out[0, 0] >= float(y[:, 0].max()) - 0.2 * spread - 1e-6, level


def forge(folder, rng, x, bound):
    """Other offsets or another window, and a certificate that says it is about that file: rejected, or the rule holds of that file, too."""
    import hashlib

    certificate, model = folder / "certificate.json", folder / "model.onnx"
    text, whole = certificate.read_text(), onnx.load(model)
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    assert digest in text
    for _ in range(6):
        forged = onnx.ModelProto()
        forged.CopyFrom(whole)
        at = [k for k, node in enumerate(forged.graph.node) if node.op_type in ("Conv", "MaxPool")]
        node = forged.graph.node[int(rng.choice(at))]
        kind = rng.integers(3)
        if kind == 0:
            *_, last = (t for t in forged.graph.initializer if t.name.endswith("_b"))
            last.raw_data = (numpy_helper.to_array(last) + np.float32(10)).tobytes()
        elif kind == 1:
            next(a for a in node.attribute if a.name == "strides").ints[1] += 1
        else:
            next(a for a in node.attribute if a.name == "pads").ints[3] += 1
        model.write_bytes(forged.SerializeToString())
        certificate.write_text(text.replace(digest, hashlib.sha256(model.read_bytes()).hexdigest()))
        if program.run("check", folder, capture_output=True).returncode == 0:
            assert kind != 0 and session(str(model), "enable_all").run(["y"], {"x": x})[0][:, 0].max() < bound, kind
    model.write_bytes(whole.SerializeToString())
    certificate.write_text(text)


def test_a_convolution_made_elsewhere_gets_a_last_layer_that_keeps_the_rules(tmp_path):
    """`[network] trunk` with the rules in the weights: what stands before the last layer stays as it is, and the whole is certified."""
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install torch)")
    torch.manual_seed(1)
    nn = torch.nn

    class Picture(nn.Module):
        def forward(self, x):
            return x.reshape(-1, 1, 4, 4)

    net = nn.Sequential(Picture(), nn.Conv2d(1, 3, 2), nn.ReLU(), nn.MaxPool2d(2, stride=1), nn.Flatten(), nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 1))
    axes = {"x": {0: "N"}, "y": {0: "N"}}
    torch.onnx.export(net, torch.zeros(1, 16), str(tmp_path / "t.onnx"), input_names=["x"], output_names=["y"], dynamo=False, dynamic_axes=axes)
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (300, 16))
    y = np.minimum(x.mean(1) + 0.2 * x[:, 5], 0.6 + 0.3 * x[:, 0])
    rows = "\n".join(",".join(f"{v:.4f}" for v in [*r, t]) for r, t in zip(x, y))
    (tmp_path / "d.csv").write_text(",".join([f"p{i}" for i in range(16)] + ["light"]) + "\n" + rows + "\n")
    features = "\n".join(f"[features.p{i}]\nrange = [0, 1]" for i in range(16))
    (tmp_path / "r.toml").write_text(
        f"""[data]\nfile = "d.csv"\ntargets = ["light"]\n[task]\nkind = "regression"\n[network]\ntrunk = "t.onnx"\n[train]\nenforce = "weights"
epochs = 20\n[[rule]]\nname = "bounded"\ntext = "light <= 0.7 + 0.3 * p0"\n[[rule]]\nname = "never below nothing"\ntext = "light >= -0.1"\n{features}\n"""
    )
    done = program.run("train", "r.toml", "--out", "out", "-q", cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert program.run("check", tmp_path / "out", capture_output=True).returncode == 0
    numbers = lambda path: {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    ours, given = numbers(tmp_path / "out" / "model.onnx"), numbers(tmp_path / "t.onnx")
    assert any(w.shape == (3, 1, 2, 2) and (w == given["1.weight"]).all() for w in ours.values())
    assert any(w.shape == (5, 12) and (w == given["5.weight"]).all() for w in ours.values())
    sample = np.float32(rng.choice([0, 1, 0.5], (20_000, 16)))
    out = session(str(tmp_path / "out" / "model.onnx"), "enable_all").run(["y"], {"x": sample})[0][:, 0].astype(float)
    assert (out <= 0.7 + 0.3 * sample[:, 0]).all() and (out >= -0.1).all() and np.ptp(out) > 1e-3
