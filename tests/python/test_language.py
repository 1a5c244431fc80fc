"""The rule language against an interpreter that was written from docs/rules.md alone (rules.py), on random rules (random_rules.py).

    DEEPSADE_EFFORT=50 DEEPSADE_SEED=7 pytest tests/python/test_language.py
"""

import json
from fractions import Fraction

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import effort
import program
from random_rules import DOMAINS, FEATURES, TASKS, Writer, rule_file, scores
from rules import Rule, grid, input_constant

POINTS = 200


def explained(task, texts, folder):
    """The normal forms that `explain` prints; None for a rule that it refuses."""
    path = folder / "rules.toml"
    path.write_text(rule_file(task, texts))
    done = program.run("explain", path, "--json", capture_output=True, text=True)
    if done.returncode in (0, 1, 3):
        return [rule["normal"] for rule in json.loads(done.stdout)["rules"]]
    assert done.returncode == 2, done.stderr
    if len(texts) == 1:
        return [None]
    half = len(texts) // 2
    return explained(task, texts[:half], folder) + explained(task, texts[half:], folder)


@pytest.mark.parametrize("kind", TASKS)
def test_the_normal_form_means_what_the_rule_says(kind, tmp_path):
    task, random = TASKS[kind], effort.source("normal form", kind)
    writer, inputs = Writer(task, random), list(grid(DOMAINS))
    total, refused, decided = effort.count(30), 0, 0
    texts = [writer.rule() for _ in range(total)]
    normals = [n for k in range(0, total, 10) for n in explained(task, texts[k : k + 10], tmp_path)]
    for text, normal in zip(texts, normals):
        if normal is None:
            refused += 1
            continue
        said, meant = Rule(text, task, FEATURES), Rule(normal, task, FEATURES)
        truths = set()
        for _ in range(POINTS):
            point = {**random.choice(inputs), "scores": scores(task, random)}
            truths.add(said.holds(point))
            assert said.holds(point) == meant.holds(point), f"{text}\n{normal}\nat {point}"
        decided += len(truths) == 2
    assert refused <= 0.25 * total and decided >= 0.5 * total, f"{refused} refused, {decided} open of {total}"


def linear(path, weights, bias):
    """y = W x + b as an ONNX file."""
    tensors = [numpy_helper.from_array(np.asarray(v, np.float32), name) for name, v in (("w", weights), ("b", bias))]
    info = lambda name, width: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", width])
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)
    graph = helper.make_graph([node], "g", [info("x", len(weights[0]))], [info("y", len(weights))], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def columns(point):
    """The network's columns: numbers, and one column a level."""
    return [point["n"], point["m"], *(int(point["c"] == level) for level in DOMAINS["c"])]


@pytest.mark.parametrize("kind", TASKS)
def test_verify_decides_as_brute_force_does(kind, tmp_path):
    """Networks whose outputs are exact at every input, on domains of which every point is looked at."""
    task, random = TASKS[kind], effort.source("verify", kind)
    writer, inputs = Writer(task, random), list(grid(DOMAINS))
    answers = {"proved": 0, "refuted": 0, "unknown": 0, "error": 0}
    total = effort.count(60)
    for _ in range(total):
        pick = lambda: random.choice([0, 0, 0.5, 1, -1, -0.5, 2])
        weights, bias = [[pick() for _ in range(5)] for _ in range(task.width())], [pick() for _ in range(task.width())]
        linear(tmp_path / "m.onnx", weights, bias)
        text = writer.rule()
        rule = Rule(text, task, FEATURES)
        outputs = lambda row: [sum(Fraction(w) * v for w, v in zip(line, row)) + Fraction(b) for line, b in zip(weights, bias)]
        broken = [p for p in inputs if not rule.holds({**p, "scores": outputs(columns(p))})]
        path = tmp_path / "rules.toml"
        path.write_text(rule_file(task, [text]))
        command = ["verify", "--model", tmp_path / "m.onnx", "--rules", path, "--json", "--timeout", 20]
        done = program.run(*command, capture_output=True, text=True)
        if done.returncode == 2:
            answers["error"] += 1
            continue
        assert done.returncode in (0, 1, 3), f"{text}\n{done.stderr}"
        report = json.loads(done.stdout)
        answers[report["verdict"]] += 1
        wrong = f"{text}\nW = {weights}, b = {bias}\n{len(broken)} inputs break it, {broken[:1]}\n{done.stdout}"
        assert (report["verdict"], bool(broken)) not in {("proved", True), ("refuted", False)}, wrong
        if report["verdict"] == "refuted":
            assert [float(v) for v in report["row"]] in [[float(v) for v in columns(p)] for p in broken], wrong
    assert answers["error"] <= 0.25 * total and answers["unknown"] <= 0.4 * total, answers
    assert answers["proved"] and answers["refuted"], answers


@pytest.mark.parametrize("constant", ["0.1", "0.3", "-0.7", "1e-3", "0.123456789", "16777217", "1e-46", "3.4e38"])
@pytest.mark.parametrize("sign", ["<", "<=", "==", "!=", ">=", ">"])
def test_a_decimal_beside_a_feature_is_the_float32_that_it_becomes(constant, sign, tmp_path):
    """The conclusion is false of the network, so the rule is broken just where its condition holds."""
    task, x = TASKS["regression"], float(input_constant(Fraction(constant)))
    path = tmp_path / "rules.toml"
    linear(tmp_path / "m.onnx", [[0.0], [0.0]], [1.0, 1.0])
    path.write_text(rule_file(task, [f"x {sign} {constant} => y >= 2"], {"x": [x, x]}))
    done = program.run("verify", "--model", tmp_path / "m.onnx", "--rules", path, "--json", capture_output=True, text=True)
    meets = Rule(f"x {sign} {constant}", task, {"x": "real"}).holds({"x": Fraction(x), "scores": [1, 1]})
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["verdict"] == ("refuted" if meets else "proved")
