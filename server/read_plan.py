"""How each file of the datasets is read: what fits into memory, and what goes around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphzero import _engine, _topology_io
from graphzero._column_io import engine_problem, path_text, plan_io
from graphzero._dataset import Dataset
from graphzero._resources import available_memory
from graphzero._text import size_text
from graphzero.server.config import IoConfig
from graphzero.server.memory_plan import MemoryPlan

_SHARE_IF_ALL_FIT = 0.75
_SHARE_IF_NOT = 0.5


class ReadPlan:
    """Gives columns their paths. One row cache serves all of them, also after a reload.

    Used by the event loop's thread.
    """

    def __init__(self, config: IoConfig, memory: MemoryPlan) -> None:
        self._config = config
        self._memory = memory
        self.row_cache: _engine.RowCache | None = None

    def apply(self, datasets: Iterable[Dataset]) -> None:
        """If all files fit into three quarters of the available memory, all of them lie there.

        If not, half of it goes to files, graphs first, without which nothing is sampled, then
        columns, the small ones first; a quarter to the row cache; the rest to batches, and to the
        pages of what did not fit. More than that would push out what it keeps.
        """
        datasets = list(datasets)
        # After a reload the daemon itself holds some: that must not make files look too large.
        memory = min(self._memory.available, available_memory() + self._memory.daemon)
        total = sum(dataset.byte_size for dataset in datasets)
        all_fit = total <= memory * _SHARE_IF_ALL_FIT
        room = int(memory * (_SHARE_IF_ALL_FIT if all_fit else _SHARE_IF_NOT))
        for graph in sorted((d.graph for d in datasets), key=lambda graph: graph.byte_size):
            graph._read_by(_topology_io.plan_io(self._config.topology_io, graph.byte_size, room))
            if not graph._plan.staged:
                room = max(0, room - graph.byte_size)
        columns = [column for dataset in datasets for column in dataset.columns.values()]
        for column in sorted(columns, key=lambda column: column.byte_size):
            plan = plan_io(self._config.feature_io, column.byte_size, room)
            column._read_by(plan, self._cache_for(plan.path))
            if column._rows.path != _engine.ColumnPath.DIRECT:
                room = max(0, room - column.byte_size)

    def _cache_for(self, path: _engine.ColumnPath) -> _engine.RowCache | None:
        size = self._config.row_cache
        if path != _engine.ColumnPath.DIRECT or size == 0:
            return None
        if self.row_cache is None:
            self.row_cache = _engine.RowCache(size)
        return self.row_cache


def ways(dataset: Dataset) -> dict[str, object]:
    """How each file of the dataset is read."""
    columns = {name: column._rows.path for name, column in dataset.columns.items()}
    return {dataset.graph.path.name: dataset.graph._plan.path, **columns}


def reads_files(datasets: Iterable[Dataset]) -> bool:
    """Whether requests will wait for the disk all the time, not only until memory is warm."""
    waiting = (_engine.ColumnPath.CACHED, _engine.ColumnPath.DIRECT)
    return any(
        dataset.graph._plan.staged
        or any(column._rows.path in waiting for column in dataset.columns.values())
        for dataset in datasets
    )


def problems(datasets: Iterable[Dataset]) -> Iterator[str]:
    """What the machine does not offer."""
    if problem := engine_problem():
        yield problem
    for dataset in datasets:
        for column in dataset.columns.values():
            if column._rows.fallback:
                yield (
                    f"{column.path} is read {path_text(column._rows.path)} instead of "
                    f"direct: {column._rows.fallback}"
                )


def describe(datasets: Iterable[Dataset], row_cache: _engine.RowCache | None) -> Iterator[str]:
    """Lines for the banner: a word about what lies in memory, and each file that does not."""
    in_memory, others = [], []
    for dataset in datasets:
        graph = dataset.graph
        ways = [(graph.path.name, graph._plan.path, graph._plan.reason, graph._plan.fits)]
        for name, column in dataset.columns.items():
            rows = column._rows
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
