"""Requests that the engine refused working memory, and which of them goes on when some is free.

A request that is refused has given up all its memory, so requests never wait for each other. It
runs again from the start, with the memory that it turned out to need reserved for it. A draw is a
function of the request, so only the time changes.

A request that waits for much memory keeps others from taking memory that becomes free; otherwise it
would wait for ever. Small requests go on all the same: a quarter of the memory is left for them,
since a request gets at most three quarters while there are other sessions. Each session may have
one small request go ahead at a time, with an equal part of the quarter.

Requests that wait for shared memory keep their draws as long as nobody needs that working memory,
and draw again otherwise. A trainer that is slower than the daemon always has a request that waits:
drawing every batch twice would waste processor time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from graphzero import _engine


class Waiting(Protocol):
    """What the line asks of a request."""

    call: _engine.Call
    answered: bool
    queued: bool
    """Whether it waits for a worker or runs on one."""
    session_id: int

    def seconds_used(self) -> float:
        """Thread time of the request's session so far."""

    def run_again(self) -> None:
        """Memory is reserved: try once more."""


class Parked(Protocol):
    """A drawn request that waits for shared memory."""

    def drop_draw(self) -> bool:
        """Gives up the draw; False if it is in use, or was given up before."""


class WorkingMemoryLine:
    """Belongs to the event loop's thread."""

    def __init__(
        self, limit: int, newcomers_seconds: Callable[[], float] = _engine.newcomers_seconds
    ) -> None:
        """`newcomers_seconds` returns the thread time that a new session counts as having used
        (native/base/threads.h)."""
        self._limit = limit
        self._newcomers_seconds = newcomers_seconds
        self.sessions = 0
        """Number of open sessions, set by the service."""
        # Each request with the newcomers' seconds of the moment when it began to wait. Otherwise a
        # client that opens a new session for each request, which has used no time, would always go
        # first.
        self._waiting: list[tuple[float, Waiting]] = []
        self._went_ahead: dict[int, Waiting] = {}  # by session: the last small one that did so
        # A dict as an ordered set.
        self._parked: dict[Parked, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def largest(self) -> int:
        """Bytes that one request may have: three quarters of the limit beside other sessions."""
        return self._limit if self.sessions <= 1 else self._limit * 3 // 4

    def wait(self, request: Waiting) -> None:
        """The request needs call.needed bytes, at most `largest`. serve() is to be called soon."""
        self._waiting.append((self._newcomers_seconds(), request))

    def park(self, request: Parked) -> None:
        self._parked[request] = None

    def unpark(self, request: Parked) -> None:
        self._parked.pop(request, None)

    def serve(self) -> None:
        """To be called when memory may have been freed. Requests whose session has used the least
        thread time come first. One that cannot get enough memory keeps later ones from taking what
        becomes free."""
        while self._waiting:
            first = min(self._waiting, key=lambda one: max(one[0], one[1].seconds_used()))
            request = first[1]
            if not request.answered and not self._reserve(request):
                _engine.set_work_claim(request.call.needed)
                if request.call.needed <= self._limit * 3 // 4:
                    self._let_small_ones_go_ahead()
                return
            self._waiting.remove(first)
            if not request.answered:
                request.run_again()
        _engine.set_work_claim(0)
        self._went_ahead.clear()  # so that no ended session is kept alive

    def _let_small_ones_go_ahead(self) -> None:
        for number, last in list(self._went_ahead.items()):
            if not last.queued:  # it is done, or waits for something else and gives its memory up
                del self._went_ahead[number]
        part = self._limit // 4 // max(1, self.sessions)
        for entry in list(self._waiting):
            request = entry[1]
            if request.session_id in self._went_ahead or request.call.needed > part:
                continue
            # Reserves the whole part: the allocation that failed is rarely the request's last.
            if not request.answered and request.call.reserve(part):
                self._waiting.remove(entry)
                self._went_ahead[request.session_id] = request
                request.run_again()

    def _reserve(self, request: Waiting) -> bool:
        while not request.call.reserve(request.call.needed):
            if not self._drop_a_draw():
                return False
        return True

    def _drop_a_draw(self) -> bool:
        while self._parked:
            parked, _ = self._parked.popitem()  # the latest: the oldest will be filled first
            if parked.drop_draw():
                return True
        return False
