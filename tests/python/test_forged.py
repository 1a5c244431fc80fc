"""Forged certificates: the rule is false of the model, by an input that onnxruntime was given; no certificate may be accepted.

The rule is made stricter, the weights are changed, or the certificate comes from another model; its hashes are made right, and its
trees are changed at random.

    DEEPSADE_EFFORT=100 DEEPSADE_SEED=7 pytest tests/python/test_forged.py
"""

import copy
import hashlib
import json
import re
import shutil

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import effort
import program
from random_models import FEATURES, TASKS, Model, broken, climbed, random_points, trained
from rules import Rule

FORGERIES = 6
DECODE = "decode, outside the domain too where the rule mentions no feature"


def check(folder):
    done = program.run("check", folder, capture_output=True, text=True)
    assert "panicked" not in done.stderr, done.stderr
    return done


def refusal_of(folder, certificate):
    """Makes the hashes right, as the checker itself says they are, and checks."""
    certificate = {**certificate, "model_sha256": hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()}
    for _ in range(2):
        (folder / "certificate.json").write_text(json.dumps(certificate))
        done = check(folder)
        stated = re.search(r'rules hash.*but it is "([0-9a-f]{64})"', done.stdout + done.stderr, re.S)
        if not stated:
            return done
        certificate["rules_sha256"] = stated.group(1)
    raise AssertionError(f"the rules' hash is not settled: {done.stdout}{done.stderr}")


def stricter(folder, task, rules, random):
    """Another constant or sign in one rule of rules.toml."""
    path = folder / "rules.toml"
    text = random.choice([r.text for r in rules])
    changes = [(r"<= (\S+)", r"<= -\1"), (r"<= ", "< -20 + "), (r">= ", ">= 9 + "), ("=>", "or not"), (" in ", " not in "), ("!=", "=="), ("or", "and")]
    changes += [("at_most\\(2", "at_most(0"), ("at_least\\(1", "at_least(3"), ("p => q", "q and not p"), ("not q", "q and p")]
    for old, new in random.sample(changes, len(changes)):
        changed = re.sub(old, new, text, count=1)
        try:
            rule = Rule(changed, task, FEATURES)
        except (AssertionError, KeyError):
            continue
        if changed != text:
            before = path.read_text()
            assert text in before or json.dumps(text)[1:-1] in before, before
            path.write_text(before.replace(text, changed, 1).replace(json.dumps(text)[1:-1], json.dumps(changed)[1:-1], 1))
            return [rule if r.text == text else r for r in rules]
    return rules


def reweighted(path, random):
    """Other weights in one tensor, written in place: the file stays one that the exporter could have written."""
    model, content = onnx.load(path), path.read_bytes()
    tensors = [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT and t.raw_data]
    tensor = random.choice(tensors[-3:])
    values = numpy_helper.to_array(tensor).copy()
    generator = np.random.default_rng(random.getrandbits(32))
    factor = random.choice([0.01, 0.5, 3.0])
    values += (factor * (1 + np.abs(values)) * generator.normal(size=values.shape)).astype(np.float32)
    old = tensor.raw_data
    assert content.count(old) >= 1
    path.write_bytes(content.replace(old, values.astype("<f4").tobytes(), 1))


def mutated(tree, random):
    """A tree like this one, with some places changed."""
    if random.random() < 0.03:
        return DECODE
    if isinstance(tree, str):
        return {"bounds": random.choice(["interval", "relational"]), "cells": [[random.randrange(5)] for _ in range(random.randrange(4))]}
    tree = copy.deepcopy(tree)
    if "below" in tree:
        pick = random.random()
        if pick < 0.15:
            return mutated(tree["below"], random)
        if pick < 0.3:
            return mutated(tree["above"], random)
        if pick < 0.4 and "at" in tree:
            tree["at"] = random.choice([-1, 2, 0, 1e30, -1e30, tree["at"] + 0.5])
        tree["below"], tree["above"] = mutated(tree["below"], random), mutated(tree["above"], random)
        if random.random() < 0.1:
            tree["below"], tree["above"] = tree["above"], tree["below"]
        return tree
    pick = random.randrange(7)
    if pick == 0:
        tree["bounds"] = "interval" if tree["bounds"] == "relational" else "relational"
    elif pick == 1 and tree["cells"]:
        tree["cells"].pop(random.randrange(len(tree["cells"])))
    elif pick == 2:
        tree["cells"] = [[random.choice([0, 1, 2, 2**63, 2**64 - 1, v]) for v in cell] for cell in tree["cells"]]
    elif pick == 3:
        leaf = {**tree, "cells": tree["cells"]}
        return {"feature": random.randrange(3), "at": random.uniform(-2, 3), "below": leaf, "above": copy.deepcopy(leaf)}
    elif pick == 4 and tree.get("lines"):
        for line in tree["lines"]:
            line["signs"] = [random.choice([0, 1, 1e30, v]) for v in line["signs"]]
            line["slopes"] = [random.choice([0, 128, 256]) if k % 3 == 2 else v for k, v in enumerate(line["slopes"])]
    elif pick == 5:
        tree["cells"] = tree["cells"] * 2
    return tree


@pytest.mark.parametrize("kind", TASKS)
def test_no_certificate_of_a_false_rule_is_accepted(kind, tmp_path):
    random, forged, others = effort.source("forged", kind), 0, []
    wanted = effort.count(FORGERIES)
    for k in range(4 * wanted):
        found = trained(kind, random, tmp_path / str(k))
        if found is None:
            continue
        folder, task, rules = found
        assert check(folder).returncode == 0
        certificate = json.loads((folder / "certificate.json").read_text())
        others.append(certificate)
        (folder / "log.jsonl").unlink(missing_ok=True)
        for attempt in range(4):
            forgery = tmp_path / f"{k}-{attempt}"
            shutil.copytree(folder, forgery)
            claimed = rules
            if random.random() < 0.5:
                claimed = stricter(forgery, task, rules, random)
            if claimed is rules or random.random() < 0.2:
                reweighted(forgery / "model.onnx", random)
            model = Model(forgery / "model.onnx")
            points = np.concatenate([random_points(random, 200), climbed(model, random, 6)])
            violation = broken(model, claimed, points, 0)
            if violation is None:
                continue
            named = [rule["name"] for rule in certificate["rules"]]
            for other in [certificate, random.choice(others), *({**certificate, "rules": [
                {**rule, "tree": mutated(rule["tree"], random)} for rule in certificate["rules"]]} for _ in range(3))]:
                if [rule["name"] for rule in other["rules"]] != named:
                    other = {**other, "rules": [{"name": n, "tree": other["rules"][0]["tree"]} for n in named]}
                done = refusal_of(forgery, other)
                assert done.returncode == 1, f"{forgery}: {violation}\n{done.stdout}{done.stderr}"
                forged += 1
        if forged >= 5 * wanted:
            break
    assert forged >= 2 * wanted, f"only {forged} forgeries"
