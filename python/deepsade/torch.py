"""PyTorch: a trunk trained elsewhere gets its rules, and a layer that obeys rules for networks of one's own (needs torch)."""

import contextlib
import io
import warnings

import numpy as np

try:
    import torch
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("deepsade.torch needs PyTorch: pip install 'deepsade[torch]'", name="torch") from error

from . import _core
from ._settings import question, rules_of
from ._trunk import from_torch

__all__ = ["RuleLayer", "from_torch", "to_onnx"]


def to_onnx(module, example_input):
    """The ONNX file of a module for one batch of float inputs, as bytes; the batch dimension is left open.

    It is traced in ``eval`` mode, and left in the mode it was in. If the module ends in a :class:`RuleLayer` that gets the module's
    own input, the file has an output step of plain operators in its place, with rules and domain in the metadata: every runtime gives
    outputs that obey. For a regression these are near the network's, where the layer gives the nearest.
    """
    layers = [part for part in module.modules() if isinstance(part, RuleLayer)]
    if not layers:
        return _traced(module, example_input)
    example = example_input.float()
    with torch.no_grad(), _in_eval(module):
        given = module(example)
        with layers[0].left_out():
            scores = module(example)
        if len(layers) > 1 or scores.shape != given.shape or not torch.equal(layers[0](scores, example), given):
            raise ValueError(
                "the module must end in one RuleLayer, which gets the module's own input: return self.layer(self.trunk(x), x)"
            )
    with layers[0].left_out():
        onnx = _traced(module, example)
    return _core.decoded(onnx, layers[0].asked)[0].onnx


@contextlib.contextmanager
def _in_eval(module):
    """The module in ``eval`` mode, and in the modes that its parts were in afterwards."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        yield module.eval()
    finally:
        for part, mode in modes:
            part.training = mode


class _TwoScores(torch.nn.Module):
    """A score for each of two classes of a network that has one logit: 0 for the first, the logit for the second."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        self.scores = torch.nn.Linear(1, 2)
        with torch.no_grad():
            self.scores.weight.copy_(torch.tensor([[0.0], [1.0]]))
            self.scores.bias.zero_()

    def forward(self, x):
        return self.scores(self.module(x).reshape(-1, 1))


def two_scores(module, example_input):
    """The module itself, or if it has one logit for two classes one with a score for each: the second is predicted where it is above 0.

    A last ``Sigmoid`` is taken off: its output is above 0.5 where the logit is above 0. A last ``Linear`` gets a row of zeros, so that
    there is a last layer to solve for.
    """
    with torch.no_grad(), _in_eval(module):
        given = module(example_input.float())
    if given.shape not in ((len(example_input),), (len(example_input), 1)):
        return module
    parts = list(module) if type(module) is torch.nn.Sequential else None
    if parts is None:
        return _TwoScores(module)
    # What reshapes a row of one number does nothing here.
    while len(parts) > 1 and isinstance(parts[-1], (torch.nn.Sigmoid, torch.nn.Flatten)):
        parts.pop()
    last = parts[-1]
    if not (type(last) is torch.nn.Linear and last.out_features == 1):
        return _TwoScores(torch.nn.Sequential(*parts))
    both = torch.nn.Linear(last.in_features, 2)
    with torch.no_grad():
        both.weight.copy_(torch.cat([torch.zeros_like(last.weight), last.weight]))
        both.bias.copy_(torch.cat([torch.zeros(1), torch.zeros(1) if last.bias is None else last.bias.cpu()]))
    return torch.nn.Sequential(*parts[:-1], both)


def _traced(module, example_input):
    file = io.BytesIO()
    with warnings.catch_warnings(), _in_eval(module):
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            module, (example_input.float(),), dynamo=True, input_names=["x"], output_names=["y"],
            dynamic_shapes=({0: torch.export.Dim("N")},), external_data=False, verbose=False,
        )
    program.save(file)
    return file.getvalue()


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

    In ``eval`` mode outputs of a regression are rounded so that they obey the rules exactly, in float32. Rules that no output obeys
    for some input of the domain are a ``ContradictionError``, as is a row outside the domain for which there is none. A score that is
    NaN, or for a regression infinite, is a ``ValueError`` in ``eval`` mode; in training it passes as through other layers: the loss
    shows it, and a regression's row that has it obeys nothing.

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
        self._said = f"rules={[r['text'] for r in rules_of(rules)]}, target_names={target_names!r}, task={task!r}"
        self.asked = question(rules, task, target_names, classes, domain)
        self.rules = _core.Rules(self.asked)
        self._open = False

    @property
    def columns(self):
        """The names of the input's columns."""
        return self.rules.columns

    def extra_repr(self):
        return self._said

    @contextlib.contextmanager
    def left_out(self):
        """While this lasts the layer hands its scores on as they are."""
        self._open = True
        try:
            yield self
        finally:
            self._open = False

    def forward(self, scores, x):
        if self._open:
            return scores
        if not self.training:
            self._refuse_no_numbers(scores)
        if self.task != "regression":
            return _StraightThrough.apply(scores, x, self.rules)
        if self.training:
            return _Nearest.apply(scores, x, self.rules)
        return torch.from_numpy(self.rules.decode(_array(scores), _array(x))).to(scores)

    def _refuse_no_numbers(self, scores):
        """No outputs are near a score that is no number; of labels an infinite one is certain."""
        odd = torch.isnan(scores) if self.task != "regression" else ~torch.isfinite(scores)
        if odd.any():
            at = torch.nonzero(odd)[0].tolist()
            raise ValueError(f"scores{at} = {scores[tuple(at)].item()}: must be a number; has the network in front of the layer diverged?")

    def loss(self, scores, x, y):
        """For each row the negative log-likelihood of its label set (0 or 1 each), or the mean squared error of the nearest numbers.

        A label set that breaks the rules for its input has no likelihood: its row is left out, with loss 0 and no gradient, as ``fit``
        leaves it out. Numbers that break the rules are learned from like any other: the nearest that obey are asked to be near them.
        """
        if self.task == "regression":
            return ((_Nearest.apply(scores, x, self.rules) - y) ** 2).mean(dim=1)
        sets = _array(y)
        if not ((sets == 0) | (sets == 1)).all():
            raise ValueError("y must hold 0 or 1 for each label, class or place")
        kept = torch.from_numpy(np.flatnonzero(self.rules.allows(sets, _array(x)))).to(scores.device)
        scores, loss = scores[kept], scores.new_zeros(len(scores))
        log = torch.nn.functional.binary_cross_entropy_with_logits(scores, y[kept].to(scores), reduction="none").sum(dim=1)
        return loss.index_put((kept,), log + _LogValid.apply(scores, x[kept], self.rules))
