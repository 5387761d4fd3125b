"""Reads ahead in the background what requests will need: the row starts of graphs that do not fit
into memory; the files that do fit, once and in order; and of columns that do not fit, the rows that
samples will need most, as far as the row cache has room.

Trainers need not wait for it: a request reads what is not in memory yet, and its reads go first
(pace.py).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphzero import _engine
from graphzero.base.error_text import error_text
from graphzero.base.errors import FormatError
from graphzero.base.resources import available_memory
from graphzero.base.text import short_count_text, size_text
from graphzero.files.dataset import Dataset
from graphzero.files.paths import COLUMN_SUFFIX
from graphzero.files.warm import warm_file
from graphzero.server.datasets import hot_rows
from graphzero.server.datasets.merge_gaps import choose_merge_gaps
from graphzero.server.datasets.pace import Pace

log = logging.getLogger("graphzero.server")

# The rest of the available memory is left to batches and to everyone else on the machine.
_SHARE_OF_MEMORY = 0.75
# Share of the disk's time while requests wait for it. Reading row starts takes seconds, and every
# request needs fewer reads from then on.
_ROW_STARTS_SHARE = 0.5


@dataclass(frozen=True)
class _File:
    dataset: Dataset
    name: str
    opened: _engine.Topology | _engine.Matrix


class WarmStart:
    """One thread that reads datasets one after the other. begin() replaces what it was doing."""

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, datasets: Iterable[Dataset], row_cache: _engine.RowCache | None) -> None:
        self._stop.set()  # the thread before ends by itself; the event loop does not wait for it
        datasets = list(datasets)
        files = _files(datasets, self._mode)
        graphs = [d for d in datasets if d.graph.reading.row_starts and self._mode != "none"]
        row_cache = row_cache if self._mode == "all" else None
        if not graphs and not files and row_cache is None:
            return
        self._stop = threading.Event()
        thread = threading.Thread(
            target=_warm,
            args=(datasets, graphs, files, row_cache, self._stop),
            name="warm",
            daemon=True,
        )
        try:
            thread.start()
        except RuntimeError as error:
            log.warning("no warm start, files are read as they are asked for: %s", error)
            return
        self._threads = [*(t for t in self._threads if t.is_alive()), thread]

    def stop(self) -> None:
        """Tells the thread to end."""
        self._stop.set()

    def join(self, timeout_s: float) -> bool:
        """Waits for the thread, which ends after at most one step of reading, and for those that it
        replaced. True if all have ended."""
        until = time.monotonic() + timeout_s
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)


def _files(datasets: Sequence[Dataset], mode: str) -> list[_File]:
    """Graphs first: without them nothing is sampled; then columns, the small ones first."""
    if mode == "none":
        return []
    graphs = [
        _File(dataset, dataset.graph.path.name, dataset.graph.topology)
        for dataset in datasets
        if not dataset.graph.reading.from_disk  # such a graph keeps in memory what it needs
    ]
    columns = [
        _File(dataset, f"{key}{COLUMN_SUFFIX}", column.matrix)
        for dataset in (datasets if mode == "all" else ())
        for key, column in dataset.columns.items()
        if column.reader.path != _engine.ColumnPath.DIRECT  # it does not use the page cache
    ]
    return graphs + sorted(columns, key=lambda file: file.opened.file_bytes)


def _warm(
    datasets: Sequence[Dataset],
    graphs: Sequence[Dataset],
    files: Sequence[_File],
    row_cache: _engine.RowCache | None,
    stop: threading.Event,
) -> None:
    for dataset in graphs:
        _keep_row_starts(dataset, stop)
    if files and not stop.is_set():
        _read(datasets, files, stop)
    if not stop.is_set():
        _choose_merge_gaps(datasets, stop)
    if row_cache is not None and not stop.is_set():
        _fill(row_cache, datasets, stop)


def _choose_merge_gaps(datasets: Sequence[Dataset], stop: threading.Event) -> None:
    try:
        measured = choose_merge_gaps(datasets, stop.is_set)
    except OSError as error:
        log.error("warm start cannot measure the disk: %s", error_text(error))
        return
    for path, rates in measured:
        log.info(
            "the disk of %s gives %s small reads and %s a second: rows up to %s apart share a read",
            path,
            short_count_text(rates.reads_per_second),
            size_text(int(rates.bytes_per_second)),
            size_text(rates.merge_gap),
        )


def _keep_row_starts(dataset: Dataset, stop: threading.Event) -> None:
    started = time.monotonic()
    pace = Pace(stop)
    graph = dataset.graph
    if graph.disk is None:
        return
    before = graph.disk.stats().row_starts_bytes  # kept by the warm start before a reload
    try:
        for _ in graph.read_row_starts():
            pace.give_way(_ROW_STARTS_SHARE)
            if pace.stopped:
                return
    except (OSError, FormatError, MemoryError) as error:
        log.error(
            "warm start does not keep all row starts of %s: %s", graph.path, error_text(error)
        )
        return
    kept = graph.disk.stats().row_starts_bytes
    if kept > before:
        seconds = time.monotonic() - started
        size = size_text(kept)
        log.info("warm start keeps row starts of %s, %s, read in %.1f s", graph.path, size, seconds)


def _fill(row_cache: _engine.RowCache, datasets: Sequence[Dataset], stop: threading.Event) -> None:
    started = time.monotonic()
    try:
        rows = hot_rows.fill(row_cache, datasets, Pace(stop))
    except OSError as error:
        log.error("warm start cannot fill the row cache: %s", error)
        return
    if rows is not None:
        seconds = time.monotonic() - started
        log.info("warm start put %d rows into the row cache in %.1f s", rows, seconds)


def _read(datasets: Sequence[Dataset], files: Sequence[_File], stop: threading.Event) -> None:
    started = time.monotonic()
    room = int(available_memory() * _SHARE_OF_MEMORY)
    read: list[_File] = []
    for file in files:
        size = file.opened.file_bytes
        if size > room:
            log.info(
                "warm start leaves out %s/%s: %s, with %s of memory left for files",
                file.dataset.name,
                file.name,
                size_text(size),
                size_text(room),
            )
            continue
        room -= size
        try:
            if not warm_file(file.opened, stop.is_set):
                return
        except OSError as error:
            log.error("warm start cannot read %s/%s: %s", file.dataset.name, file.name, error)
            continue
        read.append(file)
    for dataset in datasets:
        if sum(file.dataset is dataset for file in read) == 1 + len(dataset.columns):
            dataset.residency.warmed()
    total = size_text(sum(file.opened.file_bytes for file in read))
    seconds = time.monotonic() - started
    log.info("warm start read %d files, %s, in %.1f s", len(read), total, seconds)
