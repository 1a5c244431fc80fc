"""The commands, judged from outside: onnxruntime on the exported file gives what `deepsade predict` prints."""

import csv
import gzip

import numpy as np
import onnx
import onnxruntime
import pytest

import program


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    program.run("demo", "--out", folder, check=True)
    return folder


def test_demo_model_gives_the_same_predictions_in_onnxruntime(demo):
    path = demo / "model" / "model.onnx"
    onnx.checker.check_model(onnx.load(path), full_check=True)
    rows = list(csv.DictReader(gzip.open(demo / "winequality-red.csv.gz", "rt")))
    targets = ["free sulfur dioxide", "total sulfur dioxide"]
    features = [name for name in rows[0] if name not in [*targets, "quality"]]
    x = np.array([[row[name] for name in features] for row in rows], dtype=np.float32)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    y = session.run(["y"], {"x": x})[0]
    printed = list(csv.DictReader(open(demo / "predictions.csv")))
    ours = np.array([[row[name] for name in targets] for row in printed], dtype=np.float32)
    assert len(printed) == len(rows) == 1599
    assert all(row["in_domain"] == "true" for row in printed)
    np.testing.assert_allclose(ours, y, rtol=1e-4, atol=1e-4)


def test_metadata_names_every_column(demo):
    import json

    model = onnx.load(demo / "model" / "model.onnx")
    metadata = {p.key: p.value for p in model.metadata_props}
    schema = json.loads(metadata["deepsade.schema"])
    assert len(schema["features"]) == 9
    assert json.loads(metadata["deepsade.rules"])[0]["name"] == "free is part of total"


def test_a_way_that_is_not_possible_is_printed_with_the_reason(tmp_path):
    rows = [[n, u, 10 * n - u] for n in range(1, 9) for u in np.linspace(2, 6, 25).round(3)]
    with open(tmp_path / "rows.csv", "w", newline="") as file:
        csv.writer(file).writerows([["n", "u", "v"], *rows])
    (tmp_path / "rules.toml").write_text(
        """[data]
file = "rows.csv"
targets = ["u", "v"]
[features.n]
kind = "integer"
[task]
kind = "regression"
[network]
hidden = [4]
[train]
epochs = 2
[[rule]]
name = "whole"
text = "u + v == 10 * n"
"""
    )
    done = program.run("train", tmp_path / "rules.toml", "--out", tmp_path / "run", "-q", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("Not possible through the weights: "))
    assert "'whole'" in line, line


@pytest.mark.parametrize("which", ["--model", "--certificate"])
def test_check_does_not_read_what_never_ends(demo, tmp_path, which):
    endless = tmp_path / "endless"
    with endless.open("wb") as file:
        file.truncate(3 << 30)
    done = program.run("check", demo / "model", which, endless, capture_output=True, text=True)
    assert done.returncode == 2 and "more than any network or certificate" in done.stderr, done.stderr
