"""What reading cost so far, column by column, for GetStats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphzero import _engine
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_io import path_text
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb


def column_stats(datasets: Iterable[Dataset]) -> list[pb.ColumnStats]:
    """Statistics of columns, and of graphs that do not fit into memory. Those that were read from
    come first."""
    return sorted(_column_stats(datasets), key=lambda column: column.gathers == 0)


def _column_stats(datasets: Iterable[Dataset]) -> Iterator[pb.ColumnStats]:
    for dataset in datasets:
        if dataset.graph.disk is not None:
            read = dataset.graph.disk.stats()
            yield pb.ColumnStats(
                dataset=dataset.name,
                column=dataset.graph.path.name,
                path=dataset.graph.reading.path,
                reason=dataset.graph.reading.reason,
                gathers=read.calls,
                rows=read.items,
                reads=read.reads,
                read_byte_size=read.read_bytes,
                read_us=read.read_nanoseconds // 1000,
                read_latency=read.latency,
                row_starts_byte_size=read.row_starts_bytes,
            )
        for name, column in dataset.columns.items():
            counted = column.reader.stats()
            _, hits, remote, received = column.sharded.counts() if column.sharded else [0] * 4
            yield pb.ColumnStats(
                dataset=dataset.name,
                column=name,
                path=path_text(column.reader.path),
                reason=column.reader.reason,
                gathers=counted.gathers,
                rows=counted.rows,
                mapped_rows=counted.mapped_rows,
                cache_hits=counted.cache_hits,
                row_byte_size=column.stored_row_bytes,
                reads=counted.reads,
                read_byte_size=counted.read_bytes,
                read_us=counted.read_nanoseconds // 1000,
                read_latency=counted.latency,
                merge_gap_byte_size=_merge_gap(column),
                remote_rows=hits + remote,
                remote_cache_hits=hits,
                remote_byte_size=received,
            )


def _merge_gap(column: ColumnFile) -> int:
    is_direct = column.reader.path == _engine.ColumnPath.DIRECT
    return column.reader.merge_gap if is_direct else 0


class RowCacheCounter:
    """Hits and misses of the row cache since the daemon began. Both only rise, because Prometheus
    takes a number that falls for the restart of a daemon. The numbers of columns, of which these
    are made, do fall: a reload opens other files, and while a gather is under way its hits are
    counted but its rows are not.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[int, int]] = {}
        self._hits = 0
        self._misses = 0

    def stats(
        self, cache: _engine.RowCache | None, columns: Iterable[pb.ColumnStats]
    ) -> pb.RowCacheStats | None:
        """`columns` are all columns."""
        if cache is None:
            return None
        seen = {}
        for column in columns:
            key = column.dataset, column.column
            hits, misses = _hits_and_misses(column)
            hits_before, misses_before = self._seen.get(key, (0, 0))
            fewer_misses = hits == hits_before and misses < misses_before
            if hits < hits_before or fewer_misses:  # its file was opened anew
                hits_before = misses_before = 0
            self._hits += hits - hits_before
            self._misses += max(0, misses - misses_before)
            seen[key] = hits, max(misses, misses_before)
        self._seen = seen
        usage = cache.usage()
        return pb.RowCacheStats(
            capacity_byte_size=usage.capacity_bytes,
            used_byte_size=usage.used_bytes,
            index_byte_size=usage.index_bytes,
            rows=usage.rows,
            hits=self._hits,
            misses=self._misses,
        )


def _hits_and_misses(column: pb.ColumnStats) -> tuple[int, int]:
    """Direct columns use the cache, and so do rows of other parts."""
    hits, misses = column.remote_cache_hits, column.remote_rows - column.remote_cache_hits
    if column.path == path_text(_engine.ColumnPath.DIRECT):
        hits += column.cache_hits
        misses += max(0, column.rows - column.cache_hits - column.mapped_rows)
    return hits, misses
