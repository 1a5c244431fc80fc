"""Looks for inputs of the domain that break a rule of an exported model: the guarantee, attacked from outside.

    python tests/python/attack.py --count 10000000              (trains the four examples, then attacks each)
    python tests/python/attack.py wine uc2 --enforce none       (a model without guarantee, to see that the attack is not blind)

Inputs are float32 values of the domain that the ONNX file states: uniform ones, corners, inputs in the condition of a rule with its
border values, and projected sign-gradient ascent on the margin, ended by steps on the float32 grid. onnxruntime evaluates all of
them; the worst of each batch also one by one, in sevens, without optimisation, and in numpy with shuffled sums. A violation is
judged exactly: the rule over the real numbers, on the float32 values that enter and leave the network.
"""

import argparse
import collections
import fractions
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib

import numpy as np
import onnx
import onnxruntime

import program
from program import ROOT
BATCH = 4096


# The rules of the examples, each written down a second time by hand. `within` is the condition as ranges of features; `margin` maps
# features and outputs to (how far the rule is from being broken: broken if above 0, its derivative by the outputs, by the inputs);
# `broken` is exact.
class Rule:
    def __init__(self, margin, broken, within=None):
        self.margin, self.broken, self.within = margin, broken, within or {}


def wine():
    def negative(x, y):
        return -y[:, 0], np.tile([-1.0, 0.0], (len(y), 1)), {}

    def above_total(x, y):
        return y[:, 0] - y[:, 1], np.tile([1.0, -1.0], (len(y), 1)), {}

    return [Rule(negative, lambda x, y: y[:, 0] < 0), Rule(above_total, lambda x, y: y[:, 0] > y[:, 1])]


def uc1():
    name = "Total Household Income"

    def sum_margin(x, y):
        return y.sum(1) - x[name], np.ones(y.shape), {name: -1.0}

    def going_out_margin(x, y):
        return y[:, 1] - 0.05 * x[name], np.tile([0.0, 1, 0, 0, 0], (len(y), 1)), {name: -0.05}

    def sum_broken(x, y):
        off = y.sum(1) - x[name]
        broken = off > 0
        for row in np.flatnonzero(np.abs(off) <= 1e-9 * (np.abs(y).sum(1) + np.abs(x[name]))):
            broken[row] = sum(fractions.Fraction(float(v)) for v in y[row]) > fractions.Fraction(float(x[name][row]))
        return broken

    # 20 times a float32 is a float64, exactly.
    return [Rule(sum_margin, sum_broken), Rule(going_out_margin, lambda x, y: 20 * y[:, 1] > x[name])]


def uc2():
    below = np.nextafter(np.float32(5000), np.float32(0))

    def applies(x):
        return (x["ApplicantIncome"] < 5000) & (x["Credit_History"] == 0)

    def margin(x, y):
        return np.where(applies(x), y[:, 1] - y[:, 0], -np.inf), np.tile([-1.0, 1.0], (len(y), 1)), {}

    within = {"ApplicantIncome": (None, below), "Credit_History": (0, 0)}
    return [Rule(margin, lambda x, y: applies(x) & (y[:, 1] > y[:, 0]), within)]


def uc3():
    wrong, right = np.array([0, 1, 2]), np.array([3, 4])

    def margin(x, y):
        rows = np.arange(len(y))
        up, down = wrong[y[:, wrong].argmax(1)], right[y[:, right].argmax(1)]
        slope = np.zeros(y.shape)
        slope[rows, up], slope[rows, down] = 1, -1
        # A tie is lost: the class listed first wins it.
        value = np.nextafter(y[rows, up] - y[rows, down], np.inf)
        return np.where(x["the_beatles"] == 1, value, -np.inf), slope, {}

    def broken(x, y):
        return (x["the_beatles"] == 1) & (y.argmax(1) < 3)

    return [Rule(margin, broken, {"the_beatles": (1, 1)})]


RULES = {"wine": wine, "uc1": uc1, "uc2": uc2, "uc3": uc3}
def data_file(example):
    """The file of an example's data: what its rule file names, or the first file of the two formats that are no table."""
    named = tomllib.loads((ROOT / "examples" / f"{example}.toml").read_text())["data"].get("file")
    return named or {"uc4": "train-images-idx3-ubyte.gz", "uc5": "sushi.soc"}[example]


def data_folder(example):
    """The folder of an example's data, or None."""
    if example == "hours":
        made = ROOT / "target" / "examples"
        made.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, ROOT / "examples" / "python" / "hours.py", made / "hours.csv"], check=True)
        return made
    public = pathlib.Path(os.environ.get("DEEPSADE_DATA", ROOT.parent / "shared" / "data"))
    return next((folder for folder in (ROOT / "examples", public) if (folder / data_file(example)).exists()), None)


def train(example, folder, enforce=None):
    """Trains an example into `folder`; the report of `deepsade train`."""
    command = ["train", ROOT / "examples" / f"{example}.toml", "--data", data_folder(example), "--out", folder]
    command += ["--json", "-q", *(["--enforce", enforce] if enforce else [])]
    done = program.run(*command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


class Domain:
    """The inputs of a schema: one array a feature, whole numbers and levels by their index."""

    def __init__(self, schema):
        # The place of an ordered level is a whole number.
        place = lambda d: {"kind": "integer", "lo": 0, "hi": len(d["levels"]) - 1} if d["kind"] == "ordered" else d  # noqa: E731
        self.features = {f["name"]: place(f["domain"]) for f in schema["features"]}
        self.dropped = schema["one_hot"] == "drop-first"
        self.columns, width = {}, 0
        for name, domain in self.features.items():
            count = len(domain["levels"]) - self.dropped if domain["kind"] == "category" else 1
            self.columns[name] = range(width, width + count)
            width += count
        self.width = width

    def range(self, name, within):
        """Ends of a number, with the condition of a rule; JSON's shortest decimals read back as the same float32."""
        lo, hi = (np.float32(self.features[name][end]) for end in ("lo", "hi"))
        a, b = within.get(name, (None, None))
        return lo if a is None else np.float32(a), hi if b is None else np.float32(b)

    def numbers(self):
        return [name for name, domain in self.features.items() if domain["kind"] != "category"]

    def encode(self, points):
        x = np.zeros((len(next(iter(points.values()))), self.width), np.float32)
        rows = np.arange(len(x))
        for name, domain in self.features.items():
            first = self.columns[name].start
            if domain["kind"] != "category":
                x[:, first] = points[name]
            else:
                there = points[name] >= self.dropped
                x[rows[there], first + points[name][there] - self.dropped] = 1
        return x

    def uniform(self, rng, count, within):
        points = {}
        for name, domain in self.features.items():
            if domain["kind"] == "category":
                points[name] = rng.integers(len(domain["levels"]), size=count)
                continue
            lo, hi = self.range(name, within)
            if domain["kind"] == "integer":
                points[name] = rng.integers(int(lo), int(hi) + 1, size=count).astype(np.float32)
            else:
                values = (lo + (np.float64(hi) - lo) * rng.random(count)).astype(np.float32)
                points[name] = np.clip(values, lo, hi)
        return points

    def corners(self, rng, count, within):
        """Every number at an end, or at the next float32 (whole number) inside; in half of the rows some stay in between."""
        points = self.uniform(rng, count, within)
        loose = rng.random(count) * (rng.random(count) < 0.5)
        for name in self.numbers():
            lo, hi = self.range(name, within)
            whole = self.features[name]["kind"] == "integer"
            inside = (min(lo + 1, hi), max(hi - 1, lo)) if whole else (np.nextafter(lo, hi), np.nextafter(hi, lo))
            ends = np.array([lo, hi, lo, hi, lo, hi, *inside], np.float32)
            points[name] = np.where(rng.random(count) < loose, points[name], ends[rng.integers(len(ends), size=count)])
        return points

    def project(self, points, within):
        for name in self.numbers():
            values = np.clip(points[name], *self.range(name, within))
            points[name] = np.round(values) if self.features[name]["kind"] == "integer" else values.astype(np.float32)
        return points


def behind(model, trunk):
    """The file without its network: `x` and `scores` enter."""
    tail = onnx.ModelProto()
    tail.CopyFrom(model)
    made = {n.output[0] for n in trunk}
    kept = [n for n in tail.graph.node if n.output[0] not in made]
    outputs = [o for o in tail.graph.output if o.name == "y"]
    del tail.graph.node[:], tail.graph.output[:]
    tail.graph.node.extend(kept)
    tail.graph.output.extend(outputs)
    tail.graph.input.append(onnx.helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [None, None]))
    return tail


class Net:
    """The network of an exported file, in numpy: with gradients, and with sums in any order. What an output step does to its outputs,
    onnxruntime says."""

    def __init__(self, model):
        names = {o.name for o in model.graph.output}
        self.last, self.step = "y", None
        self.nodes = list(model.graph.node)
        if "ok" in names:
            self.last = "scores"
            self.nodes = [n for n in self.nodes if not n.output[0].startswith("deepsade.") and n.output[0] not in ("y", "in_domain", "ok")]
            self.step = session(behind(model, self.nodes).SerializeToString(), False)
        self.weights = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
        unknown = {n.op_type for n in self.nodes} - {"Gemm", "MatMul", "Relu", "Concat", "Mul", "Sigmoid", "Tanh"}
        assert not unknown, f"operators without a gradient here: {unknown}"

    def matrix(self, node):
        w = self.weights[node.input[1]]
        return w.T if any(a.name == "transB" and a.i == 1 for a in node.attribute) else w

    def forward(self, x, dense):
        values = {"x": x}
        for n in self.nodes:
            a = values[n.input[0]]
            if n.op_type in ("Gemm", "MatMul"):
                values[n.output[0]] = dense(a, self.matrix(n), self.weights[n.input[2]] if len(n.input) > 2 else None)
            elif n.op_type == "Relu":
                values[n.output[0]] = np.maximum(a, 0)
            elif n.op_type == "Sigmoid":
                values[n.output[0]] = 1 / (1 + np.exp(-a))
            elif n.op_type == "Tanh":
                values[n.output[0]] = np.tanh(a)
            elif n.op_type == "Mul":
                values[n.output[0]] = a * values[n.input[1]]
            else:
                values[n.output[0]] = np.concatenate([values[v] for v in n.input], axis=1)
        return values

    def shuffled(self, rng, x):
        """Float32 with the terms of every sum, bias included, in a random order, one after the other."""

        def dense(a, w, b):
            b = np.zeros(w.shape[1], np.float32) if b is None else b
            terms = [a[:, [i]] * w[i] for i in range(len(w))] + [np.broadcast_to(b, (len(a), len(b)))]
            total = np.zeros((len(a), w.shape[1]), np.float32)
            for i in rng.permutation(len(terms)):
                total = total + terms[i]
            return total

        y = self.forward(x, dense)[self.last]
        return y if self.step is None else self.step.run(["y"], {"x": x, "scores": y})[0]

    def gradient(self, x, slope):
        """d (slope(y) . y) / dx; `slope` maps outputs to the derivative by them."""
        values = self.forward(x, lambda a, w, b: a @ w if b is None else a @ w + b)
        flows = collections.defaultdict(lambda: np.float32(0))
        flows[self.last] = slope(values[self.last]).astype(np.float32)
        for n in reversed(self.nodes):
            flow, a = flows[n.output[0]], n.input[0]
            if n.op_type in ("Gemm", "MatMul"):
                flows[a] = flows[a] + flow @ self.matrix(n).T
            elif n.op_type == "Relu":
                flows[a] = flows[a] + flow * (values[a] > 0)
            elif n.op_type in ("Sigmoid", "Tanh"):
                out = values[n.output[0]]
                flows[a] = flows[a] + flow * (out * (1 - out) if n.op_type == "Sigmoid" else 1 - out * out)
            elif n.op_type == "Mul":
                b = n.input[1]
                flows[a] = flows[a] + flow * values[b]
                flows[b] = flows[b] + (flow * values[a]).sum(1, keepdims=True)
            else:
                for v in n.input:
                    width = values[v].shape[1]
                    flows[v], flow = flows[v] + flow[:, :width], flow[:, width:]
        return flows["x"]


def session(model, optimised):
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Attack:
    """Counts `inputs` by kind, further `evaluations` of the worst inputs, and `violations` in all of these by kind."""

    def __init__(self, path, rules, seed=0):
        model = onnx.load(path)
        self.domain = Domain(json.loads({p.key: p.value for p in model.metadata_props}["deepsade.schema"]))
        self.net, self.rules, self.rng = Net(model), rules, np.random.default_rng(seed)
        self.optimised, self.plain = session(path, True), session(path, False)
        self.inputs, self.violations = collections.Counter(), collections.Counter()
        self.evaluations, self.example, self.worst = 0, None, -np.inf

    def judge(self, kind, points, x, y):
        """Counts the rows that break a rule; the margin of each row (the worst rule)."""
        wide, exact = y.astype(np.float64), {name: points[name].astype(np.float64) for name in self.domain.numbers()}
        broken = ~np.isfinite(y).all(1)
        margin = np.full(len(y), -np.inf)
        for rule in self.rules:
            broken |= rule.broken(exact, wide)
            margin = np.maximum(margin, rule.margin(exact, wide)[0])
        self.violations[kind] += int(broken.sum())
        if broken.any() and self.example is None:
            row = int(np.flatnonzero(broken)[0])
            self.example = (kind, {name: v[row].item() for name, v in points.items()}, y[row].tolist())
        self.worst = max(self.worst, margin.max())
        return margin

    def push(self, kind, points):
        """One batch through the network, and its worst rows through it in every other way."""
        x = self.domain.encode(points)
        run = lambda session, x: session.run(["y"], {"x": x})[0]
        margin = self.judge(kind, points, x, run(self.optimised, x))
        self.inputs[kind] += len(x)
        rows = np.argsort(-margin, kind="stable")[:49]
        few, worst = {name: v[rows] for name, v in points.items()}, x[rows]
        ways = [run(self.plain, x)[rows], run(self.plain, worst), self.net.shuffled(self.rng, worst)]
        for session, size in ((self.optimised, 1), (self.plain, 1), (self.optimised, 7), (self.plain, 7)):
            ways.append(np.concatenate([run(session, worst[i : i + size]) for i in range(0, len(worst), size)]))
        for y in ways:
            self.judge(kind, few, worst, y)
            self.evaluations += len(worst)
        return margin

    def climb(self, rule, count, steps):
        """Projected sign-gradient ascent from random starts; every iterate is an input, the last ones are neighbours."""
        domain = self.domain
        starts = domain.uniform if self.rng.random() < 0.5 else domain.corners
        points = domain.project(starts(self.rng, count, rule.within), rule.within)
        best = np.full(count, -np.inf)
        kept = points
        for step in range(steps):
            margin = self.push("gradient", points)
            better = margin > best
            best = np.where(better, margin, best)
            kept = {name: np.where(better, points[name], kept[name]) for name in points}
            if step >= steps - 4:
                points = self.neighbours(kept, rule.within)
                continue
            extra = {}

            def slope(y):
                exact = {name: points[name].astype(np.float64) for name in domain.numbers()}
                _, by_output, by_input = rule.margin(exact, y.astype(np.float64))
                extra.update(by_input)
                return by_output

            gradient = self.net.gradient(domain.encode(points), slope)
            rate = 0.5 ** (1 + step * 10 / steps) * self.rng.uniform(0.5, 1.5)
            points = dict(points)
            for name, columns in domain.columns.items():
                g = gradient[:, columns.start : columns.stop]
                if domain.features[name]["kind"] == "category":
                    scores = np.concatenate([np.zeros((count, 1)), g], axis=1) if domain.dropped else g
                    points[name] = np.where(self.rng.random(count) < 0.7, scores.argmax(1), points[name])
                else:
                    lo, hi = domain.range(name, rule.within)
                    points[name] = points[name] + np.sign(g[:, 0] + extra.get(name, 0)) * rate * (np.float64(hi) - lo)
            points = domain.project(points, rule.within)

    def neighbours(self, points, within):
        """A few float32 values to either side in every number: rounding is different there."""
        moved = dict(points)
        for name in self.domain.numbers():
            if self.domain.features[name]["kind"] == "real":
                away = self.rng.integers(-8, 9, size=len(points[name]))
                moved[name] = (points[name] + away * np.spacing(points[name])).astype(np.float32)
        return self.domain.project(moved, within)

    def run(self, count):
        """About `count` inputs: a quarter uniform, an eighth each of corners and conditions, half by gradient."""
        steps, scale = 24, 1 if count < 1_000_000 else 3
        climbers = scale * BATCH // 3
        for _ in range(max(1, round(count / (8 * scale * BATCH + steps * climbers)))):
            for k in range(2 * scale):
                self.push("uniform", self.domain.uniform(self.rng, 2 * BATCH, {}))
                self.push("corners", self.domain.corners(self.rng, BATCH, {}))
                rule = self.rules[k % len(self.rules)]
                place = self.domain.uniform if self.rng.random() < 0.3 else self.domain.corners
                self.push("condition", place(self.rng, BATCH, rule.within))
            for rule in self.rules:
                self.climb(rule, climbers // len(self.rules), steps)
        return self

    def report(self):
        return {
            "inputs": sum(self.inputs.values()),
            "further evaluations": self.evaluations,
            "violations": sum(self.violations.values()),
            "inputs by kind": dict(self.inputs),
            "violations by kind": dict(self.violations),
            "closest to a violation": float(self.worst),
            "example": self.example,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", nargs="*", default=list(RULES), help=f"of {', '.join(RULES)}")
    parser.add_argument("--count", type=int, default=10_000_000, help="inputs a model")
    parser.add_argument("--enforce", help="none: train without guarantee")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = 0
    for example in arguments.examples:
        if data_folder(example) is None:
            print(f"{example}: skipped, no {data_file(example)} in $DEEPSADE_DATA or ../shared/data")
            continue
        with tempfile.TemporaryDirectory() as folder:
            trained = train(example, folder, arguments.enforce)
            start = time.monotonic()
            report = Attack(pathlib.Path(folder) / "model.onnx", RULES[example](), arguments.seed).run(arguments.count).report()
        report["seconds"] = round(time.monotonic() - start, 1)
        print(example, json.dumps({"certified": trained["certified"], **report}), flush=True)
        found += report["violations"]
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
