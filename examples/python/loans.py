# %% [markdown]
# # Loans: no credit history and a low income, no loan
#
# 492 loan applications (UC2 of the paper). The bank's rule must hold for *every* applicant, not only for those in the file:
# nobody with an income below 5000 and without a credit history gets a loan.
#
# Run it as a script, or cell by cell in an editor that knows `# %%`. The data are looked for in `$DEEPSADE_DATA` or
# `../shared/data`; without them applications are made up. Needs pandas.

# %%
import os
import pathlib

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, train_test_split

import deepsade

ROOT = pathlib.Path(__file__).resolve().parents[2]


def applications():
    for folder in (os.environ.get("DEEPSADE_DATA"), ROOT.parent / "shared" / "data"):
        path = pathlib.Path(folder or ".") / "loan_data_set.csv"
        if path.exists():
            return pd.read_csv(path).drop(columns="Gender").dropna().reset_index(drop=True)
    print("loan_data_set.csv is not there; using made-up applications")
    rng = np.random.default_rng(0)
    income, history = rng.lognormal(8.3, 0.6, 500).round(), rng.integers(0, 2, 500).astype(float)
    status = np.where((history > 0) & (rng.uniform(size=500) < 0.8), "Y", "N")
    area = rng.choice(["Rural", "Semiurban", "Urban"], 500)
    return pd.DataFrame(
        {"ApplicantIncome": income, "Credit_History": history, "Property_Area": area, "Loan_Status": status}
    )


data = applications()
X, y = data.drop(columns="Loan_Status"), data["Loan_Status"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
print(X.dtypes)

# %% [markdown]
# ## What does the rule mean?
#
# Before anything is trained: the domain (ranges and levels of the data; credit history is 0 or 1), whether the rule can be
# obeyed, and how many applications break it.

# %%
model = deepsade.DeepSaDeClassifier(
    rules={"no loan without history": "ApplicantIncome < 5000 and Credit_History == 0 => Loan_Status == 'N'"},
    domain={"Credit_History": range(0, 2)},
    hidden=(50, 30, 10),
    learning_rate=0.0005,
    weight_decay=0.001,
    batch=5,
    epochs=30,
    outside="ignore",
)
print(model.explain(X, y))

# %% [markdown]
# ## Train, and look at the proof

# %%
model.fit(X_train, y_train)
assert model.certified_
print(model.verdict_)
print("margins:", model.margins_)
print(f"accuracy: {model.score(X_test, y_test):.3f}")

# %% [markdown]
# The certificate is a file of its own, and an exact checker that knows nothing of the training judges it. A verifier that never
# saw the training comes to the same answer.

# %%
print(deepsade.check(model))
print(deepsade.verify(model))

# %% [markdown]
# ## Nobody gets through

# %%
rng = np.random.default_rng(1)
crowd = X.sample(20_000, replace=True, random_state=1).reset_index(drop=True)
crowd["ApplicantIncome"] = rng.uniform(X["ApplicantIncome"].min(), 4999, len(crowd))
crowd["Credit_History"] = 0.0
assert set(model.predict(crowd)) == {"N"}

# %% [markdown]
# ## The usual tools
#
# Each candidate of the search is certified, too.

# %%
search = GridSearchCV(model, {"hidden": [(10,), (50, 30, 10)]}, cv=3).fit(X_train, y_train)
print(search.best_params_, f"{search.best_score_:.3f}", search.best_estimator_.certified_)
