#!/usr/bin/env python3
"""What the output step costs in onnxruntime: rule files enter, a Markdown table of times leaves, beside the same network without it.

    cargo build --release && python3 benches/step.py
    python3 benches/step.py --only uc1,wine3 --rounds 60 --profile        # and which operators take the time

Each case is `deepsade train FILE --enforce decode --epochs 1`; "free" is that file cut at the network's own outputs. Both run on one
thread at onnxruntime's default optimisation, taking turns; medians of rounds. The inputs are whole numbers drawn at random
from 0 to 100. Needs onnx, onnxruntime and numpy; the data are looked for in $DEEPSADE_DATA or ../shared/data.
"""

import argparse
import collections
import json
import pathlib
import statistics
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from program import DATA, ROOT, make_hours, output_of

CASES = ["uc1", "wine3", "hours", "tree499"]
# The tensor with a network's own outputs, before the step.
TRUNK = "scores"


def tree(folder, labels=499, rows=200):
    """Rules and made-up rows for a hierarchy: each label but the first implies one before it."""
    rng = np.random.default_rng(0)
    parents = [int(rng.integers(max(0, (k - 1) // 4 - 2), (k - 1) // 4 + 1)) for k in range(1, labels)]
    names = [f"l{k}" for k in range(labels)]
    x, y = rng.normal(size=(rows, 20)), rng.random((rows, labels)) < 0.5
    y[:, 0] = True
    for k, parent in enumerate(parents, 1):
        y[:, k] &= y[:, parent]
    lines = [",".join([f"x{j}" for j in range(20)] + names)]
    lines += [",".join([f"{v:.4f}" for v in a] + [str(int(v)) for v in b]) for a, b in zip(x, y)]
    (folder / "tree.csv").write_text("\n".join(lines) + "\n")
    rules = " and ".join(f"(l{k} => l{parent})" for k, parent in enumerate(parents, 1))
    (folder / "tree.toml").write_text(
        f'[data]\nfile = "tree.csv"\ntargets = {json.dumps(names)}\n\n[task]\nkind = "multilabel"\n\n'
        f'[network]\nhidden = [50, 50, 14]\n\n[train]\nepochs = 1\n\n[[rule]]\nname = "tree"\ntext = "{rules}"\n')
    return folder / "tree.toml", folder


def made(program, case, folder):
    """The file of a trained model with the step, as bytes."""
    rules, data = tree(folder) if case == "tree499" else (ROOT / "examples" / f"{case}.toml", DATA)
    if case == "hours":
        data = folder
        make_hours(folder)
    out = folder / case
    command = [program, "train", "--force", rules, "--data", data, "--out", out, "--enforce", "decode", "--epochs", "1", "--quiet"]
    output_of(command)
    return next(out.rglob("model.onnx")).read_bytes()


def free(model):
    """The same network without the step."""
    model = onnx.load_from_string(model)
    graph, needed, kept = model.graph, {TRUNK}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed |= set(node.input)
            kept.insert(0, node)
    constants = [t for t in graph.initializer if t.name in needed]
    width = next(o for o in graph.output if o.name == "y").type.tensor_type.shape.dim[1].dim_value
    port = onnx.helper.make_tensor_value_info(TRUNK, onnx.TensorProto.FLOAT, ["N", width])
    for field, items in ((graph.node, kept), (graph.initializer, constants), (graph.output, [port])):
        del field[:]
        field.extend(items)
    return model.SerializeToString()


def session(model, profile=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, str(profile)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def seconds(sessions, x, names, rounds, share=0.02):
    """The median time of a run of each, in turns; of the processor, which is not that of others on the same machine."""
    times = [[] for _ in sessions]
    for turn in range(rounds + 2):
        for k, (one, name) in enumerate(zip(sessions, names)):
            runs, start = 0, time.process_time()
            while time.process_time() - start < share:
                one.run([name], {"x": x})
                runs += 1
            if turn >= 2:
                times[k].append((time.process_time() - start) / runs)
    return [statistics.median(t) for t in times]


def operators(model, x, folder, runs=200):
    """Which operators of a file take the time: microseconds a run, calls."""
    one = session(model, folder / "profile")
    for _ in range(runs):
        one.run(["y"], {"x": x})
    total, calls = collections.Counter(), collections.Counter()
    for event in json.loads(pathlib.Path(one.end_profiling()).read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            op = event["args"]["op_name"]
            total[op] += event["dur"] / runs
            calls[op] += 1 / runs
    return ", ".join(f"{op} {took:.1f} us ({calls[op]:.0f})" for op, took in total.most_common(10))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CASES), help="cases, separated by commas")
    parser.add_argument("--batches", default="1,1000", help="rows a run")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--profile", action="store_true", help="print which operators take the time")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder to keep the models in; those in it are taken as they are")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "release" / "deepsade")
    args = parser.parse_args()
    print("| case | rows a run | free, us | with the step, us | ratio | nodes, free | nodes with the step |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for case in args.only.split(","):
            kept = args.keep and args.keep / f"{case}.onnx"
            model = kept.read_bytes() if kept and kept.exists() else made(args.program, case, folder)
            if kept and not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(model)
            both = [free(model), model]
            sessions = [session(m) for m in both]
            nodes = [len(onnx.load_from_string(m).graph.node) for m in both]
            width = sessions[0].get_inputs()[0].shape[1]
            rng = np.random.default_rng(0)
            for batch in map(int, args.batches.split(",")):
                x = np.round(rng.uniform(0, 100, (batch, width))).astype(np.float32)
                a, b = seconds(sessions, x, [TRUNK, "y"], args.rounds)
                print(f"| {case} | {batch} | {a * 1e6:.1f} | {b * 1e6:.1f} | {b / a:.2f} | {nodes[0]} | {nodes[1]} |", flush=True)
                if args.profile:
                    print(f"  {operators(model, x, folder)}", flush=True)


if __name__ == "__main__":
    main()
