"""How rows are dealt out, counted and scaled, on public data through the program and onnxruntime: weights, splits, folds, scaling."""

import csv
import json
import os
import pathlib

import numpy as np
import onnxruntime
import pytest

import program

DATA = pathlib.Path(os.environ.get("DEEPSADE_DATA", program.ROOT.parent / "shared" / "data"))
LOANS = """
[data]
file = "{file}"
targets = ["Loan_Status"]
{data}
[task]
kind = "binary"
[network]
hidden = [8]
{network}
[train]
epochs = 8
learning_rate = 0.01
{train}
{features}
[[rule]]
name = "no history"
text = "ApplicantIncome < 5000 and Credit_History == 0 => Loan_Status == 'N'"
"""
PAIR = """[[rule]]
name = "history"
text = "increasing(Loan_Status == 'Y', Credit_History)"
"""


def needs(name):
    if not (DATA / name).exists():
        pytest.skip(f"{DATA / name} is not there")
    return DATA / name


def loans(folder, data="", network="", train="", features="", file=None, pair=True):
    file = file or needs("loan_data_set.csv")
    text = LOANS.format(file=file, data=data, network=network, train=train, features=features) + PAIR * pair
    (folder / "loans.toml").write_text(text)
    return folder / "loans.toml"


def run(*args, code=0):
    done = program.run(*args, capture_output=True, text=True)
    assert done.returncode == code and "panicked" not in done.stderr, done.stdout + done.stderr
    return done


def trained(rules, out, *args):
    said = json.loads(run("train", rules, "--out", out, "--json", "-q", *args).stdout)
    assert said["certified"], said
    return said


@pytest.mark.parametrize("enforce", ["weights", "decode"])
def test_the_gaps_of_the_loans_are_filled_in(tmp_path, enforce):
    """Every row of the file gets a prediction that obeys, where rows with gaps came out blank."""
    said = trained(loans(tmp_path, 'impute = "median"\nindicator = true', pair=enforce == "weights"), tmp_path / "run", "--enforce", enforce)
    assert said["train"]["rows_all"] + said["validation"]["rows_all"] + said["test"]["rows_all"] == 614
    file = needs("loan_data_set.csv")
    rows = list(csv.DictReader(run("predict", tmp_path / "run" / "model.onnx", file).stdout.splitlines()))
    given = list(csv.DictReader(open(file)))
    assert len(rows) == 614 and all(row["in_domain"] == "true" for row in rows)
    assert {row["Loan_Status"] for row in rows} == {"Y", "N"}
    for row, raw in zip(rows, given):
        if float(raw["ApplicantIncome"]) < 5000 and raw["Credit_History"] == "0":
            assert row["Loan_Status"] == "N"


@pytest.mark.parametrize("scaling", ["quantile", "standard"])
@pytest.mark.parametrize("enforce", ["weights", "decode"])
def test_scaling_is_proved_and_run_alike(tmp_path, scaling, enforce):
    rules = loans(tmp_path, 'missing = "drop"', f'scaling = "{scaling}"', pair=enforce == "weights")
    trained(rules, tmp_path / "run", "--enforce", enforce)
    assert json.loads(run("check", tmp_path / "run", "--json").stdout)["verdict"] == "accepted"
    # One applicant, incomes from 0 to beyond the largest: the decision never falls as the history rises, and obeys.
    model = onnxruntime.InferenceSession(tmp_path / "run" / "model.onnx")
    schema = json.loads(model.get_modelmeta().custom_metadata_map["deepsade.schema"])
    columns = []
    for feature in schema["features"]:
        columns += [(feature["name"], None)] if "levels" not in feature["domain"] else [(feature["name"], l) for l in feature["domain"]["levels"]]
    draw = np.random.default_rng(1)
    x = np.zeros((2000, len(columns)), dtype=np.float32)
    at = 0
    for feature in schema["features"]:
        domain = feature["domain"]
        if "levels" in domain:
            n = len(domain["levels"])
            x[np.arange(2000), at + draw.integers(0, n, 2000)] = 1
            at += n
        else:
            x[:, at] = draw.uniform(domain["lo"], domain["hi"], 2000)
            at += 1
    income, history = columns.index(("ApplicantIncome", None)), columns.index(("Credit_History", None))
    x[:1000, income] = draw.uniform(150, 5000, 1000)
    x[:, history] = 0
    yes = lambda rows: (lambda y: y[:, 1] > y[:, 0])(model.run(["y"], {"x": rows})[0])
    without = yes(x)
    assert not without[x[:, income] < 5000].any()
    risen = x.copy()
    risen[:, history] = 1
    if enforce == "weights":
        assert not (without & ~yes(risen)).any()


def test_a_weight_of_zero_is_no_row(tmp_path):
    """Rows that count nothing may say anything: the model and its scores are those of the others."""
    file = needs("auto_mpg.csv")
    rows = list(csv.DictReader(open(file)))
    names = list(rows[0])
    out = tmp_path / "weighted.csv"
    with open(out, "w", newline="") as f:
        writer = csv.DictWriter(f, [*names, "w", "part"])
        writer.writeheader()
        for k, row in enumerate(rows):
            part = ["train", "train", "train", "validation", "test"][k % 5]
            nonsense = k % 7 == 0 and part == "test"
            writer.writerow({**row, "mpg": "1000" if nonsense else row["mpg"], "w": "0" if nonsense else "2", "part": part})
    rules = """
    [data]
    file = "weighted.csv"
    targets = ["mpg"]
    weight = "w"
    split = { column = "part" }
    [task]
    kind = "regression"
    [network]
    hidden = [8]
    [train]
    epochs = 20
    learning_rate = 0.01
    [[rule]]
    name = "lighter is further"
    text = "decreasing(mpg, {weight, displacement})"
    [[rule]]
    name = "a car"
    text = "0 <= mpg <= 80"
    """
    (tmp_path / "rules.toml").write_text(rules)
    said = trained(tmp_path / "rules.toml", tmp_path / "run")
    assert said["weighted_by"] == "w" and said["test"]["mse_all"] < 1000, said["test"]
    split = {int(row["row"]): row["part"] for row in csv.DictReader(open(tmp_path / "run" / "split.csv"))}
    assert len(split) == len(rows) and split[5] == "test" and split[4] == "validation"
    # The same rows by the file that the run left, and by the order of a column.
    text = rules.replace('split = { column = "part" }', f'ignore = ["part"]\n    split = {{ file = "{tmp_path}/run/split.csv" }}')
    (tmp_path / "again.toml").write_text(text)
    again = trained(tmp_path / "again.toml", tmp_path / "again")
    assert again["test"] == said["test"]


def test_classes_that_count_more_are_predicted_more(tmp_path):
    said = {}
    for name, weight in [("plain", ""), ("balanced", 'class_weight = "balanced"'), ("no", "class_weight = { N = 20 }")]:
        (tmp_path / name).mkdir()
        rules = loans(tmp_path / name, 'missing = "drop"', train=weight)
        trained(rules, tmp_path / name / "run", "--enforce", "weights")
        rows = csv.DictReader(run("predict", tmp_path / name / "run" / "model.onnx", needs("loan_data_set.csv")).stdout.splitlines())
        said[name] = sum(row["Loan_Status"] == "N" for row in rows)
    assert said["plain"] < said["no"] and said["plain"] <= said["balanced"] <= said["no"], said
    refused = run("train", loans(tmp_path, 'missing = "drop"', train="class_weight = { Z = 1 }"), "--out", tmp_path / "none", code=2)
    assert "there is no class 'Z'" in refused.stderr


def test_folds_are_scored_in_one_command(tmp_path):
    rules = loans(tmp_path, 'missing = "drop"')
    args = ["train", rules, "--folds", "3", "--out", tmp_path / "run", "-q", "--enforce", "weights"]
    said = json.loads(run(*args, "--json").stdout)
    assert said["certified"] and len(said["folds"]) == 3 and sum(f["rows"] for f in said["folds"]) > 400
    scores = [f["test"]["accuracy"] for f in said["folds"]]
    assert np.isclose(said["scores"]["accuracy"]["mean"], np.mean(scores))
    assert np.isclose(said["scores"]["accuracy"]["deviation"], np.std(scores, ddof=1))
    assert json.loads((tmp_path / "run" / "folds.json").read_text()) == said
    assert not (tmp_path / "run" / "model.onnx").exists() and said["model"] is None
    words = run(*args, "--force").stdout
    assert "3 of 3 folds are certified" in words and "No model is kept" in words


def test_columns_that_need_a_decision_say_so(tmp_path):
    """Identifiers, dates, and a stray word among numbers."""
    file = needs("loan_data_set.csv")
    lines = file.read_text().splitlines()
    for name, value in [("id", lambda k: f"LP{k:05}"), ("day", lambda k: f"{k % 28 + 1:02}.{k % 12 + 1:02}.2024")]:
        (tmp_path / "more.csv").write_text("\n".join([f"{name}," + lines[0]] + [f"{value(k)}," + line for k, line in enumerate(lines[1:])]) + "\n")
        refused = run("train", loans(tmp_path, 'missing = "drop"', file=tmp_path / "more.csv"), "--out", tmp_path / "run", code=2).stderr
        assert f"column '{name}'" in refused and "`ignore`" in refused and "`levels`" in refused, refused
        assert ("holds dates" if name == "day" else "different texts") in refused, refused
    place = lines[0].split(",").index("Loan_Amount_Term")
    stray = lines[5].split(",")
    stray[place] = "long"
    lines[5] = ",".join(stray)
    (tmp_path / "stray.csv").write_text("\n".join(lines) + "\n")
    rules = loans(tmp_path, 'missing = "drop"', file=tmp_path / "stray.csv")
    told = run("train", rules, "--out", tmp_path / "run", "--epochs", "1", "--enforce", "weights").stderr
    assert "'long' (row 5)" in told and 'missing_values = ["long"]' in told, told
