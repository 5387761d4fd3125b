"""The requests of one session that wait for memory for their results, oldest first.

Requests get memory in the order in which they came: a trainer waits for the oldest, and would wait
for ever if a younger one took the last block.
"""

from __future__ import annotations

from typing import Protocol

from graphzero.server.memory.results import ResultMemory

_NOBODY = 1 << 63


class Waiter(Protocol):
    """What is asked of a request that waits."""

    @property
    def number(self) -> int:
        """Counts the session's requests."""

    @property
    def queued(self) -> bool:
        """For a worker, or at one."""

    def submit(self, *, first: bool) -> None:
        """Tries again, before other requests of its session."""


class MemoryTurns:
    """Belongs to the event loop's thread."""

    def __init__(self, memory: ResultMemory) -> None:
        self._memory = memory
        self._waiting: dict[int, Waiter] = {}
        self.oldest = _NOBODY
        """The number of the oldest that waits, or one that no request has. Workers read it too."""

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
        """The request is answered, if it waited at all: the next one has its turn."""
        if self._waiting.pop(request.number, None) is not None:
            self.oldest = min(self._waiting, default=_NOBODY)
            # The next one asks by itself, and the memory calls again if that is in vain.
            self._memory.expect_no_call()
            self._retry_oldest()

    def clear(self) -> None:
        self._waiting.clear()

    def _retry_oldest(self) -> None:
        request = self._waiting.get(self.oldest)
        if request is not None:
            request.submit(first=True)
