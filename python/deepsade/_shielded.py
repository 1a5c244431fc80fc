"""Rows enter; what a shielded model gives leaves: predictions by the graph itself, flags, the checker's word, files."""

import json
import warnings
from collections import namedtuple

import numpy as np

from . import _core
from ._answer import Answer
from ._estimator import OutsideDomainWarning, UncertifiedWarning
from ._functions import write_files
from ._graph import Graph
from ._labels import places_of
from ._settings import question
from ._subject import domain_of_schema, targets_of

#: The least probability whose logarithm is taken.
_LEAST = 1e-37

Flags = namedtuple("Flags", ["in_domain", "ok"])


class Shielded:
    """A model whose rules hold for every input of the domain, proved; predictions are those of the ONNX graph itself.

    ``onnx`` is its file, ``certified_``, ``verdict_`` and ``certificate_`` say what was proved, ``made_`` how outputs are made to
    obey, ``output_`` which tensor of the model is read; ``classes_``, ``target_names_``, ``feature_names_`` and ``domain_`` what the
    rules are about; ``answer_`` holds the fields of ``deepsade shield --json``.
    """

    def __init__(self, native, classes, flat, threshold, probabilities):
        self.onnx, self.certificate_, self.rule_file_ = native.onnx, native.certificate, native.rules
        self.certified_, self.verdict_ = native.certified, native.verdict
        self.made_, self.output_ = native.made, native.output
        self.answer_ = json.loads(native.answer)
        schema = json.loads(native.schema)
        self._schema, self._task = schema, schema["task"]["kind"]
        self.target_names_ = targets_of(schema["task"])
        self.feature_names_ = [feature["name"] for feature in schema["features"]]
        if classes is not None:
            self.classes_ = classes
        self._flat, self._threshold, self._probabilities = flat, threshold, probabilities
        self._graph = Graph(self.onnx, self.feature_names_, native.schema)
        if not self.certified_:
            warnings.warn(f"the rules are not proved: {self.verdict_}", UncertifiedWarning, stacklevel=3)

    @property
    def domain_(self):
        """For each feature its domain, as the certificate has it."""
        return {feature["name"]: feature["domain"] for feature in self._schema["features"]}

    def _run(self, X):
        """`y`, `in_domain` and `ok`, which come first, and what comes behind them."""
        return self._graph.run(X, self._graph.outputs)

    def _inside(self, X, stacklevel=3):
        y, inside, ok, *scores = self._run(X)
        outside = int((~inside).sum())
        if outside:
            words = f"{outside} of {len(y)} rows lie outside the domain, where the rules are not guaranteed; flags(X) says which"
            warnings.warn(words, OutsideDomainWarning, stacklevel=stacklevel + 1)
        return y, ok, scores

    def predict(self, X):
        """For each row its class, its numbers (float32 values, as float64), 0 or 1 a label, or the place of each item."""
        y, _, _ = self._inside(X)
        if self._task == "regression":
            y = y.astype(np.float64)
            return y[:, 0] if self._flat and y.shape[1] == 1 else y
        if self._task == "multilabel":
            return (y > 0.5).astype(np.int64)
        if self._task == "ranking":
            return places_of(y.reshape(len(y), len(self.target_names_), -1) > 0.5)
        return self.classes_.take(y.argmax(axis=1))

    def predict_proba(self, X):
        """For each row the probability of each class among those that the rules allow there.

        Logits: their softmax. Probabilities p: p divided by what is allowed of it; an allowed p of 0 counts as 1e-30.
        A row of which the step had to fall back has its class for certain. Of labels: the probability of each label among the sets
        that obey, of independent labels with the model's probabilities.
        """
        y, ok, scores = self._inside(X)
        if self._task == "multilabel":
            return self._of_labels(X, scores)
        if not hasattr(self, "classes_"):
            raise AttributeError(f"a {self._task} has no probabilities of classes")
        # Of probabilities those among the allowed classes are given, and 0 for others.
        allowed = y > (0 if self._probabilities and self._threshold is None else _core.FORBIDDEN)
        z = self._logarithms(y.astype(np.float64), allowed)
        z[~allowed] = -np.inf
        chosen = np.zeros_like(z)
        chosen[np.arange(len(y)), y.argmax(axis=1)] = 1.0
        with np.errstate(invalid="ignore"):
            p = np.exp(z - z.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
        return np.where(ok[:, None], p, chosen)

    def _logarithms(self, y, allowed):
        """Logits, or logarithms of probabilities."""
        if self._threshold is None:
            return np.log(np.clip(y, _LEAST, None)) if self._probabilities else y
        # One number a row became the distances from the threshold.
        one = np.where(allowed[:, 1], y[:, 1] + self._threshold, self._threshold - y[:, 0])
        if self._probabilities:
            return np.log(np.clip(np.column_stack([1 - one, one]), _LEAST, None))
        return np.column_stack([np.zeros(len(one)), one])

    def _of_labels(self, X, scores):
        if not scores:
            raise AttributeError("the graph does not give its scores, so there are no probabilities")
        z = scores[0].astype(np.float64)
        if self._threshold is not None:
            z = z + self._threshold
        if self._probabilities:
            p = np.clip(z, _LEAST, 1 - 2.0**-53)
            z = np.log(p) - np.log1p(-p)
        if not hasattr(self, "_rules"):
            rules = [(rule["name"], rule["text"]) for rule in json.loads(_core.settings(self.rule_file_))["rule"]]
            domain, one_hot = domain_of_schema(self._schema), self._schema.get("one_hot", "full")
            self._rules = _core.Rules(question(rules, self._task, self.target_names_, None, domain, one_hot))
        return self._rules.log_valid(z, self._graph.matrix(X).reshape(len(z), -1))[1]

    def flags(self, X):
        """For each row ``in_domain``, whether the rules are guaranteed, and ``ok``, whether the step had not to fall back."""
        _, inside, ok, *_ = self._run(X)
        return Flags(inside, ok)

    def fallbacks_(self, X):
        """For each row whether its outputs are the step's fallback: neither the model's, nor the nearest to them."""
        return ~self.flags(X).ok

    def check(self):
        """What the exact checker says to the certificate, as :func:`deepsade.check`."""
        fields, words = _core.check(self.onnx, None, self.certificate_)
        return Answer(words, json.loads(fields))

    def save(self, folder, force=False):
        """Writes model.onnx, certificate.json and rules.toml for ``deepsade check``; ``force`` replaces a model that is there."""
        write_files(folder, self.onnx, self.certificate_, self.rule_file_, force)
