"""Points of a sweep: each is called in turns, several times, and gives a cost."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from report.document import Sweep


def swept(
    name: str,
    quantity: str,
    cost: str,
    points: dict[float, Callable[[], float]],
    repeats: int,
    *,
    linear: float = 1.0,
    why: str = "",
) -> Sweep:
    values: dict[float, list[float]] = {x: [] for x in points}
    for _ in range(repeats):
        for x, point in points.items():
            values[x].append(point())
    return Sweep(name, quantity, cost, list(points), list(values.values()), linear, why)


def milliseconds(call: Callable[[int], object], seconds: float) -> float:
    """Of one call: the median of as many as fit into the time, at least one after the first."""
    call(0)
    taken: list[float] = []
    began = time.perf_counter()
    while not taken or time.perf_counter() - began < seconds:
        before = time.perf_counter()
        call(len(taken) + 1)
        taken.append(time.perf_counter() - before)
    return 1000 * statistics.median(taken)
