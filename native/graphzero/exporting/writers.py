"""What the writers of an export have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graphzero.base.progress import Report
from graphzero.exporting.edges import Edges
from graphzero.exporting.manifest import NodeIds
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.files.dtypes import DataType, widen

Array: TypeAlias = npt.NDArray[Any]

_BYTES_AT_ONCE = 8 << 20


class NodeNames:
    """What stands for a node in the output."""

    def __init__(self, dataset: Dataset, original: bool) -> None:
        self.original = dataset.original_ids if original else None
        self.kind: NodeIds = "none"
        if dataset.original_ids is not None:
            self.kind = "original" if original else "column"

    def of(self, ids: Array) -> Any:
        return ids if self.original is None else self.original.gather(ids)


class Writer(ABC):
    """Takes edges inside its context, columns after it."""

    usual_weight_name: str
    """What the weights of the edges are called, unless a column of edges has that name."""

    def __init__(self, dataset: Dataset, directory: Path, names: NodeNames) -> None:
        self._dataset = dataset
        self._directory = directory
        self._names = names
        self._stack = ExitStack()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @abstractmethod
    def add_edges(self, edges: Edges) -> None: ...

    @abstractmethod
    def write_columns(self, report: Report | None) -> None: ...

    def _of_role(self, role: str) -> dict[str, ColumnFile]:
        columns = self._dataset.columns
        return {name: column for name, column in columns.items() if column.role == role}

    @property
    def weight_name(self) -> str:
        name = self.usual_weight_name
        while name in self._dataset.columns:
            name = f"graph_{name}"
        return name

    @property
    def other_weight_name(self) -> str | None:
        """Where the usual one is taken."""
        has_other = self._dataset.graph.has_weights and self.weight_name != self.usual_weight_name
        return self.weight_name if has_other else None

    def _edge_columns(self) -> dict[str, ColumnFile]:
        """Without edge ids in the graph, nobody knows which row is whose."""
        return self._of_role("edge") if self._dataset.graph.has_edge_ids else {}


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
