"""Divides the workers among sessions: each with work gets its turn, however much another one has
queued."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field


@dataclass
class _Lane:
    """The jobs of one session, oldest first."""

    jobs: deque[Callable[[], None]] = field(default_factory=deque)
    ready: bool = False  # stands in the round


class Scheduler:
    """Runs jobs on a pool of threads. Its methods belong to the event loop's thread; jobs run on
    workers, raise nothing, and report back by themselves."""

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="graphzero-worker")
        self._idle = workers
        self._lanes: dict[Hashable, _Lane] = {}
        self._round: deque[Hashable] = deque()

    def submit(self, session: Hashable, job: Callable[[], None], *, first: bool = False) -> None:
        """Queues a job behind the session's others, or in front of them."""
        lane = self._lanes.setdefault(session, _Lane())
        if first:
            lane.jobs.appendleft(job)
        else:
            lane.jobs.append(job)
        if not lane.ready:
            lane.ready = True
            self._round.append(session)
        self._dispatch()

    def withdraw(self, session: Hashable, job: Callable[[], None]) -> None:
        """Drops one job, if it is still queued. One that runs goes on."""
        lane = self._lanes.get(session)
        if lane is not None:
            with contextlib.suppress(ValueError):
                lane.jobs.remove(job)

    def forget(self, session: Hashable) -> None:
        """Drops what a session has queued. Jobs that run go on."""
        self._lanes.pop(session, None)

    def shutdown(self) -> None:
        """Waits for the jobs that run."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _dispatch(self) -> None:
        while self._idle and self._round:
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
            self._idle -= 1
            loop = asyncio.get_running_loop()
            self._pool.submit(self._run, job, loop)

    def _run(self, job: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
        try:
            job()
        finally:
            loop.call_soon_threadsafe(self._finished)

    def _finished(self) -> None:
        self._idle += 1
        self._dispatch()
