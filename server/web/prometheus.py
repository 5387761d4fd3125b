"""The statistics as Prometheus reads them.

Names end with the unit, those of counters with `_total`. Labels are bounded by what the daemon
serves: kinds, codes, stages, datasets, and as many columns and files as the statistics list. Names
of trainers are no labels, because new ones keep coming; GetStats has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from graphzero.proto import graphzero_pb2 as pb
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

# Bounds of the buckets: every second one of a histogram's 32 entries, from 16 us to 67 s.
_POWERS = range(4, 27, 2)
_AGES = ("1s", "10s", "1m", "10m", "older")


def render(stats: pb.GetStatsResponse, accept: str) -> tuple[bytes, str]:
    """The text in a format that the scraper accepts, and its content type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(stats))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Snapshot(Collector):
    def __init__(self, stats: pb.GetStatsResponse) -> None:
        self._stats = stats

    def describe(self) -> Iterable[Metric]:
        return ()  # no check for duplicate names: the registry lives for one answer

    def collect(self) -> Iterator[Metric]:
        stats = self._stats
        yield from _process(stats)
        yield from _requests(stats)
        yield from _memory(stats)
        yield from _columns(stats)
        yield from _files(stats)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"graphzero_{name}", text, value=value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(f"graphzero_{name}", text, value=value)


def _labelled(
    family: Any, name: str, text: str, labels: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> Metric:
    """Each row has the values of the labels, then the number."""
    metric = family(f"graphzero_{name}", text, labels=labels)
    for *values, number in rows:
        metric.add_metric(values, number)
    assert isinstance(metric, Metric)
    return metric


def _process(stats: pb.GetStatsResponse) -> Iterator[Metric]:
    yield _labelled(
        GaugeMetricFamily,
        "build_info",
        "Version of the daemon and what it reads files with.",
        ["version", "io_engine"],
        [(stats.version, stats.io_engine, 1)],
    )
    start = stats.start_unix_ms / 1000
    yield _gauge("start_time_seconds", "When the daemon began, since 1970.", start)
    yield _gauge("draining", "1 after it was told to stop.", stats.draining)
    yield _gauge("threads", "Threads for sampling and gathering.", stats.threads)
    yield _gauge("sessions", "Trainers that are connected.", stats.num_sessions)
    yield _gauge("sessions_limit", "Trainers that may be.", stats.max_sessions)
    yield _counter("sessions_opened", "Sessions that have begun.", stats.sessions_opened)
    waited = stats.waited_us / 1e6
    yield _counter("trainer_wait_seconds", "Time that trainers waited for data.", waited)


def _requests(stats: pb.GetStatsResponse) -> Iterator[Metric]:
    yield _counter("requests_begun", "Requests that have come.", stats.requests)
    yield _labelled(
        CounterMetricFamily,
        "requests",
        "Requests that have ended.",
        ["kind", "code"],
        [(found.kind, found.code, found.count) for found in stats.ended_requests],
    )
    places = stats.open_requests
    yield _gauge("requests_running", "Requests at a worker.", places.running)
    yield _labelled(
        GaugeMetricFamily,
        "requests_waiting",
        "Requests that wait; those that wait for the disk or a peer are running too.",
        ["waiting_for"],
        [
            ("worker", places.waiting_for_worker),
            ("shared_memory", places.waiting_for_shared_memory),
            ("working_memory", places.waiting_for_working_memory),
            ("disk", places.waiting_for_disk),
            ("peer", places.waiting_for_peer),
        ],
    )
    total = HistogramMetricFamily(
        "graphzero_request_seconds",
        "From the last id of a request to its answer.",
        labels=["kind"],
    )
    stages = HistogramMetricFamily(
        "graphzero_request_stage_seconds",
        "What requests with a result spent their time on.",
        labels=["kind", "stage"],
    )
    for found in stats.stages:
        buckets, seconds = _buckets(found.latency), found.sum_us / 1e6
        if found.stage == "total":
            total.add_metric([found.kind], buckets, seconds)
        else:
            stages.add_metric([found.kind, found.stage], buckets, seconds)
    yield total
    yield stages
    yield _counter("result_bytes", "Bytes of all results.", stats.result_byte_size)
    yield _counter("sampled_nodes", "Nodes of all samples.", stats.sampled_nodes)
    yield _counter("sampled_edges", "Edges of all samples.", stats.sampled_edges)


def _buckets(entries: Sequence[int]) -> list[tuple[str, float]]:
    """Makes Prometheus' buckets, which are cumulative. Entry i counts what took less than 2^i
    microseconds, and is in no entry before it."""
    found: list[tuple[str, float]] = []
    below, at = 0, 0
    for power in _POWERS:
        if power >= len(entries) - 1:  # the last entry has no bound
            break
        below += sum(entries[at : power + 1])
        at = power + 1
        found.append((repr(2**power / 1e6), below))
    return [*found, ("+Inf", sum(entries))]


def _memory(stats: pb.GetStatsResponse) -> Iterator[Metric]:
    shared, working = stats.shared_memory, stats.working_memory
    gauges = (
        ("shared_memory_limit_bytes", "--shm-limit.", stats.shm_limit_byte_size),
        ("shared_memory_used_bytes", "Memory behind all regions.", stats.shm_used_byte_size),
        (
            "shared_memory_guaranteed_bytes",
            "What sessions are promised, and what counts as that for a while.",
            shared.guaranteed_byte_size,
        ),
        ("working_memory_limit_bytes", "--work-memory.", working.limit_byte_size),
        ("working_memory_used_bytes", "Taken, reserved or idle.", working.used_byte_size),
        ("working_memory_idle_bytes", "Kept for the next request.", working.idle_byte_size),
        ("request_ids_limit_bytes", "For ids that wait.", working.ids_limit_byte_size),
        ("request_ids_used_bytes", "Ids of open requests.", working.ids_used_byte_size),
    )
    for name, text, value in gauges:
        yield _gauge(name, text, value)
    yield _labelled(
        GaugeMetricFamily,
        "shared_memory_held_bytes",
        "Bytes in blocks that trainers hold, younger than age and in no smaller one.",
        ["age"],
        zip(_AGES, shared.held_byte_size_by_age, strict=False),
    )
    text = "Attempts to place a result that found no room."
    yield _counter("shared_memory_failed_attempts", text, shared.failed_attempts)
    text = "Free memory that was taken back because another session needed it."
    yield _counter("shared_memory_reclaimed_bytes", text, shared.reclaimed_byte_size)
    if stats.HasField("row_cache"):
        yield from _row_cache(stats.row_cache)


def _row_cache(cache: pb.RowCacheStats) -> Iterator[Metric]:
    yield _gauge("row_cache_capacity_bytes", "--row-cache.", cache.capacity_byte_size)
    yield _gauge("row_cache_used_bytes", "Bytes of rows.", cache.used_byte_size)
    yield _gauge("row_cache_index_bytes", "Beside the rows.", cache.index_byte_size)
    yield _gauge("row_cache_rows", "Rows that are kept.", cache.rows)
    yield _counter("row_cache_hits", "Rows that were found there.", cache.hits)
    yield _counter("row_cache_misses", "Rows that had to be read.", cache.misses)


def _columns(stats: pb.GetStatsResponse) -> Iterator[Metric]:
    counters = (
        ("column_gathers", "Calls that gathered rows.", "gathers"),
        ("column_rows", "Rows that were gathered.", "rows"),
        ("column_mapped_rows", "Rows that were copied from the mapping.", "mapped_rows"),
        ("column_cache_hits", "Rows that were found in the row cache.", "cache_hits"),
        ("column_remote_rows", "Rows of other parts that were wanted.", "remote_rows"),
        (
            "column_remote_cache_hits",
            "Rows of other parts that were found in the row cache.",
            "remote_cache_hits",
        ),
        (
            "column_remote_bytes",
            "Bytes of rows that came from the daemons of other parts.",
            "remote_byte_size",
        ),
        ("disk_reads", "Reads of the file.", "reads"),
        ("disk_read_bytes", "Bytes that were read.", "read_byte_size"),
    )
    labels = ["dataset", "column"]
    for name, text, field in counters:
        rows = ((c.dataset, c.column, getattr(c, field)) for c in stats.columns)
        yield _labelled(CounterMetricFamily, name, text, labels, rows)
    starts = ((c.dataset, c.row_starts_byte_size) for c in stats.columns if c.row_starts_byte_size)
    text = "Memory that holds where the rows of a graph begin."
    yield _labelled(GaugeMetricFamily, "row_starts_bytes", text, ["dataset"], starts)
    latency = HistogramMetricFamily(
        "graphzero_disk_read_seconds", "From submission to completion of a read.", labels=labels
    )
    for column in stats.columns:
        if column.reads:
            where = [column.dataset, column.column]
            latency.add_metric(where, _buckets(column.read_latency), column.read_us / 1e6)
    yield latency


def _files(stats: pb.GetStatsResponse) -> Iterator[Metric]:
    labels = ["dataset", "file"]
    sizes = ((f.dataset, f.file, f.byte_size) for f in stats.files)
    yield _labelled(GaugeMetricFamily, "file_bytes", "Size of a file.", labels, sizes)
    resident = (
        (f.dataset, f.file, f.resident_byte_size) for f in stats.files if f.resident_percent
    )
    text = "Of a file, what lies in the page cache; absent if that is not known."
    yield _labelled(GaugeMetricFamily, "file_resident_bytes", text, labels, resident)
