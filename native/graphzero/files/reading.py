"""Decides for all files together which of them lie in memory and which are read from disk.

The daemon makes this plan when it opens datasets; `graphzero doctor` makes it to say what the
daemon will do.
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
# Share of the memory for the row starts of graphs that are read from disk. They take a byte per
# row, and save a read in every hop and in every step of a walk.
_SHARE_FOR_ROW_STARTS = 0.1


@dataclass(frozen=True)
class DatasetPlan:
    """How the files of one dataset are to be read."""

    graph: TopologyReading
    columns: dict[str, ColumnReading]

    def holds_for(self, dataset: Dataset) -> bool:
        """Whether the dataset is read in this way already; the plan's reasons may differ."""
        return dataset.graph.reading.path == self.graph.path and all(
            column.planned == self.columns[name].path for name, column in dataset.columns.items()
        )


def room_for_files(byte_size: int, memory: int) -> int:
    """How many bytes of `memory` all files together, `byte_size` bytes, may take."""
    all_fit = byte_size <= memory * _SHARE_IF_ALL_FIT
    return int(memory * (_SHARE_IF_ALL_FIT if all_fit else _SHARE_IF_NOT))


def plan_reading(
    datasets: Sequence[Dataset], memory: int, feature_io: ColumnIo, topology_io_: TopologyIo
) -> list[DatasetPlan]:
    """If all files fit into three quarters of the available memory, all of them are kept in it.

    Otherwise half of the memory goes to files: graphs first, because nothing is sampled without
    them, then columns, the small ones first. A quarter goes to the row cache, the rest to batches
    and to pages of files that did not fit. With a larger share for files, the page cache would
    evict pages that it should keep. A graph that did not fit keeps its row starts in memory if they
    are small.
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
