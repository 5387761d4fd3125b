"""Calls back a session whose request waits for memory, when there is room for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Budget(Protocol):
    """Divides memory among sessions, which it knows by number."""

    def take_ready(self) -> list[int]:
        """Sessions whose last failed attempt to get memory could succeed now, each once."""
        ...


class MemoryGate:
    """Belongs to the event loop's thread.

    The budget knows how much each session failed to get, and names the sessions for which there is
    room now; a release costs nothing for the others. A worker that got no memory has told the
    budget, but not yet the gate, so the budget's call may come before wait(). Then it is kept.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._waiting: dict[int, Callable[[], None]] = {}
        self._called: set[int] = set()

    def wait(self, number: int, retry: Callable[[], None]) -> None:
        """Calls `retry`, once, when there is room for what session `number` failed to get."""
        if number in self._called:
            self._called.remove(number)
            retry()
        else:
            self._waiting[number] = retry

    def leave(self, number: int) -> None:
        """The session waits no more. A call that comes from now on is kept for its next wait()."""
        self._waiting.pop(number, None)

    def forget(self, number: int) -> None:
        """The session has ended."""
        self._waiting.pop(number, None)
        self._called.discard(number)

    def call_ready(self) -> None:
        """To be called when the budget may have sessions to call."""
        for number in self._budget.take_ready():
            retry = self._waiting.pop(number, None)
            if retry is None:
                self._called.add(number)
            else:
                retry()
