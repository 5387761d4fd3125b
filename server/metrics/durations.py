"""Histograms of durations."""

from __future__ import annotations

# The last entry of a histogram counts whatever took longer than half an hour.
_ENTRIES = 32


class DurationCounts:
    """Entry i counts durations below 2^i microseconds that no earlier entry has. Its size does not
    depend on how much is counted. For one thread."""

    __slots__ = ("count", "entries", "seconds")

    def __init__(self) -> None:
        self.entries = [0] * _ENTRIES
        self.count = 0
        self.seconds = 0.0
        """Sum of all durations."""

    def add(self, seconds: float) -> None:
        if seconds < 0.0:
            seconds = 0.0
        entry = int(seconds * 1_000_000).bit_length()
        self.entries[entry if entry < _ENTRIES else _ENTRIES - 1] += 1
        self.count += 1
        self.seconds += seconds
