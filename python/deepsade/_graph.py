"""The bytes of an ONNX file and rows enter; what onnxruntime computes leaves. onnxruntime is loaded when it is needed."""

import json

import numpy as np

from . import _core
from ._frame import add_texts, columns_of, is_frame, readable
from ._needs import needed, shortened
from ._settings import level_text

_TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
#: A convolution's values between its layers are many times its input.
_AT_A_TIME = 8192


class Graph:
    """A graph whose inputs are one matrix of the features' columns, or a column a feature, named like it."""

    def __init__(self, onnx, names, schema=None):
        self._onnx, self._names, self._schema, self._session = onnx, list(names), schema, None
        features = [] if schema is None else json.loads(schema)["features"]
        self._levels = {f["name"]: f["domain"]["levels"] for f in features if "levels" in f["domain"]}

    def __getstate__(self):
        return {**self.__dict__, "_session": None}

    @property
    def session(self):
        if self._session is None:
            runtime = needed("onnxruntime", "shield", "predictions of a shielded model")
            options = runtime.SessionOptions()
            # Converters state shapes that do not hold; errors are raised, not printed.
            options.log_severity_level = 4
            self._session = _in_short(runtime.InferenceSession, self._onnx, options, providers=["CPUExecutionProvider"])
        return self._session

    @property
    def outputs(self):
        """For each output its name and whether it holds rows of numbers."""
        return {port.name: port.type in ("tensor(float)", "tensor(double)") for port in self.session.get_outputs()}

    def run(self, X, outputs):
        """These outputs for the rows, some thousands at a time."""
        outputs, feeds = list(outputs), self._feeds(X)
        rows = len(next(iter(feeds.values())))
        if rows <= _AT_A_TIME:
            return _in_short(self.session.run, outputs, feeds)
        starts = range(0, rows, _AT_A_TIME)
        parts = [_in_short(self.session.run, outputs, {n: v[k : k + _AT_A_TIME] for n, v in feeds.items()}) for k in starts]
        return [np.concatenate(part) for part in zip(*parts)]

    def _feeds(self, X):
        ports = self.session.get_inputs()
        if len(ports) == 1 and ports[0].type == "tensor(float)" and len(ports[0].shape) >= 2:
            return {ports[0].name: self.matrix(X, ports[0].shape[1:])}
        return {port.name: self._column(X, port.name, port.type).reshape(-1, 1) for port in ports}

    def matrix(self, X, shape=(None,)):
        """The columns that the rules are about, in float32, as the engine encodes them."""
        if not is_frame(X):
            X = np.asarray(readable(X, "X"))
            if self._levels:
                raise TypeError("some features are categories: give the rows as a frame")
            width = int(np.prod([n for n in shape if isinstance(n, int)])) if all(isinstance(n, int) for n in shape) else None
            if X.ndim < 2 or int(np.prod(X.shape[1:])) != (len(self._names) if width is None else width):
                expected = len(self._names) if width is None else width
                raise ValueError(f"X has the shape {X.shape}; the model takes rows of {expected} numbers")
            X = np.ascontiguousarray(X, dtype=np.float32)
            return X.reshape(len(X), *shape) if width is not None else X.reshape(len(X), -1)
        columns = {name: self._column(X, name, "tensor(string)" if name in self._levels else "tensor(float)") for name in self._names}
        if self._schema is None:
            matrix = np.column_stack(list(columns.values()))
        else:
            table = _core.Table()
            for name, values in columns.items():
                if name in self._levels:
                    add_texts(table, name, [text or None for text in values])
                else:
                    table.add_numbers(name, values.astype(np.float64))
            matrix = _core.encoded(self._schema, table)
        return matrix.astype(np.float32).reshape(len(matrix), *(shape if None not in shape else (matrix.shape[1],)))

    def _column(self, X, name, kind):
        if is_frame(X):
            if name not in columns_of(X):
                raise ValueError(f"X has no column '{name}'; its columns are {columns_of(X)}")
            values = np.asarray(readable(X[name], f"column '{name}'"))
        else:
            X = np.asarray(readable(X, "X"))
            if X.ndim != 2 or X.shape[1] != len(self._names):
                raise ValueError(f"X has the shape {X.shape}; expected rows of {len(self._names)} features: {self._names}")
            values = X[:, self._names.index(name)]
        if kind == "tensor(string)":
            # A text that is missing is no level.
            return np.array(["" if v is None or v != v else v if isinstance(v, str) else level_text(v) for v in values.tolist()], dtype=object)
        return np.ascontiguousarray(values, dtype=_TYPES[kind])


def _in_short(call, *given, **named):
    """What a call of onnxruntime gives; its errors are of no Python class that anybody expects, and long."""
    try:
        return call(*given, **named)
    except Exception as error:
        raise _core.ModelError(f"onnxruntime can't run the model's graph: {shortened(error)}") from error
