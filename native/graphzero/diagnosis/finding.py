"""`Finding`: what was found about one subject, what to do about it, and what that would bring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["problem", "advice", "ok"]
_LEVELS: tuple[Level, ...] = ("problem", "advice", "ok")


@dataclass(frozen=True)
class Finding:
    level: Level
    """A problem makes requests fail or crawl; advice makes them faster or smaller."""
    subject: str
    found: str
    do: str = ""
    """A command to run, or what to change; "" if nothing is to be done."""
    brings: str = ""
    factor: float = 1.0
    """Sorts findings: about how many times as fast, or as small, the subject becomes."""


def in_order_of_benefit(findings: Iterable[Finding]) -> list[Finding]:
    """Problems first, then advice, then what is fine; each by falling factor."""
    return sorted(findings, key=lambda found: (_LEVELS.index(found.level), -found.factor))
