"""What an export writes into one directory: the nodes of a type, or the edges of a relation; for a
dataset without types, both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.exporting.manifest import NodeIds
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import split_key
from graphzero.files.dataset import Dataset
from graphzero.files.original_ids import OriginalIds

Array: TypeAlias = npt.NDArray[Any]


class NodeNames:
    """The ids of a type's nodes in the output: original ids, or 0 to N - 1."""

    def __init__(self, ids: OriginalIds | None, original: bool) -> None:
        self.original = ids if original else None
        self.kind: NodeIds = "none"
        if ids is not None:
            self.kind = "original" if original else "column"

    def of(self, ids: Array) -> Any:
        return ids if self.original is None else self.original.gather(ids)


@dataclass(frozen=True)
class Part:
    """`type_number` is None for a part without nodes, `relation_number` for one without edges."""

    dataset: Dataset
    directory: Path  # to write into
    columns: dict[str, ColumnFile]  # by name
    type_number: int | None
    relation_number: int | None
    names: list[NodeNames]  # by the number of the type

    @property
    def num_nodes(self) -> int:
        assert self.type_number is not None
        return self.dataset.schema.types[self.type_number].count

    @property
    def node_names(self) -> NodeNames:
        assert self.type_number is not None
        return self.names[self.type_number]

    @property
    def relation(self) -> _engine.Relation:
        assert self.relation_number is not None
        return self.dataset.graph.topology.relations[self.relation_number]

    @property
    def has_weights(self) -> bool:
        return self.relation_number is not None and self.relation.has_weights

    @property
    def has_times(self) -> bool:
        """Whether edges have times of their own."""
        return self.relation_number is not None and self.relation.has_edge_times

    @property
    def has_edge_ids(self) -> bool:
        return self.relation_number is not None and self.relation.has_edge_ids

    @property
    def writes_edge_ids(self) -> bool:
        """False for a dataset without types: there the row numbers of an export are the edge
        ids."""
        return self.has_edge_ids and self.dataset.schema.typed

    @property
    def symmetric(self) -> bool:
        if self.relation_number is None:
            return False
        return self.dataset.schema.relations[self.relation_number].symmetric

    @cached_property
    def node_times(self) -> npt.NDArray[np.int64] | None:
        if self.type_number is None or not self.dataset.schema.types[self.type_number].has_times:
            return None
        times: npt.NDArray[np.int64] = self.dataset.graph.topology.node_times(self.type_number)
        return times

    @cached_property
    def time_column(self) -> str | None:
        """The column with the times of nodes; None if nodes have no times, or no column has
        them."""
        if self.node_times is None:
            return None
        for name, column in self.columns.items():
            is_time = column.role == "node" and column.shape == self.node_times.shape
            if is_time and column.dtype.storage == np.int64 and _equal(column, self.node_times):
                return name
        return None

    def of_role(self, role: str) -> dict[str, ColumnFile]:
        return {name: column for name, column in self.columns.items() if column.role == role}

    @property
    def edge_columns(self) -> dict[str, ColumnFile]:
        """Empty if the graph stores no edge ids: then the edge of a row is not known."""
        return self.of_role("edge") if self.has_edge_ids else {}

    def free_name(self, usual: str) -> str:
        """A name for something that is no column: `usual`, with a prefix if a column has that
        name."""
        name = usual
        while name in self.columns:
            name = f"graph_{name}"
        return name


def _equal(column: ColumnFile, times: npt.NDArray[np.int64]) -> bool:
    row = 0
    for piece in column.pieces():
        if not np.array_equal(piece, times[row : row + len(piece)]):
            return False
        row += len(piece)
    return True


def parts_of(dataset: Dataset, directory: Path, *, original: bool) -> list[Part]:
    """The parts of a dataset; with types, a part for each type, then one for each stored relation.
    `original`: the output has original ids."""
    names = [
        NodeNames(dataset.original_ids_by_type.get(number), original)
        for number in range(len(dataset.schema.types))
    ]
    columns: dict[str, dict[str, ColumnFile]] = {}
    for key, column in dataset.columns.items():
        own, name = split_key(key)
        columns.setdefault(own, {})[name] = column
    if not dataset.schema.typed:
        return [Part(dataset, directory, columns.get("", {}), 0, 0, names)]
    parts = [
        Part(
            dataset, directory / own.directory, columns.get(own.directory, {}), number, None, names
        )
        for number, own in enumerate(dataset.schema.types)
    ]
    for number, relation in enumerate(dataset.schema.relations):
        if not relation.is_view:
            own_columns = columns.get(relation.directory, {})
            where = directory / relation.directory
            parts.append(Part(dataset, where, own_columns, None, number, names))
    return parts
