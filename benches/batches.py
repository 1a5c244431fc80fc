#!/usr/bin/env python3
"""Whether onnxruntime computes the same numbers in batches of other sizes: models enter, a Markdown table leaves.

    python3 benches/batches.py FOLDER/model.onnx ...

Random inputs of each model's domain are computed in one batch of 20,000 and again in batches of 1 to 1000, without and with all
optimisations, on one and on two threads. Counted: rows of which any output differs in any bit, and the largest difference beside the
largest output. Rules that signs prove are exact wherever this is 0. Needs numpy, onnx, onnxruntime.
"""

import json
import sys

import numpy as np
import onnx
import onnxruntime

SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 256, 1000]
ROWS = 20_000
FEW = 4_000  # rows for batches below 8, which take long


def session(model, optimised, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def inputs(schema, rng):
    """Random inputs of the domain, encoded as the model reads them."""
    columns = []
    for feature in schema["features"]:
        domain = feature["domain"]
        if domain["kind"] == "category":
            level = rng.integers(len(domain["levels"]), size=ROWS)
            first = 1 if schema["one_hot"] == "drop-first" else 0
            columns += [level == k for k in range(first, len(domain["levels"]))]
        elif domain["kind"] == "ordered":
            columns.append(rng.integers(len(domain["levels"]), size=ROWS))
        else:
            value = rng.uniform(domain["lo"], domain["hi"], ROWS)
            columns.append(np.round(value) if domain["kind"] == "integer" else value)
    return np.stack([np.asarray(c, np.float32) for c in columns], axis=1)


def main():
    print("| model | optimisation | threads | rows that differ, of batches of 1 to 1000 | rows | largest difference | largest output |")
    print("|---|---|---|---|---|---|---|")
    for model in sys.argv[1:]:
        schema = json.loads(next(p.value for p in onnx.load(model).metadata_props if p.key == "deepsade.schema"))
        x = inputs(schema, np.random.default_rng(0))
        for optimised in (False, True):
            for threads in (1, 2):
                running = session(model, optimised, threads)
                run = lambda x: running.run(["y"], {"x": x})[0]
                whole, differ, rows, most = run(x), {}, 0, 0.0
                for size in SIZES:
                    count = ROWS if size >= 8 else FEW
                    y = np.concatenate([run(x[k : k + size]) for k in range(0, count, size)])
                    off = np.abs(y.astype(np.float64) - whole[: len(y)])
                    differ[size] = int((off > 0).any(axis=1).sum())
                    rows, most = rows + len(y), max(most, off.max())
                said = ", ".join(f"{n} at {size}" for size, n in differ.items() if n) or "0"
                print(f"| {model} | {'all' if optimised else 'none'} | {threads} | {said} | {rows} | {most:.3g} | {np.abs(whole).max():.4g} |", flush=True)


if __name__ == "__main__":
    main()
