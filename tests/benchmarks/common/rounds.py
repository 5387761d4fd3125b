"""Measuring in turns: contenders alternate, and what counts are medians with their spread.

A machine is faster in some minutes than in others, so every round gives each contender one turn,
and ratios are taken within a round. Each round begins with another contender.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Turn = dict[str, float]
Turns = dict[str, list[Turn]]


class ContenderFailed(Exception):
    """It could not run here; the message says why."""


@dataclass(frozen=True)
class Spread:
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def text(self, form: str = ".1f") -> str:
        if format(self.least, form) == format(self.most, form):
            return format(self.median, form)
        return f"{self.median:{form}} ({self.least:{form}} to {self.most:{form}})"


def take_turns(
    contenders: dict[str, Callable[[], Turn]], rounds: int, skipped: dict[str, str]
) -> Turns:
    """Turns of each contender, as many as rounds. Who fails is left out, with the reason."""
    turns: Turns = {name: [] for name in contenders}
    for number in range(rounds):
        names = [name for name in contenders if name not in skipped]
        first = number % max(1, len(names))
        for name in names[first:] + names[:first]:
            try:
                turns[name].append(contenders[name]())
            except ContenderFailed as error:
                skipped[name] = str(error)
                continue
            shown = ", ".join(f"{k} {v:.4g}" for k, v in list(turns[name][-1].items())[:3])
            print(f"    round {number + 1}: {name}: {shown}", file=sys.stderr, flush=True)
    return {name: found for name, found in turns.items() if name not in skipped}


def medians(turns: Sequence[Turn], key: str) -> Spread:
    return Spread.of([turn[key] for turn in turns])


def ratios(turns: Turns, name: str, other: str, key: str) -> list[float]:
    """How many times the other's value, round by round."""
    return [a[key] / b[key] for a, b in zip(turns[name], turns[other], strict=True) if b[key]]


def best(turns: Turns, names: Sequence[str], key: str, count: int = 1) -> list[str]:
    """The names with the highest medians, the best first."""
    known = [name for name in names if name in turns]
    return sorted(known, key=lambda name: -medians(turns[name], key).median)[:count]
