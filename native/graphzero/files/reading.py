"""Decides for all files together which of them lie in memory and which are read from disk.

The daemon makes it when it opens datasets, `graphzero doctor` to say what the daemon will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphzero import _engine
from graphzero.files import topology_io
from graphzero.files.column_io import ColumnIo, ColumnReading, choose_reading
from graphzero.files.dataset import Dataset
from graphzero.files.topology_io import TopologyIo, TopologyReading

_SHARE_IF_ALL_FIT = 0.75
_SHARE_IF_NOT = 0.5
# Of the memory: what row starts of graphs that are read from disk may take. They take a byte a row,
# and spare every hop and every step of a walk a read.
_SHARE_FOR_ROW_STARTS = 0.1


@dataclass(frozen=True)
class DatasetPlan:
    """How the files of one dataset are to be read."""

    graph: TopologyReading
    columns: dict[str, ColumnReading]

    def holds_for(self, dataset: Dataset) -> bool:
        """Whether the dataset is read in this way already; reasons may have changed."""
        return dataset.graph.reading.path == self.graph.path and all(
            column.planned == self.columns[name].path for name, column in dataset.columns.items()
        )


def room_for_files(byte_size: int, memory: int) -> int:
    """Bytes of `memory` that files of `byte_size` bytes in all may take."""
    all_fit = byte_size <= memory * _SHARE_IF_ALL_FIT
    return int(memory * (_SHARE_IF_ALL_FIT if all_fit else _SHARE_IF_NOT))


def plan_reading(
    datasets: Sequence[Dataset], memory: int, feature_io: ColumnIo, topology_io_: TopologyIo
) -> list[DatasetPlan]:
    """If all files fit into three quarters of the available memory, all of them lie there.

    If not, half of it goes to files, graphs first, without which nothing is sampled, then columns,
    the small ones first; a quarter to the row cache; the rest to batches, and to the pages of what
    did not fit. More than that would push out what it keeps. Of a graph that did not fit, where
    its rows begin lies in memory if that takes little of it.
    """
    room = room_for_files(sum(dataset.byte_size for dataset in datasets), memory)
    graphs: dict[int, TopologyReading] = {}
    columns: dict[int, dict[str, ColumnReading]] = {at: {} for at in range(len(datasets))}
    room_for_starts = int(memory * _SHARE_FOR_ROW_STARTS)
    for size, at in sorted((d.graph.byte_size, at) for at, d in enumerate(datasets)):
        graphs[at] = topology_io.choose_reading(topology_io_, size, room)
        if not graphs[at].from_disk:
            room = max(0, room - size)
            continue
        starts = datasets[at].graph.most_row_starts_bytes
        if starts <= room_for_starts:
            graphs[at] = replace(graphs[at], row_starts=starts)
            room_for_starts -= starts
            room = max(0, room - starts)
    by_size = sorted(
        (column.byte_size, at, name)
        for at, dataset in enumerate(datasets)
        for name, column in dataset.columns.items()
    )
    for size, at, name in by_size:
        columns[at][name] = choose_reading(feature_io, size, room)
        if columns[at][name].path != _engine.ColumnPath.DIRECT:
            room = max(0, room - size)
    return [DatasetPlan(graphs[at], columns[at]) for at in range(len(datasets))]
