"""Features that are multiples of a step: sums equal them bit for bit, however the file is run and whichever way the step answers."""

import csv

import effort
import numpy as np
import onnx
import onnxruntime
import program
import pytest
from levels import LEVELS

PROBLEM = """[data]
file = "days.csv"
targets = ["a", "b", "c"]
[features.sold]
step = 0.25
range = [0, 24]
[features.heat]
range = [-20, 45]
[features.boxes]
step = 8
range = [-16, 800]
[task]
kind = "regression"
[network]
hidden = [8]
[train]
epochs = 5
learning_rate = 0.01
[[rule]]
name = "all of it"
text = "a + b + c == sold + 0.5 * boxes + 20"
[[rule]]
name = "none is negative"
text = "a >= 0 and b >= 0 and c >= 0"
[[rule]]
name = "cold"
text = "heat <= 2 => a + b <= sold + 10"
"""


def rows(generator, count):
    """Sold, heat, boxes: anywhere, at the ends, at the border of the condition."""
    sold = np.where(generator.random(count) < 0.2, generator.choice([0, 0.25, 24], count), generator.integers(0, 97, count) / 4)
    near = generator.choice(np.float32([-20, 45, 2, np.nextafter(np.float32(2), np.float32(3)), 1.9999999]), count)
    heat = np.where(generator.random(count) < 0.3, near, generator.uniform(-20, 45, count))
    boxes = np.where(generator.random(count) < 0.2, generator.choice([-16, 0, 800], count), generator.integers(-2, 101, count) * 8)
    return np.stack([sold, heat, boxes], axis=1).astype(np.float32)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stepped")
    with open(folder / "days.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["sold", "heat", "boxes", "a", "b", "c"])
        for sold, heat, boxes in rows(np.random.default_rng(1), 400):
            a, b = np.floor(sold) / 4, np.floor(sold) / 2
            out.writerow([sold, heat, boxes, a, b, sold + boxes / 2 + 20 - a - b])
    (folder / "rules.toml").write_text(PROBLEM)
    program.run("train", folder / "rules.toml", "--out", folder / "run", "--enforce", "decode", "-q", check=True)
    program.run("check", folder / "run", check=True)
    return folder / "run"


def runs(model, x):
    for level in LEVELS:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = LEVELS[level]
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        yield level, *session.run(["y", "in_domain", "ok"], {"x": x})


def obeys(x, y):
    total = x[:, 0] + np.float32(0.5) * x[:, 2] + np.float32(20)
    cold = x[:, 1] <= 2
    # In any order: these sums do not round.
    sums = [(y[:, 0] + y[:, 1]) + y[:, 2], y[:, 0] + (y[:, 1] + y[:, 2]), (y[:, 0] + y[:, 2]) + y[:, 1]]
    return all((s == total).all() for s in sums) and (y >= 0).all() and (y[:, 0] + y[:, 1] <= x[:, 0] + 10)[cold].all()


def test_sums_are_equal_bit_for_bit(run):
    x = rows(np.random.default_rng(effort.SEED + 2), 2000 * effort.count(2))
    for level, y, in_domain, ok in runs((run / "model.onnx").read_bytes(), x):
        assert y.dtype == np.float32 and obeys(x, y), level
        assert in_domain.all() and ok.mean() > 0.95, (level, in_domain.mean(), ok.mean())


def test_so_are_those_of_the_fallback(run):
    model = onnx.load(run / "model.onnx")
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and not tensor.name.startswith("deepsade."):
            values = np.full_like(onnx.numpy_helper.to_array(tensor), np.nan)
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    x = rows(np.random.default_rng(effort.SEED + 3), 2000)
    for level, y, in_domain, _ in runs(model.SerializeToString(), x):
        assert in_domain.all() and obeys(x, y), level


def test_what_is_no_multiple_is_told(run):
    x = rows(np.random.default_rng(effort.SEED + 4), 2000)
    column = np.random.default_rng(5).choice([0, 2], len(x))
    at = (np.arange(len(x)), column)
    beside = np.where(x[at] == 0, np.float32(1e-30), np.nextafter(x[at], np.float32(2000)))
    odd = [np.nan, np.inf, -np.inf, 1e38, -1e38, 0.3, 4.1]
    x[at] = np.where(np.arange(len(x)) % 2 == 0, beside, np.random.default_rng(6).choice(np.float32(odd), len(x)))
    for level, _, in_domain, _ in runs((run / "model.onnx").read_bytes(), x):
        assert not in_domain.any(), level
