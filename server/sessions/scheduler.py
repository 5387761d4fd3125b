"""Divides the workers among sessions: each session with jobs gets its turn, however many jobs
another one has queued, and however long they take.

`workers` jobs run at a time. Beyond that every session may have one job running: otherwise requests
that take minutes would occupy all workers while other sessions wait. The engine decides how much of
the processor each session gets (native/base/threads.h).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

log = logging.getLogger("graphzero.server")

Job = Callable[[], None]

# A worker beyond the usual number ends when it had no job for this long.
_IDLE_S = 10.0


@dataclass
class _Lane:
    """The jobs of one session, oldest first."""

    jobs: deque[Job] = field(default_factory=deque)
    running: int = 0
    ready: bool = False  # whether the session is in Scheduler._round


class Scheduler:
    """Runs jobs on threads of its own. Jobs raise nothing and report back by themselves.

    A worker that has finished a job takes the next one without asking the event loop, which may be
    busy, so no worker waits between two jobs. Thread-safe.
    """

    def __init__(self, workers: int, most: int | None = None) -> None:
        """Starts `workers` threads, and up to `most` while sessions with no running job wait."""
        self._usual = workers
        self._most = max(workers, most or workers)
        self._lock = threading.Lock()  # guards all below
        self._lanes: dict[Hashable, _Lane] = {}
        self._round: deque[Hashable] = deque()
        self._running = 0
        self._queued = 0
        self._idle = 0
        self._stopped = False
        self._workers: set[threading.Thread] = set()
        # A True wakes one idle worker, which finds a job unless that was withdrawn. A False ends
        # one worker.
        self._calls: SimpleQueue[bool] = SimpleQueue()
        for _ in range(workers):
            self._start_worker()

    def set_most(self, most: int) -> None:
        """Changes the most threads there may be. Surplus threads end when they have no job."""
        self._most = max(self._usual, most)

    def submit(self, session: Hashable, job: Job, *, first: bool = False) -> None:
        """Queues a job behind the session's others, or in front of them."""
        with self._lock:
            lane = self._lanes.setdefault(session, _Lane())
            if first:
                lane.jobs.appendleft(job)
            else:
                lane.jobs.append(job)
            self._queued += 1
            if not lane.ready:
                lane.ready = True
                self._round.append(session)
            if self._may_run(lane):  # else a worker that finishes its job will find this one
                self._call_worker()

    def has_queued(self, session: Hashable) -> bool:
        """Whether jobs of the session wait for a worker."""
        lane = self._lanes.get(session)
        return lane is not None and bool(lane.jobs)

    @property
    def running(self) -> int:
        """Jobs at a worker."""
        return self._running

    @property
    def queued(self) -> int:
        """Jobs that wait for a worker."""
        return self._queued

    def withdraw(self, session: Hashable, job: Job) -> bool:
        """Drops one job, if it is still queued, and says whether it was. One that runs goes on."""
        with self._lock:
            lane = self._lanes.get(session)
            if lane is None or job not in lane.jobs:
                return False
            lane.jobs.remove(job)
            self._queued -= 1
            return True

    def forget(self, session: Hashable) -> None:
        """Drops what a session has queued. Jobs that run go on."""
        with self._lock:
            lane = self._lanes.get(session)
            if lane is not None:
                self._queued -= len(lane.jobs)
                lane.jobs.clear()
                self._drop_if_empty(session, lane)

    def shutdown(self, timeout_s: float) -> bool:
        """Drops queued jobs and waits for running ones. False if some run after the timeout."""
        with self._lock:
            self._stopped = True
            for lane in self._lanes.values():
                lane.jobs.clear()
            self._queued = 0
            workers = list(self._workers)
        for _ in workers:
            self._calls.put(False)
        deadline = time.monotonic() + timeout_s
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))
        return not any(worker.is_alive() for worker in workers)

    def _call_worker(self) -> None:
        """Wakes an idle worker, or starts one. Needs the lock."""
        if self._idle:
            self._idle -= 1
            self._calls.put(True)
        elif len(self._workers) < self._most:
            with contextlib.suppress(RuntimeError):  # no new thread: a busy worker takes the job
                self._start_worker()

    def _start_worker(self) -> None:
        worker = threading.Thread(target=self._work, name="graphzero-worker", daemon=True)
        worker.start()
        self._workers.add(worker)

    def _work(self) -> None:
        while True:
            found = self._next()
            if found is not None:
                session, job = found
                try:
                    job()
                except BaseException:
                    log.exception("a job of the daemon failed")
                del job, found  # they would keep the session and its dataset alive
                self._ended(session)
            elif not self._wait():
                return

    def _wait(self) -> bool:
        """Waits until there may be a job. False if this worker is not needed any more."""
        with self._lock:
            if self._stopped:
                return False
            if self._one_may_run():
                return True  # a job came after this worker looked, when no worker was idle to wake
            self._idle += 1
            patience = _IDLE_S if len(self._workers) > self._usual else None
        while True:
            with contextlib.suppress(Empty):
                return self._calls.get(timeout=patience)
            with self._lock:
                # If none counts as idle, this worker was called, and the call is on its way to it.
                if self._idle and len(self._workers) > self._usual:
                    self._idle -= 1
                    self._workers.discard(threading.current_thread())
                    return False

    def _one_may_run(self) -> bool:
        return any(self._may_run(self._lanes[session]) for session in self._round)

    def _may_run(self, lane: _Lane) -> bool:
        return self._running < self._usual or lane.running == 0

    def _next(self) -> tuple[Hashable, Job] | None:
        """The oldest job of the session whose turn it is."""
        with self._lock:
            for _ in range(len(self._round)):
                session = self._round.popleft()
                lane = self._lanes[session]
                if lane.jobs and not self._may_run(lane):
                    self._round.append(session)
                    continue
                lane.ready = len(lane.jobs) > 1
                if lane.ready:
                    self._round.append(session)
                if lane.jobs:
                    job = lane.jobs.popleft()
                    self._queued -= 1
                    lane.running += 1
                    self._running += 1
                    # The job that this worker has finished may have been the only one of another
                    # session, which may run the next one now. Nobody else looks for it: all other
                    # workers may be waiting for a peer that waits for just that job.
                    if self._one_may_run():
                        self._call_worker()
                    return session, job
                self._drop_if_empty(session, lane)  # all were withdrawn
        return None

    def _ended(self, session: Hashable) -> None:
        with self._lock:
            lane = self._lanes[session]
            lane.running -= 1
            self._running -= 1
            self._drop_if_empty(session, lane)

    def _drop_if_empty(self, session: Hashable, lane: _Lane) -> None:
        if not lane.jobs and not lane.running and not lane.ready:
            self._lanes.pop(session, None)
