#!/usr/bin/env python3
"""`[network] scaling` on data sets with monotone rules: a Markdown table of validation losses and test scores leaves.

    cargo build --release && python3 benches/scaling.py
    python3 benches/scaling.py --only compas --splits 2 --deepsade target/debug/deepsade

The data sets, splits and rules of benches/monotone.py. For each split and scaling one setting, so that scalings are compared and nothing
else: a quarter of the 80 % validates. Given are the mean validation loss (squares or cross-entropy), by which a scaling would be chosen,
how often it is the smallest of a split, and the mean score on the test rows, which chooses nothing.
"""

import argparse
import pathlib
import statistics
import tempfile

import monotone

SETTING = {"hidden": [32, 32], "learning_rate": 0.01, "weight_decay": 0.001}
SCALINGS = ["range", "quantile", "standard"]


class Scaled(monotone.Rows):
    scaling = "range"

    def rules(self, file, settings, seed):
        return super().rules(file, settings, seed).replace("[network]\n", f'[network]\nscaling = "{self.scaling}"\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="compas,heart_random,auto_mpg,loans")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--deepsade", default=monotone.ROOT / "target/release/deepsade")
    args = parser.parse_args()
    print("| data | scaling | validation loss | smallest in | test score |\n|---|---|---|---|---|")
    for name in args.only.split(","):
        rows = Scaled(name, monotone.DATA)
        losses, scores = {s: [] for s in SCALINGS}, {s: [] for s in SCALINGS}
        with tempfile.TemporaryDirectory() as folder:
            for number in range(args.splits):
                train, test = rows.split(number)
                for rows.scaling in SCALINGS:
                    place = pathlib.Path(folder) / f"{rows.scaling}-{number}"
                    losses[rows.scaling].append(monotone.deepsade(rows, "monotone", SETTING, train, number, args.deepsade, place)[0])
                    outputs = monotone.outputs_of(monotone.session(place / "model.onnx"), rows.x[test])
                    scores[rows.scaling].append(rows.score(outputs, rows.y[test]))
        best = [min(SCALINGS, key=lambda s: losses[s][number]) for number in range(args.splits)]
        for s in SCALINGS:
            loss, score = statistics.mean(losses[s]), statistics.mean(scores[s])
            spread = statistics.stdev(scores[s]) if args.splits > 1 else 0.0
            print(f"| {name} | {s} | {loss:.4f} | {best.count(s)} of {args.splits} | {score:.2f} +- {spread:.2f} |", flush=True)


if __name__ == "__main__":
    main()
