"""Makes the statistics of everything that is counted: a GetStatsResponse.

This is the one place where numbers leave the daemon. The rpc sends the message as it is; the HTTP
side port makes Prometheus' text and JSON of it (server/web/), and `graphzero top` shows it. So
their numbers can differ only because they asked at different times.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from graphzero import _engine
from graphzero.base.version import __version__
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.datasets.catalog import Catalog
from graphzero.server.datasets.io_stats import RowCacheCounter, column_stats
from graphzero.server.datasets.read_plan import ReadPlan
from graphzero.server.metrics.page_cache import PageCache
from graphzero.server.metrics.requests import STAGES
from graphzero.server.sessions.resources import Shared

# At most this many sessions, columns and files are listed. `ping` asks for the statistics too, so
# they must fit into a message however long the names are.
MAX_LISTED = 1000
# Number of age classes of shared memory that is held (native/shm/session_memory.h).
_AGES = 5


class Session(Protocol):
    """What the statistics need of a session."""

    @property
    def waiting_for_memory(self) -> int:
        """Requests that wait for memory for their results."""

    @property
    def waiting_for_peer(self) -> int:
        """Requests that wait for rows from the daemon of another part."""

    def stats(self) -> pb.SessionStats: ...

    def held_by_age(self) -> Sequence[int]:
        """Bytes of shared memory that it holds, by age."""


@dataclass(frozen=True)
class Sources:
    """Where the numbers come from."""

    instance_id: str
    catalog: Catalog
    plan: ReadPlan
    shared: Shared
    budget: _engine.MemoryBudget


@dataclass
class Statistics:
    """Belongs to the event loop's thread."""

    sources: Sources
    _started: float = field(default_factory=time.monotonic, init=False)
    _started_unix: float = field(default_factory=time.time, init=False)
    _page_cache: PageCache = field(default_factory=lambda: PageCache(MAX_LISTED), init=False)
    _row_cache: RowCacheCounter = field(default_factory=RowCacheCounter, init=False)

    def take(self, sessions: Collection[Session], *, draining: bool) -> pb.GetStatsResponse:
        """The numbers of this moment."""
        sources, metrics = self.sources, self.sources.shared.metrics
        limits, budget = sources.shared.limits, sources.budget
        datasets = sources.catalog.all()
        listed = [session.stats() for session in islice(sessions, MAX_LISTED)]
        columns = column_stats(datasets)
        return pb.GetStatsResponse(
            version=__version__,
            pid=os.getpid(),
            instance_id=sources.instance_id,
            uptime_ms=int(1000 * (time.monotonic() - self._started)),
            start_unix_ms=int(1000 * self._started_unix),
            draining=draining,
            threads=limits.threads,
            max_sessions=min(limits.max_sessions, 2**32 - 1),
            shm_limit_byte_size=limits.shm_limit,
            shm_used_byte_size=budget.used,
            sessions=listed,
            num_sessions=len(sessions),
            sessions_opened=metrics.sessions_opened,
            requests=metrics.begun,
            failed_requests=metrics.failed,
            result_byte_size=metrics.result_bytes,
            sampled_nodes=metrics.nodes,
            sampled_edges=metrics.edges,
            waited_us=metrics.waited_us,
            ended_requests=[
                pb.RequestCount(kind=kind, code=code, count=count)
                for (kind, code), count in metrics.ended.items()
            ],
            open_requests=self._open_requests(sessions),
            stages=[
                pb.StageStats(
                    kind=kind,
                    stage=stage,
                    count=counted.count,
                    sum_us=int(1_000_000 * counted.seconds),
                    latency=counted.entries,
                )
                for kind, times in metrics.times.items()
                for stage, counted in ((name, getattr(times, name)) for name in STAGES)
                if counted.count
            ],
            io_engine=_engine.io_engine().name,
            row_cache=self._row_cache.stats(sources.plan.row_cache, columns),
            columns=columns[:MAX_LISTED],
            files=self._page_cache.files(datasets),
            shared_memory=_shared_memory(budget, sessions),
            working_memory=self._working_memory(),
            failures=metrics.failures,
            slow_requests=metrics.slow,
        )

    def close(self, timeout_s: float) -> bool:
        """Waits for its thread; True if none runs any more."""
        return self._page_cache.join(timeout_s)

    def _open_requests(self, sessions: Collection[Session]) -> pb.OpenRequests:
        shared = self.sources.shared
        return pb.OpenRequests(
            running=shared.scheduler.running,
            waiting_for_worker=shared.scheduler.queued,
            waiting_for_shared_memory=sum(session.waiting_for_memory for session in sessions),
            waiting_for_working_memory=len(shared.line),
            waiting_for_disk=_engine.calls_at_disk(),
            waiting_for_peer=sum(session.waiting_for_peer for session in sessions),
        )

    def _working_memory(self) -> pb.WorkingMemoryStats:
        work, ids = _engine.work_memory(), self.sources.shared.ids
        return pb.WorkingMemoryStats(
            limit_byte_size=work.limit,
            used_byte_size=work.used,
            idle_byte_size=work.idle,
            ids_limit_byte_size=ids.limit,
            ids_used_byte_size=ids.used,
        )


def _shared_memory(
    budget: _engine.MemoryBudget, sessions: Collection[Session]
) -> pb.SharedMemoryStats:
    counters = budget.counters()
    held = [0] * _AGES
    for session in sessions:
        for age, size in enumerate(session.held_by_age()):
            held[age] += size
    return pb.SharedMemoryStats(
        failed_attempts=counters.failed_attempts,
        regions_made=counters.regions_made,
        regions_dropped=counters.regions_dropped,
        reclaims=counters.reclaims,
        reclaimed_byte_size=counters.reclaimed_bytes,
        guaranteed_byte_size=budget.promised,
        held_byte_size_by_age=held,
    )
