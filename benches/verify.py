"""Verification beside Marabou, in one run: networks of ACAS Xu's shape, and the use cases' own.

    python benches/verify.py [--out DIR] [--timeout 60] [--networks 4]
    python benches/verify.py FOLDER [--every K] [--timeout 60] [--threads 1] [--nnenum SRC] [--marabou]
    python benches/verify.py --shapes [--out DIR] [--timeout 20] [--threads 1] [--nnenum SRC] [--marabou]

With a folder of ONNX and VNN-LIB files, as VNN-COMP has them, the instances of its `*instances.csv` are asked instead (with `--every K`
each K-th), one by one, CPU seconds of each program counted; `--nnenum SRC` asks nnenum, whose sources are there, beside it, `--marabou`
Marabou (maraboupy). Each needs its own packages in `--python`, an interpreter; else nothing is needed. `--shapes` trains 20 networks of
other shapes (3 to 10 inputs, 2 to 6 layers of 20 to 100 units, numpy alone, seeded), writes 10 properties of each as such a folder, half
of them true by a wide or a narrow distance as far as samples tell, and asks the same. Without a folder it needs numpy and onnx; maraboupy (Python 3.11) for the comparison, torch to train the networks. `deepsade` is taken from
target/release. The original ACAS Xu files are not part of this repository: networks of their shape (5 inputs, 6 hidden layers of 50,
5 outputs) are trained here on a smooth function of five variables, seeded, and asked questions of the same kinds as the
published properties: an output stays below a bound, a class is never the smallest, a class is the smallest near a point.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    np = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEEPSADE = ROOT / "target" / "release" / "deepsade"


def measured(command, **options):
    """What a command prints, and the CPU seconds of it and its children."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options)
    out = running.stdout.read()
    _, _, used = os.wait4(running.pid, 0)
    return out, used.ru_utime + used.ru_stime


WORDS = {"holds": "proved", "unsat": "proved", "violated": "refuted", "sat": "refuted"}
ASK_MARABOU = """
import sys
from maraboupy import Marabou, MarabouUtils
import io, contextlib
model, prop, timeout, out = sys.argv[1:]
with contextlib.redirect_stdout(io.StringIO()):
    network = Marabou.read_onnx(model)
    answer = network.solve(propertyFilename=prop, verbose=False, options=Marabou.createOptions(verbosity=0, timeoutInSeconds=int(timeout), numWorkers=1))
open(out, "w").write(answer[0])
"""


def word(path):
    said = pathlib.Path(path).read_text().split()
    return WORDS.get(said[0].strip("(),'") if said else "", "unknown")


def nnenum(args, model, prop):
    """nnenum's word for an instance, and its CPU seconds."""
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as result:
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(args.nnenum)}
        command = [args.python, "-m", "nnenum.nnenum", model, prop, str(args.timeout), result.name, "1"]
        _, cpu = measured(command, cwd=args.nnenum, env=env)
        return word(result.name), cpu


def marabou_of(args, model, prop):
    """Marabou's word for an instance, and its CPU seconds."""
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as result:
        _, cpu = measured([args.python, "-c", ASK_MARABOU, model, prop, str(max(1, int(args.timeout))), result.name])
        return word(result.name), cpu


def ours_of(args, model, prop):
    """Our word, CPU seconds, and the report."""
    command = [args.deepsade, "verify", "--model", model, "--vnnlib", prop, "--timeout", str(args.timeout), "--threads", str(args.threads), "--json"]
    out, cpu = measured(command)
    said = json.loads(out)
    verdict = said["verdict"]
    if verdict == "refuted" and not said["in_every_runtime"]:
        verdict = "unconfirmed"
    return verdict, cpu, said


def folder(args):
    """The instances of a folder, in the words and times of each program."""
    (table,) = args.folder.glob("*instances.csv")
    instances = [row[:2] for row in csv.reader(table.open())][:: args.every]
    print("| model | property | ours | CPU s | of it check | regions | leaves | proof, kB | nnenum | CPU s | Marabou | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    rows = []
    for model, prop in instances:
        model, prop = (args.folder / model).resolve(), (args.folder / prop).resolve()
        verdict, cpu, said = ours_of(args, model, prop)
        theirs = nnenum(args, model, prop) if args.nnenum else ("-", 0.0)
        others = marabou_of(args, model, prop) if args.marabou else ("-", 0.0)
        rows.append(((verdict, cpu), theirs, others))
        print(f"| {model.stem} | {prop.stem} | {verdict} | {cpu:.2f} | {said['check_seconds']:.2f} | {said['regions']} | {said.get('leaves', '')} | {said.get('proof_bytes', 0) / 1000:.1f} | {theirs[0]} | {theirs[1]:.2f} | {others[0]} | {others[1]:.2f} |", flush=True)
    print()
    for k, name in enumerate(["ours", "nnenum", "Marabou"]):
        if rows and rows[0][k][0] != "-":
            decided = [row[k][1] for row in rows if row[k][0] in ("proved", "refuted")]
            median = statistics.median(row[k][1] for row in rows)
            print(f"{name}: decided {len(decided)} of {len(rows)}, {sum(row[k][1] for row in rows):.1f} CPU s in all, median {median:.3f}")
    for k, name in [(1, "nnenum"), (2, "Marabou")]:
        print(f"verdicts that contradict {name}: {sum({'proved', 'refuted'} == {row[0][0], row[k][0]} for row in rows)}")


def trained(generator, sizes):
    """A network fitted to waves of its inputs, by Adam in numpy: weights and biases."""
    draw = lambda n: generator.uniform(-1, 1, (n, sizes[0]))
    waves, phases = generator.normal(0, 1.5, (sizes[0], sizes[-1])), generator.uniform(0, 6, sizes[-1])
    layers = [[generator.normal(0, np.sqrt(2 / a), (b, a)), np.zeros(b)] for a, b in zip(sizes, sizes[1:])]
    moments = [[[np.zeros_like(p), np.zeros_like(p)] for p in layer] for layer in layers]
    for t in range(1, 801):
        x = draw(128)
        goal = np.sin(x @ waves + phases)
        kept = [x]
        for w, b in layers[:-1]:
            kept.append(np.maximum(kept[-1] @ w.T + b, 0))
        d = 2 * (kept[-1] @ layers[-1][0].T + layers[-1][1] - goal) / len(x)
        for k in reversed(range(len(layers))):
            gradients = [d.T @ kept[k], d.sum(0)]
            d = (d @ layers[k][0]) * (kept[k] > 0)
            for p, g, (m, v) in zip(layers[k], gradients, moments[k]):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                p -= 3e-3 * (1 - t / 900) * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return [(w.astype(np.float32), b.astype(np.float32)) for w, b in layers]


def shapes(args):
    """Writes 20 networks and 10 properties of each as a folder of VNN-COMP's kind."""
    rows = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        inputs, depth = int(generator.integers(3, 11)), int(generator.integers(2, 7))
        sizes = [inputs, *(int(n) for n in generator.integers(20, 101, depth)), int(generator.integers(2, 6))]
        weights = trained(generator, sizes)
        save(weights, args.folder / f"net{seed}.onnx", inputs, sizes[-1])
        e = np.eye(sizes[-1])
        for k in range(10):
            radius = [0.02, 0.05, 0.1, 0.2, 0.4][k % 5]
            x = generator.uniform(-0.8, 0.8, inputs)
            box = np.stack([x - radius, x + radius], axis=1).clip(-1, 1)
            y = forward(weights, generator.uniform(box[:, 0], box[:, 1], (20_000, inputs)))
            if k < 5:
                # An output stays below what samples reach, and a little or much more; or it does not.
                slack = [0.5, 0.1, 0.2, 0.5, -0.05][generator.integers(0, 5)]
                j = int(generator.integers(0, sizes[-1]))
                sets = [[(-e[j], -(y[:, j].max() + slack * max(np.ptp(y[:, j]), 0.01)))]]
            else:
                best = int(forward(weights, x[None])[0].argmax())
                sets = [[(e[best] - e[j], 0.0)] for j in range(sizes[-1]) if j != best]
            vnnlib(box, sets, args.folder / f"net{seed}-{k}.vnnlib", sizes[-1])
            rows.append(f"net{seed}.onnx,net{seed}-{k}.vnnlib,{args.timeout:g}")
    (args.folder / "shapes_instances.csv").write_text("\n".join(rows) + "\n")


def target(x):
    """Five advisories' costs: smooth, different in different corners."""
    rho, theta, psi, own, intruder = x.T
    near = np.exp(-2.0 * (rho + 0.5) ** 2)
    side = np.tanh(3 * theta) + 0.5 * np.sin(3 * psi)
    return np.stack([
        1.5 * near - 0.3,
        near * (0.8 + side) - 0.2 * own,
        near * (0.8 - side) - 0.2 * own,
        near * (0.6 + 1.4 * side) - 0.1 * intruder,
        near * (0.6 - 1.4 * side) - 0.1 * intruder,
    ], axis=1)


def train(seed):
    """A 5-50x6-5 network as weights and biases."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    layers, width = [], 5
    for _ in range(6):
        layers += [torch.nn.Linear(width, 50), torch.nn.ReLU()]
        width = 50
    net = torch.nn.Sequential(*layers, torch.nn.Linear(50, 5))
    generator = np.random.default_rng(seed)
    optimiser = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step in range(1500):
        x = generator.uniform(-0.5, 0.5, (256, 5))
        loss = ((net(torch.tensor(x, dtype=torch.float32)) - torch.tensor(target(x), dtype=torch.float32)) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * (1 - step / 1500)
    linear = [m for m in net if isinstance(m, torch.nn.Linear)]
    return [(m.weight.detach().numpy().copy(), m.bias.detach().numpy().copy()) for m in linear], float(loss)


def save(weights, path, inputs=5, outputs=5):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, value = [], [], "x"
    for k, (w, b) in enumerate(weights):
        constants += [numpy_helper.from_array(w, f"w{k}"), numpy_helper.from_array(b, f"b{k}")]
        last = k == len(weights) - 1
        nodes.append(helper.make_node("Gemm", [value, f"w{k}", f"b{k}"], ["y" if last else f"v{k}"], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [f"v{k}"], [f"z{k}"]))
        value = f"z{k}"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "acas", [info("x", TensorProto.FLOAT, [1, inputs])], [info("y", TensorProto.FLOAT, [1, outputs])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def forward(weights, x):
    for k, (w, b) in enumerate(weights):
        x = x @ w.T + b
        if k < len(weights) - 1:
            x = np.maximum(x, 0)
    return x


def questions(weights, seed):
    """(name, box, unsafe set as a list of conjunctions of (coefficients, bound): c . y <= bound)."""
    generator = np.random.default_rng(100 + seed)
    e = np.eye(5)
    whole = np.array([[-0.5, 0.5]] * 5)
    quarter = whole.copy()
    quarter[0] = [0.1, 0.5]
    quarter[3] = quarter[4] = [0.2, 0.5]
    ask = []
    for name, box, slack in [("bound far", quarter, 0.3), ("bound tight", quarter, 0.03), ("bound whole", whole, 0.15), ("bound broken", whole, -0.05)]:
        x = generator.uniform(box[:, 0], box[:, 1], (200_000, 5))
        most = forward(weights, x)[:, 0].max()
        ask.append((name, box, [[(-e[0], -(most + slack))]]))
    # Output 1 is never the smallest in a part of the space / it is somewhere.
    for name, box in [("never smallest, part", quarter), ("never smallest, whole", whole)]:
        ask.append((name, box, [[(e[1] - e[j], 0.0) for j in range(5) if j != 1]]))
    # Near a point the smallest output stays the smallest.
    for radius in (0.02, 0.05, 0.1):
        x = generator.uniform(-0.4, 0.4, 5)
        best = int(forward(weights, x[None])[0].argmin())
        box = np.stack([x - radius, x + radius], axis=1).clip(-0.5, 0.5)
        ask.append((f"local {radius}", box, [[(e[j] - e[best], 0.0)] for j in range(5) if j != best]))
    return ask


def vnnlib(box, sets, path, outputs=5):
    lines = [f"(declare-const X_{i} Real)" for i in range(len(box))] + [f"(declare-const Y_{i} Real)" for i in range(outputs)]
    for i, (lo, hi) in enumerate(box):
        lines += [f"(assert (>= X_{i} {lo:.9f}))", f"(assert (<= X_{i} {hi:.9f}))"]
    number = lambda v: f"{v:.9f}" if v >= 0 else f"(- {-v:.9f})"

    def atom(c, bound):
        """As nnenum and Marabou read it too, where it compares one output with a number or two with each other."""
        below, above = [j for j, v in enumerate(c) if v == 1], [j for j, v in enumerate(c) if v == -1]
        if (below, len(above)) == ([], 1):
            return f"(>= Y_{above[0]} {-bound:.9f})"
        if (len(below), len(above), bound) == (1, 1, 0.0):
            return f"(<= Y_{below[0]} Y_{above[0]})"
        return "(<= (+ " + " ".join(f"(* {number(v)} Y_{j})" for j, v in enumerate(c) if v) + f" 0.0) {number(bound)})"

    if len(sets) == 1:
        lines += [f"(assert {atom(*a)})" for a in sets[0]]
        return path.write_text("\n".join(lines) + "\n")
    lines.append("(assert (or " + " ".join("(and " + " ".join(atom(*a) for a in s) + ")" for s in sets) + "))")
    path.write_text("\n".join(lines) + "\n")


def ours(model, prop, timeout):
    start = time.perf_counter()
    done = subprocess.run(
        [DEEPSADE, "verify", "--model", model, "--vnnlib", prop, "--timeout", str(timeout), "--json"], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.stderr)
    report = json.loads(done.stdout)
    return report["verdict"], seconds, report["regions"], report.get("why", "")


def marabou(model, box, sets, timeout):
    """Each conjunction is a query of its own; the time is their sum."""
    from maraboupy import Marabou

    start = time.perf_counter()
    for conjunction in sets:
        network = Marabou.read_onnx(str(model))
        x, y = network.inputVars[0].flatten(), network.outputVars[0].flatten()
        for v, (lo, hi) in zip(x, box):
            network.setLowerBound(v, float(lo))
            network.setUpperBound(v, float(hi))
        for c, bound in conjunction:
            network.addInequality([y[j] for j, v in enumerate(c) if v], [float(v) for v in c if v], float(bound))
        left = max(1, int(timeout - (time.perf_counter() - start)))
        answer, _, stats = network.solve(verbose=False, options=Marabou.createOptions(verbosity=0, timeoutInSeconds=left, numWorkers=2))
        if answer == "sat":
            return "refuted", time.perf_counter() - start
        if answer != "unsat":
            return "unknown", time.perf_counter() - start
    return "proved", time.perf_counter() - start


def acas(args):
    try:
        import maraboupy  # noqa: F401
        beside = True
    except ImportError:
        print("maraboupy is not installed: our side alone")
        beside = False
    print(f"\n| network | question | ours | seconds | regions | Marabou | seconds |\n|---|---|---|---|---|---|---|")
    rows = []
    for seed in range(args.networks):
        cached = args.out / f"acas{seed}.npz"
        if cached.exists():
            stored = np.load(cached)
            weights = [(stored[f"w{k}"], stored[f"b{k}"]) for k in range(7)]
        else:
            weights, _ = train(seed)
            np.savez(cached, **{f"w{k}": w for k, (w, _) in enumerate(weights)}, **{f"b{k}": b for k, (_, b) in enumerate(weights)})
        model = args.out / f"acas{seed}.onnx"
        save(weights, model)
        for k, (name, box, sets) in enumerate(questions(weights, seed)):
            prop = args.out / f"acas{seed}-{k}.vnnlib"
            vnnlib(box, sets, prop)
            verdict, seconds, regions, why = ours(model, prop, args.timeout)
            theirs, their_seconds = marabou(model, box, sets, args.timeout) if beside else ("-", 0.0)
            rows.append((verdict, theirs))
            print(f"| {seed} | {name} | {verdict} | {seconds:.2f} | {regions} | {theirs} | {their_seconds:.2f} | {why}", flush=True)
    decided = lambda k: sum(r[k] in ("proved", "refuted") for r in rows)
    print(f"\ndecided within {args.timeout} s: ours {decided(0)} of {len(rows)}, Marabou {decided(1)} of {len(rows)}")
    different = [r for r in rows if {"proved", "refuted"} == set(r)]
    print(f"verdicts that contradict each other: {len(different)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--nnenum", type=pathlib.Path)
    parser.add_argument("--marabou", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--deepsade", type=pathlib.Path, default=DEEPSADE)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("/tmp/deepsade-verify"))
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--networks", type=int, default=4)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.shapes:
        args.folder = args.out
        shapes(args)
    if args.folder:
        return folder(args)
    acas(args)


if __name__ == "__main__":
    main()
