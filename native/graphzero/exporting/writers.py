"""What the writers of an export have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt

from graphzero.base.progress import Report
from graphzero.exporting.edges import Edges
from graphzero.exporting.parts import Array, Part
from graphzero.files.column_file import ColumnFile
from graphzero.files.dtypes import DataType, widen

_BYTES_AT_ONCE = 8 << 20


class Writer(ABC):
    """Writes one part. add_edges() is called inside the context, write_columns() after it.

    `weight_name`, `time_name` and `id_name` are the names of weights, times and ids of edges in the
    output: the usual ones, unless a column has such a name.
    """

    usual_weight_name: str
    usual_time_name: str
    usual_id_name: str

    def __init__(self, part: Part) -> None:
        self.part = part
        self._directory = part.directory
        self._stack = ExitStack()
        self.weight_name = part.free_name(self.usual_weight_name)
        self.time_name = part.free_name(self.usual_time_name)
        self.id_name = part.free_name(self.usual_id_name)
        self.node_time_name = part.free_name("node_time")

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @abstractmethod
    def add_edges(self, edges: Edges) -> None: ...

    @abstractmethod
    def write_columns(self, report: Report | None) -> None: ...

    @property
    def other_weight_name(self) -> str | None:
        """The name of the weights if the usual one is taken; else None."""
        has_other = self.part.has_weights and self.weight_name != self.usual_weight_name
        return self.weight_name if has_other else None

    @property
    def _writes_node_times(self) -> bool:
        """Whether times of nodes must be written, because no column has them."""
        return self.part.node_times is not None and self.part.time_column is None

    @property
    def node_times(self) -> str | None:
        """Name of the times of nodes in the output; None if nodes have no times."""
        if self.part.node_times is None:
            return None
        return self.part.time_column or self.node_time_name


def ranges_of(rows: int, row_bytes: int) -> Iterator[npt.NDArray[np.int64]]:
    step = max(1, _BYTES_AT_ONCE // max(1, row_bytes))
    for first in range(0, rows, step):
        yield np.arange(first, min(first + step, rows))


def values_of(column: ColumnFile, ids: Array) -> Array:
    values = column.gather(ids)
    return widen(values, column.dtype) if column.dtype is DataType.BFLOAT16 else values


def tell(report: Report | None, phase: str, done: int, total: int) -> None:
    if report is not None:
        report(phase, done, total)
