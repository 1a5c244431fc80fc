"""What the four estimators share: parameters, rows in, certificates and files out."""

import json
import os
import tempfile
import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from . import _core
from ._answer import Answer
from ._frame import columns_of, is_frame, is_pandas, readable, table_of
from ._pairs import pair_rules
from ._progress import Progress
from ._saved import NAME, belonging, described, free_folder, not_over_a_model
from ._settings import class_weight_of, domains_of, layers_of, names_in, number, one_of, rules_of, whole, word
from ._subject import given_features
from ._validation import unused, with_validation

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
_OUTSIDE = ("warn", "raise", "ignore")


class OutsideDomainWarning(UserWarning):
    """Rows to predict lie outside the domain, where the rules are not guaranteed."""


class UncertifiedWarning(UserWarning):
    """Rules are enforced, but there is no certificate of it, or a file would lose what enforces them."""


class Explanation(Answer):
    """What rules mean: the fields of ``deepsade explain --json``; printed, its words."""


class DeepSaDeEstimator(BaseEstimator):
    """Parameters and manners of all estimators of this package.

    Parameters
    ----------
    rules : list of str, list of (name, text), or dict of name to text
        What predictions must never break, in the rule language (docs/rules.md). Features are called as the frame's columns, or
        ``x0``, ``x1``, ... for arrays; what is predicted as ``target_names`` say.
    hidden : tuple of int, optional
        Units of each hidden layer. Default, as of ``learning_rate``, ``weight_decay``, ``batch``, ``epochs``, ``patience`` and ``average``: by the shape of the rows.
    members : int, optional
        How many networks are trained, of which the model is the mean: one network with their layers side by side. Default: by the shape of the rows,
        and 1 where ``hidden`` or ``epochs`` is given.
    activation : {"relu", "sigmoid", "tanh"}
    scaling : {"range", "quantile", "standard"}
        How features are scaled within the model. "range" by the domain: one that is much wider than the data, or a long tail, squeezes the rows
        together, and then one of the others does better.
    gate : str
        A feature that multiplies the outputs, for rules that scale with it; "auto" finds one, "none" wants none.
    enforce : {"auto", "weights", "decode", "none"}
        Where rules are enforced (docs/decoding.md).
    increasing, decreasing : list of str or int
        Features, by name or column: as they rise and all else stays, predictions never fall, or never rise. For a binary
        classification that is said of the second class, as of scikit-learn's trees; other cases are rules of their own.
    unaffected : list of str or int
        Features that predictions do not depend on.
    monotonic_cst : array-like of int, or dict of str to int
        The same as scikit-learn's histogram boosting takes it: 1 for increasing, -1 for decreasing, 0 for neither.
    domain : dict, optional
        For each feature named: ``(lo, hi)`` for a real number, ``range(lo, hi + 1)`` for whole numbers, a list of levels for a
        category, or its table of a rule file: ``{"step": 0.25}`` for multiples of 0.25. Other features get the range or the levels of the data. The rules are proved for this domain.
    margin : float
        How far the domain reaches beyond the data where it is not stated: this share of the range, at each end.
        Domains, like rules, are in the units of the X that reaches ``fit``; X needs no scaling.
    target_names : str or list of str, optional
        What rules call the predictions. Default: the name of ``y``, or "y"; "y0", "y1", ... for several.
    classes : list, optional (``DeepSaDeClassifier`` alone)
        All classes. Then rows of some of them are enough, as a fold of a cross-validation may have. A y of the numbers 0, 1, ... in
        their place, each at least once, is what ``VotingClassifier`` and others make of it: rules still say the classes, predictions
        are the numbers. Any other y is refused.
    class_weight : "balanced" or dict of class to number, optional (``DeepSaDeClassifier`` alone)
        What rows of each class count; "balanced": all classes alike.
    optimiser, learning_rate, momentum, weight_decay, batch, epochs, patience, average, update, bounds, regions, decode_nodes, paper
        As under ``[train]`` in a rule file (docs/training.md); ``paper`` is a dict.
    validation_fraction : float
        Share of the rows that choose the best epoch.
    breaking_rows : "keep", "drop" or float
        What to do with training rows whose own label breaks a rule; a number is their weight.
    missing : {"error", "drop", "impute"}
        What to do with missing values. With ``"impute"`` the median, or the most frequent level, is filled in, in ``fit`` and by the
        model in every row that it is asked about; ``domain={"income": {"missing": 0.0}}`` states it of one feature.
    impute : {"none", "median", "mean", "most-frequent"}
        What is filled in where a number is missing; other than "none" it means ``missing="impute"``.
    one_hot : {"full", "drop-first"}
    outside : {"warn", "raise", "ignore"}
        What ``predict`` does about rows outside the domain, for which nothing is guaranteed.
    random_state : int from 0 to 2**64 - 1, RandomState or None
        Decides the initial weights, the validation rows and the order of rows. Same seed, same model.
    verbose : bool
        Whether to show progress (by tqdm where it is installed).

    Attributes
    ----------
    certified_ : bool
        Whether the exact checker accepts the certificate: the rules hold for every input of the domain.
    verdict_ : str or None
        What the checker says, in words; None where there is no certificate.
    certificate_ : str or None
        The certificate (docs/certificate-format.md).
    margins_ : dict
        For each rule the proved distance to breaking it; None for a rule of which none can be told.
    summary_ : dict
        Scores, timings, what was enforced and why.
    history_ : list of dict
        A record for each epoch.
    """

    def __init__(
        self,
        rules=(),
        *,
        hidden=None,
        members=None,
        activation="relu",
        scaling="range",
        gate="auto",
        enforce="auto",
        increasing=None,
        decreasing=None,
        unaffected=None,
        monotonic_cst=None,
        domain=None,
        margin=0.0,
        target_names=None,
        optimiser="adam",
        learning_rate=None,
        momentum=0.0,
        weight_decay=None,
        batch=None,
        epochs=None,
        patience=None,
        average=None,
        update="project",
        bounds="interval",
        regions=1,
        decode_nodes=200_000,
        paper=None,
        validation_fraction=0.1,
        breaking_rows="keep",
        missing="error",
        impute="none",
        one_hot="full",
        outside="warn",
        random_state=0,
        verbose=False,
    ):
        self.rules = rules
        self.hidden = hidden
        self.members = members
        self.activation = activation
        self.scaling = scaling
        self.gate = gate
        self.enforce = enforce
        self.increasing = increasing
        self.decreasing = decreasing
        self.unaffected = unaffected
        self.monotonic_cst = monotonic_cst
        self.domain = domain
        self.margin = margin
        self.target_names = target_names
        self.optimiser = optimiser
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.batch = batch
        self.epochs = epochs
        self.patience = patience
        self.average = average
        self.update = update
        self.bounds = bounds
        self.regions = regions
        self.decode_nodes = decode_nodes
        self.paper = paper
        self.validation_fraction = validation_fraction
        self.breaking_rows = breaking_rows
        self.missing = missing
        self.impute = impute
        self.one_hot = one_hot
        self.outside = outside
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.missing != "error" or self.impute != "none"
        return tags

    # Each task says these.

    def _read_target(self, y):
        """Checks y; sets classes_ and the like, and gives (kind, columns), columns a list of (name, levels or None, values)."""
        raise NotImplementedError

    def _take_schema(self, task):
        """Sets classes_ and the like from a model's task."""
        raise NotImplementedError

    # Fitting.

    def fit(self, X, y, sample_weight=None, eval_set=None):
        """Trains on rows and their labels.

        ``sample_weight`` says what each row counts, 0 or above. ``eval_set=(X, y)`` are rows that choose the best epoch, and the best way
        to keep the rules, in place of a share of the training rows (``validation_fraction``); they are not learned from.

        Returns the estimator itself. Raises ``ContradictionError`` or ``InfeasibleError`` where no network can obey the rules,
        ``RuleError`` for a rule that can't be read, ``KeyboardInterrupt`` after Ctrl-C; the estimator is then as it was before.
        """
        before = dict(self.__dict__)
        try:
            return self._fit(X, y, sample_weight, eval_set)
        except BaseException:
            # Names and classes of rows that were not learned from would belie the model of an earlier fit.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit(self, X, y, sample_weight=None, eval_set=None):
        settings, table = self._problem(X, y, sample_weight, eval_set)
        seed = self._seed()
        with Progress(self.verbose, "epoch") as progress:
            fitted = _core.fit(json.dumps(settings), table, seed, progress)
        self._settings = settings
        self._take(fitted.model, fitted.certificate, fitted.certified, fitted.rules)
        self.verdict_ = fitted.verdict
        self.summary_ = json.loads(fitted.summary)
        self.history_ = [json.loads(line) for line in fitted.log.splitlines()]
        self.margins_ = self.summary_["margins"]
        self._say_once(fitted.notes)
        return self

    def _seed(self):
        if not _is_int(self.random_state):
            return check_random_state(self.random_state).randint(2**31 - 1)
        if not 0 <= self.random_state < 2**64:
            raise ValueError(f"random_state = {self.random_state}: must be from 0 to 2**64 - 1, a RandomState or None")
        return int(self.random_state)

    def _readable(self):
        """An error for a parameter of which no setting can be made; rules and domains are read with the rows."""
        one_of("outside", self.outside, _OUTSIDE)
        number("validation_fraction", self.validation_fraction)
        self._seed()
        json.dumps([self._of_data(), self._how()], allow_nan=False)

    def _say_once(self, notes):
        """All that there is to say of a fit, in one warning."""
        uncertified = self._ruled and not self.certified_ and self.enforce != "none"
        said = [*([self._why_uncertified()] if uncertified else ()), *notes]
        if said:
            kind = UncertifiedWarning if uncertified else UserWarning
            warnings.warn("\n".join(said), kind, stacklevel=4)

    def _why_uncertified(self):
        return f"the rules are not proved: {self.verdict_ or 'there is no certificate'}"

    def _problem(self, X, y, sample_weight=None, eval_set=None):
        """The tables of a rule file, and the rows."""
        one_of("outside", self.outside, _OUTSIDE)
        X, y, sample_weight = readable(X, "X"), _readable_target(y), readable(sample_weight, "sample_weight")
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        learned = None
        if eval_set is not None:
            learned = len(X)
            X, y = with_validation(X, y, eval_set)
        X, names = self._read_features(X, y)
        kind, columns = self._read_target(y)
        check_consistent_length(X, columns[0][2])
        stated = domains_of(self.domain)
        table, declared = table_of(X, names, {n: s.get("levels", s.get("order")) for n, s in stated.items() if "levels" in s or "order" in s})
        for name, levels in declared.items():
            stated.setdefault(name, {"kind": "category", "levels": levels})
        for name, levels, values in columns:
            if levels is None:
                table.add_numbers(name, np.ascontiguousarray(values, dtype=np.float64))
            else:
                table.add_levels(name, levels, np.ascontiguousarray(values, dtype=np.int64))
        task = {"kind": kind, "targets": [name for name, _, _ in columns]}
        if columns[0][1] is not None:
            task["classes"] = columns[0][1]
        share = number("validation_fraction", self.validation_fraction)
        data = {"split": {"train": 1.0 - share, "validation": share, "test": 0.0}}
        rows, taken = len(columns[0][2]), [*names, *(name for name, _, _ in columns)]
        if weights is not None:
            data["weight"] = unused("sample weight", taken)
            table.add_numbers(data["weight"], np.concatenate([weights, np.ones(rows - len(weights))]))
        if learned is not None:
            data["split"] = {"column": unused("part", taken)}
            table.add_levels(data["split"]["column"], ["train", "validation"], (np.arange(rows) >= learned).astype(np.int64))
        return {
            "data": {**data, **self._of_data()},
            "features": stated,
            "task": task,
            **self._how(),
            "rule": self._rules_about(names, kind, [name for name, _, _ in columns], columns[0][1]),
        }, table

    def _rules_about(self, features, kind, targets, classes):
        """All rules that the parameters state of such a task, names and texts."""
        pairs = (self.increasing, self.decreasing, self.unaffected, self.monotonic_cst)
        return rules_of(self.rules) + pair_rules(*pairs, features, kind, targets, classes)

    def _of_data(self):
        return {
            "missing": word("missing", self.missing),
            "impute": word("impute", self.impute),
            "breaking_rows": self.breaking_rows,
            "one_hot": word("one_hot", self.one_hot),
            "margin": number("margin", self.margin),
        }

    def _how(self):
        train = {
            "optimiser": word("optimiser", self.optimiser),
            "momentum": number("momentum", self.momentum),
            "update": word("update", self.update),
            "bounds": word("bounds", self.bounds),
            "regions": whole("regions", self.regions),
            "enforce": word("enforce", self.enforce),
            "decode_nodes": whole("decode_nodes", self.decode_nodes),
        }
        # What is not stated the engine chooses by the shape of the rows.
        for name, read in (("learning_rate", number), ("weight_decay", number), ("batch", whole), ("epochs", whole), ("patience", whole), ("average", number)):
            if getattr(self, name) is not None:
                train[name] = read(name, getattr(self, name))
        if getattr(self, "class_weight", None) is not None:
            train["class_weight"] = class_weight_of(self.class_weight)
        if self.paper is not None:
            train["paper"] = dict(self.paper)
        network = {name: word(name, getattr(self, name)) for name in ("activation", "scaling", "gate")}
        if self.hidden is not None:
            network["hidden"] = layers_of(self.hidden)
        if self.members is not None:
            network["members"] = whole("members", self.members)
        return {"network": network, "train": train}

    def _read_features(self, X, y):
        if is_frame(X):
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            validate_data(self, X, skip_check_array=True)
            if not is_pandas(X):
                # Not every scikit-learn knows the names of every frame.
                self.feature_names_in_ = np.array(columns_of(X), dtype=object)
            if len(X) == 0 or X.shape[1] == 0:
                raise ValueError(f"Found array with {len(X)} sample(s) and {X.shape[1]} feature(s); a minimum of 1 is required of each.")
        else:
            if y is None:
                validate_data(self, X, y)
            finite = True if self.missing == "error" and self.impute == "none" else "allow-nan"
            X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite=finite)
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{k}" for k in range(self.n_features_in_)] if names is None else [str(n) for n in names]
        return X, names

    def _take(self, model, certificate, certified, rules):
        """Becomes the estimator of a model."""
        self.model_ = model
        self.certificate_ = certificate
        self.certified_ = certified
        self.rule_file_ = rules
        schema = json.loads(model.schema)
        self._features = [f["name"] for f in given_features(schema)]
        self._levels = {f["name"]: f["domain"]["levels"] for f in given_features(schema) if "levels" in f["domain"]}
        # Where the model fills in missing values, it is asked about rows that have some.
        self._finite = "allow-nan" if schema.get("filled") else True
        self._ruled = len(json.loads(model.rules)) > 0
        self._plain = not self._levels and not hasattr(self, "feature_names_in_")
        self._take_schema(schema["task"])
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "model_")

    # Predicting.

    def _rows(self, X):
        """What the native model reads."""
        if type(X) is np.ndarray and (X.dtype is _DOUBLE or X.dtype is _SINGLE):
            # One row costs microseconds; scikit-learn's own checks would cost a hundred of them.
            if X.ndim == 2 and X.shape[1] == self.n_features_in_ and X.shape[0] and self._plain:
                return X
        check_is_fitted(self)
        if is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=False)
            names = columns_of(X) if hasattr(self, "feature_names_in_") else self._features
            if is_pandas(X) and len(X) == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return table_of(X, names, self._levels)[0]
        X = validate_data(self, readable(X, "X"), dtype=[np.float64, np.float32], reset=False, ensure_all_finite=self._finite)
        if self._levels:
            return table_of(X, self._features, self._levels)[0]
        return np.ascontiguousarray(X)

    def _model(self):
        try:
            return self.model_
        except AttributeError:
            check_is_fitted(self)
            raise

    def _say_outside(self, outside, rows, stacklevel=3):
        if one_of("outside", self.outside, _OUTSIDE) == "ignore" or not self._ruled:
            return
        decoded = self.model_.place is not None and not hasattr(self, "target_names_")
        what = "only rules that mention no feature are" if decoded else "the rules are not"
        words = f"{outside} of {rows} rows lie outside the domain, where {what} guaranteed; in_domain(X) says which"
        if self.outside == "raise":
            raise _core.DataError(words)
        warnings.warn(words, OutsideDomainWarning, stacklevel=stacklevel)

    def in_domain(self, X):
        """For each row whether it lies in the domain, where the rules are guaranteed."""
        return self._model().inside(self._rows(X))

    def scores(self, X):
        """The network's raw scores, before any choice."""
        return self._model().scores(self._rows(X))[0]

    # What was proved, and files.

    @property
    def domain_(self):
        """For each feature its domain, as the certificate has it."""
        return {f["name"]: f["domain"] for f in json.loads(self._model().schema)["features"]}

    def explain(self, X=None, y=None):
        """What the rules mean: can they be obeyed, do they contradict each other, where are they enforced and why.

        With rows before training (and how many labels break which rule); without, of a fitted estimator.
        """
        if X is not None:
            from sklearn.base import clone

            settings, table = clone(self)._problem(X, y)
        else:
            self._model()
            settings, table = self._stated(), None
        words, fields = _core.explain(json.dumps(settings), table)
        return Explanation(words, json.loads(fields))

    def _stated(self):
        rules = [(rule["name"], rule["text"]) for rule in json.loads(self.model_.rules)]
        return {**json.loads(_core.stated(self.model_.schema, rules)), **self._how()}

    def save_onnx(self, path):
        """Writes the network and its output step, with domain and rules in the metadata, as an ONNX file.

        Its outputs are those of ``predict`` in any runtime; :func:`deepsade.load` reads it with its rules. A file of a model's folder is
        not replaced: its files belong together, and ``save`` with ``force`` replaces all of them.
        """
        not_over_a_model(path)
        _core.write_whole(os.fspath(path), self._model().onnx)

    def save(self, folder, force=False):
        """Writes what ``deepsade train`` writes: model.onnx, certificate.json, rules.toml, summary.json and run.jsonl.

        And estimator.json: parameters and classes as Python has them, for :func:`deepsade.load`. Files of these names that are in the
        folder already are replaced with ``force`` only.
        """
        model = self._model()
        free_folder(folder, force)
        told = json.dumps(belonging(described(self), model), indent=2) + "\n"
        said = None
        if hasattr(self, "summary_"):
            said = (json.dumps(self.summary_, indent=2) + "\n", "".join(json.dumps(r) + "\n" for r in self.history_))
        _core.write_run(folder, model.onnx, self.rule_file_, self.certificate_, said)
        _core.write_whole(os.path.join(os.fspath(folder), NAME), told.encode())

    def report(self, path, name=None):
        """Writes one HTML page: proof, scores, training, an explorer to try the network with. Says what it says about the proof."""
        not_over_a_model(path)
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            return _core.report(folder, os.fspath(path), name or type(self).__name__)


#: The part of the documentation that all estimators share; without documentation (python -OO) there is none.
PARAMETERS = (DeepSaDeEstimator.__doc__ or "").partition("\n")[2]


def _readable_target(y):
    """A frame or a series is looked at as the array that it becomes, and stays what it is: it has names."""
    if not isinstance(y, np.ma.MaskedArray):
        readable(np.asarray(y), "y")
        return y
    return readable(y, "y")


def _is_int(value):
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def names_of(y, values, given):
    """What rules call the columns of y, whose values are these."""
    if given is not None:
        return names_in(given)
    if hasattr(y, "columns") and values.ndim == 2:
        return [str(c) for c in y.columns]
    if values.ndim == 1:
        name = getattr(y, "name", None)
        return [name if isinstance(name, str) and name else "y"]
    return [f"y{k}" for k in range(values.shape[1])]
