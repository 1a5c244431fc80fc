#!/usr/bin/env python3
"""How well the default settings do: ten data sets enter, a Markdown table leaves, beside scikit-learn's network and LightGBM.

    python3 benches/defaults.py                     # with the package installed; needs scikit-learn, lightgbm, pandas
    python3 benches/defaults.py --only heart,iris --splits 3 --rows 2000

Nothing is said of network or training to any of them, but for "tuned": scikit-learn's network with the best on a validation fifth of the
training rows of four settings (size and L2). Inputs of scikit-learn's network are scaled and one-hot, targets of a regression
scaled; ours get the raw rows. Each split tests on a fifth of the rows; scores are shares of right answers, or R2 (the mean over targets).
Ours keep the rules of the table's sets below and are proved; `--free` drops the rules.
The defaults were chosen by cross-validation on other sets (iris, wine, Friedman 2 and 3, three generated ones), not on these.
The public data are looked for in $DEEPSADE_DATA or ../shared/data.
"""

import argparse
import os
import pathlib
import time
import warnings

# One thread each: seconds are comparable, and small matrices gain nothing.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification, make_friedman1
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import deepsade

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("DEEPSADE_DATA", ROOT.parent / "shared" / "data"))


def public(file, targets, drop=()):
    data = pd.read_csv(DATA / file).drop(columns=list(drop)).dropna().reset_index(drop=True)
    targets = [targets] if isinstance(targets, str) else targets
    return data.drop(columns=targets), data[targets[0]] if len(targets) == 1 else data[targets]


def made(make, **settings):
    X, y = make(**settings)
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]), pd.Series(y, name="y")


def bundled(load):
    found = load(as_frame=True)
    return found.data, found.target


EXPENSES = ["All_Food_Expenses", "Going_Out_Expenses", "Shopping_Expenses", "Necessary_Expenses", "Miscellaneous_Expenses"]
#: For each set how to get it, whether it is a classification, and its rules.
SETS = {
    "auto-mpg": (lambda: public("auto_mpg.csv", "mpg"), False, ["0 <= mpg <= 60"]),
    "heart": (lambda: public("heart_train.csv", "target"), True, []),
    "compas": (lambda: public("compas.csv", "two_year_recid"), True, []),
    "loans": (
        lambda: public("loan_data_set.csv", "Loan_Status", ["Gender"]), True,
        ["ApplicantIncome < 5000 and Credit_History == 0 => Loan_Status == 'N'"],
    ),
    "expenses": (
        lambda: public("expense_prediction.csv.gz", EXPENSES, ["Unnamed: 0"]), False,
        [f"{name} >= 0" for name in EXPENSES],
    ),
    "breast cancer": (lambda: bundled(load_breast_cancer), True, []),
    "diabetes": (lambda: bundled(load_diabetes), False, ["0 <= target <= 400"]),
    "digits": (lambda: bundled(load_digits), True, []),
    "friedman 1": (lambda: made(make_friedman1, n_samples=1000, noise=1.0, random_state=0), False, ["-10 <= y <= 40"]),
    "generated": (
        lambda: made(make_classification, n_samples=2000, n_features=20, n_informative=8, n_redundant=4, n_classes=3, flip_y=0.05, random_state=0),
        True, [],
    ),
}


def encoded():
    numbers = make_column_selector(dtype_include=np.number)
    texts = make_column_selector(dtype_exclude=np.number)
    return ColumnTransformer([("numbers", StandardScaler(), numbers), ("texts", OneHotEncoder(handle_unknown="ignore"), texts)])


def network(classes, seed, **settings):
    if classes:
        return make_pipeline(encoded(), MLPClassifier(random_state=seed, **settings))
    inner = make_pipeline(encoded(), MLPRegressor(random_state=seed, **settings))
    return TransformedTargetRegressor(inner, transformer=StandardScaler())


def tuned(classes, seed, X, y, score):
    inner_X, valid_X, inner_y, valid_y = train_test_split(X, y, test_size=0.2, random_state=seed)
    grid = [
        {"hidden_layer_sizes": size, "alpha": alpha} for size in ((100,), (64, 32)) for alpha in (1e-3, 1.0)
    ]
    scored = [score(valid_y, network(classes, seed, **s).fit(inner_X, inner_y).predict(valid_X)) for s in grid]
    return network(classes, seed, **grid[int(np.argmax(scored))]).fit(X, y)


def trees(classes, X, y):
    import lightgbm

    def typed(X):
        texts = X.select_dtypes(exclude=np.number).columns
        return X.astype({name: "category" for name in texts}).rename(columns={name: f"f{k}" for k, name in enumerate(X.columns)})

    model = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1) if classes else lightgbm.LGBMRegressor(verbose=-1, n_jobs=1)
    model = MultiOutputRegressor(model) if getattr(y, "ndim", 1) == 2 else model
    # Levels of one frame: the categories of both halves are those of the whole.
    model.fit(typed(X), y)
    return lambda rows: model.predict(typed(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SETS), help="sets, separated by commas")
    parser.add_argument("--splits", type=int, default=5, help="how many splits (default 5)")
    parser.add_argument("--rows", type=int, default=1500, help="rows of a set at most, drawn once (default 1500)")
    parser.add_argument("--free", action="store_true", help="without rules")
    parser.add_argument("--ours", action="store_true", help="our model alone")
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := set(names) - set(SETS):
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join(SETS)}")
    warnings.filterwarnings("ignore")
    print("| set | rows | score | deepsade | MLP | MLP tuned | LightGBM | of MLP | of tuned | of LightGBM | certified | s, ours / MLP |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in names:
        get, classes, rules = SETS[name]
        X, y = get()
        if len(X) > args.rows:
            X = X.sample(args.rows, random_state=0)
            y = y.loc[X.index]
        # Text columns of both halves have the levels of the whole.
        texts = list(X.select_dtypes(exclude=np.number).columns)
        X = X.astype({column: pd.CategoricalDtype(sorted(X[column].unique())) for column in texts})
        score = accuracy_score if classes else r2_score
        scores, certified, seconds = {}, 0, {"deepsade": 0.0, "MLP": 0.0}
        for split in range(args.splits):
            train_X, test_X, train_y, test_y = train_test_split(X, y, test_size=0.2, random_state=split, stratify=y if classes else None)
            begun = time.process_time()
            kind = deepsade.DeepSaDeClassifier if classes else deepsade.DeepSaDeRegressor
            model = kind(() if args.free else rules, outside="ignore", random_state=split).fit(train_X, train_y)
            seconds["deepsade"] += time.process_time() - begun
            certified += model.certified_
            scores.setdefault("deepsade", []).append(score(test_y, model.predict(test_X)))
            if args.ours:
                continue
            begun = time.process_time()
            scores.setdefault("MLP", []).append(score(test_y, network(classes, split).fit(train_X, train_y).predict(test_X)))
            seconds["MLP"] += time.process_time() - begun
            scores.setdefault("tuned", []).append(score(test_y, tuned(classes, split, train_X, train_y, score).predict(test_X)))
            scores.setdefault("LightGBM", []).append(score(test_y, trees(classes, train_X, train_y)(test_X)))
        mean = {method: float(np.mean(values)) for method, values in scores.items()}
        cell = lambda method: f"{mean[method]:.3f} ± {np.std(scores[method]):.3f}" if method in mean else "–"
        ratio = lambda method: f"{mean['deepsade'] / mean[method]:.3f}" if method in mean else "–"
        proved = f"{certified} of {args.splits}" if rules and not args.free else "no rules"
        took = f"{seconds['deepsade'] / args.splits:.1f} / {seconds['MLP'] / args.splits:.1f}"
        print(
            f"| {name} | {len(X)} | {'accuracy' if classes else 'R2'} | {cell('deepsade')} | {cell('MLP')} | {cell('tuned')} | {cell('LightGBM')} "
            f"| {ratio('MLP')} | {ratio('tuned')} | {ratio('LightGBM')} | {proved} | {took} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
