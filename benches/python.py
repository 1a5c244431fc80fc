"""What Python costs: fit against the command line on the same data, predict on one row and on a million.

    python benches/python.py            # in an environment with the wheel; builds the release command line

Ratios are of runs side by side, one after the other, best of several.
"""

import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np

from deepsade import DeepSaDeClassifier

ROOT = pathlib.Path(__file__).parent.parent
ROUNDS = 5


def best(work, rounds=ROUNDS):
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def data(rows, features=13):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (rows, features)).astype(np.float32).astype(np.float64)
    y = np.where(X[:, :4].sum(axis=1) + 0.3 * rng.normal(size=rows) > 2, "yes", "no")
    return X, y


def fit(folder, rows=5000, epochs=30):
    """The same network, rows, order and epochs: from memory, and from a file by the command line (which also reads the file)."""
    X, y = data(rows)
    names = [f"x{k}" for k in range(X.shape[1])]
    lines = [",".join([*names, "y"])] + [",".join([*map(repr, map(float, row)), label]) for row, label in zip(X, y)]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    (folder / "rules.toml").write_text(
        f"""[data]\nfile = "data.csv"\ntargets = ["y"]\nsplit = {{ train = 0.9, validation = 0.1, test = 0.0 }}\n
[task]\nkind = "binary"\n[train]\nepochs = {epochs}\n[[rule]]\nname = "rule 1"\ntext = "x0 < 0.1 => y == 'no'"\n"""
    )
    command = [ROOT / "target/release/deepsade", "train", "--force", folder / "rules.toml", "--out", folder / "out", "--quiet", "--json"]
    estimator = DeepSaDeClassifier(rules=["x0 < 0.1 => y == 'no'"], epochs=epochs)
    pairs = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        there = time.perf_counter() - begun
        begun = time.perf_counter()
        estimator.fit(X, y)
        pairs.append((time.perf_counter() - begun, there, sum(said["timings"].values()) - said["timings"]["read"]))
    ours, theirs, training = (min(column) for column in zip(*pairs))
    same = estimator.model_.onnx == (folder / "out" / "model.onnx").read_bytes()
    print(f"fit, {rows} rows, {epochs} epochs: {ours:.3f} s from numpy; command line {theirs:.3f} s, {training:.3f} s of it without reading")
    print(f"  ratio {ours / theirs:.3f} (goal 1.05), to training alone {ours / training:.3f}; the same model file: {same}")
    return estimator


def predict(model):
    X, _ = data(1_000_000)
    one = X[:1].copy()
    n = 20_000
    seconds = best(lambda: [model.predict(one) for _ in range(n)], 3) / n
    print(f"predict, one row: {1e6 * seconds:.1f} us (goal 20)")
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        ratios = []
        for _ in range(3):
            ratios.append((best(lambda: model.predict(rows), 1), model.model_.seconds(rows)))
        python, rust = (min(column) for column in zip(*ratios))
        print(f"predict, a million rows of {np.dtype(dtype)}: {python:.3f} s, the network alone in Rust {rust:.3f} s: ratio {python / rust:.2f} (goal 1.2)")


if __name__ == "__main__":
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        predict(fit(pathlib.Path(folder)))
