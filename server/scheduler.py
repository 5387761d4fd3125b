"""Divides the workers among sessions: each with work gets its turn, however much another one has
queued."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from queue import SimpleQueue

Job = Callable[[], None]


@dataclass
class _Lane:
    """The jobs of one session, oldest first."""

    jobs: deque[Job] = field(default_factory=deque)
    ready: bool = False  # stands in the round


class Scheduler:
    """Runs jobs on threads of its own. Jobs raise nothing and report back by themselves.

    A worker that has finished takes its next job without asking the event loop, which may be busy:
    between two jobs nobody waits for anybody. Thread-safe.
    """

    def __init__(self, workers: int) -> None:
        self._lock = threading.Lock()  # guards the two below
        self._lanes: dict[Hashable, _Lane] = {}
        self._round: deque[Hashable] = deque()
        # One True for each job that was submitted; a worker that gets it finds a job, unless one
        # was withdrawn. False: no more.
        self._calls: SimpleQueue[bool] = SimpleQueue()
        self._workers = [
            threading.Thread(target=self._work, name=f"graphzero-worker-{number}", daemon=True)
            for number in range(workers)
        ]
        for worker in self._workers:
            worker.start()

    def submit(self, session: Hashable, job: Job, *, first: bool = False) -> None:
        """Queues a job behind the session's others, or in front of them."""
        with self._lock:
            lane = self._lanes.setdefault(session, _Lane())
            if first:
                lane.jobs.appendleft(job)
            else:
                lane.jobs.append(job)
            if not lane.ready:
                lane.ready = True
                self._round.append(session)
        self._calls.put(True)

    def has_queued(self, session: Hashable) -> bool:
        """Whether jobs of the session wait for a worker."""
        lane = self._lanes.get(session)
        return lane is not None and bool(lane.jobs)

    def withdraw(self, session: Hashable, job: Job) -> None:
        """Drops one job, if it is still queued. One that runs goes on."""
        with self._lock:
            lane = self._lanes.get(session)
            if lane is not None:
                with contextlib.suppress(ValueError):
                    lane.jobs.remove(job)

    def forget(self, session: Hashable) -> None:
        """Drops what a session has queued. Jobs that run go on."""
        with self._lock:
            self._lanes.pop(session, None)

    def shutdown(self, timeout_s: float) -> bool:
        """Waits for the jobs that run; those that are queued never do. False: some still run."""
        with self._lock:
            self._lanes.clear()
        for _ in self._workers:
            self._calls.put(False)
        deadline = time.monotonic() + timeout_s
        for worker in self._workers:
            worker.join(max(0.0, deadline - time.monotonic()))
        return not any(worker.is_alive() for worker in self._workers)

    def _work(self) -> None:
        while self._calls.get():
            job = self._next()
            if job is not None:
                job()
            del job  # with its session and that one's data, which must not live until the next one

    def _next(self) -> Job | None:
        """The oldest job of the session whose turn it is."""
        with self._lock:
            while self._round:
                session = self._round.popleft()
                lane = self._lanes.get(session)
                if lane is None:
                    continue
                if not lane.jobs:  # all withdrawn
                    lane.ready = False
                    continue
                job = lane.jobs.popleft()
                if lane.jobs:
                    self._round.append(session)
                else:
                    lane.ready = False
                return job
        return None
