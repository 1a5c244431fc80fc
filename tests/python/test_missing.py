"""Models that fill in missing values: NaN enters onnxruntime, the value that the schema names is read, the rules hold for it; a file that
fills in something else is not proved.

    pytest tests/python/test_missing.py
"""

import hashlib
import itertools
import json
import random

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import program

LEVELS = [
    onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
]

# Rules, and where they are kept: by the weights, by an output step, by clips behind signs.
WAYS = {
    "weights": ("weights", "0 <= rent <= income", None),
    "step": ("decode", "0 <= rent <= income", None),
    "clips": ("decode", "0 <= rent <= income", "increasing(rent, income)"),
}
INCOME = 30.0


def rows(seed, n=240, gaps=0.15):
    """income, age, area, rent as texts, some of them missing in one spelling or another."""
    draw = random.Random(seed)
    spelt = itertools.cycle(["", "?", "NA", "-999", "null"])
    for _ in range(n):
        income, age, area = draw.randint(10, 90), draw.randint(18, 80), draw.choice(["rural", "urban"])
        rent = round(0.3 * income + 0.05 * age + draw.random(), 2)
        gap = lambda value: next(spelt) if draw.random() < gaps else str(value)
        yield gap(income), gap(age), gap(area), str(rent)


def train(folder, way):
    enforce, rule, pair = WAYS[way]
    folder.mkdir(exist_ok=True)
    (folder / "homes.csv").write_text("income,age,area,rent\n" + "".join(",".join(row) + "\n" for row in rows(1)))
    rules = [("afford", rule)] + ([("more", pair)] if pair else [])
    (folder / "homes.toml").write_text(
        f"""
        [data]
        file = "homes.csv"
        targets = ["rent"]
        missing_values = [-999]
        [task]
        kind = "regression"
        [network]
        hidden = [8]
        scaling = "quantile"
        gate = "none"
        [train]
        epochs = 5
        learning_rate = 0.01
        enforce = "{enforce}"
        [features.income]
        range = [5, 100]
        missing = {INCOME}
        indicator = true
        [features.age]
        kind = "integer"
        range = [18, 80]
        missing = "median"
        [features.area]
        missing = "level"
        """
        + "".join(f'[[rule]]\nname = "{name}"\ntext = "{text}"\n' for name, text in rules)
    )
    done = program.run("train", folder / "homes.toml", "--out", folder / "run", "-q", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "accepted" in done.stdout
    return folder / "run"


@pytest.fixture(scope="module", params=list(WAYS))
def run(request, tmp_path_factory):
    return train(tmp_path_factory.mktemp(request.param), request.param)


def schema_of(run):
    metadata = {p.key: p.value for p in onnx.load(run / "model.onnx").metadata_props}
    return json.loads(metadata["deepsade.schema"])


def session(path, level=LEVELS[-1]):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    return onnxruntime.InferenceSession(path, options)


def outputs(path, x, level=LEVELS[-1]):
    one = session(path, level)
    given = one.run(None, {"x": x})
    return dict(zip([o.name for o in one.get_outputs()], given))


def predictions(path, x, level=LEVELS[-1]):
    said = outputs(path, x, level)
    return said[next(name for name in said if name == "y" or name.endswith(".y"))][:, 0]


def inputs(seed, n):
    """Rows of the raw input, without gaps: income, age, three columns of area."""
    draw = np.random.default_rng(seed)
    area = np.eye(3, dtype=np.float32)[draw.integers(0, 3, n)]
    return np.column_stack([draw.uniform(5, 100, n), draw.integers(18, 81, n), area]).astype(np.float32)


def test_the_schema_names_what_is_filled_in(run):
    schema = schema_of(run)
    filled = {f["feature"]: f for f in schema["filled"]}
    assert filled["income"]["with"] == INCOME and filled["income"]["indicator"]
    assert filled["age"]["with"] == int(filled["age"]["with"]) and filled["area"]["with"] == "missing"
    assert [f["name"] for f in schema["features"]] == ["income", "age", "area", "income is missing"]
    assert filled["income"]["markers"] == ["-999"]
    said = json.loads(program.run("check", run, "--json", capture_output=True, text=True).stdout)
    assert said["verdict"] == "accepted" and [f["feature"] for f in said["missing"]] == ["income", "age", "area"]


def test_a_gap_is_read_as_the_value_at_every_level(run):
    schema = schema_of(run)
    age = next(f["with"] for f in schema["filled"] if f["feature"] == "age")
    x = inputs(2, 400)
    without_age, filled_age = x.copy(), x.copy()
    without_age[:, 1], filled_age[:, 1] = np.nan, age
    without_area, filled_area = x.copy(), x.copy()
    without_area[:, 2:], filled_area[:, 2:] = np.nan, [0, 0, 1]
    without_income = x.copy()
    without_income[:, 0] = np.nan
    for level in LEVELS:
        for gaps, filled in [(without_age, filled_age), (without_area, filled_area)]:
            ours, theirs = outputs(run / "model.onnx", gaps, level), outputs(run / "model.onnx", filled, level)
            assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
        # The rule is read on what is filled in.
        rent = predictions(run / "model.onnx", without_income, level)
        assert np.all(np.isfinite(rent)) and np.all((0 <= rent) & (rent <= INCOME))
        rent = predictions(run / "model.onnx", x, level)
        assert np.all((0 <= rent) & (rent <= x[:, 0]))
        said = outputs(run / "model.onnx", np.vstack([x, without_income, without_age, without_area]), level)
        for name in said:
            if "in_domain" in name:
                assert np.all(said[name]), "what is filled in is in the domain"


def test_an_indicator_is_one_where_there_was_a_gap(run):
    """The file on a gap, and the same file without what stands in front on the filled columns and the flag."""
    bare = unwrapped(onnx.load(run / "model.onnx"))
    x = inputs(3, 100)
    x[::3, 0] = np.nan
    flags = np.isnan(x[:, :1]).astype(np.float32)
    filled = np.hstack([np.where(np.isnan(x), np.float32(INCOME), x), flags])
    one = onnxruntime.InferenceSession(bare.SerializeToString())
    theirs = one.run(None, {"x": filled})
    assert all(np.array_equal(a, b) for a, b in zip(outputs(run / "model.onnx", x).values(), theirs))


def unwrapped(model):
    """The graph behind what fills in, by our own hand."""
    nodes = [n for n in model.graph.node if not n.output[0].startswith("missing.")]
    for node in nodes:
        node.input[:] = ["x" if name == "missing.x" else name for name in node.input]
    width = model.graph.input[0].type.tensor_type.shape.dim[1].dim_value + 1
    kept = [t for t in model.graph.initializer if not t.name.startswith("missing.")]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", width])
    graph = helper.make_graph(nodes, "bare", [x], list(model.graph.output), kept)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def test_predict_fills_in_alike(run, tmp_path):
    later = list(rows(5, 60, gaps=0.4))
    (tmp_path / "later.csv").write_text("area,income,age\n" + "".join(f"{area},{income},{age}\n" for income, age, area, _ in later))
    done = program.run("predict", run / "model.onnx", tmp_path / "later.csv", capture_output=True, text=True)
    assert done.returncode == 0 and "outside" not in done.stderr, done.stderr
    lines = [line.split(",") for line in done.stdout.strip().splitlines()]
    at = lines[0].index("rent")
    number = lambda text: float(text) if text not in ("", "?", "NA", "-999", "null") else np.nan
    places = {"rural": [1, 0, 0], "urban": [0, 1, 0]}
    x = [[number(income), number(age), *places.get(area, [np.nan] * 3)] for income, age, area, _ in later]
    rent = predictions(run / "model.onnx", np.array(x, dtype=np.float32))
    assert np.allclose([float(line[at]) for line in lines[1:]], rent, rtol=1e-5, atol=1e-5)


def fields(message):
    """The fields of a protobuf message as (number, bytes of the whole field, bytes of its value or None)."""
    at, found = 0, []

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        start = at
        tag = varint()
        value = None
        if tag & 7 == 2:
            length = varint()
            value = message[at : at + length]
            at += length
        elif tag & 7 == 0:
            varint()
        else:
            at += 8 if tag & 7 == 1 else 4
        found.append((tag >> 3, message[start:at], value))
    return found


def field(number, value):
    def varint(n):
        out = bytearray()
        while n >= 0x80:
            out.append(n & 0x7F | 0x80)
            n >>= 7
        return bytes(out) + bytes([n])

    return varint(number << 3 | 2) + varint(len(value)) + value


GRAPH, METADATA, NODE, INITIALIZER, INPUT = 7, 14, 1, 5, 11


def edited(content, change):
    """The file with another graph, all that `change` leaves alone as it stands; it gets kind, message and gives messages."""
    out = b""
    for number, raw, value in fields(content):
        if number == GRAPH:
            graph = b"".join(
                b"".join(field(n, m) for m in change(n, v)) if n in (NODE, INITIALIZER, INPUT) else r for n, r, v in fields(value)
            )
            raw = field(GRAPH, graph)
        elif number == METADATA:
            raw = b"".join(field(METADATA, m) for m in change(METADATA, value))
        out += raw
    return out


def forge(folder, run, change):
    """The run's files with another model, and a certificate that names it."""
    folder.mkdir()
    content = edited((run / "model.onnx").read_bytes(), change)
    certificate = json.loads((run / "certificate.json").read_text())
    certificate["model_sha256"] = hashlib.sha256(content).hexdigest()
    (folder / "model.onnx").write_bytes(content)
    (folder / "certificate.json").write_text(json.dumps(certificate))
    (folder / "rules.toml").write_text((run / "rules.toml").read_text())
    done = program.run("check", folder, "--json", capture_output=True, text=True)
    assert "panicked" not in done.stderr, done.stderr
    return json.loads(done.stdout), content


def of_tensor(name, edit):
    """Another content of one stored tensor."""

    def change(kind, message):
        if kind == INITIALIZER and onnx.TensorProto.FromString(message).name == name:
            stored = onnx.TensorProto.FromString(message)
            values = numpy_helper.to_array(stored).copy()
            stored.raw_data = edit(values).tobytes()
            message = stored.SerializeToString()
        return [message]

    return change


def of_node(chosen, edit):
    """One node changed in place; `edit` may give several."""
    left = [True]

    def change(kind, message):
        if kind == NODE and left[0] and chosen(onnx.NodeProto.FromString(message)):
            left[0] = False
            node = onnx.NodeProto.FromString(message)
            return [n.SerializeToString() for n in (edit(node) or [node])]
        return [message]

    return change


def makes(name):
    return lambda node: node.output[0] == name


def behind(node):
    return "missing.x" in node.input and not node.output[0].startswith("missing.")


def set_first(values, v):
    values[0] = v
    return values


def set_second(values, v):
    values[1] = v
    return values


def swap(node):
    node.input[1], node.input[2] = node.input[2], node.input[1]


def rename(node, old, new):
    node.input[:] = [new if name == old else name for name in node.input]


def doubled(node):
    rename(node, "missing.x", "twice")
    return [helper.make_node("Add", ["missing.x", "missing.x"], ["twice"], name="twice"), node]


def spied(node):
    return [helper.make_node("Not", ["missing.is"], ["spied"], name="spied"), node]


def unfilled(kind, message):
    """Nothing in front: the input is that of the network."""
    if kind == NODE:
        node = onnx.NodeProto.FromString(message)
        if node.output[0].startswith("missing."):
            return []
        rename(node, "missing.x", "x")
        return [node.SerializeToString()]
    if kind == INITIALIZER and onnx.TensorProto.FromString(message).name.startswith("missing."):
        return []
    if kind == INPUT:
        port = onnx.ValueInfoProto.FromString(message)
        port.type.tensor_type.shape.dim[1].dim_value += 1
        return [port.SerializeToString()]
    return [message]


def other_schema(kind, message):
    """Schema and graph agree on a value that nobody stated."""
    if kind == METADATA:
        return [message.replace(f'"with":{INCOME}'.encode(), f'"with":{INCOME + 1}'.encode())]
    return of_tensor("missing.values", lambda values: set_first(values, INCOME + 1))(kind, message)


FORGERIES = {
    "another value": lambda: of_tensor("missing.values", lambda values: set_first(values, INCOME + 1)),
    "no value": lambda: of_tensor("missing.values", lambda values: set_first(values, np.nan)),
    "a value outside the domain": lambda: of_tensor("missing.values", lambda values: set_second(values, 18.5)),
    "the flag of another column": lambda: of_tensor("missing.columns", lambda values: set_first(values, 1)),
    "values and input swapped": lambda: of_node(makes("missing.filled"), swap),
    "another operator": lambda: of_node(makes("missing.is"), lambda node: setattr(node, "op_type", "IsInf")),
    "the input beside the flags": lambda: of_node(makes("missing.x"), lambda node: rename(node, "missing.filled", "x")),
    "the input read behind": lambda: of_node(behind, lambda node: rename(node, "missing.x", "x")),
    "a node between": lambda: of_node(behind, doubled),
    "a node that reads the gaps": lambda: of_node(behind, spied),
    "nothing in front": lambda: unfilled,
    "another value in schema and graph": lambda: other_schema,
}


@pytest.mark.parametrize("name", list(FORGERIES))
def test_a_forged_front_is_rejected(run, tmp_path, name):
    said, content = forge(tmp_path / "forged", run, FORGERIES[name]())
    assert content != (run / "model.onnx").read_bytes(), "nothing was forged"
    if name == "a node between" and run.parent.name.startswith("step"):
        # What makes candidates may be anything: the step judges them, and reads what is filled in.
        assert said["verdict"] == "accepted", said
        rent = predictions(tmp_path / "forged" / "model.onnx", inputs(4, 100))
        assert np.all((0 <= rent) & (rent <= inputs(4, 100)[:, 0]))
        return
    assert said["verdict"] == "rejected", said


def test_what_is_not_forged_is_accepted(run, tmp_path):
    """What makes the forgeries fail is what they change."""
    said, content = forge(tmp_path / "copy", run, lambda kind, message: [message])
    assert content == (run / "model.onnx").read_bytes() and said["verdict"] == "accepted"


def test_verify_decides_such_files(run):
    done = program.run("verify", "--model", run / "model.onnx", "--rules", run / "rules.toml", capture_output=True, text=True)
    assert done.returncode == 0 and "panicked" not in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("command", [["check"], ["verify"]])
def test_other_texts_for_no_value_are_another_claim(run, tmp_path, command):
    """The rule file reads 30 years as no age, the model as 30 years."""
    before, head, behind = (run / "rules.toml").read_text().partition("[features.age]\n")
    assert behind.count('missing_values = ["-999"]')
    other = tmp_path / "other.toml"
    other.write_text(before + head + behind.replace('missing_values = ["-999"]', 'missing_values = ["-999", 30]', 1))
    files = ["--model", run / "model.onnx", "--rules", other]
    files += ["--certificate", run / "certificate.json"] if command == ["check"] else []
    done = program.run(*command, *files, capture_output=True, text=True)
    assert done.returncode in (1, 2) and '"age" has no value' in done.stdout + done.stderr, done.stdout + done.stderr
