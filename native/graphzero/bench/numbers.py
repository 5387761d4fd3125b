"""The results: rates of several rounds, and all numbers together, ready for JSON."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import Any

from graphzero.diagnosis.row_probe import RowRates


@dataclass(frozen=True)
class Rounds:
    """One rate for each round. Measurements that are compared take turns, so that a machine that is
    slower for a minute slows down all of them."""

    rates: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.rates)

    @property
    def text(self) -> str:
        return f"{self.median:.1f} ({min(self.rates):.1f} to {max(self.rates):.1f})"


@dataclass(frozen=True)
class MemoryRates:
    """Rates in bytes per second."""

    copy: float
    """A plain copy of a large array, by one thread."""
    gather_one: float
    """Random rows that lie in memory, by one thread; 0 if there is no column of nodes."""
    gather_all: float
    """The same, by one thread on each processor."""
    column: str


@dataclass(frozen=True)
class Latency:
    """Latency of a request for one seed and its neighbours, in milliseconds."""

    median_ms: float
    p99_ms: float
    grpc_ms: float
    """Latency of gRPC alone: of a call that the daemon answers at once."""


@dataclass(frozen=True)
class Served:
    """Numbers of the daemon and its trainers while `trainers` trainers took batches."""

    trainers: int
    batches: Rounds
    """Batches per second of all trainers together."""
    sampling_ms: float
    """Time of a worker per batch."""
    gathering_ms: float
    memory_wait_ms: float
    """Time per batch of waiting for shared or working memory."""
    daemon_cpu_ms: float
    """Processor time of the daemon per batch."""
    trainer_cpu_ms: float
    waiting: float
    """Share of their time in which trainers waited for a batch."""
    busy: float
    """Share of all processors' time that daemon and trainers used."""
    others: float
    """Share of all processors' time that other processes of the machine used."""
    rows_read: float
    """Reads from the disk per batch."""


@dataclass(frozen=True)
class BenchNumbers:
    processors: int
    dataset: str
    byte_size: int
    fits: bool
    workload: str
    batch_bytes: float
    batch_nodes: float
    batch_edges: float
    disk: RowRates | None
    memory: MemoryRates
    sampling: dict[int, Rounds]
    """Batches per second without their rows, by number of threads."""
    embedded: Rounds
    """Whole batches per second without a daemon, with one batch at a time on each processor."""
    served: tuple[Served, ...]
    """With one trainer and with two trainers."""
    request: Latency
    warm: bool
    """Whether the daemon had finished its warm start before it was measured."""

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
