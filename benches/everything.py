#!/usr/bin/env python3
"""UC1 with its rules, and with `increasing` of each expense in income besides: a Markdown table of test errors leaves.

    cargo build --release && python3 benches/everything.py [--seeds 5]

Both files are trained by `deepsade train` (`enforce = "auto"`) on the same splits; MSE on the test rows whose label obeys UC1's two rules.
"""

import argparse
import json
import pathlib
import statistics
import tempfile

from program import DATA, ROOT, output_of

INCOME = "`Total Household Income`"
TARGETS = ["All_Food_Expenses", "Going_Out_Expenses", "Shopping_Expenses", "Necessary_Expenses", "Miscellaneous_Expenses"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--deepsade", type=pathlib.Path, default=ROOT / "target" / "release" / "deepsade")
    args = parser.parse_args()
    rules = (ROOT / "examples" / "uc1.toml").read_text().replace('file = "', f'file = "{DATA}/')
    rising = "".join(f'\n[[rule]]\nname = "{t} rises"\ntext = "increasing({t}, {INCOME})"\n' for t in TARGETS)
    print("| seed | without: MSE | how | with: MSE | how | certified | with, by the weights alone | ratio |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    scores = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for seed in range(args.seeds):
            said = []
            for name, text in (("without", rules), ("with", rules + rising)):
                (folder / f"{name}.toml").write_text(text)
                command = [args.deepsade, "train", "--force", folder / f"{name}.toml", "--out", folder / name, "--seed", str(seed), "--quiet", "--json"]
                said.append(json.loads(output_of(command)))
            mse = [s["test"]["mse"] for s in said]
            how = [max((t for t in s["cost"]["tried"] if t["certified"]), key=lambda t: -t["score"])["how"] for s in said]
            weights = said[1]["cost"]["tried"][0]["test"]
            certified = all(s["certified"] for s in said)
            scores.append(mse)
            print(f"| {seed} | {mse[0]:.2f} | {how[0]} | {mse[1]:.2f} | {how[1]} | {certified} | {weights:.2f} | {mse[1] / mse[0]:.3f} |", flush=True)
    without, with_ = (statistics.mean(column) for column in zip(*scores))
    print(f"| mean | {without:.2f} | | {with_:.2f} | | | | {with_ / without:.3f} |")


if __name__ == "__main__":
    main()
