"""The requests of one session that wait for memory for their results, oldest first.

Requests get memory in the order in which they came: a trainer waits for the oldest, and would wait
for ever if a younger one took the last block.
"""

from __future__ import annotations

from typing import Protocol

from graphzero.server.memory.results import ResultMemory

_NOBODY = 1 << 63


class Waiter(Protocol):
    """What MemoryTurns needs of a request that waits."""

    @property
    def number(self) -> int:
        """The request's number within its session."""

    @property
    def queued(self) -> bool:
        """Whether it waits for a worker or runs on one."""

    def submit(self, *, first: bool) -> None:
        """Tries again, before other requests of its session."""


class MemoryTurns:
    """Belongs to the event loop's thread."""

    def __init__(self, memory: ResultMemory) -> None:
        self._memory = memory
        self._waiting: dict[int, Waiter] = {}
        self.oldest = _NOBODY
        """The number of the oldest waiting request, or _NOBODY. Workers read it too."""

    @property
    def nobody_waits(self) -> bool:
        return not self._waiting

    @property
    def waiting(self) -> int:
        """Requests that wait, without those that have been called to try again."""
        return sum(not request.queued for request in self._waiting.values())

    def __contains__(self, request: Waiter) -> bool:
        return request.number in self._waiting

    def wait(self, request: Waiter, *, asked: bool) -> None:
        """The request has `asked` for memory in vain, or did not ask because an older one waits."""
        self._waiting[request.number] = request
        self.oldest = min(self._waiting)
        if self.oldest != request.number:
            return
        if asked:
            self._memory.call_when_room(self._retry_oldest)
        else:  # the older one was answered meanwhile
            self._retry_oldest()

    def leave(self, request: Waiter) -> None:
        """The request is answered. If it was waiting, the next one has its turn."""
        if self._waiting.pop(request.number, None) is not None:
            self.oldest = min(self._waiting, default=_NOBODY)
            # The next request tries at once, and waits for a call of its own if it fails.
            self._memory.expect_no_call()
            self._retry_oldest()

    def clear(self) -> None:
        self._waiting.clear()

    def _retry_oldest(self) -> None:
        request = self._waiting.get(self.oldest)
        if request is not None:
            request.submit(first=True)
