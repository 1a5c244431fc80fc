"""Scores, judged from outside: scikit-learn on what `deepsade predict` prints gives what `train --json` says."""

import csv
import json

import numpy as np
import pytest
from sklearn import metrics

import program

SPLIT = "split = { train = 1.0, validation = 0.0, test = 0.0 }\n"


def problem(folder, header, rows, task, rules, more=""):
    with open(folder / "rows.csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    texts = "".join(f'[[rule]]\nname = "r{k}"\ntext = """{text}"""\n' for k, text in enumerate(rules))
    (folder / "p.toml").write_text(
        f'[data]\nfile = "rows.csv"\n{SPLIT}{task}\n[network]\nhidden = [8]\n[train]\nepochs = 15\nlearning_rate = 0.01\n{more}{texts}'
    )


def run(folder, *flags):
    command = ["train", folder / "p.toml", "--out", folder / "run", "--json", "-q", "--force", *flags]
    done = program.run(*command, check=True, capture_output=True, text=True)
    proba = [] if "regression" in (folder / "p.toml").read_text() else ["--proba"]
    program.run("predict", folder / "run" / "model.onnx", folder / "rows.csv", "--out", folder / "out.csv", "-q", *proba, check=True)
    return json.loads(done.stdout), list(csv.DictReader(open(folder / "out.csv")))


def agree(said, expected):
    for name, value in expected.items():
        assert said[name] == pytest.approx(value, rel=1e-4, abs=1e-5), name


@pytest.fixture
def random():
    return np.random.default_rng(5)


@pytest.mark.parametrize("enforce", ["none", "weights", "decode"])
@pytest.mark.parametrize("cutoff", [None, 0.3])
def test_two_classes(tmp_path, random, enforce, cutoff):
    a, b = random.uniform(0, 10, 300), random.integers(0, 5, 300)
    truth = np.where(a + b + random.normal(0, 2, 300) > 9, "yes", "no")
    cut = f"cutoff = {cutoff}\n" if cutoff else ""
    problem(tmp_path, ["a", "b", "y"], zip(a, b, truth), f'targets = ["y"]\n[task]\nkind = "binary"\n{cut}', ["a < 2 => y == 'no'"])
    said, printed = run(tmp_path, "--enforce", enforce)
    p = np.array([float(row["p('yes')"]) for row in printed])
    y, predicted = truth == "yes", np.array([row["y"] for row in printed]) == "yes"
    assert ((p > (cutoff or 0.5)) == predicted)[abs(p - (cutoff or 0.5)) > 1e-5].all(), "the class is decided at the cut-off"
    scores = said["scores"]["train"]
    fpr, tpr, _ = metrics.roc_curve(y, p)
    auc = metrics.roc_auc_score(y, p)
    agree(
        scores,
        {
            "rows": 300,
            "accuracy": metrics.accuracy_score(y, predicted),
            "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
            "auc": auc,
            "gini": 2 * auc - 1,
            "ks": (tpr - fpr).max(),
            "brier": metrics.brier_score_loss(y, p),
            "precision": metrics.precision_score(y, predicted),
            "recall": metrics.recall_score(y, predicted),
            "f1": metrics.f1_score(y, predicted),
        },
    )
    agree(scores, {"log_loss": metrics.log_loss(y, p)})
    tn, fp, fn, tp = metrics.confusion_matrix(y, predicted).ravel().tolist()
    assert scores["confusion"] == {"true_negative": tn, "false_positive": fp, "false_negative": fn, "true_positive": tp}
    for part in scores["calibration"]:
        inside = (p >= part["from"] - 1e-6) & (p < part["to"] + 1e-6)
        assert abs(inside.sum() - part["rows"]) <= 1 and y[inside].mean() == pytest.approx(part["share_observed"], abs=0.1)


def test_several_classes(tmp_path, random):
    a, b = random.uniform(0, 10, 300), random.uniform(0, 10, 300)
    truth = np.array(["low", "mid", "high"])[np.digitize(a + b + random.normal(0, 2, 300), [7, 13])]
    problem(tmp_path, ["a", "b", "y"], zip(a, b, truth), 'targets = ["y"]\n[task]\nkind = "multiclass"\n', ["a < 1 => y != 'high'"])
    said, printed = run(tmp_path)
    classes = ["high", "low", "mid"]
    p = np.array([[float(row[f"p('{c}')"]) for c in classes] for row in printed])
    predicted = np.array([row["y"] for row in printed])
    scores = said["scores"]["train"]
    assert scores["classes"] == classes
    agree(
        scores,
        {
            "accuracy": metrics.accuracy_score(truth, predicted),
            "auc_macro": metrics.roc_auc_score(truth, p / p.sum(axis=1, keepdims=True), multi_class="ovr", labels=classes),
        },
    )
    assert scores["confusion"] == metrics.confusion_matrix(truth, predicted, labels=classes).tolist()


@pytest.mark.parametrize("enforce", ["none", "decode"])
def test_labels(tmp_path, random, enforce):
    x = random.uniform(0, 10, (300, 2))
    truth = np.column_stack([x[:, 0] > 4, x[:, 1] > 6, x.sum(axis=1) > 8]).astype(int)
    rows = np.column_stack([x, truth]).tolist()
    names = ["red", "green", "blue"]
    problem(tmp_path, ["a", "b", *names], rows, f'targets = {names}\n[task]\nkind = "multilabel"\n', ["label[0] or label[1] or label[2]"])
    said, printed = run(tmp_path, "--enforce", enforce)
    p = np.array([[float(row[f"p('{name}')"]) for name in names] for row in printed])
    predicted = np.array([[int(float(row[name])) for name in names] for row in printed])
    agree(
        said["scores"]["train"],
        {
            "exact_match": metrics.accuracy_score(truth, predicted),
            "f1_micro": metrics.f1_score(truth, predicted, average="micro"),
            "f1_macro": metrics.f1_score(truth, predicted, average="macro"),
            "auprc_macro": metrics.average_precision_score(truth, p, average="macro"),
            "auprc_micro": metrics.average_precision_score(truth, p, average="micro"),
        },
    )


def test_numbers(tmp_path, random):
    a = random.uniform(0, 10, 300)
    truth = np.column_stack([2 * a + random.normal(0, 1, 300), a + random.normal(0, 3, 300)])
    problem(tmp_path, ["a", "u", "v"], np.column_stack([a, truth]).tolist(), 'targets = ["u", "v"]\n[task]\nkind = "regression"\n', ["u >= v - 20"])
    said, printed = run(tmp_path)
    predicted = np.array([[float(row["u"]), float(row["v"])] for row in printed])
    scores = said["scores"]["train"]
    agree(
        scores,
        {
            "mse": metrics.mean_squared_error(truth, predicted),
            "mae": metrics.mean_absolute_error(truth, predicted),
            "r2": metrics.r2_score(truth, predicted),
        },
    )
    for j, name in enumerate("uv"):
        agree(scores["targets"][name], {"mae": metrics.mean_absolute_error(truth[:, j], predicted[:, j])})
        expected = np.quantile(predicted[:, j] - truth[:, j], [q["share"] for q in scores["targets"][name]["error_quantiles"]])
        np.testing.assert_allclose([q["error"] for q in scores["targets"][name]["error_quantiles"]], expected, atol=1e-4)


def test_segments_are_scores_of_their_rows(tmp_path, random):
    a, sex = random.uniform(0, 10, 300), random.choice(["f", "m"], 300)
    truth = np.where(a + random.normal(0, 2, 300) > 5, "yes", "no")
    report = '[report]\nsegments = ["sex", "a"]\n'
    problem(tmp_path, ["a", "sex", "y"], zip(a, sex, truth), 'targets = ["y"]\nignore = ["sex"]\n[task]\nkind = "binary"\n', ["a < 1 => y == 'no'"], report)
    said, printed = run(tmp_path)
    predicted = np.array([row["y"] for row in printed])
    by_sex, by_a = said["scores"]["train"]["segments"]
    assert [part["value"] for part in by_sex["parts"]] == ["f", "m"]
    for part in by_sex["parts"]:
        own = sex == part["value"]
        expected = {
            "rows": own.sum(),
            "accuracy": (predicted == truth)[own].mean(),
            "share_predicted": (predicted == "yes")[own].mean(),
            "true_positive_rate": (predicted == "yes")[own & (truth == "yes")].mean(),
            "false_positive_rate": (predicted == "yes")[own & (truth == "no")].mean(),
        }
        agree(part, expected)
    assert len(by_a["parts"]) == 4 and sum(part["rows"] for part in by_a["parts"]) == 300


@pytest.mark.parametrize("packed", ["zstd", "gzip", "lz4", "snappy", "none"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_parquet_however_it_is_packed(tmp_path, random, packed, version):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    n = 3000
    a, k = random.uniform(0, 10, n).round(3), random.choice(["x", "y", "z"], n)
    ids = [f"{i:05}" for i in range(n)]
    b = [None if i % 17 == 0 else float(i % 9) for i in range(n)]
    problem(tmp_path, ["a", "k", "b", "y"], [(a[i], k[i], i % 9, 2 * a[i]) for i in range(300)], 'targets = ["y"]\n[task]\nkind = "regression"\n', ["y >= -100"])
    run(tmp_path)
    table = arrow.table({"id": ids, "a": a, "k": k, "b": b})
    parquet.write_table(table, tmp_path / "new.parquet", compression=packed, data_page_version=version, row_group_size=1000, data_page_size=2000)
    with open(tmp_path / "new.csv", "w", newline="") as file:
        csv.writer(file).writerows([["id", "a", "k", "b"], *([i, x, level, "" if y is None else y] for i, x, level, y in zip(ids, a, k, b))])
    answers = []
    for name in ["new.parquet", "new.csv"]:
        done = program.run("predict", tmp_path / "run" / "model.onnx", tmp_path / name, "-q", "--id", "id", check=True, capture_output=True, text=True)
        answers.append(done.stdout)
    assert answers[0] == answers[1] and answers[0].count("\n") == n + 1
    with open(tmp_path / "new.parquet", "rb") as file:
        done = program.run("predict", tmp_path / "run" / "model.onnx", "-", "-q", "--id", "id", check=True, capture_output=True, stdin=file)
    assert done.stdout.decode() == answers[1]
