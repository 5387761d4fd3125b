"""Lets reading in the background give way to requests.

A request waits for hundreds of reads one after the other, while reading ahead only makes later
requests faster. So reading ahead takes a small share of the disk's time while requests wait for the
disk, and all of it otherwise.
"""

from __future__ import annotations

import threading
import time

from graphzero import _engine

_LOOK_S = 0.005  # between two checks whether requests wait
_LONGEST_S = 10.0  # longest wait after one step


class Pace:
    """Paces the reads of one thread. Setting `stop` ends its wait."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        self._began = time.monotonic()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    @staticmethod
    def requests_wait() -> bool:
        """Whether a request waits for the disk at this moment."""
        return _engine.calls_at_disk() > 0

    def give_way(self, share: float) -> None:
        """To be called after each step of reading. Waits while requests wait for the disk, but only
        as long as steps still get `share` of the time."""
        now = time.monotonic()
        until = now + min((now - self._began) * (1 / share - 1), _LONGEST_S)
        while self.requests_wait() and time.monotonic() < until:
            if self._stop.wait(_LOOK_S):
                break
        self._began = time.monotonic()
