"""Counts of what the daemon did since its start."""

from dataclasses import dataclass


@dataclass
class Counters:
    """Changed by the event loop's thread only."""

    requests: int = 0
    failed: int = 0
    result_bytes: int = 0
