"""Counts of what the daemon did since its start."""

from dataclasses import dataclass

# The last entry of a histogram counts whatever took longer than half an hour.
_ENTRIES = 32


@dataclass
class Counters:
    """Changed by the event loop's thread only."""

    requests: int = 0
    failed: int = 0
    result_bytes: int = 0


class LatencyCounts:
    """A histogram of durations: entry i counts those below 2^i microseconds that no earlier entry
    has. Its size does not depend on how much is counted. For one thread."""

    def __init__(self) -> None:
        self.entries = [0] * _ENTRIES

    def add(self, seconds: float) -> None:
        microseconds = max(0, int(seconds * 1_000_000))
        self.entries[min(microseconds.bit_length(), _ENTRIES - 1)] += 1
