"""Types of the public names; what they mean stands where they are defined."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import cluster as cluster
from . import torch as torch
from ._core import ContradictionError as ContradictionError
from ._core import DataError as DataError
from ._core import DivergedError as DivergedError
from ._core import InfeasibleError as InfeasibleError
from ._core import ModelError as ModelError
from ._core import RuleError as RuleError
from ._core import SettingsError as SettingsError
from ._core import __version__ as __version__
from ._trunk import from_torch as from_torch

Rules = Union[Sequence[str], Sequence[tuple[str, str]], Mapping[str, str]]
Frame = Any
Path = Union[str, "os.PathLike[str]"]
Self = TypeVar("Self", bound="_Estimator")

class OutsideDomainWarning(UserWarning): ...
class UncertifiedWarning(UserWarning): ...

class _Estimator:
    certified_: bool
    certificate_: Optional[str]
    verdict_: Optional[str]
    margins_: dict[str, Optional[float]]
    summary_: dict[str, Any]
    history_: list[dict[str, Any]]
    rule_file_: str
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    def __init__(
        self,
        rules: Rules = (),
        *,
        hidden: Optional[Sequence[int]] = None,
        members: Optional[int] = None,
        activation: str = "relu",
        scaling: str = "range",
        gate: str = "auto",
        enforce: str = "auto",
        increasing: Union[None, str, int, Sequence[Union[str, int]]] = None,
        decreasing: Union[None, str, int, Sequence[Union[str, int]]] = None,
        unaffected: Union[None, str, int, Sequence[Union[str, int]]] = None,
        monotonic_cst: Union[None, Sequence[int], Mapping[str, int]] = None,
        domain: Optional[Mapping[str, Any]] = None,
        margin: float = 0.0,
        target_names: Union[None, str, Sequence[str]] = None,
        optimiser: str = "adam",
        learning_rate: Optional[float] = None,
        momentum: float = 0.0,
        weight_decay: Optional[float] = None,
        batch: Optional[int] = None,
        epochs: Optional[int] = None,
        patience: Optional[int] = None,
        average: Optional[float] = None,
        update: str = "project",
        bounds: str = "interval",
        regions: int = 1,
        decode_nodes: int = 200_000,
        paper: Optional[Mapping[str, Any]] = None,
        validation_fraction: float = 0.1,
        breaking_rows: Union[str, float] = "keep",
        missing: str = "error",
        impute: str = "none",
        one_hot: str = "full",
        outside: str = "warn",
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self: Self, **params: Any) -> Self: ...
    def fit(
        self: Self,
        X: Union[ArrayLike, Frame],
        y: Union[ArrayLike, Frame],
        sample_weight: Optional[ArrayLike] = None,
        eval_set: Optional[Any] = None,
    ) -> Self: ...
    def predict(self, X: Union[ArrayLike, Frame]) -> NDArray[Any]: ...
    @property
    def domain_(self) -> dict[str, dict[str, Any]]: ...
    def in_domain(self, X: Union[ArrayLike, Frame]) -> NDArray[np.bool_]: ...
    def scores(self, X: Union[ArrayLike, Frame]) -> NDArray[np.float32]: ...
    def explain(self, X: Union[None, ArrayLike, Frame] = None, y: Union[None, ArrayLike, Frame] = None) -> dict[str, Any]: ...
    def save_onnx(self, path: Path) -> None: ...
    def save(self, folder: Path, force: bool = ...) -> None: ...
    def report(self, path: Path, name: Optional[str] = None) -> str: ...

class DeepSaDeClassifier(_Estimator):
    classes_: NDArray[Any]
    def __init__(
        self,
        rules: Rules = (),
        *,
        hidden: Optional[Sequence[int]] = None,
        members: Optional[int] = None,
        activation: str = "relu",
        scaling: str = "range",
        gate: str = "auto",
        enforce: str = "auto",
        increasing: Union[None, str, int, Sequence[Union[str, int]]] = None,
        decreasing: Union[None, str, int, Sequence[Union[str, int]]] = None,
        unaffected: Union[None, str, int, Sequence[Union[str, int]]] = None,
        monotonic_cst: Union[None, Sequence[int], Mapping[str, int]] = None,
        domain: Optional[Mapping[str, Any]] = None,
        margin: float = 0.0,
        target_names: Union[None, str, Sequence[str]] = None,
        optimiser: str = "adam",
        learning_rate: Optional[float] = None,
        momentum: float = 0.0,
        weight_decay: Optional[float] = None,
        batch: Optional[int] = None,
        epochs: Optional[int] = None,
        patience: Optional[int] = None,
        average: Optional[float] = None,
        update: str = "project",
        bounds: str = "interval",
        regions: int = 1,
        decode_nodes: int = 200_000,
        paper: Optional[Mapping[str, Any]] = None,
        validation_fraction: float = 0.1,
        breaking_rows: Union[str, float] = "keep",
        missing: str = "error",
        impute: str = "none",
        one_hot: str = "full",
        outside: str = "warn",
        random_state: Any = 0,
        verbose: bool = False,
        classes: Optional[Sequence[Any]] = None,
        class_weight: Union[None, str, Mapping[Any, float]] = None,
    ) -> None: ...
    def score(
        self, X: Union[ArrayLike, Frame], y: Union[ArrayLike, Frame], sample_weight: Optional[ArrayLike] = None
    ) -> float: ...
    def predict_proba(self, X: Union[ArrayLike, Frame]) -> NDArray[np.float64]: ...

class DeepSaDeRegressor(_Estimator):
    target_names_: list[str]
    def score(
        self, X: Union[ArrayLike, Frame], y: Union[ArrayLike, Frame], sample_weight: Optional[ArrayLike] = None
    ) -> float: ...
    def predict(self, X: Union[ArrayLike, Frame]) -> NDArray[np.float64]: ...

class DeepSaDeMultilabel(_Estimator):
    labels_: list[str]
    def score(self, X: Union[ArrayLike, Frame], y: Union[ArrayLike, Frame]) -> float: ...
    def predict(self, X: Union[ArrayLike, Frame]) -> NDArray[np.int64]: ...
    def predict_proba(self, X: Union[ArrayLike, Frame]) -> NDArray[np.float64]: ...

class DeepSaDeRanker(_Estimator):
    items_: list[str]
    def score(self, X: Union[ArrayLike, Frame], y: Union[ArrayLike, Frame]) -> float: ...
    def predict(self, X: Union[ArrayLike, Frame]) -> NDArray[np.int64]: ...
    def predict_proba(self, X: Union[ArrayLike, Frame]) -> NDArray[np.float64]: ...

class Verification(dict[str, Any]):
    certificate: Optional[str]
    model: Optional[bytes]
    rule_file: Optional[str]
    def save(self, folder: Path, force: bool = ...) -> None: ...

class Adversity(dict[str, Any]):
    near: list[dict[str, Any]]

class Flags(NamedTuple):
    in_domain: NDArray[np.bool_]
    ok: NDArray[np.bool_]

class Shielded:
    certified_: bool
    verdict_: str
    certificate_: str
    rule_file_: str
    made_: str
    answer_: dict[str, Any]
    output_: str
    onnx: bytes
    classes_: NDArray[Any]
    target_names_: list[str]
    feature_names_: list[str]
    @property
    def domain_(self) -> dict[str, dict[str, Any]]: ...
    def predict(self, X: Union[ArrayLike, Frame]) -> NDArray[Any]: ...
    def predict_proba(self, X: Union[ArrayLike, Frame]) -> NDArray[np.float64]: ...
    def flags(self, X: Union[ArrayLike, Frame]) -> Flags: ...
    def fallbacks_(self, X: Union[ArrayLike, Frame]) -> NDArray[np.bool_]: ...
    def check(self) -> dict[str, Any]: ...
    def save(self, folder: Path, force: bool = ...) -> None: ...

Model = Union[_Estimator, Shielded, Path, bytes]
Estimator = Union[DeepSaDeClassifier, DeepSaDeRegressor, DeepSaDeMultilabel, DeepSaDeRanker]

def check(model: Model, rules: Union[None, Rules, Path] = None, certificate: Optional[Path] = None, *, real: bool = False, allow_library: bool = False) -> dict[str, Any]: ...
def verify(
    model: Model,
    rules: Union[None, Rules, Path] = None,
    *,
    domain: Optional[Mapping[str, Any]] = None,
    task: Optional[str] = None,
    target_names: Union[None, str, Sequence[str]] = None,
    classes: Optional[Sequence[Any]] = None,
    timeout: float = 60.0,
    arithmetic: str = "float32",
    threads: Optional[int] = None,
    output: Optional[str] = None,
    example_input: Optional[Any] = None,
) -> Verification: ...
def adversity(
    model: Model,
    X: Union[ArrayLike, Frame],
    rules: Union[None, Rules, Path] = None,
    *,
    radius: float = 0.1,
    timeout: float = 10.0,
    threads: Optional[int] = None,
    verbose: bool = False,
    domain: Optional[Mapping[str, Any]] = None,
    task: Optional[str] = None,
    target_names: Union[None, str, Sequence[str]] = None,
    classes: Optional[Sequence[Any]] = None,
) -> Adversity: ...
def repair(
    model: Model,
    rules: Union[None, Rules, Path] = None,
    X: Union[None, ArrayLike, Frame] = None,
    y: Union[None, ArrayLike, Frame] = None,
    *,
    domain: Optional[Mapping[str, Any]] = None,
    task: Optional[str] = None,
    target_names: Union[None, str, Sequence[str]] = None,
    classes: Optional[Sequence[Any]] = None,
) -> Estimator: ...
def load(path: Path) -> Estimator: ...
def shield(
    model: Any,
    rules: Union[Rules, Path],
    *,
    data: Union[None, ArrayLike, Frame] = None,
    target: Union[None, ArrayLike, Frame] = None,
    domain: Union[None, Mapping[str, Any], tuple[float, float], range] = None,
    features: Optional[Sequence[str]] = None,
    classes: Optional[Sequence[Any]] = None,
    output: Optional[str] = None,
    threshold: Optional[float] = None,
    task: Optional[str] = None,
    target_names: Union[None, str, Sequence[str]] = None,
    probabilities: Optional[bool] = None,
) -> Shielded: ...
