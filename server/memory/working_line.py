"""Requests that the engine refused working memory, and who goes on when some is free.

A request that is refused has let go of everything, so requests never wait for each other. It is run
again from the start, with the memory that it turned out to need set aside for it; draws are a
function of the request, so nothing changes but the time.

A request that waits for much memory keeps others from taking what becomes free, or it would wait
for ever. Small ones go on all the same: a quarter of the memory is theirs, since no request that
waits beside other sessions gets more than the rest. Each session may have one of them at a time,
with an equal part of the quarter.

Requests that wait for shared memory keep what they drew as long as nobody needs that memory, and
draw again otherwise. A trainer that is slower than the daemon always has one that waits: drawing
every batch twice would cost it the processor.
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
    """For a worker, or at one."""
    session_id: int

    def seconds_used(self) -> float:
        """Thread time of the request's session so far."""

    def run_again(self) -> None:
        """Memory is set aside; try once more."""


class Parked(Protocol):
    """A drawn request that waits for shared memory."""

    def drop_draw(self) -> bool:
        """Gives up what was drawn; False if it is in use, or was given up."""


class WorkingMemoryLine:
    """Belongs to the event loop's thread."""

    def __init__(
        self, limit: int, newcomers_seconds: Callable[[], float] = _engine.newcomers_seconds
    ) -> None:
        """`newcomers_seconds`: the thread time that a session which comes now counts as having used
        (native/base/threads.h)."""
        self._limit = limit
        self._newcomers_seconds = newcomers_seconds
        self.sessions = 0
        """How many there are, which the service says."""
        # With what newcomers counted as having used when it came. A client that opens a session for
        # each request, which has used nothing yet, would otherwise always go first.
        self._waiting: list[tuple[float, Waiting]] = []
        self._went_ahead: dict[int, Waiting] = {}  # the small one that did so last, by session
        # Dicts as ordered sets.
        self._parked: dict[Parked, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def largest(self) -> int:
        """Bytes that one request may have: not all of them, if that would stop other sessions."""
        return self._limit if self.sessions <= 1 else self._limit * 3 // 4

    def wait(self, request: Waiting) -> None:
        """The request needs call.needed bytes, at most `largest`. serve() is to be called soon."""
        self._waiting.append((self._newcomers_seconds(), request))

    def park(self, request: Parked) -> None:
        self._parked[request] = None

    def unpark(self, request: Parked) -> None:
        self._parked.pop(request, None)

    def serve(self) -> None:
        """To be called when memory may have been freed. First come those whose session has used the
        least thread time; who cannot have enough keeps later ones from taking what becomes free."""
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
        self._went_ahead.clear()  # of nobody: a session that has ended is not kept

    def _let_small_ones_go_ahead(self) -> None:
        for number, last in list(self._went_ahead.items()):
            if not last.queued:  # it is done, or waits for something else and gives its memory up
                del self._went_ahead[number]
        part = self._limit // 4 // max(1, self.sessions)
        for entry in list(self._waiting):
            request = entry[1]
            if request.session_id in self._went_ahead or request.call.needed > part:
                continue
            # All of the part: what it was refused is rarely the last that it needs.
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
