"""Small random problems: made-up data and random rules enter, a folder that `deepsade train` wrote leaves."""

import csv
import json
import pathlib
from fractions import Fraction

import numpy as np

import program
from levels import LEVELS, session
from rules import Rule, Task

DOMAINS = {"x": [-1.0, 2.0], "n": list(range(-2, 4)), "c": ["u", "v", "w"]}
FEATURES = {"x": "real", "n": "integer", "c": "category"}
#: Where conditions on x begin: values that float32 has, and decimals that it has not.
THRESHOLDS = ["-0.5", "0", "0.25", "1", "1.5", "0.1", "-0.7", "1.1"]
TASKS = {
    "regression": Task("regression", ["y", "z"]),
    "binary": Task("binary", ["a", "b"], "k"),
    "multiclass": Task("multiclass", ["a", "b", "d"], "k"),
    "multilabel": Task("multilabel", ["p", "q", "r"]),
}


def rules_for(task, random):
    """One to three rules that a network can keep."""
    pick = lambda *values: random.choice(values)
    level, threshold = pick("u", "v", "w"), pick(*THRESHOLDS)
    condition = pick(f"x < {threshold}", f"x >= {threshold}", f"c == '{level}'", f"n > {pick(-1, 0, 2)}", f"x < {threshold} and c != '{level}'")
    if task.kind == "regression":
        texts = [
            f"y + z <= {pick('0.5', '1', '2')} * x + {pick('2', '3', '5')}",
            f"y >= {pick('-2', '-0.5', '0')}",
            f"{condition} => z <= {pick('0.5', '1', '4')}",
            f"abs(y - z) <= {pick('1', '2.5')}",
            f"y <= z + {pick('0.5', '1')}",
            f"{condition} => y < {pick('1', '0.25')} or z < {pick('1', '2')}",
        ]
    elif task.target:
        some = random.sample(task.names, random.randint(1, len(task.names) - 1))
        texts = [f"{condition} => k in {{{', '.join(map(repr, some))}}}", f"{condition} => k != '{pick(*task.names)}'"]
    else:
        texts = ["p => q", f"{condition} => p or r", "at_most(2, p, q, r)", f"{condition} => not q", "at_least(1, p, q, r)"]
    return random.sample(texts, random.randint(1, min(3, len(texts))))


def rule_file(task, texts, settings=""):
    named = "".join(f'[[rule]]\nname = "r{k}"\ntext = """{text}"""\n' for k, text in enumerate(texts))
    return f"""[data]
file = "rows.csv"
targets = {[task.target] if task.target else task.names}
[features.x]
range = [-1, 2]
[features.n]
kind = "integer"
range = [-2, 3]
[features.c]
kind = "category"
levels = ["u", "v", "w"]
[task]
kind = "{task.kind}"
{named}{settings}"""


def rows(task, random, path, count=80):
    noise = lambda: random.gauss(0, 1)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["x", "n", "c", *([task.target] if task.target else task.names)])
        for k in range(count):
            x, n, c = random.uniform(-1, 2), random.randint(-2, 3), "uvw"[k % 3]
            values = [x + 0.5 * n * (j + 1) + (c == "v") + noise() for j in range(len(task.names))]
            if task.target:
                # Each class occurs.
                values = [task.names[k % len(task.names)] if k < 6 else task.names[int(np.argmax(values))]]
            elif task.kind == "multilabel":
                values = [int(v > 0.5) if k > 3 else k % 2 for v in values]
            out.writerow([x, n, c, *values])


def trained(kind, random, folder, guarantee=True):
    """A folder with a model, certified if that is wanted, its task and its rules as the interpreter reads them; None if none came of it."""
    folder = pathlib.Path(folder)
    folder.mkdir()
    task = TASKS[kind]
    rows(task, random, folder / "rows.csv")
    texts = rules_for(task, random)
    hidden = random.choice(["[]", "[4]", "[6, 3]"])
    settings = f"[network]\nhidden = {hidden}\nactivation = \"{random.choice(['relu', 'relu', 'tanh', 'sigmoid'])}\"\n"
    settings += f"[train]\nepochs = 4\nbatch = 8\nlearning_rate = {random.choice([0.01, 0.1])}\n"
    (folder / "problem.toml").write_text(rule_file(task, texts, settings))
    enforce = ["--enforce", "weights"] if random.random() < 0.6 else []
    enforce = enforce if guarantee else ["--enforce", "none"]
    done = program.run("train", folder / "problem.toml", "--out", folder / "run", "--json", "-q", *enforce, capture_output=True, text=True)
    assert done.returncode in (0, 1, 2), f"{texts}\n{done.stderr}"
    assert "panicked" not in done.stderr, f"{texts}\n{done.stderr}"
    if done.returncode != 0 or json.loads(done.stdout)["certified"] is not guarantee:
        return None
    return folder / "run", task, [Rule(text, task, FEATURES) for text in texts]


class Model:
    """The exported graph in onnxruntime, at each level of optimisation; rows of (x, n, level) enter."""

    def __init__(self, path):
        self.sessions = [session(str(path), level) for level in LEVELS]

    def outputs(self, points, level=0):
        columns = np.zeros((len(points), 5), np.float32)
        columns[:, :2] = points[:, :2]
        columns[np.arange(len(points)), 2 + points[:, 2].astype(int)] = 1
        return self.sessions[level].run(["y"], {"x": columns})[0]


def random_points(random, count):
    """Inputs of the domain: anywhere, at its ends and at thresholds with their neighbours, tiny ones."""
    generator = np.random.default_rng(random.getrandbits(32))
    points = np.empty((count, 3), np.float32)
    points[:, 0] = generator.uniform(-1, 2, count)
    points[:, 1] = generator.integers(-2, 4, count)
    points[:, 2] = generator.integers(0, 3, count)
    special = [v for t in (-1, 2, *map(float, THRESHOLDS)) for v in _neighbours(t)] + [1e-45, -1e-45, 1e-39, -1e-38, 1.2e-38, -1e-20]
    special = np.float32([v for v in special if -1 <= v <= 2])
    chosen = generator.random(count) < 0.5
    points[chosen, 0] = generator.choice(special, chosen.sum())
    return points


def _neighbours(value):
    value = np.float32(value)
    return [value, np.nextafter(value, np.float32(-9)), np.nextafter(value, np.float32(9))]


def climbed(model, random, steps=12):
    """Inputs at which random combinations of the outputs are large: steps of shrinking size from the best input so far."""
    generator, found = np.random.default_rng(random.getrandbits(32)), []
    for start in random_points(random, 6):
        points = np.tile(start, (32, 1))
        direction = None
        for step in range(steps):
            moved = points.copy()
            moved[1:, 0] = np.clip(moved[1:, 0] + generator.normal(0, 1.5 * 0.5**step, 31), -1, 2)
            moved[1:, 1] = np.clip(moved[1:, 1] + generator.integers(-1, 2, 31), -2, 3)
            outputs = model.outputs(moved).astype(float)
            direction = generator.normal(size=outputs.shape[1]) if direction is None else direction
            points = np.tile(moved[np.argmax(outputs @ direction)], (32, 1))
            found.append(moved[:4])
        found.append(points[:1])
    return np.concatenate(found)


def broken(model, rules, points, level):
    """The first input that breaks a rule, judged exactly, or None."""
    outputs = model.outputs(points, level)
    if not np.isfinite(outputs).all():
        return "an output that is not finite"
    for point, scores in zip(points, outputs):
        at = {"x": Fraction(float(point[0])), "n": int(point[1]), "c": "uvw"[int(point[2])], "scores": [Fraction(float(v)) for v in scores]}
        for rule in rules:
            if not rule.holds(at):
                return f"{rule.text}: {[float(v) for v in point]} gives {scores.tolist()}"
    return None
