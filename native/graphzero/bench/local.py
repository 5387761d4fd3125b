"""Measured in this process: copies of memory, rows, samples, and whole batches without a daemon."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.resources import available_memory
from graphzero.bench.numbers import MemoryRates
from graphzero.bench.workload import Workload
from graphzero.embedded.graph import Graph
from graphzero.embedded.typed_results import TypedSample
from graphzero.files.column_file import ColumnFile

_COPY_BYTES = 64 << 20  # more than any cache of a processor
_GATHER_BYTES = 32 << 20  # size of the rows of one call
_MOST_FILE_BYTES = 1 << 30  # largest part of the file from which rows are gathered
_TIMES = 5


def processors() -> int:
    return len(os.sched_getaffinity(0))


def memory_rates(workload: Workload) -> MemoryRates:
    columns = [
        (name, column)
        for owned in workload.columns.values()
        for name, column in owned.items()
        if column.num_rows and column.row_bytes
    ]
    source = np.ones(_COPY_BYTES, np.uint8)
    target = np.empty_like(source)
    copy = _COPY_BYTES / _least_seconds(lambda: np.copyto(target, source))
    if not columns:
        return MemoryRates(copy, 0.0, 0.0, "")
    name, column = max(columns, key=lambda found: found[1].byte_size)
    one, every = (_gather_rate(column, threads) for threads in (1, processors()))
    return MemoryRates(copy, one, every, name)


def _gather_rate(column: ColumnFile, threads: int) -> float:
    """Bytes per second of rows that lie in memory: the first call, which does not count, brings
    them there."""
    reader = _engine.Column.open(column.matrix, _engine.ColumnPath.MAPPED, None, "bench")
    room = min(_MOST_FILE_BYTES, available_memory() // 4) // column.matrix.row_stride
    rows = np.random.default_rng(0).integers(
        0, max(1, min(column.num_rows, room)), max(1, _GATHER_BYTES // column.row_bytes)
    )
    out = np.empty(len(rows) * column.row_bytes, np.uint8)
    return len(out) / _least_seconds(lambda: reader.gather(rows, out, threads=threads))


def _least_seconds(call: Callable[[], Any]) -> float:
    """The shortest of several calls. The first call does not count, because it touches memory for
    the first time."""
    call()
    taken = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return max(min(taken), 1e-9)


@dataclass
class Made:
    """Batches that were made in `seconds`, and their size in all."""

    batches: int = 0
    nodes: int = 0
    edges: int = 0
    byte_size: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.batches / self.seconds


class LocalMaker:
    """Makes the batches of a workload in this process."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._graph = Graph(workload.path)
        self._numbers = itertools.count()

    def sample_for(self, seconds: float, threads: int) -> Made:
        """Samples alone, one at a time."""
        made = Made()
        lists = self._workload.lists(0)
        began = time.perf_counter()
        while made.batches == 0 or made.seconds < seconds:
            self._sample(next(lists), threads, made)
            made.batches += 1
            made.seconds = time.perf_counter() - began
        return made

    def make_for(self, seconds: float) -> Made:
        """Whole batches, one on each processor at a time, as the daemon makes them."""
        began = time.perf_counter()

        def work(caller: int) -> Made:
            made = Made()
            lists = self._workload.lists(caller)
            buffers: dict[str, npt.NDArray[np.uint8]] = {}
            while made.batches == 0 or time.perf_counter() - began < seconds:
                self._batch(next(lists), buffers, made)
                made.batches += 1
            return made

        with ThreadPoolExecutor(processors()) as pool:
            parts = list(pool.map(work, range(processors())))
        taken = time.perf_counter() - began
        return Made(
            sum(part.batches for part in parts),
            sum(part.nodes for part in parts),
            sum(part.edges for part in parts),
            sum(part.byte_size for part in parts),
            taken,
        )

    def _sample(
        self, seeds: npt.NDArray[np.int64], threads: int, made: Made
    ) -> dict[str, npt.NDArray[np.int64]]:
        """Draws one sample, adds its size to `made`, and returns its nodes by type."""
        result = self._graph.sample(
            self._workload.seeds_of_call(seeds),
            self._workload.fanout,
            seed=next(self._numbers),
            threads=threads,
        )
        if isinstance(result, TypedSample):
            nodes = {name: result[name].n_id for name in result.node_types}
            edges = list(result.edge_index_dict.values())
        else:
            nodes, edges = {"": result.n_id}, [result.edge_index]
        made.nodes += sum(len(ids) for ids in nodes.values())
        made.edges += sum(pairs.shape[1] for pairs in edges)
        made.byte_size += sum(array.nbytes for array in (*nodes.values(), *edges))
        return nodes

    def _batch(
        self, seeds: npt.NDArray[np.int64], buffers: dict[str, npt.NDArray[np.uint8]], made: Made
    ) -> None:
        for owner, ids in self._sample(seeds, 1, made).items():
            for name, column in self._workload.columns[owner].items():
                size = len(ids) * column.row_bytes
                held = buffers.get(f"{owner}/{name}")
                if held is None or len(held) < size:
                    held = buffers[f"{owner}/{name}"] = np.empty(size * 9 // 8, np.uint8)
                column.reader.gather(np.asarray(ids, np.int64), held[:size], threads=1)
                made.byte_size += size
