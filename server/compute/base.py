"""What every kind of request has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotFound, NotPossible
from graphzero.server.compute.layout import Layout, Placement

Ids: TypeAlias = npt.NDArray[np.int64]
TypedIds: TypeAlias = list[tuple[int, Ids]]
"""Pairs of a type's number and ids of nodes of that type."""


class Computation(ABC):
    """One request's computation. `layout` is complete after draw(). An OSError from draw() or
    fill() means that a file could not be read."""

    fills_by_sampling = False
    """Whether fill() draws at random, as walks do, instead of gathering."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.num_nodes = self.num_edges = 0
        """Counts of a sample after draw(); 0 for other kinds."""
        self.layout = Layout()

    @abstractmethod
    def draw(self) -> None: ...

    @abstractmethod
    def fill(self, block: Any) -> None: ...

    def describe(self, result: pb.Result) -> None:
        """Adds the fields of the result beside its tensors. Most kinds have none."""
        return


def column_of(dataset: Dataset, name: str) -> ColumnFile:
    """The column of that key; a view has the columns of its base relation. Raises NotFound."""
    column = dataset.column(name)
    if column is None:
        known = ", ".join(sorted(dataset.columns)) or "none"
        raise NotFound(f"found column {name!r}, expected one of: {known}")
    return column


def array_in(block: Any, placement: Placement) -> Any:
    return block.array(placement.offset, list(placement.shape), placement.dtype)


def require_whole(column: ColumnFile, name: str, what: str) -> ColumnFile:
    """Raises NotPossible if this daemon has only a part of the column; `what` says what the whole
    column is needed for."""
    if column.shard is not None:
        raise NotPossible(
            f"column {name!r} is dealt to {column.shard.parts} parts, expected one that is whole "
            f"everywhere, {what}: shard the dataset with --keep {name}"
        )
    return column
