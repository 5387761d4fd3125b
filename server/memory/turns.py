"""In which order the requests of one session get memory for their results.

Requests get memory in the order in which they came: a trainer waits for the oldest, and would wait
for ever if younger ones took the last blocks. A request that has drawn sooner than an older one may
go first only if the session has room for both.
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
    """Belongs to the event loop's thread, except where it says so."""

    def __init__(self, memory: ResultMemory) -> None:
        self._memory = memory
        # Numbers of requests that are at work and have no memory yet. Workers read and change it,
        # one operation at a time.
        self._without: set[int] = set()
        # Requests that found no memory.
        self._waiting: dict[int, Waiter] = {}
        # Requests that leave the memory to older ones.
        self._held_back: dict[int, Waiter] = {}
        self.oldest = _NOBODY
        """The number of the oldest waiting request, or _NOBODY. Workers read it too."""

    @property
    def nobody_waits(self) -> bool:
        return not self._waiting and not self._held_back

    @property
    def waiting(self) -> int:
        """Requests that wait, without those that have been called to try again."""
        every = (*self._waiting.values(), *self._held_back.values())
        return sum(not request.queued for request in every)

    def __contains__(self, request: Waiter) -> bool:
        return request.number in self._waiting or request.number in self._held_back

    def begin(self, request: Waiter) -> None:
        """The request will need memory."""
        self._without.add(request.number)

    def older_than(self, number: int) -> int:
        """How many older requests have no memory yet. For any thread."""
        return sum(older < number for older in tuple(self._without))

    def has_memory(self, number: int) -> bool:
        """The request has its memory. Returns whether call_next() is due. For any thread."""
        self._without.discard(number)
        return bool(self._held_back) or number in self._waiting

    def hold_back(self, request: Waiter, older: int) -> None:
        """The request leaves the memory to the `older` ones, and tries again when one of them has
        got its own or is answered."""
        # First this: a worker that looks from now on sees it.
        self._held_back[request.number] = request
        if self.older_than(request.number) < older:  # that was meanwhile
            del self._held_back[request.number]
            request.submit(first=True)

    def call_held_back(self) -> None:
        """The oldest of the requests that were held back tries again: memory was released, or an
        older one needs none any more."""
        if self._held_back:
            self._held_back.pop(min(self._held_back)).submit(first=True)

    def call_next(self, number: int) -> None:
        """The request has its memory: the next ones try to get theirs."""
        self._stop_waiting(number)
        self.call_held_back()

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
        self._without.discard(request.number)
        self._held_back.pop(request.number, None)
        self._stop_waiting(request.number)
        self.call_held_back()

    def clear(self) -> None:
        self._without.clear()
        self._waiting.clear()
        self._held_back.clear()

    def _stop_waiting(self, number: int) -> None:
        if self._waiting.pop(number, None) is not None:
            self.oldest = min(self._waiting, default=_NOBODY)
            # The next request tries at once, and waits for a call of its own if it fails.
            self._memory.expect_no_call()
            self._retry_oldest()

    def _retry_oldest(self) -> None:
        request = self._waiting.get(self.oldest)
        if request is not None:
            request.submit(first=True)
