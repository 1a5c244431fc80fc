# %% [markdown]
# # Expenses: never more than the income
#
# Households and five kinds of expenses (UC1 of the paper). Two rules: the expenses together never exceed the income, and going
# out takes at most 5 % of it. Both *scale with the income*; so the network's outputs are multiplied by it (a gate), and that is
# what lets small incomes and large ones obey at little cost.
#
# The data are looked for in `$DEEPSADE_DATA` or `../shared/data`; without them households are made up. Needs pandas.

# %%
import os
import pathlib
import tempfile

import numpy as np
import pandas as pd

import deepsade

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ["All_Food_Expenses", "Going_Out_Expenses", "Shopping_Expenses", "Necessary_Expenses", "Miscellaneous_Expenses"]
INCOME = "Total Household Income"


def households():
    for folder in (os.environ.get("DEEPSADE_DATA"), ROOT.parent / "shared" / "data"):
        path = pathlib.Path(folder or ".") / "expense_prediction.csv.gz"
        if path.exists():
            return pd.read_csv(path, index_col=0).sample(6000, random_state=0).reset_index(drop=True)
    print("expense_prediction.csv.gz is not there; using made-up households")
    rng = np.random.default_rng(0)
    income = rng.lognormal(2.5, 0.7, 3000) + 1
    parts = income[:, None] * rng.dirichlet([4, 0.4, 2, 3, 1, 2], 3000)[:, :5]
    return pd.DataFrame({INCOME: income, "Members": rng.integers(1, 9, 3000), **dict(zip(TARGETS, parts.T))})


data = households()
X, Y = data.drop(columns=TARGETS), data[TARGETS]
rules = {
    "within income": f"sum({', '.join(TARGETS)}) <= `{INCOME}`",
    "going out": f"Going_Out_Expenses <= 0.05 * `{INCOME}`",
}
broken = (Y.sum(axis=1) > X[INCOME]) | (Y["Going_Out_Expenses"] > 0.05 * X[INCOME])
print(f"{len(X)} households, {broken.mean():.0%} of which break a rule in the data")

# %% [markdown]
# ## With a gate and without
#
# The same network, the same rules, both proved; the mean squared error is on households whose own expenses obey the rules.

# %%
ok = ~broken
for gate in ("auto", "none"):
    model = deepsade.DeepSaDeRegressor(rules=rules, gate=gate, hidden=(50, 50, 14), batch=5, epochs=5).fit(X, Y)
    assert model.certified_
    error = float(((model.predict(X[ok]) - Y[ok].to_numpy()) ** 2).mean())
    print(f"gate = {model.summary_['gate'] or 'none'}: mean squared error {error:.2f}, {model.verdict_}")
    if gate == "auto":
        gated = model

# %% [markdown]
# ## Any household of the domain

# %%
rng = np.random.default_rng(2)
crowd = X.sample(50_000, replace=True, random_state=2).reset_index(drop=True)
crowd[INCOME] = rng.uniform(X[INCOME].min() + 0.01, X[INCOME].max() - 0.01, len(crowd)).astype(np.float32)
crowd = crowd[gated.in_domain(crowd)]
y = gated.predict(crowd)
income = crowd[INCOME].to_numpy()
assert (y.sum(axis=1) <= income).all() and (y[:, 1] <= 0.05 * income).all()

# %% [markdown]
# ## Files for everybody else
#
# The folder is what `deepsade check` and `deepsade report` read; the ONNX file runs anywhere.

# %%
with tempfile.TemporaryDirectory() as folder:
    gated.save(folder)
    assert deepsade.load(folder).certified_
    print(gated.report(pathlib.Path(folder) / "report.html"))
