"""Columns that negatives are drawn from, as lists of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero import _engine
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.files.dtypes import DataType
from graphzero.server.compute.base import Ids, column_of, require_whole


def candidate_column(dataset: Dataset, name: str) -> ColumnFile | None:
    """The column of that name, which must have node ids or a bool for each node; None for ""."""
    if not name:
        return None
    column = require_whole(column_of(dataset, name), name, "to draw negatives from")
    is_mask = column.role == "node" and column.dtype is DataType.BOOL and column.row_bytes == 1
    if column.role != "ids" and not is_mask:
        raise ValueError(
            f"column {name!r} is {column.dtype.label} by {column.role}, expected a split or a bool "
            "for each node, to draw negatives from"
        )
    return column


def read_candidates(column: ColumnFile) -> Ids:
    """All nodes that the column selects. The engine allocates the array as working memory, because
    it may be large."""
    if column.role == "ids":
        nodes = _engine.work_ids(column.num_rows)
        for first, ids in _pieces(column):
            nodes[first : first + len(ids)] = ids
        return nodes
    # Reads the column twice, because the number of nodes is not known before.
    nodes = _engine.work_ids(sum(int(np.count_nonzero(marks)) for _, marks in _pieces(column)))
    filled = 0
    for first, marks in _pieces(column):
        found = np.flatnonzero(marks) + first
        nodes[filled : filled + len(found)] = found
        filled += len(found)
    return nodes


def _pieces(column: ColumnFile) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Pieces of the column, each with the number of its first row."""
    first = 0
    for piece in column.pieces():
        _engine.check_stopped()
        values = piece.reshape(-1)
        # NumPy relies on bools being 0 or 1, which a file does not guarantee.
        yield first, values.view(np.uint8) != 0 if column.dtype is DataType.BOOL else values
        first += len(values)
