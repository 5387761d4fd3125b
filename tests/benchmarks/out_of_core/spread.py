"""What repeated measurements say."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """The median, and between which values it lies."""
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{median:>10{form}}  ({least:{form}} to {most:{form}})"
