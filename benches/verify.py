"""Verification beside Marabou, in one run: networks of ACAS Xu's shape, and the use cases' own.

    python benches/verify.py [--out DIR] [--timeout 60] [--networks 4]
    python benches/verify.py FOLDER [--every K] [--timeout 60] [--threads 1] [--nnenum SRC]

With a folder of ONNX and VNN-LIB files, as VNN-COMP has them, the instances of its `*instances.csv` are asked instead (with `--every K`
each K-th), one by one, CPU seconds of each program counted; `--nnenum SRC` asks nnenum, whose sources are there, beside it. Needs nothing
else. Without a folder it needs numpy and onnx; maraboupy (Python 3.11) for the comparison, torch to train the networks. `deepsade` is taken from
target/release. The original ACAS Xu files are not part of this repository: networks of their shape (5 inputs, 6 hidden layers of 50,
5 outputs) are trained here on a smooth function of five variables, seeded, and asked questions of the same kinds as the
published properties: an output stays below a bound, a class is never the smallest, a class is the smallest near a point.
"""

import argparse
import csv
import json
import os
import pathlib
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


def nnenum(source, model, prop, timeout):
    """nnenum's word for an instance, and its CPU seconds."""
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as result:
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(source)}
        command = [sys.executable, "-m", "nnenum.nnenum", model, prop, str(timeout), result.name, "1"]
        _, cpu = measured(command, cwd=source, env=env)
        said = result.read().split()
    words = {"holds": "proved", "unsat": "proved", "violated": "refuted", "sat": "refuted"}
    return words.get(said[0].strip("(),'") if said else "", "unknown"), cpu


def folder(args):
    """The instances of a folder, in the words and times of each program."""
    (table,) = args.folder.glob("*instances.csv")
    instances = [row[:2] for row in csv.reader(table.open())][:: args.every]
    print("| model | property | ours | CPU s | of it check | regions | leaves | proof, kB | nnenum | CPU s |\n|---|---|---|---|---|---|---|---|---|---|")
    rows = []
    for model, prop in instances:
        model, prop = args.folder / model, args.folder / prop
        command = [DEEPSADE, "verify", "--model", model, "--vnnlib", prop, "--timeout", str(args.timeout), "--threads", str(args.threads), "--json"]
        out, cpu = measured(command)
        said = json.loads(out)
        verdict = said["verdict"]
        if verdict == "refuted" and not said["in_every_runtime"]:
            verdict = "unconfirmed"
        theirs, their_cpu = nnenum(args.nnenum, model, prop, args.timeout) if args.nnenum else ("-", 0.0)
        rows.append((verdict, cpu, theirs, their_cpu))
        print(f"| {model.stem} | {prop.stem} | {verdict} | {cpu:.2f} | {said['check_seconds']:.2f} | {said['regions']} | {said.get('leaves', '')} | {said.get('proof_bytes', 0) / 1000:.1f} | {theirs} | {their_cpu:.2f} |", flush=True)
    decided = lambda k: sum(r[k] in ("proved", "refuted") for r in rows)
    print(f"\ndecided: ours {decided(0)} of {len(rows)} in {sum(r[1] for r in rows):.1f} CPU s, nnenum {decided(2)} in {sum(r[3] for r in rows):.1f}")
    print(f"verdicts that contradict each other: {sum({'proved', 'refuted'} == {r[0], r[2]} for r in rows)}")


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


def save(weights, path):
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
    graph = helper.make_graph(nodes, "acas", [info("x", TensorProto.FLOAT, [1, 5])], [info("y", TensorProto.FLOAT, [1, 5])], constants)
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


def vnnlib(box, sets, path):
    lines = [f"(declare-const X_{i} Real)" for i in range(5)] + [f"(declare-const Y_{i} Real)" for i in range(5)]
    for i, (lo, hi) in enumerate(box):
        lines += [f"(assert (>= X_{i} {lo:.9f}))", f"(assert (<= X_{i} {hi:.9f}))"]
    number = lambda v: f"{v:.9f}" if v >= 0 else f"(- {-v:.9f})"
    atom = lambda c, bound: "(<= (+ " + " ".join(f"(* {number(v)} Y_{j})" for j, v in enumerate(c) if v) + f" 0.0) {number(bound)})"
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
    parser.add_argument("--nnenum", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("/tmp/deepsade-verify"))
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--networks", type=int, default=4)
    args = parser.parse_args()
    if args.folder:
        return folder(args)
    args.out.mkdir(parents=True, exist_ok=True)
    acas(args)


if __name__ == "__main__":
    main()
