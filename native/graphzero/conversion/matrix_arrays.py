"""Arrays -> matrix files: rows are converted and written piece by piece, in bounded memory."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.files.column_types import MATRIX_DTYPES

_ITEM_SIZES = {"bfloat16": 2} | {
    name: np.dtype(name).itemsize for name in MATRIX_DTYPES if name != "bfloat16"
}
_PIECE_BYTES = 8 << 20
# Every version of NumPy takes this many.
_MAX_DIMENSIONS = 32
# Of floating types: the largest value, and a type that has room for more.
_LARGEST = {
    "float16": ("65504", "float32"),
    "bfloat16": ("3.3895e38", "float64"),
    "float32": ("3.4028e38", "float64"),
    "float64": ("1.7977e308", ""),
}

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class MatrixSpec:
    """What a matrix file is to hold."""

    shape: tuple[int, ...]  # rows, then the dimensions of a row: none, one or several
    dtype: str
    role: str = "node"
    row_align: int | None = None  # bytes
    nan: float | None = None  # stands for NaN in an integer matrix
    fill_floats: bool = False  # `nan` replaces NaN in a floating matrix too
    name: str = "array"  # of the source, for messages
    place: Callable[[int], str] | None = None  # what messages call a row of it
    columns: tuple[str, ...] = ()  # names of the values of a row, for messages
    description: str = ""  # what the file says about its values

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def cols(self) -> int:
        """Values of a row, whatever its dimensions."""
        return math.prod(self.shape[1:])

    @property
    def row_shape(self) -> list[int]:
        """The shape of a row as the engine takes it: empty unless rows have several dimensions."""
        return list(self.shape[1:]) if len(self.shape) > 2 else []

    @property
    def row_stride(self) -> int:
        row = self.cols * _ITEM_SIZES[self.dtype]
        align = 1 if self.row_align is None else self.row_align
        return -(-row // align) * align

    def check(self) -> None:
        if self.dtype not in MATRIX_DTYPES:
            expected = ", ".join(MATRIX_DTYPES)
            raise ValueError(f"{self.name}: found dtype {self.dtype}, expected one of {expected}")
        if not 1 <= len(self.shape) <= _MAX_DIMENSIONS:
            raise ValueError(
                f"{self.name}: found {len(self.shape)} dimensions, expected 1 to {_MAX_DIMENSIONS}"
            )
        if min(self.shape) < 0 or 0 in self.shape[1:]:
            raise ValueError(f"{self.name}: found shape {self.shape}, expected values in a row")
        item = _ITEM_SIZES[self.dtype]
        if self.row_align is not None and (self.row_align < 1 or self.row_align % item):
            raise ValueError(
                f"found a row alignment of {self.row_align} bytes, expected a positive multiple"
                f" of {item}, the size of {self.dtype}"
            )
        if self.role == "ids" and (len(self.shape) != 1 or self.dtype != "int64"):
            raise ValueError(
                f"{self.name}: found {self.dtype} of shape {self.shape}, expected int64 in one"
                " dimension: a list of ids"
            )


def dtype_name(dtype: Any) -> str:
    """The name of a dtype given as a string, a NumPy or torch dtype, or a DataType."""
    if isinstance(dtype, str):
        return dtype.lower()
    if type(dtype).__module__ == "torch":
        return str(dtype).removeprefix("torch.")
    name = getattr(dtype, "name", None)  # of an enum member, also of np.dtype
    return name.lower() if isinstance(name, str) else np.dtype(dtype).name


def is_tensor(value: Any) -> bool:
    """True for a torch tensor, without importing torch: if it is one, torch is imported."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)  # none while it is being imported
    return tensor is not None and isinstance(value, tensor)


def pieces_of(array: Any) -> Iterator[Any]:
    """Consecutive slices of an array or tensor, each of a few megabytes."""
    rows = array.shape[0]
    row_bytes = array.dtype.itemsize * math.prod(array.shape[1:])
    step = max(1, _PIECE_BYTES // max(1, row_bytes))
    for first in range(0, rows, step):
        yield array[first : first + step]


@dataclass
class Tally:
    """How many NaN values there were."""

    nans: int = 0  # NaN values that were replaced
    missing: int = 0  # all NaN values, replaced or not


def write_pieces(
    path: str,
    spec: MatrixSpec,
    pieces: Iterable[Any],
    advance: Callable[[int], None] = lambda rows: None,
    tally: Tally | None = None,
) -> None:
    """Writes the file at `path`, which must not exist, from arrays or tensors of whole rows."""
    spec.check()
    writer = _engine.MatrixWriter(
        path,
        rows=spec.rows,
        cols=spec.cols,
        ndim=min(len(spec.shape), 2),
        dtype=spec.dtype,
        role=spec.role,
        row_stride=spec.row_stride,
        row_shape=spec.row_shape,
        description=spec.description,
    )
    for index, piece in enumerate(pieces):
        first = writer.rows_written
        rows = piece if is_tensor(piece) else np.asarray(piece)
        if tuple(rows.shape[1:]) != spec.shape[1:] or rows.ndim != len(spec.shape):
            expected = ", ".join(["rows", *map(str, spec.shape[1:])])
            raise InputError(
                f"{spec.name}: chunk {index} has shape {tuple(rows.shape)}, expected ({expected})"
            )
        if rows.shape[0] > spec.rows - first:
            raise InputError(
                f"{spec.name}: chunk {index} ends at row {first + rows.shape[0]},"
                f" expected {spec.rows} rows in all"
            )
        for part in pieces_of(rows):
            writer.append(row_bytes(part, spec, writer.rows_written, tally))
            advance(part.shape[0])
    if writer.rows_written != spec.rows:
        raise InputError(
            f"{spec.name}: the chunks have {writer.rows_written} rows in all, expected {spec.rows}"
        )
    writer.finish()


def row_bytes(
    piece: Any, spec: MatrixSpec, first_row: int, tally: Tally | None = None
) -> npt.NDArray[np.uint8]:
    """Rows as the engine takes them, converted to the matrix's type."""
    converted = _convert(piece, spec, first_row, tally or Tally())
    return np.ascontiguousarray(converted).reshape(-1).view(np.uint8)


def _convert(piece: Any, spec: MatrixSpec, first_row: int, tally: Tally) -> Array:
    """The piece as an array of spec.dtype (bfloat16 as its bits)."""
    if is_tensor(piece):
        piece = piece.detach().cpu()
        if dtype_name(piece.dtype) == "bfloat16":
            if spec.dtype == "bfloat16":
                import torch

                bits: Array = piece.contiguous().view(torch.int16).numpy()
                return bits
            piece = piece.float()
        piece = piece.numpy()
    values: Array = piece
    if values.dtype.kind not in "biuf":
        raise InputError(f"{spec.name}: found dtype {values.dtype}, expected numbers")
    if spec.dtype in _LARGEST:
        nans = _count_nans(values)
        tally.missing += nans
        if nans and spec.fill_floats and spec.nan is not None:
            tally.nans += nans
            values = np.where(np.isnan(values), spec.nan, values)
        return _as_floats(values, spec, first_row)
    target = np.dtype(spec.dtype)
    if values.dtype != target:
        values = _as_integers(values, target, spec, first_row, tally)
    if spec.role == "ids":
        _refuse(values < 0, values, "expected an id", spec, first_row)
    return values


def _count_nans(values: Array) -> int:
    # The minimum is NaN if any value is, and is found several times as fast as NaNs are counted.
    if values.dtype.kind != "f" or not values.size or not np.isnan(values.min()):
        return 0
    return int(np.count_nonzero(np.isnan(values)))


def _as_floats(values: Array, spec: MatrixSpec, first_row: int) -> Array:
    """The values as floats (bfloat16 as its bits). Refuses a finite value that becomes infinite."""
    if spec.dtype == "bfloat16":
        doubles = np.ascontiguousarray(values, dtype=np.float64)
        result: Array = _engine.to_bfloat16(doubles.reshape(-1)).reshape(values.shape)
        infinite = (result & 0x7FFF) == 0x7F80
    else:
        with np.errstate(over="ignore"):
            result = values.astype(spec.dtype, copy=False)
        if np.can_cast(values.dtype, result.dtype):
            return result
        infinite = np.isinf(result)
    if infinite.any():
        largest, wider = _LARGEST[spec.dtype]
        hint = f"; {wider} has room (dtype, --dtype)" if wider else ""
        problem = f"which does not fit {spec.dtype} (at most {largest}){hint}"
        _refuse(infinite & np.isfinite(values), values, problem, spec, first_row)
    return result


def _as_integers(
    values: Array, target: np.dtype[Any], spec: MatrixSpec, first_row: int, tally: Tally
) -> Array:
    """The values as integers (or bool). Refuses a value that the type cannot hold."""
    low, high = (0, 1) if target.kind == "b" else (np.iinfo(target).min, np.iinfo(target).max)
    misfit = f"which does not fit {target}"
    if values.dtype.kind != "f":
        if values.size and (int(values.min()) < low or int(values.max()) > high):
            own = np.iinfo(values.dtype)
            outside = (values < max(low, own.min)) | (values > min(high, own.max))
            _refuse(outside, values, misfit, spec, first_row)
        return values.astype(target)
    nan = np.isnan(values)
    if spec.nan is None:
        _refuse(
            nan,
            values,
            f"expected a value of {target} (nan=VALUE gives one for NaN)",
            spec,
            first_row,
        )
    _refuse((values != np.floor(values)) & ~nan, values, "expected an integer", spec, first_row)
    # high + 1 is a power of two, hence exact (or infinite) in every float type; high is not.
    with np.errstate(over="ignore"):
        outside = (values < float(low)) | (values >= float(high + 1))
    _refuse(outside, values, misfit, spec, first_row)
    result = np.where(nan, 0, values).astype(target)
    if nan.any():
        if spec.nan != int(spec.nan or 0) or not low <= spec.nan <= high:
            raise ValueError(f"found {spec.nan} as the value for NaN, {misfit}")
        result[nan] = int(spec.nan)
        tally.nans += int(nan.sum())
        tally.missing += int(nan.sum())
    return result


def _refuse(bad: Array, values: Array, problem: str, spec: MatrixSpec, first_row: int) -> None:
    if not bad.any():
        return
    where = np.unravel_index(int(np.argmax(bad)), bad.shape)
    column = " column " + ", ".join(map(str, where[1:])) if len(where) > 1 else ""
    if spec.columns:
        one = len(spec.columns) == 1
        column = f" column {spec.columns[0 if one else int(where[1])]!r}"
    row = first_row + int(where[0])
    place = f"{spec.name} row {row}" if spec.place is None else spec.place(row)
    raise InputError(f"{place}{column}: found {values[where]!s}, {problem}")
