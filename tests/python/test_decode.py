"""Models that choose their outputs in the graph: plain onnxruntime gives the label sets that `deepsade predict` prints."""

import csv
import json

import numpy as np
import onnx
import onnxruntime
import pytest

import program

LABELS = ["l0", "l1", "l2", "l3", "l4"]
RULES = ["sum((j + 1) * label[j] for j in 0..5) > 4", "label[4] => not label[0]"]


def deepsade(*args):
    return program.run(*args, check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def decoded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decoded")
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, size=(400, 3)).astype(np.float32)
    y = np.stack([x[:, 0] > 5, x[:, 1] > 3, x[:, 2] > 6, x[:, 0] + x[:, 1] > 9, x[:, 2] < 5], axis=1)
    with open(folder / "data.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["a", "b", "c", *LABELS])
        out.writerows([*row, *labels.astype(int)] for row, labels in zip(x, y))
    rules = "".join(f'[[rule]]\nname = "r{k}"\ntext = "{text}"\n' for k, text in enumerate(RULES))
    targets = json.dumps(LABELS)
    (folder / "p.toml").write_text(
        f'[data]\nfile = "data.csv"\ntargets = {targets}\n[task]\nkind = "multilabel"\n[network]\nhidden = [12]\n'
        f"[train]\nepochs = 30\nlearning_rate = 0.01\n{rules}"
    )
    deepsade("train", folder / "p.toml", "--out", folder / "out", "-q")
    return folder


def valid(set_):
    return sum((j + 1) * v for j, v in enumerate(set_)) > 4 and not (set_[4] and set_[0])


def test_onnxruntime_gives_the_label_sets_of_predict(decoded):
    path = decoded / "out" / "model.onnx"
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert json.loads({p.key: p.value for p in model.metadata_props}["deepsade.step"])["outputs"] == 5
    assert [o.name for o in model.graph.output] == ["y", "in_domain", "ok", "scores"]
    rng = np.random.default_rng(2)
    # Far outside of the domain, too: the rules mention no feature.
    x = np.concatenate([rng.uniform(0, 10, size=(3000, 3)), rng.normal(0, 1e4, size=(3000, 3))]).astype(np.float32)
    with open(decoded / "new.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["a", "b", "c"])
        out.writerows([repr(float(v)) for v in row] for row in x)
    deepsade("predict", decoded / "out" / "model.onnx", decoded / "new.csv", "--out", decoded / "predictions.csv", "-q")
    printed = [[int(row[name]) for name in LABELS] for row in csv.DictReader(open(decoded / "predictions.csv"))]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    y, in_domain, scores = session.run(["y", "in_domain", "scores"], {"x": x})
    assert y.shape == (6000, 5) and scores.shape == (6000, 5) and in_domain[:3000].mean() > 0.9 and not in_domain[3000:].any()
    sets = y.astype(int).tolist()
    assert all(valid(s) for s in sets)
    assert len({tuple(s) for s in sets}) > 5
    # Scores count up to 16384 in size.
    for ours, theirs, s in zip(printed, sets, np.clip(scores.astype(np.float64), -16384, 16384)):
        # The same set, or one that is as good within the rounding of the sums.
        if ours != theirs:
            assert abs(np.dot(ours, s) - np.dot(theirs, s)) <= 1e-5 * np.abs(s).sum(), (ours, theirs, s)


def test_the_choice_is_the_best_of_all_valid_sets(decoded):
    session = onnxruntime.InferenceSession(decoded / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    x = np.random.default_rng(3).uniform(0, 10, size=(500, 3)).astype(np.float32)
    y, scores = session.run(["y", "scores"], {"x": x})
    sets = np.array([s for s in np.ndindex(*[2] * 5) if valid(s)])
    totals = scores.astype(np.float64) @ sets.T
    chosen = (scores.astype(np.float64) * y).sum(axis=1)
    assert np.all(chosen >= totals.max(axis=1) - 1e-5 * np.abs(scores).sum(axis=1))


@pytest.mark.parametrize("nonsense", [np.nan, np.inf, -np.inf, 3e38])
def test_nonsense_gives_a_valid_set(decoded, nonsense):
    session = onnxruntime.InferenceSession(decoded / "out" / "model.onnx", providers=["CPUExecutionProvider"])
    y = session.run(["y"], {"x": np.array([[nonsense, 1, 2], [nonsense, nonsense, -nonsense]], dtype=np.float32)})[0]
    assert all(valid(s) for s in y.astype(int).tolist())
