"""Rules between two inputs in onnxruntime: pairs of neighbours in float32, at other places of one batch, at every optimisation level."""

import numpy as np
import pytest
from levels import LEVELS, session
from onnx import TensorProto, helper, numpy_helper
from program import run

PAIRS = 4000


def rows(rng, count):
    x = rng.uniform(-1, 1, (count, 4)).astype(np.float32)
    x[:, 1] = rng.integers(0, 6, count)
    return x


@pytest.fixture(scope="module", params=[0, 1, 2])
def trained(request, tmp_path_factory):
    """A network that rises in a, falls in n, does not read c, and stays between bounds that a sets."""
    folder, rng = tmp_path_factory.mktemp("pairs"), np.random.default_rng(request.param)
    x = rows(rng, 600)
    y = np.sin(2 * x[:, 0]) - 0.3 * x[:, 1] + x[:, 2] * x[:, 3] + rng.normal(0, 0.2, 600)
    lines = ["a,n,b,c,y"] + [",".join(map(repr, map(float, row))) for row in np.column_stack([x, y])]
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    (folder / "r.toml").write_text(f"""
[data]
file = "d.csv"
targets = ["y"]
seed = {request.param}
[features.n]
kind = "integer"
range = [0, 5]
[task]
kind = "regression"
[network]
hidden = [24, 12]
[train]
epochs = 20
[[rule]]
name = "up"
text = "increasing(y, a)"
[[rule]]
name = "down"
text = "decreasing(y, n)"
[[rule]]
name = "fair"
text = "unaffected(y, c)"
[[rule]]
name = "bounded"
text = "y <= 6 + a"
""")
    run("train", folder / "r.toml", "--out", folder / "out", "-q", check=True)
    run("check", folder / "out", check=True)
    return (folder / "out" / "model.onnx").read_bytes(), x.min(axis=0), x.max(axis=0)


@pytest.mark.parametrize("level", LEVELS)
def test_no_pair_of_one_batch_breaks_a_rule(trained, level):
    data, lo, hi = trained
    running, rng = session(data, level), np.random.default_rng(3)
    for column, sign in ((0, 1), (1, -1), (3, 0)):
        first = np.clip(rows(rng, PAIRS), lo, hi)
        second = first.copy()
        if column == 1:
            second[:, 1] = np.minimum(first[:, 1] + rng.integers(1, 4, PAIRS), 5)
        else:
            near = rng.random(PAIRS) < 0.5
            far = first[:, column] + (hi[column] - first[:, column]) * rng.random(PAIRS).astype(np.float32)
            second[:, column] = np.minimum(np.where(near, np.nextafter(first[:, column], np.float32(9)), far), hi[column])
        both = np.concatenate([first, second]).astype(np.float32)
        order = rng.permutation(len(both))
        y = np.empty(len(both), np.float32)
        y[order] = running.run(None, {"x": both[order]})[0][:, 0]
        moved = y[PAIRS:].astype(np.float64) - y[:PAIRS]
        assert (moved == 0).all() if sign == 0 else (sign * moved >= 0).all(), (column, moved.min(), moved.max())
        assert sign == 0 or (moved != 0).any(), "it reads the feature"


@pytest.mark.parametrize("seed, room", [(3, 1.02), (6, 1.01), (17, 1.01), (36, 1.02)])
def test_slopes_leave_the_checker_what_rounding_takes(tmp_path, seed, room):
    """Limits a little above the largest change that samples show: the first tree that the search finds is a little too coarse for the checker."""
    rng = np.random.default_rng(seed)
    nodes, constants, last = [], [], "x"
    for k, (a, b) in enumerate([(2, 8), (8, 8), (8, 1)]):
        constants.append(numpy_helper.from_array((rng.normal(size=(a, b)) / np.sqrt(a)).astype(np.float32), f"w{k}"))
        constants.append(numpy_helper.from_array(rng.normal(size=b).astype(np.float32) * np.float32(0.3), f"b{k}"))
        nodes.append(helper.make_node("Gemm", [last, f"w{k}", f"b{k}"], [f"g{k}" if k < 2 else "y"]))
        if k < 2:
            last = f"r{k}"
            nodes.append(helper.make_node("Relu", [f"g{k}"], [last]))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", width]) for name, width in [("x", 2), ("y", 1)]]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(model)
    x = rng.uniform(-1, 1, (200000, 2)).astype(np.float32)
    moved = x.copy()
    moved[:, 0] = np.clip(x[:, 0] + rng.choice([-0.01, 0.01], len(x)), -1, 1)
    one = session(model, next(iter(LEVELS)))
    most = np.abs(one.run(None, {"x": x})[0] - one.run(None, {"x": moved})[0]).max()
    (tmp_path / "r.toml").write_text(
        '[features]\na = { range = [-1, 1] }\nb = { range = [-1, 1] }\n[task]\nkind = "regression"\ntargets = ["y"]\n[[rule]]\nname = "r"\n'
        f'text = "change(y, {{a}}, by = 0.01) <= {most * room:.7f}"\n')
    done = run("verify", "--model", tmp_path / "m.onnx", "--rules", tmp_path / "r.toml", "--timeout", "60", capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("proved"), done.stdout
