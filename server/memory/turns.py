"""In which order the requests of one session get memory for their results.

Requests get memory in the order in which they came: a trainer waits for the oldest, and would wait
for ever if younger ones took the last blocks. A request that has drawn sooner than an older one may
go first only if the session has room for both.

Requests that read from a disk do not even draw before there is room for their results and those of
older ones. Where reads are dear, samples also wait until no other request of a like size fills its
result. Requests that begin together read together, first the graph and then the rows
(native/io/sweep.h). One that began in between would read alone, and so would all that later follow
it into the memory that it gave back.
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
        # Requests that have memory and no answer yet, with how many ids they ask for.
        self._filling: dict[int, int] = {}
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
        self._filling.pop(request.number, None)
        self._without.add(request.number)

    def older_than(self, number: int) -> int:
        """How many older requests have no memory yet. For any thread."""
        return sum(older < number for older in tuple(self._without))

    def most_filling(self) -> int:
        """The most ids that a request asks for which fills its memory. For any thread."""
        return max(self._filling.copy().values(), default=0)

    def has_memory(self, number: int, ids: int = 0) -> bool:
        """The request has its memory. Returns whether call_next() is due. For any thread."""
        self._filling[number] = ids
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
        """The oldest of the requests that were held back tries again: an older one has its memory,
        or needs none any more."""
        if self._held_back:
            self._held_back.pop(min(self._held_back)).submit(first=True)

    def call_all_held_back(self) -> None:
        """All requests that were held back try again, since memory was released, maybe for many:
        those for which there is room begin together."""
        held_back, self._held_back = self._held_back, {}
        for number in sorted(held_back, reverse=True):  # each goes before the one that was first
            held_back[number].submit(first=True)

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
        filled = self._filling.pop(request.number, None) is not None
        self._held_back.pop(request.number, None)
        self._stop_waiting(request.number)
        if filled and not self._filling:
            self.call_all_held_back()
        else:
            self.call_held_back()

    def clear(self) -> None:
        self._without.clear()
        self._filling.clear()
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
