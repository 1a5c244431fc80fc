"""A PyTorch module enters; a fitted estimator that obeys rules leaves, with proof. torch is loaded when it is needed."""

import json
import warnings

import numpy as np

from . import _core, _saved
from ._estimator import UncertifiedWarning
from ._functions import estimator_of, verify
from ._settings import question
from ._subject import labelled


def from_torch(
    module, example_input, rules, *, domain, target_names, task="regression", classes=None, enforce="auto", X=None, y=None,
    decode_nodes=200_000, timeout=60.0,
):
    """Makes a network that was trained in PyTorch obey rules for every input, with proof.

    The module is exported to ONNX. Then its last layer is solved for (``enforce="weights"``: changed as little as possible; with
    rows X and labels y, predictions on these change little), or its outputs are decoded (``enforce="decode"``: the most likely
    label set, or the nearest numbers, that obey the rules; the network itself stays as it is). ``"auto"`` decodes labels and
    rankings, solves for the last layer of everything else, and decodes where that can't be done. The result is verified.

    Parameters
    ----------
    module : torch.nn.Module
        Dense layers with relu, sigmoid or tanh; its outputs are raw scores (docs/onnx.md says what can be read).
    example_input : torch.Tensor
        A batch, to trace the module with.
    rules : as an estimator takes them
    domain : dict
        All features, in the order of the module's inputs, as an estimator takes them.
    target_names : str or list of str
        What rules call the outputs: targets, labels or items; one name for classes.
    task : {"regression", "binary", "multiclass", "multilabel", "ranking"}
    classes : list, optional
        The classes, in the order of the module's outputs. Two classes may have one logit, above 0 for the second.
    decode_nodes : int
        Without effect: the output step needs no diagram. Kept for programs that say it.

    Raises ``ContradictionError`` where no output obeys the rules for some input of the domain. The module keeps its mode.
    Returns a fitted estimator; ``verification_`` is what :func:`deepsade.verify` says of it (None where an output step keeps the rules).
    """
    from .torch import to_onnx, two_scores

    asked = question(rules, task, target_names, classes, domain)
    means = enforce if enforce != "auto" else ("decode" if task in ("multilabel", "ranking") else "weights")
    if means not in ("weights", "decode"):
        raise ValueError(f"enforce = '{enforce}': must be 'auto', 'weights' or 'decode'")
    onnx = to_onnx(two_scores(module, example_input) if task == "binary" else module, example_input)
    told = {} if classes is None else {"classes": _saved.kind_of(np.array(classes))}
    estimator = None
    if means == "weights":
        table = None if X is None or y is None else labelled(X, y, onnx, domain, target_names, classes)
        try:
            (fields, _), rule_file, (repaired, certificate) = _core.repair(onnx, asked, table)
            estimator = estimator_of(_core.Model(repaired), certificate, rule_file, told=told)
            estimator.repair_ = json.loads(fields)
        except _core.InfeasibleError:
            if enforce == "weights":
                raise
    if estimator is None:
        model, certificate, _, rule_file = _core.decoded(onnx, asked)
        estimator = estimator_of(model, certificate, rule_file, told=told)
    if not estimator.certified_:
        warnings.warn(f"the rules are not proved: {estimator.verdict_}", UncertifiedWarning, stacklevel=2)
    estimator.verification_ = verify(estimator, timeout=timeout) if estimator.model_.place is None else None
    return estimator
