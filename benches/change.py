#!/usr/bin/env python3
"""Bounds of a change beside rules about one input, on a made-up household budget: a Markdown table of test errors leaves.

    cargo build --release && python3 benches/change.py

MSE on the test rows, by the weights alone and as `enforce = "auto"` takes it.
"""

import json
import pathlib
import random
import tempfile

from program import ROOT, output_of

SUM = "sum(rent, food, tax) <= income"
CASES = [
    [SUM, "increasing(tax, income)", "change(food, {kids}, by = 1) <= 300"],
    [SUM, "change(food, {income}, by = 100) <= 60"],
    ["rent >= 0", "food >= 0", "income < 1000 => tax <= 300", "change(rent - tax, {kids}, by = 1) <= 200"],
]


def rows(count=3000):
    rng = random.Random(0)
    for _ in range(count):
        income = min(9000, max(300, rng.lognormvariate(7.5, 0.5)))
        kids, city = rng.randrange(6), rng.choice("nsw")
        rent = income * (0.30 if city == "n" else 0.25) * rng.uniform(0.8, 1.1)
        tax = income * 0.2 * rng.uniform(0.9, 1.1)
        food = min((80 + income * 0.15 + 40 * kids) * rng.uniform(0.8, 1.2), income - rent - tax - 1)
        yield income, kids, city, rent, food, tax


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        lines = ["income,kids,city,rent,food,tax"] + [",".join(str(v) for v in row) for row in rows()]
        (folder / "d.csv").write_text("\n".join(lines) + "\n")
        print("| rules | free | by the weights alone | taken |\n|---|---|---|---|")
        for case in CASES:
            text = '[data]\nfile = "d.csv"\ntargets = ["rent", "food", "tax"]\n[task]\nkind = "regression"\n[train]\nepochs = 40\n'
            text += "".join(f'[[rule]]\nname = "{k}"\ntext = "{rule}"\n' for k, rule in enumerate(case))
            (folder / "r.toml").write_text(text)
            command = [ROOT / "target" / "release" / "deepsade", "train", "--force", folder / "r.toml", "--out", folder / "out", "--quiet", "--json"]
            said = json.loads(output_of(command))
            assert said["certified"]
            cost = said["cost"]
            weights = next(t["test"] for t in cost["tried"] if "weights" in t["how"])
            print(f"| `{'`, `'.join(case)}` | {cost['free']:.0f} | {weights:.0f} | {cost['enforced']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
