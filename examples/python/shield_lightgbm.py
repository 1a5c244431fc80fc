# %% [markdown]
# # Boosted trees that obey
#
# Households and five kinds of expenses (UC1 of the paper). LightGBM learns one forest a kind of expense and knows nothing of rules;
# `deepsade.shield` puts an output step behind it that keeps those of `examples/uc1.toml` for every household: the expenses together
# never exceed the income, and going out takes at most 5 % of it. The trees themselves stay as they are.
#
# The data are looked for in `$DEEPSADE_DATA` or `../shared/data`; without them households are made up. Needs pandas and
# `pip install 'deepsade[shield]' lightgbm`.

# %%
import os
import pathlib
import sys
import tempfile

import numpy as np
import pandas as pd

import deepsade

try:
    from lightgbm import LGBMRegressor
    from sklearn.compose import make_column_transformer
    from sklearn.model_selection import train_test_split
    from sklearn.multioutput import MultiOutputRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
except ModuleNotFoundError as error:
    print(f"{error}: pip install 'deepsade[shield]' lightgbm")
    sys.exit(0)

QUICK = "--quick" in sys.argv[1:]
ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ["All_Food_Expenses", "Going_Out_Expenses", "Shopping_Expenses", "Necessary_Expenses", "Miscellaneous_Expenses"]
INCOME = "Total Household Income"


def households():
    for folder in (os.environ.get("DEEPSADE_DATA"), ROOT.parent / "shared" / "data"):
        path = pathlib.Path(folder or ".") / "expense_prediction.csv.gz"
        if path.exists():
            return pd.read_csv(path, index_col=0).reset_index(drop=True)
    print("expense_prediction.csv.gz is not there; using made-up households")
    rng = np.random.default_rng(0)
    income = rng.lognormal(2.5, 0.7, 5000) + 1
    parts = income[:, None] * rng.dirichlet([4, 0.4, 2, 3, 1, 2], 5000)[:, :5]
    return pd.DataFrame({INCOME: income, "Members": rng.integers(1, 9, 5000), **dict(zip(TARGETS, parts.T))})


data = households()
data = data.sample(4000, random_state=0).reset_index(drop=True) if QUICK else data
X, Y = data.drop(columns=TARGETS), data[TARGETS]
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.2, random_state=0)
texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
encode = make_column_transformer((OneHotEncoder(), texts), remainder="passthrough")
trees = LGBMRegressor(n_estimators=40 if QUICK else 200, random_state=0, verbose=-1)
model = make_pipeline(encode, MultiOutputRegressor(trees)).fit(X_train, Y_train)

# %% [markdown]
# ## The step
#
# The frame says the columns and the domain, the rule file the rules. What leaves is one ONNX file, with its certificate.

# %%
shielded = deepsade.shield(model, ROOT / "examples" / "uc1.toml", data=X, target=Y)
assert shielded.certified_
print(f"{shielded.made_}\n{shielded.verdict_}\n")


# %% [markdown]
# ## Beside what one would do by hand
#
# Cut: going out down to its limit, then all five down in proportion until they fit. That obeys in exact arithmetic, and not in that
# of a computer: many sums exceed the income by a rounding. The step gives the nearest outputs that obey as they are computed.

# %%
def cut(y, income):
    y = y.copy()
    y[:, 1] = np.minimum(y[:, 1], 0.05 * income)
    over = y.sum(axis=1) / income
    return np.where((over > 1)[:, None], y / over[:, None], y)


def broken(y, income):
    return (y.sum(axis=1) > income) | (y[:, 1] > 0.05 * income)


income = X_test[INCOME].to_numpy(np.float32).astype(float)
raw = model.predict(X_test)
outputs = {"LightGBM": raw, "LightGBM, cut": cut(raw, income), "LightGBM, shielded": shielded.predict(X_test)}
truth = Y_test.to_numpy()
lawful = ~broken(truth, X_test[INCOME].to_numpy())
print(f"{'':20} {'MSE':>8} {'MSE, lawful rows':>17} {'rules broken':>13}")
for name, y in outputs.items():
    error = ((y - truth) ** 2).mean(axis=1)
    print(f"{name:20} {error.mean():8.2f} {error[lawful].mean():17.2f} {broken(y, income).mean():12.2%}")
assert not broken(outputs["LightGBM, shielded"], income).any()
kept = ~broken(raw, income)
moved = np.abs(outputs["LightGBM, shielded"] - raw)[kept].max()
print(f"\n{(~kept).sum()} of {len(kept)} predictions broke a rule; the others moved by at most {moved:.1g}, by rounding")
print(f"the step fell back on {shielded.fallbacks_(X_test).sum()} rows")

# %% [markdown]
# ## Files for everybody else

# %%
with tempfile.TemporaryDirectory() as folder:
    shielded.save(folder)
    print(deepsade.check(folder))
    print(f"model.onnx: {os.path.getsize(os.path.join(folder, 'model.onnx')) / 1e6:.1f} MB")
