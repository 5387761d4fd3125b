"""Decides how each file of the datasets is read: from memory if it fits, else from the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphzero import _engine
from graphzero.base.memory_division import MemoryDivision
from graphzero.base.resources import available_memory
from graphzero.base.text import size_text
from graphzero.files.column_io import engine_problem, path_text
from graphzero.files.dataset import Dataset
from graphzero.files.reading import DatasetPlan, plan_reading
from graphzero.server.settings.config import IoConfig

_USUAL_PREFETCH = 2
_PREFETCH_FROM_DISK = 8


class ReadPlan:
    """Decides for all files together. One row cache serves all of them, also after a reload.

    Used by one thread at a time: the one that opens datasets.
    """

    def __init__(self, config: IoConfig, memory: MemoryDivision) -> None:
        self._config = config
        self._memory = memory
        self._row_starts = 0
        self.row_cache: _engine.RowCache | None = None

    def make(self, datasets: Sequence[Dataset]) -> list[DatasetPlan]:
        # At a reload the daemon itself holds memory: that must not make files look too large.
        memory = min(self._memory.available, available_memory() + self._memory.daemon)
        plans = plan_reading(datasets, memory, self._config.feature_io, self._config.topology_io)
        self._row_starts = sum(plan.graph.row_starts for plan in plans)
        return plans

    def apply(self, plan: DatasetPlan, dataset: Dataset) -> None:
        """Applies the plan of a dataset that nobody uses yet."""
        dataset.graph.read_by(plan.graph)
        for name, column in dataset.columns.items():
            path = plan.columns[name]
            remote = self._cache() if column.shard is not None else None
            column.read_by(path, self._cache_for(path.path), remote)
        dataset.residency.possible = not reads_files([dataset])

    def _cache_for(self, path: _engine.ColumnPath) -> _engine.RowCache | None:
        return self._cache() if path == _engine.ColumnPath.DIRECT else None

    def _cache(self) -> _engine.RowCache | None:
        if self.row_cache is None and self._config.row_cache:
            self.row_cache = _engine.RowCache(self._memory.row_cache_beside(self._row_starts))
        return self.row_cache


def reads_files(datasets: Iterable[Dataset]) -> bool:
    """Whether requests will wait for the disk or for other daemons all the time, not only until
    memory is warm."""
    waiting = (_engine.ColumnPath.CACHED, _engine.ColumnPath.DIRECT)
    return any(
        dataset.graph.reading.from_disk
        or dataset.shard is not None
        or any(column.reader.path in waiting for column in dataset.columns.values())
        for dataset in datasets
    )


def suggested_prefetch(dataset: Dataset) -> int:
    """How many batches a loader should ask for ahead. Requests that wait for the disk together read
    together (native/io/sweep.h); each of them holds memory for its result."""
    return _PREFETCH_FROM_DISK if reads_files([dataset]) else _USUAL_PREFETCH


def problems(datasets: Iterable[Dataset]) -> Iterator[str]:
    """Warnings: what the machine does not offer, and which columns are not served."""
    if problem := engine_problem():
        yield problem
    for dataset in datasets:
        for name in dataset.left_out:
            yield (
                f"{dataset.name}/{name} is not served: batches have a field of that name; write "
                "the column under another one"
            )
        for column in dataset.columns.values():
            if column.reader.fallback:
                yield (
                    f"{column.path} is read {path_text(column.reader.path)} instead of "
                    f"direct: {column.reader.fallback}"
                )


def describe(datasets: Iterable[Dataset], row_cache: _engine.RowCache | None) -> Iterator[str]:
    """Lines for the banner: which files fit into memory, and how each of the others is read."""
    in_memory, others = [], []
    for dataset in datasets:
        graph = dataset.graph
        reason = graph.reading.reason
        if graph.reading.row_starts:
            reason += f"; row starts of up to {size_text(graph.reading.row_starts)} in memory"
        elif graph.reading.from_disk:
            starts = size_text(graph.most_row_starts_bytes)
            reason += f"; row starts of up to {starts} are too large to be kept in memory"
        ways = [(graph.path.name, graph.reading.path, reason, graph.reading.fits)]
        for name, column in dataset.columns.items():
            rows = column.reader
            fits = rows.path == _engine.ColumnPath.ADAPTIVE
            ways.append((name, path_text(rows.path), rows.reason, fits))
        for name, way, reason, fits in ways:
            if fits:
                in_memory.append(f"{dataset.name}/{name}")
            else:
                others.append(f"{dataset.name}/{name} is {way} ({reason})")
    if in_memory and not others:
        yield "all files fit into memory"
    elif in_memory:
        yield f"in memory, because they fit: {', '.join(in_memory)}"
    yield from others
    if row_cache is not None:
        yield f"row cache of {size_text(row_cache.usage().capacity_bytes)}"
    yield f"reads by {_engine.io_engine().name}"
