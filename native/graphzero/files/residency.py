"""Whether small requests to a dataset find the pages that they need in memory.

The daemon's event loop runs small requests itself, because waking a worker takes longer than they
do. A small request that waits for a disk would keep all trainers waiting. The kernel does not tell
when it evicts pages, so the daemon watches three signs:

- a warm start has read all files;
- before a small request, at most every 20 ms, the daemon asks the kernel whether a few of the
  places that the request will read are in memory: after a night without requests, none may be left;
- after each small request, it checks whether the thread waited for a disk (a major page fault or a
  read).

Once a small request had to wait for a disk, workers run small requests, until enough of them in a
row (at first 64) did not wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# Requests in a row that must not wait. The number doubles each time that the event loop has to wait
# again soon: if a few requests in a thousand read from a disk, it would wait time and again.
_LEAST_CALM = 64
_MOST_CALM = 1 << 16
_SOON_S = 60.0
_LOOK_EVERY_S = 0.02


class Residency:
    """What the daemon knows about the pages of one dataset. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.possible = True
        """Whether all files are planned to lie in memory; set before allows() is called."""
        self._clock = clock
        self._lock = threading.Lock()
        self._needed = _LEAST_CALM
        self._calm = 0  # small requests in a row that did not wait for a disk, up to _needed
        self._since = 0.0  # when _calm reached _needed
        self._next_look = 0.0

    @property
    def trusted(self) -> bool:
        return self.possible and self._calm >= self._needed

    def warmed(self) -> None:
        """All files have just been read."""
        with self._lock:
            self._needed = self._calm = _LEAST_CALM
            self._since = self._clock()

    def allows(self, look: Callable[[], bool]) -> bool:
        """Whether the event loop may run a small request. `look` asks the kernel whether places
        that the request will read are in memory."""
        if not self.trusted:
            return False
        now = self._clock()
        if now < self._next_look:
            return True
        self._next_look = now + _LOOK_EVERY_S
        if look():
            return True
        with self._lock:
            self._calm = 0
        return False

    def disappointed(self) -> None:
        """The event loop had to wait for a disk."""
        with self._lock:
            soon = self._clock() - self._since < _SOON_S
            self._needed = min(2 * self._needed, _MOST_CALM) if soon else _LEAST_CALM
            self._calm = 0

    def note(self, *, waited: bool) -> None:
        """A worker ran a small request."""
        with self._lock:
            if waited:
                self._calm = 0
            elif self._calm < self._needed:
                self._calm += 1
                if self._calm == self._needed:
                    self._since = self._clock()
