"""Time limits that count only while this process runs."""

from __future__ import annotations

import time

# The longest wait at a time.
_STEP_S = 1.0
# How late a look at the clock may come and still count, on a busy machine for instance.
_LATE_S = 5.0


class Deadline:
    """A time limit for something that may take several steps. Not thread-safe.

    A process that is stopped, by SIGSTOP for instance, finds the clock far ahead when it goes on,
    and unread in its sockets what it was waiting for. So whoever waits does it in steps of
    `step()`. Of one that took much longer, half counts: there is time left to read the answer.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds
        self._step = 0.0
        self._looked = time.monotonic()

    def remaining(self) -> float:
        """Seconds; 0 when the time is up."""
        now = time.monotonic()
        elapsed = now - self._looked
        self._left -= elapsed if elapsed <= self._step + _LATE_S else self._step / 2
        self._looked, self._step = now, 0.0
        return max(0.0, self._left)

    def step(self) -> float:
        """How long to wait until the next look."""
        step = min(self.remaining(), _STEP_S)
        self._step = step
        return step
