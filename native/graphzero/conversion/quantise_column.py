"""A matrix file of floating values -> a matrix file with one byte for each value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.progress import Report
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_types import QUANTISED
from graphzero.files.quantisation import Quantisation


def quantise_file(
    source: str,
    out_file: str,
    asked: str,
    *,
    label: str,
    resources: _engine.Resources,
    value_range: tuple[float, float] | None = None,
    quantisation: _engine.Quantisation | None = None,
    row_align: int = 0,
    name_node: Callable[[int], str] | None = None,
    report: Report | None = None,
) -> Quantisation:
    """Writes `out_file`, which must not exist; when it raises, an unfinished one may be left.

    `asked`: one of QUANTISED. `label`: what messages call the source. `quantisation`: instead of a
    range, the scales and offsets of an earlier file that the values were decoded from; they are
    measured anew if a value was not.
    """
    column = ColumnFile(Path(source).absolute())
    low, high = _checked_range(value_range, label)

    def quantise(kept: _engine.Quantisation | None) -> _engine.QuantiseReport:
        try:
            return _engine.quantise_matrix(
                column.matrix,
                out_file,
                delivered=QUANTISED[asked],
                low=low,
                high=high,
                kept=kept,
                row_align=row_align,
                resources=resources,
                report=report,
            )
        except ValueError as error:  # the engine does not know what the source is called
            raise InputError(f"{label}: {error}; choose float32 or float16 for it") from error

    found = quantise(quantisation)
    if found.kept_lost:
        Path(out_file).unlink(missing_ok=True)
        found = quantise(None)
    if found.not_finite is not None:
        row, value = found.not_finite
        place = _place(column, row, name_node)
        raise InputError(
            f"{label}: {place}, {_feature(column, value)}: found {_value_at(column, row, value)}, "
            f"expected a finite number that float32 has room for, because {asked} has no code for "
            "another; fill in what is missing, or choose float32 or float16 for this column"
        )
    if found.too_wide is not None:
        raise InputError(
            f"{label}: {_feature(column, found.too_wide)}: found values from {found.low:g} to "
            f"{found.high:g}, expected a range that {QUANTISED[asked]} has room for; state a range "
            "(--range NAME=LOW:HIGH) or choose float32 for this column"
        )
    return Quantisation.of(found.quantisation)


def _checked_range(
    value_range: tuple[float, float] | None, label: str
) -> tuple[list[float], list[float]]:
    if value_range is None:
        return [], []
    with np.errstate(over="ignore"):
        low, high = (float(np.float32(end)) for end in value_range)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise InputError(
            f"{label}: found a range from {value_range[0]} to {value_range[1]}, expected two "
            "finite numbers that float32 has room for, the lower one first"
        )
    return [low], [high]


def _place(column: ColumnFile, row: int, name_node: Callable[[int], str] | None) -> str:
    if column.role == "node" and name_node is not None:
        return f"node {name_node(row)}"
    return f"{column.role} {row}"


def _feature(column: ColumnFile, value: int) -> str:
    names = column.description.columns
    return f"column {names[value]!r}" if value < len(names) > 1 else f"column {value}"


def _value_at(column: ColumnFile, row: int, value: int) -> str:
    found = column.new_array(1)
    column.matrix.read_rows(row, found.reshape(-1).view(np.uint8))
    return str(column.as_users_type(found).reshape(-1)[value].item())
