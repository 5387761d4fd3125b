"""What requests did: counts, times by stage, and the latest that failed or were slow.

Workers measure how long they drew and filled, and hand that over with the result; everything is
counted on the event loop's thread. So nothing here takes a lock, except for the times of a request,
which may end while a worker still measures them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from graphzero.base.text import line_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.metrics.durations import DurationCounts

STAGES = ("queue", "memory", "sampling", "gathering", "delivery", "total")
OK = "OK"
CANCELLED = "CANCELLED"
# A request that takes this long is slow, unless --slow-request says otherwise.
SLOW_S = 1.0
_EVENTS = 32
_MOST_MESSAGE = 300


class StageTimes:
    """Seconds that one request spent in each stage. Stages may come again: then they add up.

    The event loop notes when the request begins to wait, the worker when the wait is over and what
    it does then; they take turns. Only so_far() may be called at any moment.
    """

    __slots__ = ("_lock", "_since", "_stage", "gathering", "memory", "queue", "sampling")

    def __init__(self) -> None:
        self.queue = self.memory = self.sampling = self.gathering = 0.0
        self._stage = ""  # the one that is under way
        self._since = 0.0
        self._lock = threading.Lock()

    def wait(self, *, for_memory: bool) -> None:
        """From now on the request waits for memory, or for a worker."""
        self._enter("memory" if for_memory else "queue")

    def stop_waiting(self) -> None:
        self._enter("")

    @contextmanager
    def work(self, *, sampling: bool) -> Iterator[None]:
        """A context in which a worker samples, or gathers."""
        self._enter("sampling" if sampling else "gathering")
        try:
            yield
        finally:
            self._enter("")

    def so_far(self) -> StageTimes:
        """A copy, in which the stage under way is counted up to this moment."""
        copied = StageTimes()
        with self._lock:
            copied.queue, copied.memory = self.queue, self.memory
            copied.sampling, copied.gathering = self.sampling, self.gathering
            copied._stage, copied._since = self._stage, self._since
        copied.stop_waiting()
        return copied

    def _enter(self, stage: str) -> None:
        now = time.monotonic()
        with self._lock:
            if self._stage:
                spent = getattr(self, self._stage) + now - self._since
                setattr(self, self._stage, spent)
            self._stage, self._since = stage, now


@dataclass(frozen=True)
class EndedRequest:
    """A request that was answered, or whose session ended before that."""

    session_id: int
    client_name: str
    dataset: str
    kind: str
    code: str
    """gRPC's name of the code; OK for a result."""
    seconds: float | None
    """From its last id to its answer; None if it was refused before all of its ids had come."""
    stages: StageTimes
    message: str = ""
    result_bytes: int = 0


class Result(Protocol):
    """What a request has computed (compute/base.py)."""

    layout: Any
    num_nodes: int
    num_edges: int


class KindTimes:
    """How long the requests of one kind that had a result took, stage by stage."""

    __slots__ = STAGES

    def __init__(self) -> None:
        self.queue, self.memory, self.sampling = _durations(3)
        self.gathering, self.delivery, self.total = _durations(3)


def _durations(count: int) -> list[DurationCounts]:
    return [DurationCounts() for _ in range(count)]


@dataclass
class SessionCounts:
    """Counts of one session."""

    requests: int = 0
    failed: int = 0
    result_bytes: int = 0
    waited_us: int = 0
    """Microseconds that the trainer waited for data, as it says itself."""


class RequestMetrics:
    """Counts of all sessions since the start. Belongs to the event loop's thread."""

    def __init__(self, slow_s: float = SLOW_S) -> None:
        self.slow_s = slow_s
        """A request that took this long is listed among the slow ones."""
        self.begun = 0
        self.failed = 0
        self.result_bytes = 0
        self.nodes = 0
        self.edges = 0
        self.waited_us = 0
        self.sessions_opened = 0
        self.ended: dict[tuple[str, str], int] = {}
        """Number of ended requests, by kind and code."""
        self.times: dict[str, KindTimes] = {}
        """Durations, by kind."""
        self.failures: deque[pb.RequestEvent] = deque(maxlen=_EVENTS)
        self.slow: deque[pb.RequestEvent] = deque(maxlen=_EVENTS)

    def begin(self, session: SessionCounts) -> None:
        self.begun += 1
        session.requests += 1

    def succeed(
        self, kind: str, stages: StageTimes, seconds: float, result: Result, session: SessionCounts
    ) -> KindTimes:
        """Counts a request that has a result. Runs for every batch, so it creates no objects.
        Returns the durations to which its delivery is to be added."""
        self._count_end(kind, OK)
        size = result.layout.byte_size
        session.result_bytes += size
        self.result_bytes += size
        self.nodes += result.num_nodes
        self.edges += result.num_edges
        times = self.times.get(kind)
        if times is None:
            times = self.times[kind] = KindTimes()
        times.queue.add(stages.queue)
        times.memory.add(stages.memory)
        times.sampling.add(stages.sampling)
        times.gathering.add(stages.gathering)
        times.total.add(seconds)
        return times

    def fail(self, request: EndedRequest, session: SessionCounts) -> None:
        """Counts a request that ended without a result. One that its trainer cancelled, a batch
        fetched ahead for instance, is no failure."""
        self._count_end(request.kind, request.code)
        if request.code != CANCELLED:
            self.failed += 1
            session.failed += 1
            self.failures.appendleft(_event(request))
            self.note_if_slow(request)

    def note_if_slow(self, request: EndedRequest) -> None:
        if request.seconds is not None and request.seconds >= self.slow_s:
            self.slow.appendleft(_event(request))

    def _count_end(self, kind: str, code: str) -> None:
        key = kind, code
        self.ended[key] = self.ended.get(key, 0) + 1

    def waited(self, microseconds: int, session: SessionCounts, age_s: float) -> None:
        """Adds the time that a trainer says it has waited since it last said so. The sum is at most
        the age of its session."""
        most = max(0, int(age_s * 1_000_000) - session.waited_us)
        microseconds = min(microseconds, most)
        session.waited_us += microseconds
        self.waited_us += microseconds


def _event(request: EndedRequest) -> pb.RequestEvent:
    stages = request.stages
    return pb.RequestEvent(
        ended_unix_ms=int(time.time() * 1000),
        session_id=request.session_id,
        client_name=request.client_name,
        dataset=request.dataset,
        kind=request.kind,
        code=request.code,
        message=line_text(request.message, _MOST_MESSAGE),
        total_us=_microseconds(request.seconds or 0.0),
        queue_us=_microseconds(stages.queue),
        memory_us=_microseconds(stages.memory),
        sampling_us=_microseconds(stages.sampling),
        gathering_us=_microseconds(stages.gathering),
        result_byte_size=request.result_bytes,
    )


def _microseconds(seconds: float) -> int:
    return int(seconds * 1_000_000)
