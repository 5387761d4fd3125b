"""How each file of the datasets is read: what fits into memory, and what goes around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphzero import _engine, _topology_io
from graphzero._column_io import engine_problem, path_text, plan_io
from graphzero._dataset import Dataset
from graphzero._resources import available_memory
from graphzero._text import size_text
from graphzero.server.config import IoConfig

_SHARE_IF_ALL_FIT = 0.75
_SHARE_IF_NOT = 0.5


class ReadPlan:
    """Gives columns their paths. One row cache serves all of them, also after a reload.

    Used by the event loop's thread.
    """

    def __init__(self, config: IoConfig) -> None:
        self._config = config
        self.row_cache: _engine.RowCache | None = None

    def apply(self, datasets: Iterable[Dataset]) -> None:
        """If all files fit into three quarters of the available memory, all of them lie there.

        If not, half of it goes to files, graphs first, without which nothing is sampled, then
        columns, the small ones first; a quarter to the row cache; the rest to batches, and to the
        pages of what did not fit. More than that would push out what it keeps.
        """
        datasets = list(datasets)
        memory = available_memory()
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
    """Lines for the banner."""
    engine = _engine.io_engine()
    ways = {}
    for dataset in datasets:
        plan = dataset.graph._plan
        ways[f"{dataset.name}/{dataset.graph.path.name}"] = (plan.path, plan.reason)
        for name, column in dataset.columns.items():
            ways[f"{dataset.name}/{name}"] = (path_text(column._rows.path), column._rows.reason)
    for name, (way, reason) in ways.items():
        yield f"{name} is {way} ({reason})"
    if row_cache is not None:
        yield f"row cache of {size_text(row_cache.usage().capacity_bytes)}"
    if any(way != "mapped" for way, _ in ways.values()):
        yield f"reads by {engine.name}"
