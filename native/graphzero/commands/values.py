"""What the values of a column look like: ranges, NaNs, classes, texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.text import count_text, counted_text, line_text
from graphzero.files.column_file import ROLES
from graphzero.files.dtypes import DataType, widen
from graphzero.files.paths import COLUMN_SUFFIX, ORIGINAL_IDS

# Of a larger column only this many bytes are read, in pieces from all over it, so that `info`
# answers at once, whatever the size of the file.
_MOST_BYTES = 64 << 20
_PIECES = 256
# Integers with more distinct values than this are not counted as classes.
_MOST_CLASSES = 1000


def summarize_values(matrix: _engine.Matrix, file_name: str) -> dict[str, Any]:
    """A summary, ready for JSON. `rows_read` is the number of rows that it is computed from."""
    array = _some_rows(matrix)
    summary: dict[str, Any] = {"rows_read": len(array)}
    are_texts = file_name == f"{ORIGINAL_IDS}{COLUMN_SUFFIX}" or ROLES[matrix.role] == "categories"
    if are_texts and array.ndim == 2:
        summary["texts"] = True
        if len(array):
            summary["first"], summary["last"] = _text(array[0]), _text(array[-1])
        return summary
    if array.dtype == np.bool_:
        return summary | {"true": int(array.sum())}
    if array.dtype.kind == "f":
        finite = array[np.isfinite(array)]
        summary["nan"] = int(np.isnan(array).sum())
        summary["infinite"] = int(array.size - finite.size - summary["nan"])
        array = finite
    if array.size:
        summary["min"], summary["max"] = array.min().item(), array.max().item()
    if array.dtype.kind in "iu" and array.ndim == 1 and ROLES[matrix.role] != "ids":
        classes = len(np.unique(array))
        if classes <= min(_MOST_CLASSES, len(array) // 2):
            summary["classes"] = classes
    return summary


def values_text(info: dict[str, Any]) -> str:
    """The summary in a few words; empty if there are no values."""
    values = info["values"]
    parts = []
    if "first" in values:
        parts.append(f"from {_quoted(values['first'])} to {_quoted(values['last'])}")
    if "true" in values:
        parts.append(f"{count_text(values['true'])} true")
    if "min" in values:
        parts.append(f"from {_number(values['min'])} to {_number(values['max'])}")
    if "classes" in values:
        parts.append(counted_text(values["classes"], "different value"))
    for name, what in (("nan", "NaN"), ("infinite", "infinite")):
        if values.get(name):
            parts.append(f"{count_text(values[name])} {what}")
    if parts and values["rows_read"] < info["shape"][0]:
        parts.append(f"from {counted_text(values['rows_read'], 'row')} spread over the file")
    return ", ".join(parts)


def _some_rows(matrix: _engine.Matrix) -> npt.NDArray[Any]:
    """All rows, or some, read from the file: a view would end the process if the file was cut."""
    dtype = DataType[matrix.dtype.upper()]
    most = max(_PIECES, _MOST_BYTES // max(1, matrix.row_bytes))
    if matrix.rows <= most:
        firsts, count = [0], matrix.rows
    else:
        count = most // _PIECES
        firsts = np.linspace(0, matrix.rows - count, _PIECES).astype(np.int64).tolist()
    rows = np.empty((len(firsts) * count, *matrix.row_shape), dtype.storage)
    for index, first in enumerate(firsts):
        piece = rows[index * count : (index + 1) * count]
        matrix.read_rows(first, piece.reshape(-1).view(np.uint8))
    return widen(rows, dtype) if dtype.is_half else rows


def _text(row: npt.NDArray[np.uint8]) -> str:
    return bytes(row).rstrip(b"\0").decode(errors="replace")


def _quoted(text: str) -> str:
    return f"'{line_text(text, 30)}'"


def _number(value: float) -> str:
    return count_text(value) if isinstance(value, int) else f"{value:.4g}"
