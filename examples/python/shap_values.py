# %% [markdown]
# # Why a prediction: SHAP values of a model that keeps its rules
#
# A fitted estimator is a function from rows to numbers, so SHAP explains it as it explains any other. What is explained is the
# model as deployed, output step and all: contributions add up to predictions that obey the rules.
#
# Run it as a script, or cell by cell in an editor that knows `# %%`. Needs SHAP (`pip install shap`). `--quick` takes few rows.

# %%
import sys

import numpy as np
from sklearn.datasets import load_diabetes

import deepsade

try:
    import shap
except ModuleNotFoundError:
    sys.exit(print("shap is not installed: pip install shap; nothing was explained") or 0)

quick = "--quick" in sys.argv

# %% [markdown]
# Diabetes after a year: within bounds, never lower for a higher body mass index, and the same for both sexes.

# %%
X, y = load_diabetes(return_X_y=True, as_frame=True)
rules = ["0 <= target <= 400", "increasing(target, bmi)", "unaffected(target, sex)"]
model = deepsade.DeepSaDeRegressor(rules, hidden=(16,), epochs=5 if quick else 100, outside="ignore").fit(X, y)
print(f"proved: {model.certified_}, R2 {model.score(X, y):.3f}")

# %% [markdown]
# The background stands for "feature unknown"; permutations of the columns give each its share of the prediction.

# %%
rows = X.to_numpy()
background = rows[:10 if quick else 100]
predict = lambda values: model.predict(X.iloc[:0].reindex(range(len(values))).assign(**dict(zip(X.columns, np.asarray(values).T))))
explainer = shap.PermutationExplainer(predict, background, seed=0)
explained = explainer(rows[:5 if quick else 50], max_evals=2 * rows.shape[1] + 1)
importance = np.abs(explained.values).mean(axis=0)
for name, value in sorted(zip(X.columns, importance), key=lambda pair: -pair[1]):
    print(f"{name:>4} {value:8.3f}")

# %% [markdown]
# What is proved shows: the contributions add up to the prediction, and a feature that predictions do not depend on contributes nothing.

# %%
together = explained.base_values + explained.values.sum(axis=1)
assert np.allclose(together, predict(rows[: len(together)]), atol=1e-2)
assert importance[list(X.columns).index("sex")] == 0.0
