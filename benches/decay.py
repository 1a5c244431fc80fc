#!/usr/bin/env python3
"""Weight decay by the number of rows: generated problems enter, a Markdown table of scores leaves.

    python benches/decay.py                      # about 10 minutes
    python benches/decay.py --rows 200,400 --decays 0.001,0.005

Five classifications (noisy labels, few or many useful columns) and three regressions of each size are drawn, seeded, learnt with
default settings but for the decay, and scored on 1,000 fresh rows: accuracy / log-loss / R2. What validation chooses from
(docs/training.md, "Several members") was read off this table. Needs the wheel, numpy and scikit-learn.
"""

import argparse
import warnings

import deepsade
import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.metrics import accuracy_score, log_loss, r2_score

FRESH = 1000


def problems(rng, rows):
    """Columns and targets of eight problems: classes first."""
    for of_classes in [True] * 5 + [False] * 3:
        columns, useful, seed = int(rng.integers(6, 20)), int(rng.integers(3, 6)), int(rng.integers(1e6))
        if of_classes:
            X, y = make_classification(
                n_samples=rows + FRESH, n_features=columns, n_informative=useful, n_redundant=1, n_classes=int(rng.integers(2, 4)),
                n_clusters_per_class=int(rng.integers(1, 3)), flip_y=float(rng.uniform(0, 0.3)), class_sep=float(rng.uniform(0.5, 1.2)),
                random_state=seed)
        else:
            own = np.random.default_rng(seed)
            X, y = make_regression(n_samples=rows + FRESH, n_features=columns, n_informative=useful, random_state=seed)
            y = y / y.std() + np.sin(2 * X[:, 0]) * np.abs(X[:, 1]) + own.normal(size=len(y)) * own.uniform(0.2, 1)
        yield of_classes, X, y


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="100,200,400,800,1500,3000", help="sizes, separated by commas")
    parser.add_argument("--decays", default="0.0001,0.001,0.002,0.005,0.01", help="what to try, separated by commas")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    decays = [float(w) for w in args.decays.split(",")]
    print("| rows | " + " | ".join(f"{w:g}" for w in decays) + " |\n|" + "---|" * (len(decays) + 1), flush=True)
    for rows in map(int, args.rows.split(",")):
        scores = {w: {"accuracy": [], "log-loss": [], "R2": []} for w in decays}
        for turn, (of_classes, X, y) in enumerate(problems(np.random.default_rng([5, rows]), rows)):
            kind = deepsade.DeepSaDeClassifier if of_classes else deepsade.DeepSaDeRegressor
            for w in decays:
                model = kind(outside="ignore", random_state=turn, weight_decay=w).fit(X[:rows], y[:rows])
                said, fresh = model.predict(X[rows:]), y[rows:]
                if of_classes:
                    scores[w]["accuracy"].append(accuracy_score(fresh, said))
                    scores[w]["log-loss"].append(log_loss(fresh, np.clip(model.predict_proba(X[rows:]), 1e-6, 1)))
                else:
                    scores[w]["R2"].append(r2_score(fresh, said))
        cells = (" / ".join(f"{np.mean(values):.3f}" for values in scores[w].values()) for w in decays)
        print(f"| {rows} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
