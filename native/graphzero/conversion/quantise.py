"""`quantise`: writes a dataset again, with one byte for each value of its floating columns."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.progress import JobProgress, ShowProgress, no_progress
from graphzero.base.resources import make_resources
from graphzero.conversion.plan import ColumnOptions
from graphzero.conversion.quantise_column import quantise_file
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_types import FLOAT_DTYPES, QUANTISED
from graphzero.files.copying import copy_file
from graphzero.files.dataset import dataset_identity, open_dataset
from graphzero.files.paths import files_of
from graphzero.files.publish import StrPath, new_dataset
from graphzero.files.quantisation import Quantisation


@dataclass(frozen=True)
class QuantiseReport:
    """What `quantise` wrote."""

    path: Path
    columns: dict[str, Quantisation]
    """How values are stored and what was lost, column by column."""
    input_bytes: int
    """Bytes of these columns before."""
    output_bytes: int
    """Bytes of these columns after."""
    seconds: float


def quantise(
    dataset: StrPath,
    out: StrPath,
    *,
    columns: Sequence[str] | None = None,
    dtype: str = "q8",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    overwrite: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> QuantiseReport:
    """Writes a dataset whose floating columns are stored as one byte a value, as `graphzero
    quantise` does.

    A value is offset + scale * code, with a scale and an offset for each feature, from its smallest
    and its largest value or from `ranges`, by name of a column; values outside a range become its
    nearest end. Such a column is float32 wherever it is read, or float16 with dtype="q8[float16]":
    only the file is smaller. NaN and infinite values are an error.

    columns: those to quantise; None: all floating ones with several values in a row. In a typed
    dataset, names are "type/column". Everything else is copied, without reading it where the file
    system lets files share their blocks (Btrfs, XFS). overwrite: replace the dataset at
    `out`.

        >>> report = gz.quantise("products", "products-small", columns=["x"])
        >>> report.columns["x"].largest_error < 0.05
        True
    """
    started = time.monotonic()
    if dtype not in QUANTISED:
        raise ValueError(f"dtype: found {dtype!r}, expected one of {', '.join(QUANTISED)}")
    source = open_dataset(Path(dataset))
    chosen = _chosen(source.columns, columns)
    for column in chosen.values():
        column.require_whole()
    options = ColumnOptions(ranges=dict(ranges or {}))
    options.check_ranges(chosen)
    found: dict[str, Quantisation] = {}
    sizes = [0, 0]
    show: ShowProgress = JobProgress if progress else no_progress
    with new_dataset(out, overwrite=overwrite) as directory:
        resources = make_resources(memory, threads, directory.parent)
        quantised_files = {chosen[name].path: name for name in chosen}
        for file in files_of(source.path):
            target = directory / file.relative_to(source.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            name = quantised_files.get(file.absolute())
            if name is None:
                copy_file(file, target)
                continue
            with show(f"of {name}") as report:
                found[name] = quantise_file(
                    str(file),
                    str(target),
                    dtype,
                    label=str(file),
                    resources=resources,
                    value_range=options.ranges.get(name),
                    row_align=_row_align(chosen[name]),
                    report=report,
                )
            sizes[0] += file.stat().st_size
            sizes[1] += target.stat().st_size
        if dataset_identity(source.path).files != source.identity:
            raise InputError(f"{source.path}: replaced while it was read; quantise it again")
    return QuantiseReport(Path(out), found, sizes[0], sizes[1], time.monotonic() - started)


def _chosen(
    columns: Mapping[str, ColumnFile], names: Sequence[str] | None
) -> dict[str, ColumnFile]:
    """The columns to quantise, by name: those in `names`, or else all floating columns with several
    values in a row that are not quantised yet."""
    floating = {
        name: column
        for name, column in columns.items()
        if column.dtype.label in FLOAT_DTYPES and column.role in ("node", "edge")
    }
    if names is None:
        found = {
            name: column
            for name, column in floating.items()
            if column.row_values > 1 and column.matrix.quantisation is None
        }
        if not found:
            raise InputError(
                "found no column to quantise, expected one of floating values with several in a "
                "row that is not quantised yet"
            )
        return found
    for name in names:
        if name not in floating:
            expected = ", ".join(floating) or "none"
            what = "other values" if name in columns else "no such column"
            raise InputError(
                f"{name!r}: found {what}, expected a column of floating values, of which there "
                f"are: {expected}"
            )
    return {name: floating[name] for name in names}


def _row_align(column: ColumnFile) -> int:
    """The alignment for rows of one byte a value. Padded rows stay padded, to the power of two that
    a row needs at most; 0: no padding."""
    matrix: _engine.Matrix = column.matrix
    if matrix.row_stride == matrix.stored_row_bytes:
        return 0
    power = 1 << (column.row_values - 1).bit_length()
    return min(matrix.row_stride & -matrix.row_stride, power)
