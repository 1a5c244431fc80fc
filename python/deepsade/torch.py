"""PyTorch: a trunk trained elsewhere gets its rules, and a layer that obeys rules for networks of one's own (needs torch)."""

import io
import json
import warnings

import numpy as np
import torch

from . import _core
from ._functions import _labelled, estimator_of, verify
from ._settings import domains_of, level_text, rules_of

__all__ = ["RuleLayer", "from_torch", "to_onnx"]


def to_onnx(module, example_input):
    """The ONNX file of a module for one batch of float inputs, as bytes; the batch dimension is left open."""
    module = module.eval()
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batch = torch.export.Dim("N")
        program = torch.onnx.export(
            module, (example_input.float(),), dynamo=True, input_names=["x"], output_names=["y"], dynamic_shapes=({0: batch},),
            external_data=False, verbose=False,
        )
    program.save(file)
    return file.getvalue()


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
        The classes, in the order of the module's outputs.

    Returns a fitted estimator; ``verification_`` is what :func:`deepsade.verify` says of it (None where the library decodes).
    """
    onnx = to_onnx(module, example_input)
    asked = _question(rules, domain, target_names, task, classes)
    means = enforce if enforce != "auto" else ("decode" if task in ("multilabel", "ranking") else "weights")
    if means not in ("weights", "decode"):
        raise ValueError(f"enforce = '{enforce}': must be 'auto', 'weights' or 'decode'")
    estimator = None
    if means == "weights":
        table = None if X is None or y is None else _labelled(None, X, y, onnx, domain, task, target_names, classes)
        try:
            fields, rule_file, (repaired, certificate) = _core.repair(onnx, asked, table)
            estimator = estimator_of(_core.Model(repaired), certificate, True, rule_file)
            estimator.repair_ = json.loads(fields)
        except _core.InfeasibleError:
            if enforce == "weights":
                raise
    if estimator is None:
        model, certificate, certified, rule_file = _core.decoded(onnx, asked, decode_nodes)
        estimator = estimator_of(model, certificate, certified, rule_file)
    if classes is not None:
        estimator.classes_ = np.array(classes)
    estimator.verification_ = verify(estimator, timeout=timeout) if estimator.model_.place is None else None
    return estimator


def _question(rules, domain, target_names, task, classes):
    targets = [target_names] if isinstance(target_names, str) else [str(t) for t in target_names]
    stated = {"kind": task, "targets": targets}
    if classes is not None:
        stated["classes"] = [level_text(c) for c in classes]
    return json.dumps({"task": stated, "features": domains_of(domain), "rule": rules_of(rules)})


class _Nearest(torch.autograd.Function):
    """The nearest outputs that obey the rules; its derivative projects on the faces that hold them."""

    @staticmethod
    def forward(ctx, scores, x, rules):
        y, held = rules.nearest(_array(scores), _array(x))
        ctx.rules, ctx.held = rules, held
        return torch.from_numpy(y).to(scores)

    @staticmethod
    def backward(ctx, gradient):
        return torch.from_numpy(ctx.rules.backward(ctx.held, _array(gradient))).to(gradient), None, None


class _LogValid(torch.autograd.Function):
    """log P(labels obey the rules) of independent labels; its derivative is P(label | rules) - P(label)."""

    @staticmethod
    def forward(ctx, scores, x, rules):
        log, marginals = rules.log_valid(_array(scores), _array(x))
        ctx.save_for_backward(torch.from_numpy(marginals).to(scores) - torch.sigmoid(scores))
        return torch.from_numpy(log).to(scores)

    @staticmethod
    def backward(ctx, gradient):
        (slope,) = ctx.saved_tensors
        return gradient[:, None] * slope, None, None


class _StraightThrough(torch.autograd.Function):
    """The most likely valid label set; gradients pass as if nothing had been chosen."""

    @staticmethod
    def forward(ctx, scores, x, rules):
        return torch.from_numpy(rules.decode(_array(scores), _array(x))).to(scores)

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None, None


def _array(tensor):
    return np.ascontiguousarray(tensor.detach().to("cpu", torch.float32).numpy())


class RuleLayer(torch.nn.Module):
    """A last layer that obeys rules for every input, to be trained through.

    ``layer(scores, x)`` takes a batch of scores and of inputs (a column for each feature; one-hot for categories, ``columns`` names
    them). For a regression it gives the nearest numbers that obey the rules, and gradients flow through the projection. For labels,
    classes and rankings it gives the most likely set that obeys them, 0 or 1 each; gradients pass straight through, and
    :meth:`loss` is the exact negative log-likelihood over the sets that obey the rules, which is what to train with.

    In ``eval`` mode outputs of a regression are rounded so that they obey the rules exactly, in float32.

    >>> import torch
    >>> from deepsade.torch import RuleLayer
    >>> layer = RuleLayer(["food + rent <= income"], domain={"income": (0.0, 100.0)}, target_names=["food", "rent"])
    >>> scores = torch.tensor([[30.0, 40.0], [10.0, 20.0]], requires_grad=True)
    >>> y = layer(scores, torch.tensor([[50.0], [50.0]]))
    >>> y.tolist()
    [[20.0, 30.0], [10.0, 20.0]]
    >>> y[:, 0].sum().backward()
    >>> scores.grad.tolist()
    [[0.5, -0.5], [1.0, 0.0]]
    """

    def __init__(self, rules, *, domain, target_names, task="regression", classes=None):
        super().__init__()
        self.task = task
        self.rules = _core.Rules(_question(rules, domain, target_names, task, classes))

    @property
    def columns(self):
        """The names of the input's columns."""
        return self.rules.columns

    def forward(self, scores, x):
        if self.task != "regression":
            return _StraightThrough.apply(scores, x, self.rules)
        if self.training:
            return _Nearest.apply(scores, x, self.rules)
        return torch.from_numpy(self.rules.decode(_array(scores), _array(x))).to(scores)

    def loss(self, scores, x, y):
        """For each row the negative log-likelihood of its label set (0 or 1 each), or the mean squared error of the nearest numbers."""
        if self.task == "regression":
            return ((_Nearest.apply(scores, x, self.rules) - y) ** 2).mean(dim=1)
        log = torch.nn.functional.binary_cross_entropy_with_logits(scores, y.to(scores), reduction="none").sum(dim=1)
        return log + _LogValid.apply(scores, x, self.rules)
