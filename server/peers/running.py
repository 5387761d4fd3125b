"""Requests that wait for other daemons: what they wait for, and how they are stopped meanwhile.

A worker that waits for a peer does so in gRPC, which knows nothing of the request's deadline or of
its client. So one thread checks every few hundredths of a second, only while a worker waits,
whether a request has ended, and cancels the request's calls to peers. The worker holds none of the
engine's threads while it waits, because it is in no call of the engine.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphzero import _engine

_LOOK_EVERY_S = 0.03


class RunningCall:
    """A request at a worker."""

    def __init__(self, call: _engine.Call) -> None:
        self.call = call
        self.waiting_for = ""
        """For people: the peer whose answer it waits for, and why that does not come; "" if it
        waits for none."""
        self.began_at = math.inf
        """When a worker took it up the first time, by time.monotonic()."""
        self.delayed_by = ""
        """The peer that other requests of its session waited for while it waited for a worker."""


_current = threading.local()


@contextmanager
def entered(running: RunningCall) -> Iterator[None]:
    """A context in which this thread works for that request."""
    _current.running = running
    try:
        yield
    finally:
        _current.running = None


def current() -> RunningCall | None:
    """The request that this thread works for."""
    return getattr(_current, "running", None)


class CallsAtWorkers:
    """The requests of a session that workers run now, and which peers these wait for. Filled by
    workers, and read by the event loop."""

    def __init__(self) -> None:
        self._calls: set[RunningCall] = set()
        self._given_up = ("", -math.inf)  # a peer that was waited for in vain, and until when

    @contextmanager
    def having(self, running: RunningCall, arrived_at: float) -> Iterator[None]:
        """A context in which a worker runs that request."""
        if running.began_at == math.inf:  # it waited for memory, and not for a worker, since
            running.began_at = time.monotonic()
            running.delayed_by = self._peer_waited_for(since=arrived_at)
        self._calls.add(running)
        try:
            yield
        finally:
            if running.waiting_for:
                self._given_up = (running.waiting_for, time.monotonic())
            self._calls.discard(running)

    @property
    def waiting_for_peer(self) -> int:
        """Number of requests that wait for a peer."""
        return sum(bool(running.waiting_for) for running in tuple(self._calls))

    def peer_in_the_way(self, running: RunningCall, arrived_at: float) -> str:
        """For people: the peer because of which that request is not done yet; "" if there is none.

        A request that waits for a worker waits for the peers that others of its session wait for. A
        worker may take it up in the last moment, when others have given up; so it is still because
        of these peers if it waited for the worker longer than it has run.
        """
        if running not in self._calls:
            return self._peer_waited_for(since=arrived_at)
        if running.waiting_for:
            return running.waiting_for
        waited, ran = running.began_at - arrived_at, time.monotonic() - running.began_at
        return running.delayed_by if waited > ran else ""

    def _peer_waited_for(self, since: float) -> str:
        """The peer that some request waits for, or has waited for in vain after `since`; "" if none
        does or has."""
        texts = (running.waiting_for for running in tuple(self._calls))
        text, until = self._given_up
        return next(filter(None, texts), text if until >= since else "")


class StopWatch:
    """Cancels calls to peers whose request has ended. Thread-safe."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._watched: dict[Any, RunningCall] = {}
        self._thread: threading.Thread | None = None

    def watch(self, call: Any) -> None:
        """Watches `call`, a gRPC call for the request of this thread, until forget(). Raises
        RuntimeError, and watches nothing, if no thread can be started."""
        running = current()
        if running is None:
            return
        with self._condition:
            if self._thread is None:
                thread = threading.Thread(
                    target=self._work, name="graphzero-stop-watch", daemon=True
                )
                thread.start()  # may raise; then the next call tries again
                self._thread = thread
            self._watched[call] = running
            self._condition.notify()

    def forget(self, call: Any) -> None:
        with self._condition:
            self._watched.pop(call, None)

    def _work(self) -> None:
        while True:
            with self._condition:
                while not self._watched:
                    self._condition.wait()
                ended = [c for c, running in self._watched.items() if running.call.stopped]
                for call in ended:
                    del self._watched[call]
            for call in ended:
                call.cancel()
            threading.Event().wait(_LOOK_EVERY_S)
