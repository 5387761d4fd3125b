"""Requests that the engine refused working memory, and who goes on when some is free.

A request that is refused has let go of everything, so requests never wait for each other. It is run
again from the start, with the memory that it turned out to need set aside for it; draws are a
function of the request, so nothing changes but the time.

Requests that wait for shared memory keep what they drew as long as nobody needs that memory, and
draw again otherwise. A trainer that is slower than the daemon always has one that waits: drawing
every batch twice would cost it the processor.
"""

from __future__ import annotations

from typing import Protocol

from graphzero import _engine


class Waiting(Protocol):
    """What the line asks of a request."""

    call: _engine.Call
    answered: bool

    def seconds_used(self) -> float:
        """Thread time of the request's session so far."""

    def run_again(self) -> None:
        """Memory is set aside; try once more."""


class Parked(Protocol):
    """A drawn request that waits for shared memory."""

    def drop_draw(self) -> bool:
        """Gives up what was drawn; False if it is in use, or was given up."""


class WorkLine:
    """Belongs to the event loop's thread."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.sessions = 0
        """How many there are, which the service says."""
        self._waiting: list[Waiting] = []
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
        self._waiting.append(request)

    def park(self, request: Parked) -> None:
        self._parked[request] = None

    def unpark(self, request: Parked) -> None:
        self._parked.pop(request, None)

    def serve(self) -> None:
        """To be called when memory may have been freed. First come those whose session has used the
        least thread time; who cannot have enough keeps later ones from taking what becomes free."""
        while self._waiting:
            request = min(self._waiting, key=lambda waiting: waiting.seconds_used())
            if not request.answered and not self._reserve(request):
                _engine.set_work_claim(request.call.needed)
                return
            self._waiting.remove(request)
            if not request.answered:
                request.run_again()
        _engine.set_work_claim(0)

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
