#!/usr/bin/env python3
"""What the guarantee costs in accuracy: example files enter, a Markdown table leaves, over several splits.

    cargo build --release && python3 benches/accurate.py
    python3 benches/accurate.py --only loans,wine3 --splits 3

Each row is `deepsade train FILE --seed S --json` for the seeds 0 to SPLITS - 1, which also deal out the rows: the free network, the same
with the output step behind it (its outputs cut to the rules, nothing trained anew), and the model that `train` hands over, chosen on
validation among those that are proved. Scores on the test rows that obey the rules: mean squared errors, or shares of right answers.
Needs numpy; the data are looked for in $DEEPSADE_DATA or ../shared/data.
"""

import argparse
import json
import pathlib
import statistics
import tempfile

from program import DATA, ROOT, make_hours, output_of

CASES = ["loans", "wine3", "hours", "quality", "uc1", "uc2", "uc3", "uc4", "uc5"]


def trained(program, case, seed, data, folder):
    """What `train --json` says."""
    rules = ROOT / "examples" / f"{case}.toml"
    command = [program, "train", "--force", rules, "--data", data, "--out", folder / f"{case}-{seed}", "--seed", seed, "--json", "--quiet"]
    return json.loads(output_of(command))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="loans,wine3,hours,quality", help=f"cases, from {','.join(CASES)}")
    parser.add_argument("--splits", type=int, default=5, help="how many splits (default 5)")
    parser.add_argument("--program", default=ROOT / "target" / "release" / "deepsade", help="the program to run")
    args = parser.parse_args()
    cases = args.only.split(",")
    if unknown := set(cases) - set(CASES):
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join(CASES)}")
    if args.splits < 1:
        parser.error("--splits: at least 1 is needed")
    print("| case | free | step behind it | handed over | by | certified | fallbacks | distinct predictions |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for case in cases:
            data = ROOT / "examples" if case in ("wine3", "quality") else DATA
            if case == "hours":
                data = folder
                make_hours(folder)
            said = [trained(args.program, case, seed, data, folder) for seed in range(args.splits)]
            behind = [next((t["test"] for t in s["cost"]["tried"] if "behind" in t["how"]), None) for s in said]
            mean = lambda values: f"{statistics.mean(values):.2f}" if None not in values else "–"
            by = [s["enforced_by"] for s in said]
            print(
                f"| {case} ({said[0]['cost']['metric']}) | {mean([s['cost']['free'] for s in said])} | {mean(behind)} "
                f"| {mean([s['cost']['enforced'] for s in said])} | {', '.join(f'{by.count(b)} {b}' for b in sorted(set(by)))} "
                f"| {sum(s['certified'] for s in said)} of {len(said)} | {max(s['fallbacks'] for s in said):.2%} at most "
                f"| {min(s['distinct'] for s in said)} at least |",
                flush=True,
            )


if __name__ == "__main__":
    main()
