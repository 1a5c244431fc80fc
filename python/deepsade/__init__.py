"""Neural networks whose rules hold for every input, proved.

>>> import numpy as np, deepsade
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(0, 10, (200, 2))
>>> y = np.where(X[:, 0] + rng.normal(size=200) > 5, "yes", "no")
>>> model = deepsade.DeepSaDeClassifier(rules=["x0 < 2 => y == 'no'"], hidden=(10,), epochs=20).fit(X, y)
>>> model.certified_
True
>>> bool((model.predict(rng.uniform(0, [2, 10], (1000, 2)) * 0.9 + 0.1) == "no").all())
True

Importing this module loads neither scikit-learn nor torch nor ray: each is loaded when it is first needed.
"""

from importlib import import_module as _import_module

from ._core import (
    ContradictionError,
    DataError,
    DivergedError,
    InfeasibleError,
    ModelError,
    RuleError,
    SettingsError,
    __version__,
)

_LAZY = {
    "Adversity": "_functions",
    "DeepSaDeClassifier": "_classifier",
    "DeepSaDeMultilabel": "_labels",
    "DeepSaDeRanker": "_labels",
    "DeepSaDeRegressor": "_regressor",
    "OutsideDomainWarning": "_estimator",
    "Shielded": "_shielded",
    "UncertifiedWarning": "_estimator",
    "Verification": "_functions",
    "adversity": "_functions",
    "check": "_functions",
    "cluster": None,
    "from_torch": "_trunk",
    "load": "_functions",
    "repair": "_functions",
    "shield": "_shield",
    "verify": "_functions",
}

__all__ = [
    "ContradictionError",
    "DataError",
    "DivergedError",
    "InfeasibleError",
    "ModelError",
    "RuleError",
    "SettingsError",
    "__version__",
    *sorted(_LAZY),
]


def __getattr__(name):
    if name == "torch":
        # Not among the names that a module promises: it may not be there, and whoever lists them all should not fail.
        try:
            return _import_module(".torch", __name__)
        except ImportError as error:
            raise AttributeError(str(error)) from error
    if name not in _LAZY:
        raise AttributeError(f"module 'deepsade' has no attribute '{name}'")
    where = _LAZY[name]
    value = _import_module(f".{name if where is None else where}", __name__)
    if where is not None:
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__():
    return __all__
