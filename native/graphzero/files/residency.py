"""Whether small requests of a dataset find in memory what they need.

The daemon's event loop runs small requests itself, because waking a worker takes longer than they
do. One that has to wait for a disk would let all trainers wait. Nobody tells when the kernel gives
pages to someone else, so three signs are looked at:

- a warm start has read all files;
- before a small request, at most every few milliseconds, the kernel is asked about a few of the
  places that it will read: after a night without requests, nothing may be left;
- after each of them, whether its thread had to wait for a disk (a page fault that read, a read).

Once a small request had to wait for a disk, workers run such requests, until enough of them in a
row (at first 64) have not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# Requests in a row. More and more of them if the event loop was disappointed again soon: where a
# few requests in a thousand read, it would be time and again.
_LEAST_CALM = 64
_MOST_CALM = 1 << 16
_SOON_S = 60.0
_LOOK_EVERY_S = 0.02


class Residency:
    """What is known about one dataset. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.possible = True
        """Whether all files are meant to lie in memory; set before anyone asks."""
        self._clock = clock
        self._lock = threading.Lock()
        self._needed = _LEAST_CALM
        self._calm = 0  # small requests in a row that met no disk, up to _needed
        self._since = 0.0  # when that many had come
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
        """Whether the event loop may run a small request. `look` asks the kernel about it."""
        if not self.trusted:
            return False
        now = self._clock()
        if now < self._next_look:
            return True
        self._next_look = now + _LOOK_EVERY_S
        if look():
            return True
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
