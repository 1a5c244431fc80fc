"""Output steps from outside: whatever stands before them, and however the file is run, every row of the domain obeys every rule exactly."""

import csv
import functools
import hashlib
import json
import shutil
from fractions import Fraction

import effort
import numpy as np
import onnx
import onnxruntime
import program
import pytest
from levels import LEVELS
from onnx import numpy_helper
from rules import Rule, Task

FEATURES = {"a": "real", "b": "real", "n": "integer", "k": "category"}
KINDS = {
    "regression": (
        Task("regression", ["y", "z"]),
        [
            "y + z <= a + b + 8",
            "a + b > 4 => y >= 1",
            "a + b <= 4 => y <= 6",
            "a <= 3 and n >= 2 => z <= 2",
            "k == 'q' => z >= 0 - 1",
            "0.3 * a - 0.7 * b <= 1.1 => y - z <= 5",
        ],
    ),
    "multiclass": (
        Task("multiclass", ["A", "B", "C"], "t"),
        ["10 * n > a + b => t != 'A'", "k == 'q' and a >= 2.5 => t == 'B'", "a - b > 8 => t in {'B', 'C'}"],
    ),
    "multilabel": (
        Task("multilabel", ["l0", "l1", "l2", "l3"]),
        [
            "a + b > 4 => label[0] or label[1]",
            "label[2] => label[0]",
            "k == 'q' and n <= 3 => not label[3]",
            "at_least(1, label[j] for j in 0..4)",
        ],
    ),
    "ranking": (
        Task("ranking", ["u", "v", "w"]),
        [
            "forall i in 0..3: exactly(1, at[i, p] for p in 0..3)",
            "forall p in 0..3: exactly(1, at[i, p] for i in 0..3)",
            "a + 2 * b > 5 => not at[0, 2]",
            "n >= 3 and a <= 2.5 => not at[1, 0]",
        ],
    ),
}


def inputs(generator, count):
    """Points of the domain, (a, b, n, level): anywhere, in corners, on the borders of the conditions and beside them."""
    points = np.empty((count, 4), np.float32)
    points[:, 0], points[:, 1] = generator.uniform(0, 10, count), generator.uniform(-5, 5, count)
    points[:, 2], points[:, 3] = generator.integers(0, 7, count), generator.integers(0, 3, count)
    a, b, n = points[:, 0], points[:, 1], points[:, 2]
    borders = [
        lambda: (a, 4 - a),
        lambda: (10 * n - b, b),
        lambda: (a, (0.3 * a - 1.1) / 0.7),
        lambda: (8 + b, b),
        lambda: (a, (5 - a) / 2),
        lambda: (np.full(count, 2.5), b),
        lambda: (np.full(count, 3), b),
        lambda: (generator.choice([0, 10], count), generator.choice([-5, 0, 5], count)),
        lambda: (generator.choice([0, 1e-45, 1e-39, 1e-38, 1e-20], count), generator.choice([4, 1e-45, -1e-39, 1e-7], count)),
    ]
    for part, border in zip(np.array_split(generator.permutation(count), len(borders) + 2), borders):
        for column, values in enumerate(border()):
            values = np.asarray(values, np.float64).astype(np.float32)[part]
            ulp = generator.integers(-1, 2, len(part))
            near = np.nextafter(values, np.where(ulp > 0, np.float32(np.inf), np.float32(-np.inf)))
            points[part, column] = np.where(ulp == 0, values, near)
    points[:, 0], points[:, 1] = points[:, 0].clip(0, 10), points[:, 1].clip(-5, 5)
    return points


def columns(points):
    level = points[:, 3].astype(int)
    return np.concatenate([points[:, :3], np.eye(3, dtype=np.float32)[level]], axis=1)


def strangers(generator):
    """Rows outside the domain: not numbers, infinite, huge, just outside, no whole number, no level or two."""
    base = columns(inputs(generator, 60))
    for row in range(len(base)):
        column = generator.integers(0, 3)
        base[row, column] = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e30, [10.00001, 5.00001, 2.5][column], [-0.001, -5.001, 6.5][column]][row % 8]
        if row % 10 == 8:
            base[row, 3:] = 0
        if row % 10 == 9:
            base[row, 3:] = [1, 1, 0]
    return base


def data(kind, task, path):
    generator = np.random.default_rng(3)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*FEATURES, *([task.target] if task.target else task.names)])
        for a, b, n, k in inputs(generator, 300):
            scores = np.array([a - 3 + b / 2, b + n - 2, 4 - a / 2 + k, a * b / 5 - 1])[: len(task.names)]
            if kind == "regression":
                told = scores
            elif kind == "multiclass":
                told = [task.names[int(np.argmax(scores))]]
            elif kind == "multilabel":
                told = (scores > 0).astype(int)
            else:
                told = 1 + np.argsort(np.argsort(-scores))
            out.writerow([a, b, int(n), "pqr"[int(k)], *told])


@functools.lru_cache(maxsize=None)
def made(kind, folder):
    task, texts = KINDS[kind]
    folder = folder / kind
    folder.mkdir()
    data(kind, task, folder / "rows.csv")
    named = "".join(f'[[rule]]\nname = "r{k}"\ntext = """{text}"""\n' for k, text in enumerate(texts))
    (folder / "problem.toml").write_text(
        f"""[data]
file = "rows.csv"
targets = {[task.target] if task.target else task.names}
[features.a]
range = [0, 10]
[features.b]
range = [-5, 5]
[features.n]
kind = "integer"
range = [0, 6]
[features.k]
kind = "category"
levels = ["p", "q", "r"]
[task]
kind = "{task.kind}"
{named}[network]
hidden = [8]
[train]
epochs = 20
learning_rate = 0.01
"""
    )
    command = ["train", folder / "problem.toml", "--out", folder / "run", "--enforce", "decode", "--json", "-q"]
    done = program.run(*command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["certified"] and said["enforced_by"] == "decode" and said["decode"] == "in-graph", said
    return folder / "run", task, [Rule(text, task, FEATURES) for text in texts]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("steps")


def session(model, level="enable_all", threads=1):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def ran(running, x, size):
    parts = [running.run(["y", "in_domain", "ok"], {"x": x[i : i + size]}) for i in range(0, len(x), size)]
    return [np.concatenate(values) for values in zip(*parts)]


def broken(rules, points, y):
    """The first row that breaks a rule, judged exactly, or None."""
    if not np.isfinite(y).all():
        return "an output that is not finite"
    for (a, b, n, k), scores in zip(points, y):
        at = {"a": Fraction(float(a)), "b": Fraction(float(b)), "n": int(n), "k": "pqr"[int(k)]}
        at["scores"] = [Fraction(float(v)) for v in scores]
        for rule in rules:
            if not rule.holds(at):
                return f"{rule.text}: {[float(v) for v in (a, b, n, k)]} gives {scores.tolist()}"
    return None


def same(left, right):
    return left.dtype == right.dtype and left.tobytes() == right.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_of_the_domain_obeys_however_the_file_is_run(kind, home):
    folder, task, rules = made(kind, home)
    model = (folder / "model.onnx").read_bytes()
    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    generator = np.random.default_rng(effort.SEED + 5)
    points = inputs(generator, 1000 * effort.count(2))
    outside = strangers(generator)
    x = np.concatenate([columns(points), outside])
    some = np.concatenate([np.arange(150), np.arange(len(points), len(x))])
    first = {}
    for level in LEVELS:
        for threads in (1, 2):
            running = session(model, level, threads)
            for rows, size in ((np.arange(len(x)), 1000), (some, 1)):
                found = ran(running, x[rows], size)
                expected = first.setdefault(size, found)
                assert all(map(same, found, expected)), f"{level}, {threads} threads, {size} at a time"
    for rows, size in ((np.arange(len(x)), 1000), (some, 1)):
        y, in_domain, ok = first[size]
        inside = rows < len(points)
        assert y.shape == (len(rows), task.width()) and in_domain.tolist() == inside.tolist()
        violation = broken(rules, points[rows[inside]], y[inside])
        assert violation is None, violation
        # Fallbacks are rare: most candidates pass.
        assert ok[inside].mean() > 0.9
    assert len(np.unique(first[1000][0][: len(points)], axis=0)) > 2


@pytest.mark.parametrize("kind", KINDS)
def test_predict_gives_what_the_file_gives(kind, home, tmp_path):
    folder, task, rules = made(kind, home)
    points = inputs(np.random.default_rng(effort.SEED + 6), 600)
    with open(tmp_path / "new.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(FEATURES)
        out.writerows([repr(float(a)), repr(float(b)), int(n), "pqr"[int(k)]] for a, b, n, k in points)
    program.run("predict", folder / "model.onnx", tmp_path / "new.csv", "--out", tmp_path / "told.csv", "-q", check=True)
    told = list(csv.DictReader(open(tmp_path / "told.csv")))
    assert all(row["in_domain"] == "true" for row in told)
    y = ran(session((folder / "model.onnx").read_bytes()), columns(points), len(points))[0]
    if task.target:
        said = np.float32([[row[task.target] == name for name in task.names] for row in told])
        y = np.eye(len(task.names), dtype=np.float32)[y.argmax(axis=1)]
    else:
        names = [f"{i}@{p}" for i in task.names for p in (1, 2, 3)] if kind == "ranking" else task.names
        said = np.float32([[row[name] for name in names] for row in told])
    assert broken(rules, points, said) is None
    # Sums of the network may be added in another order: now and then another set is as good.
    close = np.isclose(said, y, rtol=1e-4, atol=1e-4).all(axis=1)
    assert close.mean() > 0.99, np.flatnonzero(~close)


def changed(folder, to, change):
    """A copy of the folder with another model, of which the certificate states the hash."""
    shutil.copytree(folder, to)
    model = onnx.load(to / "model.onnx")
    change(model)
    content = model.SerializeToString()
    (to / "model.onnx").write_bytes(content)
    certificate = json.loads((to / "certificate.json").read_text())
    certificate["model_sha256"] = hashlib.sha256(content).hexdigest()
    (to / "certificate.json").write_text(json.dumps(certificate))
    return to


def check(folder):
    return program.run("check", folder, capture_output=True, text=True)


def before_the_step(node):
    return not any(name.startswith("deepsade.") for name in node.output)


@pytest.mark.parametrize("kind", KINDS)
def test_what_makes_candidates_may_be_anything(kind, home, tmp_path):
    folder, task, rules = made(kind, home)
    points = inputs(np.random.default_rng(effort.SEED + 7), 400)
    nonsense = [np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-45, -1e-39, 0.0]

    for k in range(len(nonsense) + 1):

        def replace(model):
            tensors = {t.name: t for t in model.graph.initializer}
            last = [n for n in model.graph.node if before_the_step(n) and any(i in tensors for i in n.input) and "scores" in n.output]
            assert len(last) == 1, [n.name for n in model.graph.node][:20]
            for name in last[0].input:
                if name in tensors:
                    old = numpy_helper.to_array(tensors[name])
                    values = np.zeros_like(old)
                    if old.ndim == 1:
                        values = np.resize(np.float32(nonsense[k:] + nonsense[:k]) if k == len(nonsense) else np.float32(nonsense[k]), old.shape)
                    tensors[name].CopyFrom(numpy_helper.from_array(values.astype(np.float32), name))

        forged = changed(folder, tmp_path / str(k), replace)
        done = check(forged)
        assert done.returncode == 0, done.stdout + done.stderr
        for level in ("disable_all", "enable_all"):
            y, in_domain, _ = ran(session((forged / "model.onnx").read_bytes(), level), columns(points), 400)
            assert in_domain.all()
            violation = broken(rules, points, y)
            assert violation is None, f"{nonsense[k % len(nonsense)]} at {level}: {violation}"


@pytest.mark.parametrize("kind", KINDS)
def test_another_constant_in_the_tail_is_rejected(kind, home, tmp_path):
    folder, _, _ = made(kind, home)
    random = effort.source("tail", kind)
    names = [t.name for t in onnx.load(folder / "model.onnx").graph.initializer if t.name.startswith("deepsade.step.")]
    assert len(names) > 3
    # As it is, but written anew: accepted.
    assert check(changed(folder, tmp_path / "same", lambda model: None)).returncode == 0
    for k, name in enumerate(random.sample(names, min(len(names), effort.count(12)))):

        def mutate(model):
            tensor = next(t for t in model.graph.initializer if t.name == name)
            values = numpy_helper.to_array(tensor).copy()
            flat = values.reshape(-1)
            at = random.randrange(len(flat))
            if values.dtype == np.float32:
                # Beside a huge number 1 is nothing.
                others = [np.nextafter(flat[at], np.float32(9e9)), flat[at] - np.float32(1), np.float32(np.nan), np.float32(1e30)]
                flat[at] = random.choice([v for v in others if v != flat[at]])
            else:
                flat[at] += 1
            tensor.CopyFrom(numpy_helper.from_array(values, name))

        done = check(changed(folder, tmp_path / str(k), mutate))
        assert done.returncode == 1 and "REJECTED" in done.stdout, f"{name}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_and_outputs_of_the_tail_are_not_moved(kind, home, tmp_path):
    folder, _, _ = made(kind, home)

    def swapped(model):
        model.graph.output[1].name, model.graph.output[2].name = model.graph.output[2].name, model.graph.output[1].name

    def reversed_choice(model):
        node = next(n for n in model.graph.node if "deepsade.step.given" in n.output)
        node.input[1], node.input[2] = node.input[2], node.input[1]

    def another(model):
        node = next(n for n in model.graph.node if "y" in n.output)
        node.input[0] = next(n for n in model.graph.node if "deepsade.step.given" in n.output).input[1]

    for k, change in enumerate((swapped, reversed_choice, another)):
        done = check(changed(folder, tmp_path / str(k), change))
        assert done.returncode == 1 and "REJECTED" in done.stdout, f"{change.__name__}: {done.stdout}{done.stderr}"


def test_a_model_by_weights_tells_the_domain_if_asked_to(home):
    folder = home / "flag"
    folder.mkdir()
    task, _ = KINDS["regression"]
    data("regression", task, folder / "rows.csv")
    text = ["y + z <= a + b + 8", "k == 'q' => z >= 0 - 1"]
    named = "".join(f'[[rule]]\nname = "r{k}"\ntext = """{t}"""\n' for k, t in enumerate(text))
    ranges = "[features.a]\nrange = [0, 10]\n[features.b]\nrange = [-5, 5]\n[features.n]\nkind = \"integer\"\nrange = [0, 6]\n"
    head = f'[data]\nfile = "rows.csv"\ntargets = ["y", "z"]\n{ranges}[task]\nkind = "regression"\n{named}'
    tail = "[network]\nhidden = [8]\n{flag}[train]\nepochs = 3\nenforce = \"weights\"\n"
    answers = {}
    for name, flag in {"plain": "", "flagged": "domain_flag = true\n"}.items():
        (folder / f"{name}.toml").write_text(head + tail.format(flag=flag))
        done = program.run("train", folder / f"{name}.toml", "--out", folder / name, "--json", "-q", capture_output=True, text=True)
        assert done.returncode == 0 and json.loads(done.stdout)["certified"], done.stdout + done.stderr
        # `verify` sees the network behind the flag, and proves it anew.
        for command in (["check", folder / name], ["verify", "--model", folder / name / "model.onnx", "--rules", folder / name / "rules.toml"]):
            done = program.run(*command, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        model = (folder / name / "model.onnx").read_bytes()
        onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
        answers[name] = {level: session(model, level) for level in LEVELS}
    rules = [Rule(t, task, FEATURES) for t in text]
    generator = np.random.default_rng(effort.SEED + 9)
    points = inputs(generator, 1000)
    for level, running in answers["flagged"].items():
        assert [output.name for output in running.get_outputs()] == ["y", "in_domain"]
        y, inside = running.run(["y", "in_domain"], {"x": columns(points)})
        assert inside.all() and broken(rules, points, y) is None
        assert same(y, answers["plain"][level].run(["y"], {"x": columns(points)})[0])
        assert not running.run(["in_domain"], {"x": strangers(generator)})[0].any()


def trees(opsets, after):
    """A boosted tree of two outputs, as converters write it: with an old set of operators, or with none."""
    helper = onnx.helper
    nodes = dict(
        nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_values=[4.0, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        nodes_missing_value_tracks_true=[0, 0, 0], nodes_hitrates=[1.0, 1.0, 1.0],
        target_treeids=[0, 0, 0, 0], target_nodeids=[1, 1, 2, 2], target_ids=[0, 1, 0, 1], target_weights=[3.0, 40.0, -50.0, 2.0],
    )  # fmt: skip
    made = "trees" if after else "variable"
    calls = [helper.make_node("TreeEnsembleRegressor", ["x"], [made], domain="ai.onnx.ml", n_targets=2, **nodes)]
    calls += [helper.make_node(op, ["trees"], ["variable"], **attributes) for op, attributes in after]
    port = helper.make_tensor_value_info
    ports = [port("x", onnx.TensorProto.FLOAT, [None, 6])], [port("variable", onnx.TensorProto.FLOAT, [None, 2])]
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
    return helper.make_model(helper.make_graph(calls, "g", *ports), opset_imports=imports, ir_version=4)


@pytest.mark.parametrize(
    "opsets, after, refused",
    [
        ([("", 8), ("ai.onnx.ml", 1)], [("Identity", {})], None),
        ([("ai.onnx.ml", 1)], [], None),
        ([("", 12), ("ai.onnx.ml", 1)], [("Softmax", {"axis": 1})], None),
        ([("", 9), ("ai.onnx.ml", 1)], [("Softmax", {"axis": 1})], "target_opset=13"),
    ],
)
def test_files_of_old_operator_sets_are_shielded_where_that_changes_nothing(opsets, after, refused, home, tmp_path):
    folder, task, rules = made("regression", home)
    onnx.save(trees(opsets, after), tmp_path / "trees.onnx")
    command = ["shield", "--model", tmp_path / "trees.onnx", "--rules", folder / "rules.toml", "--out", tmp_path / "out"]
    done = program.run(*command, capture_output=True, text=True)
    if refused:
        assert done.returncode == 2 and refused in done.stderr, done.stdout + done.stderr
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert program.run("check", tmp_path / "out", capture_output=True).returncode == 0
    points = inputs(np.random.default_rng(effort.SEED + 21), 500)
    for level in LEVELS:
        y, inside, _ = ran(session((tmp_path / "out" / "model.onnx").read_bytes(), level), columns(points), 100)
        assert inside.all() and broken(rules, points, y) is None
