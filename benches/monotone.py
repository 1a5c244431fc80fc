#!/usr/bin/env python3
"""Monotone rules against peers: data sets enter, Markdown tables leave (scores, pairs that break a rule, times).

    cargo build --release && python3 benches/monotone.py
    python3 benches/monotone.py --only auto_mpg,heart --splits 2 --methods monotone,free
    python3 benches/monotone.py --pairs 100000000 --methods monotone,lightgbm

Scores on test rows that nothing is chosen by, mean and standard deviation over the splits: mean squared errors (auto_mpg) or shares of
right answers. auto_mpg, compas and loans: random 80/20 splits, the same for all methods; heart: the published split
(61 test rows, so 1.6 points a row), with other seeds; heart_random: all its 303 rows in random 80/20 splits.
Within the 80 % every method deals out a quarter as validation rows DEALS times (deepsade by its own seed). The epoch or the number of
trees is that of the smallest validation loss (squares, cross-entropy), the setting that of the smallest mean of these over the deals,
chosen for each split anew from GRIDS below. The score of a split is the mean over the models of that setting, one for each deal. Members of
a deepsade model validate on other rows each, so together they learn from all of the 80 %; trees are grown once more on all of it, with
as many rounds as validation chose. monotonenorm keeps its best epoch.

  monotone, free         `deepsade train` with the rule, and with `--enforce none`
  lightgbm, lightgbm-free     LightGBM with monotone_constraints (all three methods in the grid), and without
  histgb, histgb-free         scikit-learn's HistGradientBoosting* with monotonic_cst, and without
  monotonenorm           PyPI's monotonenorm (Lipschitz monotone networks), if it and torch are installed

--pairs N: chains of inputs that differ in one monotone feature alone, N neighbours for each of two optimisation levels of onnxruntime,
dealt out over the data sets and the splits' monotone models: steps of any size and of one ulp from random places, half of them attacked
(classes: around the decision's boundary, found by bisection; regression: around places that a random search drives towards a flat
or falling output), all in one batch at shuffled places, in batches of many sizes. LightGBM's own predict gets N / 100, in float64, at
the thresholds of its trees, as does deepsade's free network, to show what the search finds.
Counted: neighbours that break the rule, and of classes those whose margin of scores steps back.

Times: `deepsade train --enforce weights` and `--enforce none` in turn, the seconds of the epochs of the model that is handed over
(run.jsonl, wall time), and CPU seconds: those of `--enforce weights`, which trains the free network first, less those of `--enforce none`.
The free network's epochs grow slower in the course of a run (with weight decay its dead weights become denormal), which flatters the
rule, so an epoch among the first 20 is given as well: that is the fair ratio. `deepsade check` as a process. One thread everywhere.
Needs numpy, pandas, scikit-learn, lightgbm, onnxruntime.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before numpy is imported

import argparse
import collections
import itertools
import json
import pathlib
import resource
import shutil
import statistics
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from program import DATA, ROOT, output_of

warnings.filterwarnings("ignore")

# signs: the features of the rule, all up (1) or all down (-1); classes: the second is the one whose decision the rule is about.
Case = collections.namedtuple("Case", "file target sign monotone classes ignore batch epochs")
CASES = {
    "auto_mpg": Case("auto_mpg.csv", "mpg", -1, ["displacement", "horsepower", "weight"], None, [], 16, 300),
    "heart": Case("heart_train.csv", "target", 1, ["trestbps", "chol"], ["0", "1"], [], 16, 100),
    "heart_random": Case("heart_train.csv", "target", 1, ["trestbps", "chol"], ["0", "1"], [], 16, 100),
    "compas": Case(
        "compas.csv", "two_year_recid", 1, ["priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count"], ["0", "1"], [], 64, 80
    ),
    "loans": Case("loan_data_set.csv", "Loan_Status", 1, ["ApplicantIncome", "Credit_History"], ["N", "Y"], ["Gender"], 16, 100),
}
METHODS = ["monotone", "free", "lightgbm", "lightgbm-free", "histgb", "histgb-free", "monotonenorm"]
DEEPSADE = [
    settings | {"members": 8}
    for settings in [
        {"hidden": [64], "learning_rate": 0.01, "weight_decay": 0.0001},
        {"hidden": [64], "learning_rate": 0.01, "weight_decay": 0.001},
        {"hidden": [64], "learning_rate": 0.01, "weight_decay": 0.01},
        {"hidden": [64], "learning_rate": 0.01, "weight_decay": 0.001, "scaling": "standard"},
        {"hidden": [32, 32], "learning_rate": 0.01, "weight_decay": 0.001},
        {"hidden": [32, 32], "learning_rate": 0.01, "weight_decay": 0.001, "scaling": "standard"},
        {"hidden": [32, 32], "learning_rate": 0.01, "weight_decay": 0.01},
        {"hidden": [32, 32], "learning_rate": 0.003, "weight_decay": 0.0001},
    ]
]
#: Settings of `[network]`; the others are of `[train]`.
NETWORK = ("hidden", "members", "scaling")
TREES = [
    {"num_leaves": 31, "learning_rate": 0.1, "min_child_samples": 20},
    {"num_leaves": 15, "learning_rate": 0.05, "min_child_samples": 10},
    {"num_leaves": 7, "learning_rate": 0.05, "min_child_samples": 10},
    {"num_leaves": 7, "learning_rate": 0.05, "min_child_samples": 5, "reg_lambda": 5.0},
    {"num_leaves": 4, "learning_rate": 0.05, "min_child_samples": 5},
    {"num_leaves": 4, "learning_rate": 0.1, "min_child_samples": 20, "reg_lambda": 1.0},
]
WAYS = ["advanced", "advanced", "advanced", "intermediate", "advanced", "basic"]
HISTGB = [
    {"max_leaf_nodes": 31, "learning_rate": 0.1, "min_samples_leaf": 20},
    {"max_leaf_nodes": 15, "learning_rate": 0.05, "min_samples_leaf": 10},
    {"max_leaf_nodes": 7, "learning_rate": 0.05, "min_samples_leaf": 10},
    {"max_leaf_nodes": 7, "learning_rate": 0.05, "min_samples_leaf": 5, "l2_regularization": 5.0},
    {"max_leaf_nodes": 4, "learning_rate": 0.05, "min_samples_leaf": 5},
    {"max_leaf_nodes": 4, "learning_rate": 0.1, "min_samples_leaf": 20, "l2_regularization": 1.0},
]
GRIDS = {
    "monotone": DEEPSADE,
    "free": DEEPSADE,
    "lightgbm": [s | {"monotone_constraints_method": way} for s, way in zip(TREES, WAYS)],
    "lightgbm-free": TREES,
    "histgb": HISTGB,
    "histgb-free": HISTGB,
    "monotonenorm": [
        {"width": width, "norm": norm, "learning_rate": rate} for width, norm, rate in [(32, 1, 0.01), (32, 1, 0.03), (64, 1.5, 0.03), (64, 2, 0.03)]
    ],
}
ROUNDS = 300  # trees at most; the number is chosen on validation


class Rows:
    """A data set: raw columns for deepsade, one-hot numbers for the others, in the order of deepsade's columns."""

    def __init__(self, name, data):
        self.name, self.case = name, CASES[name]
        frame = self.read(data / self.case.file)
        self.fixed = None
        if name.startswith("heart"):
            test = self.read(data / "heart_test.csv")
            if name == "heart":
                self.fixed = (np.arange(len(frame)), np.arange(len(frame), len(frame) + len(test)))
            frame = pd.concat([frame, test], ignore_index=True)
        self.frame = frame
        features = [c for c in frame.columns if c != self.case.target]
        self.text = [c for c in features if not pd.api.types.is_numeric_dtype(frame[c])]
        self.columns, numbers = [], []
        for c in features:
            for level in sorted(frame[c].unique(), key=str.encode) if c in self.text else [None]:
                self.columns.append((c, level))
                numbers.append((frame[c] == level).astype(float) if level is not None else frame[c].astype(float))
        self.x = np.stack(numbers, axis=1)
        target = frame[self.case.target]
        self.y = target.to_numpy(float) if self.case.classes is None else (target.astype(str) == self.case.classes[1]).to_numpy(float)
        self.moves = [j for j, (c, _) in enumerate(self.columns) if c in self.case.monotone]
        self.signs = [self.case.sign if j in self.moves else 0 for j in range(len(self.columns))]

    def read(self, file):
        frame = pd.read_csv(file).drop(columns=self.case.ignore)
        return frame.dropna().reset_index(drop=True)

    def split(self, number):
        if self.fixed:
            return self.fixed
        order = np.random.default_rng(number).permutation(len(self.y))
        test = len(order) // 5
        return order[test:], order[:test]

    def loss(self, outputs, truth):
        """Of predictions, or of logits: mean squares or cross-entropy."""
        if self.case.classes is None:
            return float(np.mean((outputs - truth) ** 2))
        return float(np.mean(np.logaddexp(0, outputs) - truth * outputs))

    def score(self, outputs, truth):
        return self.loss(outputs, truth) if self.case.classes is None else 100 * float(np.mean((outputs > 0) == (truth > 0.5)))

    def rules(self, file, settings, seed):
        """The text of a rule file. Ranges and levels are those of all rows, so that every row is in the domain."""
        of = f"{self.case.target}" if self.case.classes is None else f"{self.case.target} == '{self.case.classes[1]}'"
        way = "increasing" if self.case.sign > 0 else "decreasing"
        lines = ["[data]", f'file = "{file}"', f'targets = ["{self.case.target}"]', f"seed = {seed}"]
        lines += ["split = { train = 0.75, validation = 0.25, test = 0 }", "[task]"]
        lines += [f'kind = "{"regression" if self.case.classes is None else "binary"}"', "[network]"]
        lines += [f"{key} = {json.dumps(settings[key])}" for key in NETWORK if key in settings]
        lines += ["[train]", f"epochs = {self.case.epochs}", f"batch = {self.case.batch}"]
        lines += [f"{key} = {value}" for key, value in settings.items() if key not in NETWORK]
        for c in dict.fromkeys(c for c, _ in self.columns):
            lines.append(f"[features.{c}]")
            if c in self.text:
                lines.append(f"levels = {json.dumps([level for d, level in self.columns if d == c])}")
            else:
                lines.append(f"range = [{self.frame[c].min()}, {self.frame[c].max()}]")
        lines += ["[[rule]]", 'name = "monotone"', f'text = "{way}({of}, {{{", ".join(self.case.monotone)}}})"']
        return "\n".join(lines) + "\n"


def session(model, optimised=True):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def outputs_of(ready, x):
    """The prediction, or the margin of the second class: the difference of two float32 is exact enough in float64 to keep their order."""
    y = ready.run(["y"], {"x": x.astype(np.float32, copy=False)})[0].astype(np.float64)
    return y[:, 0] if y.shape[1] == 1 else y[:, 1] - y[:, 0]


def deepsade(rows, method, settings, train, seed, program, folder):
    """Loss on validation, and the model's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "rows.csv"
    rows.frame.iloc[train].to_csv(file, index=False)
    (folder / "in.toml").write_text(rows.rules(file, settings, seed))
    enforce = "weights" if method == "monotone" else "none"
    said = json.loads(output_of([program, "train", "--force", folder / "in.toml", "--out", folder, "--enforce", enforce, "--json", "--quiet"]))
    if method == "monotone" and not said["certified"]:
        raise SystemExit(f"{folder}: not certified: {said['verdict']}")
    if rows.case.classes is None:
        return said["validation"]["mse_all"], said["best_epoch"]
    with open(folder / "run.jsonl") as log:
        return min(json.loads(line)["validation_loss"] for line in log), said["best_epoch"]


def dealt(rows, train, seed):
    order = np.random.default_rng(1000 + seed).permutation(train)
    cut = len(order) // 4
    return order[cut:], order[:cut]


def lightgbm(rows, method, settings, train, seed):
    import lightgbm as lgb

    fit, validate = dealt(rows, train, seed)
    settings = settings | {"objective": "regression" if rows.case.classes is None else "binary", "verbosity": -1, "num_threads": 1, "seed": seed}
    if method == "lightgbm":
        settings = settings | {"monotone_constraints": rows.signs}
    data = lgb.Dataset(rows.x[fit], rows.y[fit], params={"verbosity": -1, "min_data_in_bin": 1})
    seen = {}
    calls = [lgb.record_evaluation(seen), lgb.early_stopping(50, verbose=False)]
    model = lgb.train(settings, data, ROUNDS, valid_sets=[data.create_valid(rows.x[validate], rows.y[validate])], callbacks=calls)
    predict = lambda model, x: model.predict(x, raw_score=True, num_iteration=at)
    at = model.best_iteration
    loss = rows.loss(predict(model, rows.x[validate]), rows.y[validate])
    # As many trees, from all rows of the 80 %: the members of ours learn from all of them, too.
    kept = lgb.train(settings, lgb.Dataset(rows.x[train], rows.y[train], params={"verbosity": -1, "min_data_in_bin": 1}), at)
    return loss, at, lambda x: predict(kept, x), kept


def histgb(rows, method, settings, train, seed):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    fit, validate = dealt(rows, train, seed)
    kind = HistGradientBoostingRegressor if rows.case.classes is None else HistGradientBoostingClassifier
    model = kind(max_iter=1, early_stopping=False, warm_start=True, random_state=seed, **settings)
    model.set_params(monotonic_cst=rows.signs if method == "histgb" else None)
    best, rounds = (np.inf, 0), 0
    while rounds < ROUNDS and rounds <= best[1] + 50:  # grown by tens, as each growing costs
        rounds += 10
        model.set_params(max_iter=rounds).fit(rows.x[fit], rows.y[fit])
        best = min(best, (rows.loss(raw(model, rows.x[validate]), rows.y[validate]), rounds))
    kept = kind(max_iter=best[1], early_stopping=False, random_state=seed, **settings)
    kept.set_params(monotonic_cst=rows.signs if method == "histgb" else None).fit(rows.x[train], rows.y[train])
    return best[0], best[1], lambda x: raw(kept, x), kept


def raw(model, x):
    return model.decision_function(x) if hasattr(model, "decision_function") else model.predict(x)


def monotonenorm(rows, method, settings, train, seed):
    """As in the examples of its authors: three layers of bounded norm, GroupSort, and the bound times the monotone features."""
    import monotonenorm as lmn
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    fit, validate = dealt(rows, train, seed)
    lo, hi = rows.x.min(axis=0), rows.x.max(axis=0)
    scaled = lambda x: torch.tensor((x - lo) / np.where(hi > lo, hi - lo, 1) * 2 - 1, dtype=torch.float32)
    shift, unit = (rows.y[fit].mean(), rows.y[fit].std()) if rows.case.classes is None else (0.0, 1.0)
    width, norm = settings["width"], settings["norm"]
    linear = lambda a, b, kind: lmn.direct_norm(torch.nn.Linear(a, b), kind=kind, max_norm=norm)
    layers = [linear(rows.x.shape[1], width, "one-inf"), lmn.GroupSort(width // 2), linear(width, width, "inf"), lmn.GroupSort(width // 2)]
    net = lmn.SigmaNet(torch.nn.Sequential(*layers, linear(width, 1, "inf")), sigma=norm**3, monotone_constraints=rows.signs)
    measure = torch.nn.functional.mse_loss if rows.case.classes is None else torch.nn.functional.binary_cross_entropy_with_logits
    x, y, held = scaled(rows.x[fit]), torch.tensor((rows.y[fit] - shift) / unit, dtype=torch.float32), scaled(rows.x[validate])
    optimiser = torch.optim.Adam(net.parameters(), lr=settings["learning_rate"])

    def predict(x):
        with torch.no_grad():
            return net(x)[:, 0].numpy().astype(float) * unit + shift

    best, kept, batch = (np.inf, 0), None, max(32, len(fit) // 16)
    for epoch in range(1, 151):
        order = torch.randperm(len(x))
        for at in range(0, len(x), batch):
            part = order[at : at + batch]
            optimiser.zero_grad()
            measure(net(x[part])[:, 0], y[part]).backward()
            optimiser.step()
        loss = rows.loss(predict(held), rows.y[validate])
        if loss < best[0]:
            best, kept = (loss, epoch), {key: value.clone() for key, value in net.state_dict().items()}
        if epoch > best[1] + 25:
            break
    net.load_state_dict(kept)
    return best[0], best[1], lambda x: predict(scaled(x)), net


PEERS = {"lightgbm": lightgbm, "lightgbm-free": lightgbm, "histgb": histgb, "histgb-free": histgb, "monotonenorm": monotonenorm}


def installed(method):
    if method in ("monotone", "free"):
        return True
    module = {"lightgbm": "lightgbm", "histgb": "sklearn"}.get(method.removesuffix("-free"), method)
    try:
        __import__(module)
        return True
    except ImportError as error:
        print(f"{method} is left out, not installed: {error}", file=sys.stderr)
        return False


def compared(rows, method, number, args, folder):
    """The score of one split, the chosen setting, its validation loss, and the model of the first deal."""
    train, test = rows.split(number)
    tried = []
    for index, settings in enumerate(GRIDS[method]):
        losses, at, scores, models = [], [], [], []
        for deal in range(args.deals):
            seed = number * args.deals + deal
            if method in PEERS:
                loss, best, predict, model = PEERS[method](rows, method, settings, train, seed)
                scores.append(rows.score(predict(rows.x[test]), rows.y[test]))
            else:
                model = folder / f"{rows.name}-{method}-{number}-{index}-{deal}"
                loss, best = deepsade(rows, method, settings, train, seed, args.deepsade, model)
                scores.append(rows.score(outputs_of(session(model / "model.onnx"), rows.x[test]), rows.y[test]))
            losses.append(loss)
            at.append(best)
            models.append(model)
        tried.append((statistics.mean(losses), index, statistics.mean(scores), models[0], statistics.mean(at)))
    best = min(tried)
    if args.log:
        with open(args.log, "a") as log:
            for t in tried:
                entry = {"data": rows.name, "method": method, "split": number, "settings": GRIDS[method][t[1]], "validation": t[0], "test": t[2]}
                log.write(json.dumps(entry | {"best_at": t[4], "chosen": t is best}) + "\n")
    return best


def spread(values):
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values) if len(values) > 1 else 0:.2f}"


# Pairs


def bases(rows, count, random):
    """Inputs of the domain: rows of the data, and uniform ones, mixed by column; categories have one level each."""
    x = rows.x[random.integers(len(rows.x), size=count)]
    lo, hi = rows.x.min(axis=0), rows.x.max(axis=0)
    free = np.array([level is None for _, level in rows.columns])
    share = random.random((count, 1))
    swap = (random.random(x.shape) < share) & free
    return np.where(swap, lo + random.random(x.shape) * (hi - lo), x)


def chain(x, features, anchors, lo, hi, kind):
    """Chains of inputs that rise in one feature each: from every anchor (sorted) on, two further steps of one ulp."""
    anchors = np.clip(np.sort(anchors.astype(kind), axis=1), lo[features, None].astype(kind), hi[features, None].astype(kind))
    values = [anchors]
    for _ in range(2):
        values.append(np.minimum(np.nextafter(values[-1], kind(np.inf)), hi[features, None].astype(kind)))
    values = np.sort(np.stack(values, axis=2).reshape(len(x), -1), axis=1)
    chains = np.repeat(x.astype(kind)[:, None, :], values.shape[1], axis=1)
    chains[np.arange(len(x))[:, None], np.arange(values.shape[1])[None, :], features[:, None]] = values
    return chains


def counted(rows, chains, predicts, random):
    """Neighbours, those that break the rule, and those whose output steps back, for each way of predicting; all in one shuffled batch."""
    flat = chains.reshape(-1, chains.shape[2])
    order = random.permutation(len(flat))
    back = np.argsort(order)
    moved = np.any(chains[:, 1:] != chains[:, :-1], axis=2)
    shuffled = flat[order]
    found = []
    for predict in predicts:
        y = predict(shuffled)[back].reshape(chains.shape[:2]) * rows.case.sign
        stepped = moved & (y[:, 1:] < y[:, :-1])
        broken = stepped if rows.case.classes is None else moved & (y[:, :-1] > 0) & ~(y[:, 1:] > 0)
        found.append((int(moved.sum()), int(broken.sum()), int(stepped.sum())))
    return np.array(found)


def boundary(rows, x, predict, random):
    """Inputs at the decision's boundary: bisection between inputs of either class, where both are there."""
    y = predict(x)
    no, yes = x[y <= 0], x[y > 0]
    if len(no) == 0 or len(yes) == 0:
        return x
    a, b = no[random.integers(len(no), size=len(x))], yes[random.integers(len(yes), size=len(x))]
    fixed = np.array([level is not None for _, level in rows.columns])
    b = np.where(fixed, a, b)  # categories stay; where the class is then the same the bisection ends anywhere
    for _ in range(30):
        middle = ((a + b) / 2).astype(np.float32).astype(float)
        up = (predict(middle) > 0)[:, None]
        a, b = np.where(up, a, middle), np.where(up, middle, b)
    return a


def flattened(rows, x, features, anchors, predict, random, lo, hi):
    """Random search for inputs where the output rises least over the chain."""
    rise = lambda x, anchors: steps(predict, chain(x, features, anchors, lo, hi, np.float32), rows.case.sign)
    kept = rise(x, anchors)
    for _ in range(8):
        swap = random.random(x.shape) < 0.3
        other = np.where(swap, bases(rows, len(x), random), x)
        fixed = np.array([level is not None for _, level in rows.columns])
        other = np.where(fixed, x, other)
        new = rise(other, anchors)
        better = new <= kept
        x, kept = np.where(better[:, None], other, x), np.where(better, new, kept)
    return x


def steps(predict, chains, sign):
    y = predict(chains.reshape(-1, chains.shape[2])).reshape(chains.shape[:2]) * sign
    return np.min(np.diff(y, axis=1) + (y[:, -1:] - y[:, :1]), axis=1)


def pairs(rows, models, count, random):
    """Neighbours, broken, stepped back for each optimisation level, over models of deepsade."""
    lo, hi = rows.x.min(axis=0).astype(np.float32), rows.x.max(axis=0).astype(np.float32)
    total = np.zeros((2, 3), dtype=np.int64)
    for model in models:
        ready = [session(model / "model.onnx", optimised) for optimised in (False, True)]
        predicts = [lambda x, r=r: outputs_of(r, x) for r in ready]
        done, sizes = 0, itertools.cycle([1, 2, 3, 7, 64, 501, 4096, 4096, 4096, 4096])
        for turn in itertools.count():
            if done >= count / len(models):
                break
            size = next(sizes)
            x = bases(rows, size, random)
            features = np.array(rows.moves)[random.integers(len(rows.moves), size=size)]
            anchors = lo[features, None] + random.random((size, 5)) * (hi - lo)[features, None]
            if turn % 2:
                if rows.case.classes is not None:
                    x = boundary(rows, x, predicts[1], random)
                    near = x[np.arange(size), features].astype(np.float32)
                    ulp = np.nextafter(np.abs(near), np.float32(np.inf)) - np.abs(near)
                    anchors = near[:, None] + np.arange(-6, 7, 3) * ulp[:, None]  # with their steps, fifteen neighbours in float32
                elif size <= 501 or turn % 4 == 1:
                    x = flattened(rows, x, features, anchors, predicts[1], random, lo, hi)
                else:  # one-ulp steps alone, from places of the data
                    anchors = x[np.arange(size), features][:, None] * (1 + random.integers(-8, 9, size=(size, 5)) * 2.0**-22)
            found = counted(rows, chain(x, features, anchors, lo, hi, np.float32), predicts, random)
            total += found
            done += found[0][0]
    return total


def tree_pairs(rows, models, count, random):
    """The same for LightGBM's own predict, in float64, half of the steps over thresholds of its trees."""
    lo, hi = rows.x.min(axis=0), rows.x.max(axis=0)
    total = np.zeros((1, 3), dtype=np.int64)
    for model in models:
        frame = model.trees_to_dataframe()
        cuts = {j: frame[frame.split_feature == f"Column_{j}"].threshold.to_numpy(float) for j in rows.moves}
        predict = lambda x: model.predict(x, raw_score=True, num_threads=1)
        done = 0
        while done < count / len(models):
            x = bases(rows, 2048, random)
            features = np.array(rows.moves)[random.integers(len(rows.moves), size=len(x))]
            anchors = lo[features, None] + random.random((len(x), 5)) * (hi - lo)[features, None]
            for j in rows.moves:
                if len(cuts[j]):
                    at = np.flatnonzero(features == j)
                    anchors[at, :3] = random.choice(cuts[j], size=(len(at), 3))
            found = counted(rows, chain(x, features, anchors, lo, hi, np.float64), [predict], random)
            total += found
            done += found[0][0]
    return total


# Times


def times(rows, args, folder):
    """Medians over turns: seconds of the epochs (wall) and CPU seconds of the training with and without the rule, seconds of `check`."""
    settings, train = {"hidden": [32, 32], "learning_rate": 0.003, "weight_decay": 0}, rows.split(0)[0]
    seconds = collections.defaultdict(list)
    spent = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    for turn in range(args.turns):
        cpu = {}
        for method in ("monotone", "free"):
            out = folder / f"time-{rows.name}-{method}"
            shutil.rmtree(out, ignore_errors=True)
            start = spent()
            deepsade(rows, method, settings, train, 0, args.deepsade, out)
            cpu[method] = spent() - start
            with open(out / "run.jsonl") as log:
                epochs = [json.loads(line)["seconds"] for line in log]
            seconds[method].append(sum(epochs))
            seconds[method + "-early"].append(statistics.median(epochs[:20]))
        seconds["check-said"].append(said_check(folder / f"time-{rows.name}-monotone"))
        seconds["monotone-cpu"].append(cpu["monotone"] - cpu["free"])  # `--enforce weights` trains the free network first
        seconds["free-cpu"].append(cpu["free"])
        for _ in range(3):
            start, cpu_start = time.perf_counter(), spent()
            output_of([args.deepsade, "check", folder / f"time-{rows.name}-monotone"])
            seconds["check"].append(time.perf_counter() - start)
            seconds["check-cpu"].append(spent() - cpu_start)
    return {key: statistics.median(values) for key, values in seconds.items()}


def said_check(folder):
    return json.loads((folder / "summary.json").read_text())["timings"]["check"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CASES), help=f"data sets, from {','.join(CASES)}")
    parser.add_argument("--methods", default=",".join(METHODS), help=f"from {','.join(METHODS)}")
    parser.add_argument("--splits", type=int, default=5, help="how many splits, or seeds of heart (default 5)")
    parser.add_argument("--deals", type=int, default=3, help="how often validation rows are dealt out for each split (default 3)")
    parser.add_argument("--pairs", type=int, default=0, help="pairs of inputs to try, for all data sets together (default 0: none)")
    parser.add_argument("--turns", type=int, default=5, help="turns of the time measurement, 0 for none (default 5)")
    parser.add_argument("--deepsade", type=pathlib.Path, default=ROOT / "target" / "release" / "deepsade", help="the program to run")
    parser.add_argument("--data", type=pathlib.Path, default=DATA, help="folder of the data (default $DEEPSADE_DATA or ../shared/data)")
    parser.add_argument("--log", type=pathlib.Path, help="append every setting's validation loss and test score to this file, as JSON lines")
    args = parser.parse_args()
    cases, methods = args.only.split(","), args.methods.split(",")
    if unknown := set(cases) - set(CASES):
        parser.error(f"--only: {', '.join(sorted(unknown))} is none of {', '.join(CASES)}")
    if unknown := set(methods) - set(METHODS):
        parser.error(f"--methods: {', '.join(sorted(unknown))} is none of {', '.join(METHODS)}")
    if args.splits < 1 or args.deals < 1:
        parser.error("--splits, --deals: at least 1 is needed")
    methods = [m for m in methods if installed(m)]
    data = {name: Rows(name, args.data) for name in cases}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        models, scores = collections.defaultdict(list), {}
        print(f"| data | method | score | {methods[0]} minus this, split by split | validation loss | trained to | settings chosen | seconds |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for name, method in itertools.product(cases, methods):
            start = time.perf_counter()
            found = [compared(data[name], method, number, args, folder) for number in range(args.splits)]
            models[name, method] = [f[3] for f in found]
            chosen = collections.Counter(f[1] for f in found)
            scores[name, method] = [f[2] for f in found]
            ours = [a - b for a, b in zip(scores[name, methods[0]], scores[name, method])]
            words = "; ".join(f"{n} × {GRIDS[method][index]}" for index, n in chosen.most_common())
            metric = "mse" if data[name].case.classes is None else "accuracy"
            print(
                f"| {name} ({metric}) | {method} | {spread(scores[name, method])} | {spread(ours)} | {statistics.mean(f[0] for f in found):.4f} "
                f"| {statistics.mean(f[4] for f in found):.0f} | {words} | {time.perf_counter() - start:.0f} |",
                flush=True,
            )
        if args.pairs:
            print("\n| data | what | models | neighbours | break the rule | step back | seconds |")
            print("|---|---|---|---|---|---|---|", flush=True)
            random = np.random.default_rng(0)
            for name, method in itertools.product(cases, ("monotone", "free", "lightgbm")):
                if not models[name, method]:
                    continue
                start = time.perf_counter()
                if method != "lightgbm":
                    share = 1 if method == "monotone" else 100
                    total = pairs(data[name], models[name, method], args.pairs / len(cases) / share, random)
                    whats = [f"deepsade {method}, onnxruntime, {how}" for how in ("no optimisation", "all optimisations")]
                else:
                    total = tree_pairs(data[name], models[name, method], args.pairs / len(cases) / 100, random)
                    whats = ["lightgbm, its own predict"]
                for what, (n, broken, stepped) in zip(whats, total):
                    print(f"| {name} | {what} | {len(models[name, method])} | {n} | {broken} | {stepped} | {time.perf_counter() - start:.0f} |", flush=True)
        if args.turns:
            print("\n| data | epochs with the rule (s) | without (s) | ratio | CPU with (s) | without (s) | ratio | one of the first 20 epochs, with (us) | without (us) | ratio | check, process (ms) | its CPU (ms) | check within train (ms) |")
            print("|---|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
            for name in cases:
                t = times(data[name], args, folder)
                print(
                    f"| {name} | {t['monotone']:.3f} | {t['free']:.3f} | {t['monotone'] / t['free']:.2f} "
                    f"| {t['monotone-cpu']:.3f} | {t['free-cpu']:.3f} | {t['monotone-cpu'] / t['free-cpu']:.2f} "
                    f"| {t['monotone-early'] * 1e6:.0f} | {t['free-early'] * 1e6:.0f} | {t['monotone-early'] / t['free-early']:.2f} "
                    f"| {t['check'] * 1000:.1f} | {t['check-cpu'] * 1000:.1f} | {t['check-said'] * 1000:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
