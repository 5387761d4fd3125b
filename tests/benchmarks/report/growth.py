"""What a sweep says: how fast a cost grows, and whether that is linear or better."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from report.document import Sweep

# An exponent is known no better than this from a few points on a machine that others use too.
_TOLERANCE = 0.1


@dataclass(frozen=True)
class Verdict:
    exponent: float
    """Of x, by least squares of logarithms."""
    first: float
    last: float
    """Medians at the ends."""
    good: bool
    text: str


def verdict(sweep: Sweep) -> Verdict:
    y = [statistics.median(values) for values in sweep.values]
    exponent = slope([math.log(x) for x in sweep.x], [math.log(max(v, 1e-12)) for v in y])
    good = exponent <= sweep.linear + _TOLERANCE
    expected = "linear" if sweep.linear == 1 else "constant"
    if good:
        text = f"{expected} or better" if exponent > sweep.linear - _TOLERANCE else "better"
    else:
        text = f"worse than {expected}"
    return Verdict(exponent, y[0], y[-1], good, text if good else f"{text}. {sweep.why}".strip())


def slope(x: list[float], y: list[float]) -> float:
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    above = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return above / sum((a - mean_x) ** 2 for a in x)
