"""Rows enter as numpy arrays, pandas frames or anything that speaks Arrow; the engine's table leaves."""

import numpy as np

from . import _core
from ._settings import level_text


def is_frame(X):
    """Whether rows come with named, typed columns."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("a LazyFrame holds no rows yet: give X.collect()")
    return is_pandas(X) or (hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns"))


def is_pandas(X):
    return type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "columns")


def columns_of(X):
    """The names of a frame's columns; pyarrow calls them otherwise."""
    return [str(c) for c in (X.column_names if hasattr(X, "column_names") else X.columns)]


def readable(values, what):
    """Values whose masked ones are missing; dates are refused, as the number that stands for one depends on its unit."""
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", None) in ("m", "M"):
        raise TypeError(f"{what} holds {dtype}; numbers, booleans, texts and categories can be used: make numbers of it first")
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return values.data
    # numpy's own conversions forget the mask, and read what lies behind it.
    kind, none = (dtype if dtype.kind == "f" else np.float64, np.nan) if dtype.kind in "biuf" else (object, None)
    plain = values.data.astype(kind)
    plain[np.ma.getmaskarray(values)] = none
    return plain


def stacked(first, second, what):
    """The rows of two frames or arrays of the same columns, one below the other."""
    if type(first) is not type(second) and is_frame(first) != is_frame(second):
        raise TypeError(f"{what} must be of the kind of what it stands beside: {type(first).__name__}, not {type(second).__name__}")
    if is_frame(first) and columns_of(first) != columns_of(second):
        raise ValueError(f"{what} has the columns {columns_of(second)}, not {columns_of(first)}")
    library = type(first).__module__.partition(".")[0]
    if library == "pandas":
        from pandas import concat

        return concat([first, second], ignore_index=True)
    if library == "polars":
        from polars import concat

        return concat([first, second])
    if library == "pyarrow":
        from pyarrow import concat_tables

        return concat_tables([first, second])
    return np.concatenate([np.asarray(first), np.asarray(second)])


def table_of(X, names, levels=None):
    """The table of a frame or matrix, and the levels that its column types declare.

    `levels` says which columns hold texts, and which: then numbers are read as texts, too.
    """
    table = _core.Table()
    if not is_frame(X):
        wanted = levels or {}
        for k, name in enumerate(names):
            if name in wanted:
                add_texts(table, name, [level_text(v) for v in X[:, k]])
            else:
                table.add_numbers(name, np.ascontiguousarray(X[:, k], dtype=np.float64))
        return table, {}
    if is_pandas(X):
        return table, _add_pandas(table, X, names, levels or {})
    return table, _add_arrow(table, X, names)


def texts_of(values):
    """Levels or classes as rules write them."""
    return [level_text(v) for v in np.asarray(values).tolist()]


def add_classes(table, name, classes, values, given):
    """Adds a column of classes; `given` is what the caller calls the values."""
    index = {text: k for k, text in enumerate(classes)}
    odd = next((k for k, text in enumerate(values) if text not in index), None)
    if odd is not None:
        raise ValueError(f"{given}[{odd}] = '{values[odd]}' is none of the classes {classes}")
    table.add_levels(name, classes, np.array([index[text] for text in values], dtype=np.int64))


def _add_pandas(table, X, names, levels):
    declared = {}
    for k, name in enumerate(names):
        column = X.iloc[:, k]
        dtype = column.dtype
        if getattr(dtype, "categories", None) is not None:
            known = [level_text(c) for c in dtype.categories]
            table.add_levels(name, known, column.cat.codes.to_numpy(np.int64))
            declared[name] = known
        elif dtype.kind in "biuf" and name not in levels:
            table.add_numbers(name, column.to_numpy(dtype=np.float64, na_value=np.nan))
        elif dtype.kind in "biufOTU":
            values = column.to_numpy(dtype=object, na_value=None)
            if name not in levels and _all_numbers(values):
                table.add_numbers(name, np.array([np.nan if v is None else v for v in values], dtype=np.float64))
            else:
                add_texts(table, name, [None if v is None else _text(v, name) for v in values])
        else:
            raise TypeError(f"column '{name}' holds {dtype}; numbers, booleans, texts and categories can be used")
    return declared


def _all_numbers(values):
    return all(v is None or isinstance(v, (int, float, np.number)) for v in values)


def _text(value, name):
    if not isinstance(value, (str, int, float, bool, np.generic)):
        raise TypeError(f"column '{name}' holds a {type(value).__name__}; argument must be a string or a real number")
    return value if isinstance(value, str) else level_text(value)


def add_texts(table, name, values):
    """Adds a column of texts; None is missing."""
    known = sorted({v for v in values if v is not None})
    index = {level: k for k, level in enumerate(known)}
    codes = np.fromiter((-1 if v is None else index[v] for v in values), dtype=np.int64, count=len(values))
    table.add_levels(name, known, codes)


def _add_arrow(table, X, names):
    table.add_arrow(X)
    declared = {}
    if list(table.names) != list(names):
        raise ValueError(f"the frame's columns are {list(table.names)}, expected {list(names)}")
    for name, dtype in getattr(X, "schema", {}).items() if hasattr(getattr(X, "schema", None), "items") else ():
        # polars.Enum
        if type(dtype).__name__ == "Enum":
            declared[name] = [str(c) for c in dtype.categories]
    return declared
