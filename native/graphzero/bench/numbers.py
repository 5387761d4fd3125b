"""What was measured: rates of several rounds, and all of it together, ready for JSON."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import Any

from graphzero.diagnosis.row_probe import RowRates


@dataclass(frozen=True)
class Rounds:
    """One rate for each round. Rounds of what is compared alternate, so that a machine that is
    slower for a minute is slower for all."""

    rates: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.rates)

    @property
    def text(self) -> str:
        return f"{self.median:.1f} ({min(self.rates):.1f} to {max(self.rates):.1f})"


@dataclass(frozen=True)
class MemoryRates:
    """Bytes a second."""

    copy: float
    """A plain copy of a large array, by one thread."""
    gather_one: float
    """Random rows that lie in memory, by one thread; 0 if there is no column of nodes."""
    gather_all: float
    """The same, by one thread on each processor."""
    column: str


@dataclass(frozen=True)
class Latency:
    """Of a request for one seed and its neighbours, in milliseconds."""

    median_ms: float
    p99_ms: float
    grpc_ms: float
    """A call that the daemon answers at once: what gRPC alone takes."""


@dataclass(frozen=True)
class Served:
    """One trainer's worth of numbers about the daemon, while the trainers of a round ran."""

    trainers: int
    batches: Rounds
    """A second, of all trainers."""
    sampling_ms: float
    """Of a worker, for a batch."""
    gathering_ms: float
    memory_wait_ms: float
    """For shared or working memory."""
    daemon_cpu_ms: float
    """Processor time of the daemon for a batch."""
    trainer_cpu_ms: float
    waiting: float
    """Share of their time in which trainers waited for a batch."""
    busy: float
    """Share of all processors' time that daemon and trainers used."""
    others: float
    """Share that other processes of the machine used meanwhile."""
    rows_read: float
    """From the disk, for a batch."""


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
    """Batches a second without their rows, by number of threads."""
    embedded: Rounds
    """Whole batches a second without a daemon, one made on each processor at a time."""
    served: tuple[Served, ...]
    """With one trainer, and with two."""
    request: Latency
    warm: bool
    """Whether the daemon had read into memory what fits, before it was measured."""

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
