"""Time limits that count only while this process runs.

A process that is stopped, by SIGSTOP or with a laptop's lid, finds the system's clock far ahead
when it goes on, while the answers that it waited for lie unread in its sockets. So every thread
that waits, and a thread of each session, looks at the clock here every second, and a gap between
two looks that is much longer does not count.
"""

from __future__ import annotations

import os
import threading
import time

from graphzero.base.numbers import seconds

# The longest wait at a time.
STEP_S = 1.0
# How late a look may come on a busy machine, or while other code keeps the interpreter to itself.
_LATE_S = 5.0


class _AwakeClock:
    """Seconds that this process ran. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._looked = time.monotonic()
        self._stopped_s = 0.0

    def now(self) -> float:
        with self._lock:
            now = time.monotonic()
            if now - self._looked > STEP_S + _LATE_S:
                self._stopped_s += now - self._looked
            self._looked = now
            return now - self._stopped_s

    def _after_fork(self) -> None:
        self._lock = threading.RLock()


awake = _AwakeClock()
os.register_at_fork(after_in_child=awake._after_fork)


class Deadline:
    """A time limit for something that may take several steps. Thread-safe."""

    def __init__(self, timeout: float) -> None:
        self.seconds = seconds(timeout, "timeout")
        self._end = awake.now() + self.seconds

    def remaining(self) -> float:
        """Seconds; 0 when the time is up."""
        return max(0.0, self._end - awake.now())

    def step(self) -> float:
        """How long to wait until the next look at the clock."""
        return min(self.remaining(), STEP_S)
