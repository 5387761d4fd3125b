"""How long this program waited for answers, for the daemon's statistics.

The time says whether the loader or the model is the bottleneck. Each thread that waits notes when,
and the next message of the session carries the sum. There is no lock, because a finalizer may wait
in the middle of any code, and a forked child must not find a lock that is held.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

# Most waits that are kept until a message reports them. A program that never sends reports none.
_MOST = 10_000


class WaitLog:
    """Thread-safe."""

    def __init__(self) -> None:
        self._waits: deque[tuple[float, float]] = deque(maxlen=_MOST)
        self._told_until = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._waits.append((began, time.monotonic()))

    def take_us(self) -> int:
        """Microseconds in which somebody waited that were not taken before. No moment counts twice:
        when several threads wait, the program waits once."""
        if not self._waits:
            return 0
        waits = []
        try:
            while True:
                waits.append(self._waits.popleft())
        except IndexError:
            pass
        seconds = 0.0
        for began, ended in sorted(waits):
            began = max(began, self._told_until)
            if ended > began:
                seconds += ended - began
                self._told_until = ended
        return int(seconds * 1_000_000)
