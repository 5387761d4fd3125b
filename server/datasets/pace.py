"""Reading in the background that lets requests have the disk.

A request waits for hundreds of reads one after the other; what the daemon reads ahead of time only
makes later ones faster. So while requests wait for the disk, reading ahead takes a small share of
its time, and all of it when nobody does.
"""

from __future__ import annotations

import threading
import time

from graphzero import _engine

_LOOK_S = 0.005  # between two looks at whether requests wait
_LONGEST_S = 10.0  # that a step may be paid for with


class Pace:
    """Of one thread. `stop` ends its waiting."""

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
        """After a step of reading: waits until no request waits for the disk, but only so long that
        steps get `share` of the time."""
        now = time.monotonic()
        until = now + min((now - self._began) * (1 / share - 1), _LONGEST_S)
        while self.requests_wait() and time.monotonic() < until:
            if self._stop.wait(_LOOK_S):
                break
        self._began = time.monotonic()
