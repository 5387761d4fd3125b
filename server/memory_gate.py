"""Wakes requests that wait for shared memory when some may have become free."""

from __future__ import annotations

from collections.abc import Callable


class MemoryGate:
    """Belongs to the event loop's thread; `turn` may be read by workers.

    `turn` grows with each release. A worker reads it before it asks for memory; a request that got
    none waits only if it has not grown since, so a release in between is not lost.
    """

    def __init__(self) -> None:
        self.turn = 0
        # A dict as an ordered set: who waits twice is called once.
        self._waiting: dict[Callable[[], None], None] = {}

    def wait(self, turn: int, retry: Callable[[], None]) -> None:
        """Calls `retry` at the first release after `turn`: at once if there was one."""
        if self.turn != turn:
            retry()
        else:
            self._waiting[retry] = None

    def released(self) -> None:
        """To be called after memory was given back, of whichever session."""
        self.turn += 1
        waiting, self._waiting = self._waiting, {}
        for retry in waiting:
            retry()
