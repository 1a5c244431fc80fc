"""Rules about one input beside rules between two, kept by clipping: what onnxruntime computes, at every optimisation level."""

import json
from fractions import Fraction

import numpy as np
import pytest
from levels import LEVELS, session
from program import run

ROWS = 3000

BUDGET = """
[data]
file = "d.csv"
targets = ["food", "rent"]
[features.income]
range = [1, 60]
[features."house area"]
range = [0, 9]
[features.age]
kind = "integer"
range = [18, 80]
[features.owner]
levels = ["no", "yes"]
[task]
kind = "regression"
[network]
hidden = [24, 12]
[train]
epochs = 25
learning_rate = 0.01
[[rule]]
name = "within income"
text = "food + rent <= income"
[[rule]]
name = "owners"
text = "owner == 'yes' => rent <= 0.25 * income"
[[rule]]
name = "food"
text = "age >= 30 and `house area` > 2 => food >= 0.25"
[[rule]]
name = "middle"
text = "income > 20 and income < 30 => rent <= 6"
[[rule]]
name = "income"
text = "increasing(food, income) and increasing(rent, income)"
[[rule]]
name = "larger"
text = "increasing(food, `house area`)"
[[rule]]
name = "age"
text = "unaffected(rent, age)"
"""

LOANS = """
[data]
file = "d.csv"
targets = ["loan"]
[features.income]
range = [0, 100]
[features.history]
kind = "integer"
range = [0, 1]
[features.gender]
levels = ["f", "m"]
[task]
kind = "binary"
[network]
hidden = [16]
[train]
epochs = 25
learning_rate = 0.01
[[rule]]
name = "poor"
text = "income < 20 and history == 0 => loan == 'N'"
[[rule]]
name = "rich"
text = "income > 80 and history == 1 => loan == 'Y'"
[[rule]]
name = "income"
text = "increasing(loan == 'Y', {income, history})"
[[rule]]
name = "fair"
text = "unaffected(loan, gender)"
"""

COUNTS = """
[data]
file = "d.csv"
targets = ["n", "s"]
[features.a]
range = [0, 10]
[features.b]
range = [0, 10]
[features.k]
kind = "integer"
range = [0, 6]
[task]
kind = "regression"
[targets.n]
kind = "integer"
[network]
hidden = [16]
[train]
epochs = 25
learning_rate = 0.01
[[rule]]
name = "range"
text = "0 <= n <= 9"
[[rule]]
name = "many"
text = "a + b > 12 => n >= 2"
[[rule]]
name = "few"
text = "n <= 2 * k + 3"
[[rule]]
name = "between"
text = "n <= 0.7 * a + 2.5"
[[rule]]
name = "low"
text = "a + 2 * b < 6 => s <= 4"
[[rule]]
name = "up"
text = "increasing(n, {a, k}) and increasing(s, {a, b})"
[[rule]]
name = "alike"
text = "unaffected(s, k)"
"""


def counts(rng, count):
    a, b, k = rng.uniform(0, 10, count), rng.uniform(0, 10, count), rng.integers(0, 7, count)
    n = np.clip(np.round(0.4 * a + 0.2 * b + 0.3 * k + rng.normal(0, 1, count)), 0, 9).astype(int)
    x = np.column_stack([a, b, k]).astype(np.float32)
    return x, [a, b, k, n, 0.5 * a + b + rng.normal(0, 1, count)], "a,b,k,n,s"


def budget(rng, count):
    income, area, age, owner = rng.uniform(1, 60, count), rng.uniform(0, 9, count), rng.integers(18, 81, count), rng.integers(0, 2, count)
    food = 3 * np.log(income) + 0.3 * area + rng.normal(0, 0.5, count)
    rent = 0.3 * income * (1 - 0.4 * owner) + area + rng.normal(0, 1, count)
    x = np.column_stack([income, area, age, 1 - owner, owner]).astype(np.float32)
    return x, [income, area, age, np.where(owner, "yes", "no"), food, rent], "income,house area,age,owner,food,rent"


def loans(rng, count):
    income, history, gender = rng.uniform(0, 100, count), rng.integers(0, 2, count), rng.integers(0, 2, count)
    loan = income + 40 * history + rng.normal(0, 15, count) > 70
    x = np.column_stack([income, history, 1 - gender, gender]).astype(np.float32)
    return x, [income, history, np.where(gender, "m", "f"), np.where(loan, "Y", "N")], "income,history,gender,loan"


def obeys(kind, x, y):
    """Whether outputs obey the rules about one input, exactly: float32 numbers and their sums are float64 numbers here."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    if kind == "budget":
        sums = y[:, 0] + y[:, 1] <= x[:, 0]
        owners = (x[:, 4] < 0.5) | (4 * y[:, 1] <= x[:, 0])
        middle = (x[:, 0] <= 20) | (x[:, 0] >= 30) | (y[:, 1] <= 6)
        return sums & owners & middle & ((x[:, 2] < 30) | (x[:, 1] <= 2) | (y[:, 0] >= 0.25))
    if kind == "counts":
        n, s, a, b, k = *y.T, *x.T
        # 0.7 is meant as the decimal: ten times as much on both sides is exact.
        bounds = (n == np.floor(n)) & (n >= 0) & (n <= 9) & (n <= 2 * k + 3) & (10 * n <= 7 * a + 25)
        return bounds & ((a + b <= 12) | (n >= 2)) & ((a + 2 * b >= 6) | (s <= 4))
    yes = y[:, 1] > y[:, 0]
    return ((x[:, 0] >= 20) | (x[:, 1] > 0.5) | ~yes) & ((x[:, 0] <= 80) | (x[:, 1] < 0.5) | yes)


@pytest.fixture(scope="module", params=["budget", "loans", "counts"])
def trained(request, tmp_path_factory):
    kind = request.param
    folder, rng = tmp_path_factory.mktemp(kind), np.random.default_rng(1)
    make, rules = {"budget": (budget, BUDGET), "loans": (loans, LOANS), "counts": (counts, COUNTS)}[kind]
    _, columns, head = make(rng, 800)
    lines = [head] + [",".join(str(v) for v in row) for row in zip(*columns)]
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    (folder / "r.toml").write_text(rules)
    said = run("train", folder / "r.toml", "--out", folder / "out", "-q", "--json", "--enforce", "decode", check=True, capture_output=True, text=True)
    assert "clips" in run("check", folder / "out", check=True, capture_output=True, text=True).stdout
    return kind, make, json.loads(said.stdout), folder


@pytest.mark.parametrize("level", LEVELS)
def test_rules_of_both_kinds_hold_in_onnxruntime(trained, level):
    kind, make, _, folder = trained
    running, rng = session((folder / "out" / "model.onnx").read_bytes(), level), np.random.default_rng(2)
    x, *_ = make(rng, ROWS)
    # At the borders of conditions, and one step beside them.
    borders = {"budget": [(1, 2), (0, 1), (0, 60)], "loans": [(0, 20), (0, 80)], "counts": [(0, 0), (1, 10)]}[kind]
    for k, (column, at) in enumerate(borders):
        x[k :: 7, column] = np.nextafter(np.float32(at), np.float32([-9, at, 99][k % 3]))
    x[:, 0] = np.clip(x[:, 0], *{"budget": (1, 60), "loans": (0, 100), "counts": (0, 10)}[kind])
    if kind == "counts":
        # The borders of sums, where float32 can't tell.
        x[1::7, 1] = np.clip(12 - x[1::7, 0], 0, 10)
        x[2::7, 1] = np.clip((6 - x[2::7, 0]) / 2, 0, 10)
        x[:, 1] = np.clip(x[:, 1], 0, 10)
    y = running.run(["y"], {"x": x})[0]
    assert obeys(kind, x, y).all()
    assert len(np.unique(y[:, 0])) > (4 if kind == "counts" else 100), "it predicts"
    moves = {"budget": [(0, [0, 1], 60), (1, [0], 9)], "loans": [(0, [1], 100), (1, [1], 1)], "counts": [(0, [0, 1], 10), (1, [1], 10)]}[kind]
    for column, outputs, most in moves:
        far = x.copy()
        step = rng.random(ROWS) < 0.5
        far[:, column] = np.where(step & (most > 1), np.nextafter(x[:, column], np.float32(1e9)), x[:, column] + (most - x[:, column]) * rng.random(ROWS))
        if most == 1:
            far[:, column] = 1
        far[:, column] = np.minimum(far[:, column], np.float32(most))
        z = running.run(["y"], {"x": np.concatenate([x, far])})[0].astype(np.float64)
        first, second = z[:ROWS], z[ROWS:]
        if kind != "loans":
            assert all((second[:, j] >= first[:, j]).all() for j in outputs)
        else:
            assert (~(first[:, 1] > first[:, 0]) | (second[:, 1] > second[:, 0])).all()
    other = x.copy()
    if kind == "budget":
        other[:, 2] = rng.integers(18, 81, ROWS)
    elif kind == "counts":
        other[:, 2] = rng.integers(0, 7, ROWS)
    else:
        other[:, [2, 3]] = x[:, [3, 2]]
    z = running.run(["y"], {"x": np.concatenate([x, other])})[0]
    assert (z[:ROWS] == z[ROWS:]).all() if kind == "loans" else (z[:ROWS, -1] == z[ROWS:, -1]).all()


def test_the_guarantee_costs_little(trained):
    kind, _, said, _ = trained
    assert said["certified"]
    cost = said["cost"]
    if kind != "loans":
        assert cost["enforced"] < 1.25 * cost["free"] + 0.5
    else:
        assert cost["enforced"] > cost["free"] - 5


def test_verify_and_explain_know_of_it(trained):
    _, _, _, folder = trained
    assert "proved: " in run("verify", "--model", folder / "out" / "model.onnx", "--rules", folder / "r.toml", capture_output=True, text=True).stdout
    asked = folder / "asked.toml"
    asked.write_text((folder / "r.toml").read_text().replace("[train]", '[train]\nenforce = "decode"'))
    said = json.loads(run("explain", asked, "--json", capture_output=True, text=True).stdout)
    assert "clipped to bounds" in json.dumps(said)


def test_verify_finds_two_inputs_that_break_another_rule(trained):
    """Pairs are tried on what the whole file gives, clips included; what is found breaks the rule in onnxruntime, too."""
    kind, _, _, folder = trained
    rule = {"budget": "decreasing(food, income)", "loans": "decreasing(loan == 'Y', income)", "counts": "unaffected(n, a)"}[kind]
    asked = folder / "other.toml"
    asked.write_text((folder / "r.toml").read_text() + f'[[rule]]\nname = "other"\ntext = "{rule}"\n')
    said = json.loads(run("verify", "--model", folder / "out" / "model.onnx", "--rules", asked, "--json", capture_output=True, text=True).stdout)
    assert said["verdict"] == "refuted" and said["rule"] == "other", said
    columns = {
        "budget": lambda p: [p["income"], p["house area"], p["age"], p["owner"] == "no", p["owner"] == "yes"],
        "loans": lambda p: [p["income"], p["history"], p["gender"] == "f", p["gender"] == "m"],
        "counts": lambda p: [p["a"], p["b"], p["k"]],
    }[kind]
    x = np.array([columns(said["input"]), columns(said["other_input"])], dtype=np.float32)
    assert (x[0, 1:] == x[1, 1:]).all() and (kind == "counts" or x[0, 0] <= x[1, 0])
    y = session((folder / "out" / "model.onnx").read_bytes(), next(iter(LEVELS))).run(["y"], {"x": x})[0]
    if kind == "loans":
        assert y[1, 1] > y[1, 0] and not y[0, 1] > y[0, 0]
    else:
        assert y[1, 0] > y[0, 0] if kind == "budget" else y[1, 0] != y[0, 0]


CORNER = """
[data]
file = "d.csv"
targets = ["food", "rent", "rooms"]
[features.income]
range = [0, 60]
[features.age]
kind = "integer"
range = [18, 80]
[targets.rooms]
kind = "integer"
[task]
kind = "regression"
[network]
hidden = [24, 12]
[train]
epochs = 25
learning_rate = 0.01
[[rule]]
name = "within income"
text = "food + rent <= income"
[[rule]]
name = "nothing below zero"
text = "food >= 0 and rent >= 0 and rooms >= 0"
[[rule]]
name = "rooms"
text = "rooms <= 0.3 * income and rooms <= 9"
[[rule]]
name = "income"
text = "increasing(food, income) and increasing(rooms, income)"
"""


def test_bounds_that_meet_in_a_corner(tmp_path):
    """Where income is 0 all expenses are: no room between the sides of the rules."""
    rng = np.random.default_rng(5)
    income, age = rng.uniform(0, 60, 800), rng.integers(18, 81, 800)
    food, rent = 0.3 * income + rng.normal(0, 0.5, 800), 0.4 * income + rng.normal(0, 1, 800)
    rooms = np.clip(np.round(0.12 * income + 0.02 * age), 0, 9).astype(int)
    lines = ["income,age,food,rent,rooms"] + [",".join(str(v) for v in row) for row in zip(income, age, food, rent, rooms)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "r.toml").write_text(CORNER)
    said = json.loads(run("train", tmp_path / "r.toml", "--out", tmp_path / "out", "-q", "--json", check=True, capture_output=True, text=True).stdout)
    assert said["certified"] and said["cost"]["enforced"] < 1.3 * said["cost"]["free"] + 0.5, said["cost"]
    assert "clips" in run("check", tmp_path / "out", check=True, capture_output=True, text=True).stdout
    small = np.concatenate([[0, 1e-45, 1e-40, 1e-38, 1e-30], np.geomspace(1e-12, 60, 2995)]).astype(np.float32).clip(0, 60)
    x = np.column_stack([np.sort(small), np.full(3000, 40)]).astype(np.float32)
    for level in LEVELS:
        y = session((tmp_path / "out" / "model.onnx").read_bytes(), level).run(["y"], {"x": x})[0].astype(np.float64)
        wide = x.astype(np.float64)[:, 0]
        assert (y >= 0).all() and (y[:, 0] + y[:, 1] <= wide).all() and (10 * y[:, 2] <= 3 * wide).all() and (y[:, 2] <= 9).all()
        assert (np.diff(y[:, [0, 2]], axis=0) >= 0).all() and (y[:, 2] == np.floor(y[:, 2])).all()
        assert len(np.unique(y[:, 0])) > 100


@pytest.mark.parametrize("rule", ["0.7 * x <= y", "y <= x"])
def test_a_bound_on_one_side_that_is_0_somewhere(tmp_path, rule):
    """Where x is 0 a share of the bound leaves no room for rounding."""
    rng = np.random.default_rng(8)
    x, z = rng.uniform(0, 100, 900), rng.uniform(0, 10, 900)
    y = (0.8 * x + 3 * np.sin(z) + rng.normal(0, 1, 900)).clip(0.7 * x, x)
    (tmp_path / "d.csv").write_text("x,z,y\n" + "".join(f"{a:.2f},{b:.2f},{c:.3f}\n" for a, b, c in zip(x, z, y)))
    (tmp_path / "r.toml").write_text(
        f'[data]\nfile = "d.csv"\ntargets = ["y"]\n[features]\nx = {{ range = [0, 100] }}\nz = {{ range = [0, 10] }}\n[task]\nkind = "regression"\n'
        f'[[rule]]\nname = "bound"\ntext = "{rule}"\n[[rule]]\nname = "up"\ntext = "increasing(y, x)"\n')
    said = json.loads(run("train", tmp_path / "r.toml", "--out", tmp_path / "out", "-q", "--json", check=True, capture_output=True, text=True).stdout)
    assert said["certified"] and said["enforced_by"] == "decode", said["cost"]
    assert said["cost"]["enforced"] < 1.3 * said["cost"]["free"], said["cost"]
    small = np.concatenate([[0, 1e-45, 1e-40, 1e-38, 1e-30], np.geomspace(1e-12, 100, 1995)]).astype(np.float32).clip(0, 100)
    inputs = np.column_stack([np.sort(small), np.full(2000, 4)]).astype(np.float32)
    for level in LEVELS:
        y = session((tmp_path / "out" / "model.onnx").read_bytes(), level).run(["y"], {"x": inputs})[0][:, 0]
        pairs = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(inputs[:, 0], y)]
        assert all(10 * b >= 7 * a if "0.7" in rule else b <= a for a, b in pairs)
        assert (np.diff(y) >= 0).all() and len(np.unique(y)) > 100


GRADES = """
[data]
file = "d.csv"
targets = ["grade"]
[features.leverage]
range = [0, 1]
[features.coverage]
range = [0, 30]
[features.late]
kind = "integer"
range = [0, 12]
[features.gender]
levels = ["f", "m"]
[task]
kind = "multiclass"
classes = ["AA", "B", "C", "D"]
[network]
hidden = [24, 12]
members = 1
[train]
epochs = 25
learning_rate = 0.01
[[rule]]
name = "default"
text = "late >= 6 => grade == 'D'"
[[rule]]
name = "never AA"
text = "leverage > 0.75 and coverage < 5 => grade != 'AA'"
[[rule]]
name = "sum"
text = "10 * leverage - coverage >= 6 => grade in {'C', 'D'}"
[[rule]]
name = "D up"
text = "increasing(grade == 'D', {late, leverage})"
[[rule]]
name = "gender"
text = "unaffected(grade, gender)"
"""


def test_choices_of_classes_under_conditions_stand_beside_rules_between_two_inputs(tmp_path):
    """Each rule leaves a choice; where several apply they must agree on a class."""
    rng = np.random.default_rng(6)

    def drawn(count):
        leverage, coverage, late, gender = rng.random(count), rng.uniform(0, 30, count), rng.integers(0, 13, count), rng.integers(0, 2, count)
        return leverage, coverage, late, gender

    leverage, coverage, late, gender = drawn(1500)
    score = 3 * leverage - 0.1 * coverage + 0.4 * late + rng.normal(0, 0.3, 1500)
    grade = np.select([score > 3, score > 1.8, score > 0.5], ["D", "C", "B"], "AA")
    lines = ["leverage,coverage,late,gender,grade"] + [f"{a},{b},{c},{'fm'[d]},{e}" for a, b, c, d, e in zip(leverage, coverage, late, gender, grade)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "r.toml").write_text(GRADES)
    said = json.loads(run("train", tmp_path / "r.toml", "--out", tmp_path / "out", "-q", "--json", check=True, capture_output=True, text=True).stdout)
    assert said["certified"] and said["enforced_by"] == "decode", said
    assert said["cost"]["enforced"] > said["cost"]["free"] - 12, said["cost"]
    leverage, coverage, late, gender = drawn(ROWS)
    # At the border of the sum, and beside it.
    coverage[::3] = np.clip(10 * leverage[::3] - 6, 0, 30)
    x = np.column_stack([leverage, coverage, late, 1 - gender, gender]).astype(np.float32)
    later, other = x.copy(), x.copy()
    later[:, 2] = np.minimum(12, later[:, 2] + rng.integers(0, 4, ROWS))
    other[:, [3, 4]] = x[:, [4, 3]]
    for level in LEVELS:
        y = session((tmp_path / "out" / "model.onnx").read_bytes(), level).run(["y"], {"x": np.concatenate([x, later, other])})[0]
        first, second, third = np.split(y.argmax(axis=1), 3)
        wide = x.astype(np.float64)
        assert (first[wide[:, 2] >= 6] == 3).all() and (first[(wide[:, 0] > 0.75) & (wide[:, 1] < 5)] != 0).all()
        assert (first[10 * wide[:, 0] - wide[:, 1] >= 6] >= 2).all()
        assert (second[first == 3] == 3).all() and (third == first).all() and len(np.unique(first)) >= 3


@pytest.mark.parametrize("width", [5, 40])
def test_one_output_is_the_same_wherever_its_row_stands(tmp_path, width):
    """Products of a single line are rounded in another order from row to row of a batch: none may stand behind the network."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 9, (600, width))
    # Above the bound nearly everywhere, so that it is the bound that is given.
    price = 2 + 0.8 * x[:, 0] + 0.2 * x[:, 1] + 0.3 * x[:, 2] + rng.normal(0, 0.2, 600)
    names = [f"f{k}" for k in range(width)]
    rows = [",".join([*names, "price"])] + [",".join(f"{v:.6f}" for v in [*row, p]) for row, p in zip(x, price)]
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n")
    ranges = "".join(f"[features.{name}]\nrange = [0, 9]\n" for name in names)
    texts = [
        "price <= 0.31 * f0 + 0.07 * f1 + 0.113 * f2 + 1.03",
        "f3 > 4.5 => price >= 0.05 * f0 + 0.011 * f1 - 0.3",
        "increasing(price, {f0, f1})",
        "unaffected(price, f4)",
    ]
    rules = "".join(f'[[rule]]\nname = "{k}"\ntext = "{text}"\n' for k, text in enumerate(texts))
    settings = '[task]\nkind = "regression"\n[network]\nhidden = [16]\n[train]\nepochs = 10\nlearning_rate = 0.01\n'
    (tmp_path / "r.toml").write_text(f'[data]\nfile = "d.csv"\ntargets = ["price"]\n{ranges}{settings}{rules}')
    run("train", tmp_path / "r.toml", "--out", tmp_path / "out", "-q", "--enforce", "decode", check=True, capture_output=True)
    assert "clips" in run("check", tmp_path / "out", check=True, capture_output=True, text=True).stdout
    model = (tmp_path / "out" / "model.onnx").read_bytes()
    for level in LEVELS:
        running = session(model, level)
        for batch in [2, 3, 5, 8, 13, 21, 33, 64] * 12:
            same = np.repeat(rng.uniform(0, 9, (1, width)).astype(np.float32), batch, axis=0)
            other = same.copy()
            other[:, 4] = rng.uniform(0, 9, batch)
            assert len(np.unique(running.run(["y"], {"x": other})[0])) == 1, (level, batch, same[0])
            rising = same.copy()
            for row in range(1, batch):
                rising[row, 0] = min(np.nextafter(rising[row - 1, 0], np.float32(99)), np.float32(9))
            y = running.run(["y"], {"x": rising})[0][:, 0]
            assert (np.diff(y) >= 0).all(), (level, batch, same[0])


CHANGES = """
[data]
file = "d.csv"
targets = ["food", "rent", "tax"]
[features.income]
range = [300, 9000]
[features.children]
kind = "integer"
range = [0, 5]
[features.area]
range = [0, 100]
[task]
kind = "regression"
[network]
hidden = [24, 12]
[train]
epochs = 25
learning_rate = 0.01
[[rule]]
name = "within income"
text = "food + rent + tax <= income"
[[rule]]
name = "poor"
text = "children >= 3 => tax <= 0.3 * income"
[[rule]]
name = "rent moves little"
text = "change(rent, {income, area}, by = 5) <= 12"
[[rule]]
name = "so does what is left"
text = "change(rent - food, {area}, by = 1) <= 40"
[[rule]]
name = "tax"
text = "increasing(tax, income)"
"""


def test_a_change_is_kept_behind_clips(tmp_path):
    """Bounds that read what moves change by their own slopes; by the weights alone the error was some eighty times as large."""
    rng = np.random.default_rng(7)

    def drawn(count):
        return rng.uniform(300, 9000, count), rng.integers(0, 6, count), rng.uniform(0, 100, count)

    income, children, area = drawn(1500)
    rent, tax = 0.25 * income + 5 * area + rng.normal(0, 20, 1500), 0.2 * income * rng.uniform(0.9, 1.1, 1500)
    food = np.minimum(80 + 0.15 * income + 40 * children + rng.normal(0, 20, 1500), income - rent - tax - 1)
    lines = ["income,children,area,food,rent,tax"] + [",".join(str(v) for v in row) for row in zip(income, children, area, food, rent, tax)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "r.toml").write_text(CHANGES)
    said = json.loads(run("train", tmp_path / "r.toml", "--out", tmp_path / "out", "-q", "--json", check=True, capture_output=True, text=True).stdout)
    assert said["certified"] and said["enforced_by"] == "decode", said
    weights = next(t["test"] for t in said["cost"]["tried"] if "weights" in t["how"])
    assert said["cost"]["enforced"] < 0.2 * weights, said["cost"]
    assert "slopes" in run("check", tmp_path / "out", "--verbose", check=False, capture_output=True, text=True).stdout + run("check", tmp_path / "out", check=True, capture_output=True, text=True).stdout
    income, children, area = drawn(ROWS)
    # Where there is hardly an income bounds are near.
    income[::2] = rng.uniform(300, 500, len(income[::2]))
    x = np.column_stack([income, children, area]).astype(np.float32)
    far, near = x.copy(), x.copy()
    by = rng.choice([-5, 5], (ROWS, 2)) * rng.choice([1, 1, 0, 1e-3], (ROWS, 2))
    far[:, [0, 2]] = np.clip(x[:, [0, 2]] + by, [300, 0], [9000, 100]).astype(np.float32)
    near[:, 2] = np.clip(x[:, 2] + rng.choice([-1, 1], ROWS), 0, 100).astype(np.float32)
    apart = np.abs(far.astype(np.float64) - x).max(axis=1) <= 5
    close = np.abs(near.astype(np.float64) - x).max(axis=1) <= 1
    for level in LEVELS:
        y = session((tmp_path / "out" / "model.onnx").read_bytes(), level).run(["y"], {"x": np.concatenate([x, far, near])})[0].astype(np.float64)
        wide = x.astype(np.float64)
        first, second, third = np.split(y, 3)
        assert (first.sum(axis=1) <= wide[:, 0]).all() and ((wide[:, 1] < 3) | (10 * first[:, 2] <= 3 * wide[:, 0])).all()
        assert (np.abs(first[:, 1] - second[:, 1])[apart] <= 12).all()
        left = [v[:, 1] - v[:, 0] for v in (first, third)]
        assert (np.abs(left[0] - left[1])[close] <= 40).all() and len(np.unique(first[:, 1])) > 100
