"""Targets that are whole numbers: whatever the row and however the file is run, whole numbers come out that obey every rule."""

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
targets = ["casual", "registered", "cnt", "price"]
[features.seats]
kind = "integer"
range = [0, 60]
[features.heat]
range = [-20, 45]
[features.day]
levels = ["rest", "work"]
[task]
kind = "regression"
[targets.casual]
kind = "integer"
[targets.registered]
kind = "integer"
[targets.cnt]
kind = "integer"
[network]
hidden = [8]
[train]
epochs = 10
learning_rate = 0.01
[[rule]]
name = "sum"
text = "casual + registered == cnt"
[[rule]]
name = "none is negative"
text = "casual >= 0 and registered >= 0"
[[rule]]
name = "no more than seats"
text = "cnt <= seats"
[[rule]]
name = "cold"
text = "day == 'rest' and heat <= 2 => casual <= 3"
[[rule]]
name = "price"
text = "0 <= price <= 20"
"""


def rows(generator, count):
    """Seats, heat, day: anywhere, in corners, at the border of the condition."""
    seats = np.where(generator.random(count) < 0.2, generator.choice([0, 1, 60], count), generator.integers(0, 61, count))
    near = generator.choice(np.float32([-20, 45, 2, np.nextafter(np.float32(2), np.float32(3)), 1.9999999]), count)
    heat = np.where(generator.random(count) < 0.3, near, generator.uniform(-20, 45, count)).astype(np.float32)
    return seats, heat, generator.integers(0, 2, count)


def columns(seats, heat, day):
    return np.stack([seats, heat, day == 0, day == 1], axis=1).astype(np.float32)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with open(folder / "days.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["seats", "heat", "day", "casual", "registered", "cnt", "price"])
        for seats, heat, day in zip(*rows(np.random.default_rng(1), 400)):
            casual = min(int(seats), 3 if day == 0 and heat <= 2 else int(max(0, heat) // 4))
            registered = min(int(seats) - casual, int(seats) // 3)
            out.writerow([seats, heat, ["rest", "work"][day], casual, registered, casual + registered, 5 + heat / 10])
    (folder / "rules.toml").write_text(PROBLEM)
    program.run("train", folder / "rules.toml", "--out", folder / "run", "-q", check=True)
    program.run("check", folder / "run", check=True)
    return folder / "run"


def test_only_whole_numbers_that_obey_come_out(run):
    model = (run / "model.onnx").read_bytes()
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    seats, heat, day = rows(np.random.default_rng(effort.SEED + 2), 2000 * effort.count(2))
    first = None
    for level in LEVELS:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = LEVELS[level]
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        y, in_domain, ok = session.run(["y", "in_domain", "ok"], {"x": columns(seats, heat, day)})
        first = y if first is None else first
        assert y.tobytes() == first.tobytes(), level
        assert in_domain.all() and ok.mean() > 0.95, (level, in_domain.mean(), ok.mean())
    casual, registered, count, price = first.T
    assert (first[:, :3] == np.floor(first[:, :3])).all()
    assert (casual + registered == count).all() and (casual >= 0).all() and (registered >= 0).all() and (count <= seats).all()
    assert (casual[(day == 0) & (heat <= 2)] <= 3).all() and (price >= 0).all() and (price <= 20).all()
    assert len(np.unique(count)) > 3 and (price != np.floor(price)).any()
