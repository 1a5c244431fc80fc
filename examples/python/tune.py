# %% [markdown]
# # Settings found by Optuna, or by Ray Tune on a cluster
#
# The estimators are scikit-learn's, so what tunes those tunes these: the rules hold for whatever settings win, proved. Each trial is
# scored by cross-validation on the training rows; the test rows are looked at once, at the end.
#
# Run it as a script, or cell by cell in an editor that knows `# %%`. Needs Optuna (`pip install optuna`); `--ray` deals the trials out
# by Ray Tune (`pip install 'ray[tune]'`), with `--address auto` on a cluster that is running. `--quick` takes few rows and trials.

# %%
import argparse
import sys

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score, train_test_split

import deepsade

options = argparse.ArgumentParser()
options.add_argument("--quick", action="store_true")
options.add_argument("--ray", action="store_true")
options.add_argument("--address", default=None)
# An editor that runs cells has arguments of its own.
options, _ = options.parse_known_args()

# %% [markdown]
# Diabetes after a year: never below 0 or above 400, and a higher body mass index never lowers it.

# %%
X, y = load_diabetes(return_X_y=True, as_frame=True)
if options.quick:
    X, y = X[:150], y[:150]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
RULES = ["0 <= target <= 400", "increasing(target, bmi)"]


def estimator(settings):
    hidden = (settings["units"],) * settings["layers"]
    return deepsade.DeepSaDeRegressor(
        RULES, hidden=hidden, learning_rate=settings["learning_rate"], weight_decay=settings["weight_decay"],
        epochs=3 if options.quick else 100, outside="ignore",
    )


def score(settings):
    return cross_val_score(estimator(settings), X_train, y_train, cv=3, scoring="r2").mean()


# %% [markdown]
# Optuna, in this process: a study proposes settings, and `score` says how good they are.


# %%
def by_optuna(trials):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial):
        return score({
            "units": trial.suggest_int("units", 8, 64, log=True),
            "layers": trial.suggest_int("layers", 1, 3),
            "learning_rate": trial.suggest_float("learning_rate", 1e-4, 1e-2, log=True),
            "weight_decay": trial.suggest_float("weight_decay", 1e-6, 1e-2, log=True),
        })

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=trials)
    return study.best_params, study.best_value


# %% [markdown]
# Ray Tune, on one machine or a cluster: trials run at the same time, each where there is a free processor.


# %%
def by_ray(trials):
    import ray
    from ray import tune

    ray.init(address=options.address, log_to_driver=False, ignore_reinit_error=True)

    def trial(settings):
        tune.report({"r2": score(settings)})

    space = {
        "units": tune.lograndint(8, 65),
        "layers": tune.randint(1, 4),
        "learning_rate": tune.loguniform(1e-4, 1e-2),
        "weight_decay": tune.loguniform(1e-6, 1e-2),
    }
    config = tune.TuneConfig(metric="r2", mode="max", num_samples=trials)
    best = tune.Tuner(tune.with_resources(trial, {"cpu": 1}), param_space=space, tune_config=config).fit().get_best_result()
    ray.shutdown()
    return best.config, best.metrics["r2"]


# %%
package = "ray" if options.ray else "optuna"
try:
    __import__(package)
except ModuleNotFoundError:
    sys.exit(print(f"{package} is not installed: pip install {'ray[tune]' if options.ray else 'optuna'}; nothing was tuned") or 0)

settings, found = (by_ray if options.ray else by_optuna)(2 if options.quick else 30)
print(f"best of the trials: R2 {found:.3f} by cross-validation with {settings}")

# %%
model = estimator(settings).fit(X_train, y_train)
plain = deepsade.DeepSaDeRegressor(RULES, outside="ignore", epochs=3 if options.quick else 100).fit(X_train, y_train)
print(f"test R2: tuned {model.score(X_test, y_test):.3f}, default settings {plain.score(X_test, y_test):.3f}")
print(f"proved for every input of the domain: {model.certified_}")
assert model.certified_ and np.isfinite(found)
