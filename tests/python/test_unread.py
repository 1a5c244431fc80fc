"""`unaffected` beside rules that only an output step keeps: nothing in the file reads the features, whatever else it computes."""

import hashlib
import json

import numpy as np
import onnx
import pytest
from levels import LEVELS, session
from onnx import TensorProto, helper, numpy_helper
from program import run

HEAD = """
[data]
file = "d.csv"
targets = {targets}
[features.sex]
levels = ["f", "m"]
[features.region]
kind = "integer"
range = [0, 9]
[features.income]
range = [0, 100]
[features.debt]
range = [-5, 50]
{more}
[task]
kind = "{kind}"
[network]
hidden = [16, 8]
[train]
epochs = 15
learning_rate = 0.01
enforce = "{enforce}"
"""

NUMBERS = [
    "food <= 20 or rent <= 30", "food + rent <= 0.5 * income + 20", "income - debt > 40 => rent >= food", "food >= 0",
    "unaffected(food, sex)", "unaffected(rent, {sex, region})",
]
WHOLE = ["cars + bikes <= 9", "cars >= 0 and bikes >= 0", "income > 80 => cars >= 1", "unaffected(cars + bikes, {sex})"]
CLASSES = [
    "2 * debt > income + 3 => grade in {'C', 'D'}", "income > 60 and debt < 10 => grade != 'D'", "unaffected(grade, {sex, region})",
]
LABELS = ["a => b", "exactly(1, b, c, d)", "income > 50 => not d", "unaffected(a, sex)"]

CASES = {
    "numbers": ("regression", ["food", "rent"], NUMBERS, "", ["sex", "region"]),
    "whole": ("regression", ["cars", "bikes"], WHOLE,
              '[targets.cars]\nkind = "integer"\n[targets.bikes]\nkind = "integer"\n', ["sex"]),
    "classes": ("multiclass", ["grade"], CLASSES, "", ["sex", "region"]),
    "labels": ("multilabel", list("abcd"), LABELS, "", ["sex"]),
}
COLUMNS = {"sex": [0, 1], "region": [2], "income": [3], "debt": [4]}


def problem(folder, case, enforce="decode"):
    kind, targets, rules, more, _ = CASES[case]
    rng = np.random.default_rng(3)
    n = 400
    sex, region = rng.integers(0, 2, n), rng.integers(0, 10, n)
    income, debt = rng.uniform(0, 100, n).round(2), rng.uniform(-5, 50, n).round(2)
    lines = ["sex,region,income,debt," + ",".join(targets)]
    for s, r, i, d in zip(sex, region, income, debt):
        given = {
            "numbers": [0.2 * i + s, 0.25 * i + 0.1 * d + r],
            "whole": [int(i > 30) + int(i > 80), int(d > 20) + s],
            "classes": ["ABCD"[min(3, int(2 * d > i) + int(d > 20) + s * int(r > 5))]],
            "labels": [int(i < 30 and d > 10), int(i < 40), int(40 <= i < 70 or i >= 70), 0],
        }[case]
        lines.append(f"{'fm'[s]},{r},{i},{d}," + ",".join(map(str, given)))
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    text = HEAD.format(targets=json.dumps(targets), kind=kind, enforce=enforce, more=more)
    for k, rule in enumerate(rules):
        text += f'[[rule]]\nname = "r{k}"\ntext = "{rule}"\n'
    (folder / "p.toml").write_text(text)


def inputs(rows, seed=0):
    rng = np.random.default_rng(seed)
    sex = np.eye(2)[rng.integers(0, 2, rows)]
    income = np.where(rng.random(rows) < 0.2, rng.choice([0, 40, 50, 60, 80, 100], rows), rng.uniform(0, 100, rows))
    debt = np.where(rng.random(rows) < 0.2, rng.choice([-5, 10, 20, 50], rows), rng.uniform(-5, 50, rows))
    return np.column_stack([sex, rng.integers(0, 10, rows), income, debt]).astype(np.float32)


def obey(case, x, y):
    income, debt = x[:, 3].astype(float), x[:, 4].astype(float)
    y = y.astype(float)
    if case == "numbers":
        food, rent = y.T
        return ((food <= 20) | (rent <= 30)) & (food + rent <= 0.5 * income + 20) & ((income - debt <= 40) | (rent >= food)) & (food >= 0)
    if case == "whole":
        cars, bikes = y.T
        return (cars + bikes <= 9) & (cars >= 0) & (bikes >= 0) & ((income <= 80) | (cars >= 1)) & (y == np.round(y)).all(1)
    if case == "classes":
        best = y.argmax(1)
        return ((2 * debt <= income + 3) | (best >= 2)) & ((income <= 60) | (debt >= 10) | (best != 3))
    a, b, c, d = y.T > 0
    return (~a | b) & (b.astype(int) + c + d == 1) & ((income <= 50) | ~d)


def attack(case, model):
    """Whatever stands in the unread features, also in another row of the batch, the outputs are the same bits."""
    hidden = [c for name in CASES[case][4] for c in COLUMNS[name]]
    x = inputs(1001)
    other = inputs(1001, seed=1)
    twin = x.copy()
    twin[:, hidden] = other[:, hidden]
    strange = x.copy()
    strange[:, hidden] = np.nan
    for level in LEVELS:
        one = session(model, level)
        (y,) = one.run(["y"], {"x": x})
        assert obey(case, x, y).all()
        for changed in (twin, strange):
            assert (one.run(["y"], {"x": changed})[0].view(np.uint32) == y.view(np.uint32)).all()
        both = one.run(["y"], {"x": np.concatenate([x, twin])})[0]
        assert (both[:1001].view(np.uint32) == both[1001:].view(np.uint32)).all()
        for r in range(20):
            assert (one.run(["y"], {"x": twin[r : r + 1]})[0] == one.run(["y"], {"x": x[r : r + 1]})[0]).all()


@pytest.mark.parametrize("case", CASES)
def test_an_output_step_stands_behind_what_reads_nothing_of_them(case, tmp_path):
    problem(tmp_path, case)
    done = run("train", "p.toml", "--out", "run", "--json", "-q", cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    behind = [t for t in summary["cost"]["tried"] if "does not read" in t["how"]]
    assert behind and all(t["certified"] for t in behind), summary["cost"]["tried"]
    done = run("check", "run", "--json", cwd=tmp_path, capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    model = onnx.load(tmp_path / "run/model.onnx")
    # Clips may be better; then the signs of the weights keep what the step would.
    if model.graph.node[0].output[0] == "blind.is":
        assert {r["proved_by"] for r in said["rules"] if "proved_by" in r} == {"unread"}
        attack(case, tmp_path / "run/model.onnx")
    else:
        assert case in ("numbers", "whole", "classes")


def blind_run(folder):
    problem(folder, "labels")
    done = run("train", "p.toml", "--out", "run", "-q", cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert onnx.load(folder / "run/model.onnx").graph.node[0].output[0] == "blind.is"


def fields(data):
    """The fields of a protobuf message in their order: number, bytes of the value, bytes of the whole."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        start, tag = at, varint()
        if tag & 7 == 2:
            size = varint()
            at += size
            yield tag >> 3, data[at - size : at], data[start:at]
        else:
            assert tag & 7 == 0
            varint()
            yield tag >> 3, None, data[start:at]


def field(number, value):
    size, out = len(value), bytearray([number << 3 | 2])
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes(out) + bytes([size]) + value


def written(original, graph):
    """The file with the nodes and stored tensors of another graph, everything in the order that it had."""
    def inside(data):
        nodes, tensors = iter(graph.node), iter(graph.initializer)
        out = b""
        for number, value, raw in fields(data):
            new = next({1: nodes, 5: tensors}[number], None) if number in (1, 5) else None
            out += raw if number not in (1, 5) else field(number, new.SerializeToString()) if new else b""
        return out

    return b"".join(field(7, inside(value)) if number == 7 else raw for number, value, raw in fields(original))


def checked(folder, data):
    """`check` of a changed file, whose certificate says that it is about it."""
    (folder / "run/model.onnx").write_bytes(data)
    certificate = json.loads((folder / "run/certificate.json").read_text())
    certificate["model_sha256"] = hashlib.sha256(data).hexdigest()
    (folder / "run/certificate.json").write_text(json.dumps(certificate))
    return run("check", "run", cwd=folder, capture_output=True, text=True)


def test_files_that_read_past_it_are_rejected(tmp_path):
    blind_run(tmp_path)
    data = (tmp_path / "run/model.onnx").read_bytes()
    original = onnx.load_from_string(data)
    assert written(data, original.graph) == data and checked(tmp_path, data).returncode == 0

    def changed(change):
        model = onnx.ModelProto()
        model.CopyFrom(original)
        change(model.graph)
        done = checked(tmp_path, written(data, model.graph))
        assert done.returncode == 1 and "REJECTED" in done.stdout + done.stderr, done.stdout + done.stderr

    def values(graph, new):
        tensor = next(t for t in graph.initializer if t.name == "blind.values")
        tensor.CopyFrom(numpy_helper.from_array(np.array(new, np.float32), "blind.values"))

    nan = np.nan
    # Read after all, half of it read, no level at all, two levels, outside the domain in place of another.
    for new in ([nan] * 5, [1, nan, nan, nan, nan], [0, 0, nan, nan, nan], [1, 1, nan, nan, nan], [0.5, 0.5, nan, nan, nan],
                [1, 0, 11, nan, nan], [1, 0, 2.5, nan, nan], [1, 0, nan, nan], [np.inf, 0, nan, nan, nan]):
        changed(lambda graph: values(graph, new))
    # A feature that a rule asks about.
    changed(lambda graph: values(graph, [1, 0, nan, 50, nan]))
    # Each node that reads the blind input reads the input itself.
    readers = [k for k, node in enumerate(original.graph.node) if "blind.x" in node.input]
    assert len(readers) > 2
    for k in readers:
        def past(graph):
            names = ["x" if name == "blind.x" else name for name in graph.node[k].input]
            del graph.node[k].input[:]
            graph.node[k].input.extend(names)
        changed(past)
    changed(lambda graph: graph.node.pop(0))
    changed(lambda graph: graph.node[1].input.reverse())

    def swapped(graph):
        graph.node[1].input[1], graph.node[1].input[2] = graph.node[1].input[2], graph.node[1].input[1]
    changed(swapped)

    def renamed(graph):
        for node in graph.node:
            for names in (node.input, node.output):
                kept = [name.replace("blind.", "bland.") for name in names]
                del names[:]
                names.extend(kept)
        for tensor in graph.initializer:
            tensor.name = tensor.name.replace("blind.", "bland.")
    changed(renamed)


def foreign(folder, nodes, tensors=()):
    """A model of another tool that reads everything: 5 columns, one number."""
    w = numpy_helper.from_array(np.array([[3.0], [-3.0], [0.5], [0.1], [0.2]], np.float32), "w")
    nodes = [helper.make_node("MatMul", ["in", "w"], ["sum"]), *nodes]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("in", TensorProto.FLOAT, ["N", 5])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["N", 1])], [w, *tensors])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    onnx.save(model, folder / "m.onnx")
    text = HEAD.format(targets='["out"]', kind="regression", enforce="auto", more="").replace("[data]\nfile = \"d.csv\"\ntargets = [\"out\"]", "")
    text = text.replace('kind = "regression"', 'kind = "regression"\ntargets = ["out"]')
    for k, rule in enumerate(["out <= 4 or out >= 6", "income - debt > 70 => out <= 9", "unaffected(out, {sex, region})"]):
        text += f'[[rule]]\nname = "r{k}"\ntext = "{rule}"\n'
    (folder / "p.toml").write_text(text)
    return run("shield", "--model", "m.onnx", "--rules", "p.toml", "--out", "s", cwd=folder, capture_output=True, text=True)


def test_shield_hides_features_from_any_model(tmp_path):
    done = foreign(tmp_path, [helper.make_node("Identity", ["sum"], ["out"])])
    assert done.returncode == 0, done.stdout + done.stderr
    done = run("check", "s", cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "bit for bit" in done.stdout, done.stdout + done.stderr
    x = inputs(2000)
    other = x.copy()
    other[:, :3] = inputs(2000, seed=5)[:, :3]
    seen = set()
    for level in LEVELS:
        one = session(tmp_path / "s/model.onnx", level)
        y, same = one.run(None, {"in": x})[0], one.run(None, {"in": other})[0]
        assert (y == same).all() and ((y <= 4) | (y >= 6)).all()
        seen |= {len(np.unique(y))}
    assert min(seen) > 1000


def test_shield_hides_nothing_from_what_is_no_function(tmp_path):
    done = foreign(tmp_path, [helper.make_node("RandomNormalLike", ["sum"], ["noise"]), helper.make_node("Add", ["sum", "noise"], ["out"])])
    assert done.returncode != 0 and "RandomNormalLike" in done.stderr, done.stdout + done.stderr


def test_a_rule_that_asks_about_them_leaves_other_ways(tmp_path):
    problem(tmp_path, "numbers", enforce="auto")
    text = (tmp_path / "p.toml").read_text() + '[[rule]]\nname = "sex"\ntext = "sex == \'m\' => food <= 60"\n'
    (tmp_path / "p.toml").write_text(text)
    done = run("train", "p.toml", "--out", "run", "--json", "-q", cwd=tmp_path, capture_output=True, text=True)
    tried = json.loads(done.stdout)["cost"]["tried"] if done.returncode == 0 else []
    assert not any("does not read" in t["how"] for t in tried), tried


def test_gaps_of_what_is_hidden_tell_nothing(tmp_path):
    """A feature with an indicator: `predict` gives what the file gives, whether there is a value or not."""
    problem(tmp_path, "labels")
    lines = (tmp_path / "d.csv").read_text().splitlines()
    gaps = [",".join(["" if c == 1 and k % 3 == 1 else v for c, v in enumerate(line.split(","))]) for k, line in enumerate(lines)]
    (tmp_path / "d.csv").write_text("\n".join(gaps) + "\n")
    text = (tmp_path / "p.toml").read_text().replace('file = "d.csv"', 'file = "d.csv"\nimpute = "median"')
    text = text.replace("range = [0, 9]", "range = [0, 9]\nindicator = true").replace("unaffected(a, sex)", "unaffected(a, {sex, region})")
    (tmp_path / "p.toml").write_text(text)
    done = run("train", "p.toml", "--out", "run", "-q", cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert onnx.load(tmp_path / "run/model.onnx").graph.node[0].output[0] == "blind.is"
    done = run("predict", "run/model.onnx", "d.csv", "--scores", cwd=tmp_path, capture_output=True, text=True)
    header, *rows = [line.split(",") for line in done.stdout.splitlines()]
    columns = [k for k, name in enumerate(header) if name.startswith("score(")]
    assert len(columns) == 4 and len(rows) == 400, header
    x = np.array([[line.split(",")[0] == "f", line.split(",")[0] == "m", *map(lambda v: float(v or "nan"), line.split(",")[1:4])]
                  for line in gaps[1:]], np.float32)
    (scores,) = session(tmp_path / "run/model.onnx", "enable_all").run(["scores"], {"x": x})
    np.testing.assert_allclose(np.array([[float(row[k]) for k in columns] for row in rows]), scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rules", ["with", "without"])
def test_what_writes_into_its_inputs_is_not_shielded(rules, tmp_path):
    """A batch normalisation in training mode overwrites its running mean, which may share its memory with constants of the step."""
    vectors = [numpy_helper.from_array(np.array([v], np.float32), name) for name, v in [("s", 1), ("b", 0), ("m", 0), ("v", 1)]]
    node = helper.make_node("BatchNormalization", ["sum", "s", "b", "m", "v"], ["out", "m1", "v1"], training_mode=1)
    done = foreign(tmp_path, [node], vectors)
    if rules == "without":
        text = (tmp_path / "p.toml").read_text().replace('text = "unaffected(out, {sex, region})"', 'text = "out <= 1000"')
        (tmp_path / "p.toml").write_text(text)
        done = run("shield", "--model", "m.onnx", "--rules", "p.toml", "--out", "s", cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "training mode" in done.stderr, done.stdout + done.stderr
    model = onnx.load(tmp_path / "m.onnx")
    normal = model.graph.node[1]
    del normal.output[1:]
    normal.attribute[0].i = 0
    onnx.save(model, tmp_path / "m.onnx")
    done = run("shield", "--model", "m.onnx", "--rules", "p.toml", "--out", "s", cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
