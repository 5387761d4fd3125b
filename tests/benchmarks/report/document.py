"""What a report is made of: subjects, each with the turns of its contenders, as they go into JSON.

Everything that Markdown, plots and the README show is computed from these turns, so that a stored
report can be looked at again, and nothing is rounded twice.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from common.rounds import Spread, Turns, ratios


@dataclass(frozen=True)
class Column:
    """One of the values of a turn, as a column of a table."""

    key: str
    title: str
    form: str = ".1f"


@dataclass(frozen=True)
class Ratio:
    """How many times the value of another contender, taken within each round."""

    what: str
    values: list[float]

    @classmethod
    def of(cls, turns: Turns, what: str, name: str, other: str, key: str) -> Ratio:
        return cls(what, ratios(turns, name, other, key))

    @property
    def spread(self) -> Spread:
        return Spread.of(self.values)


@dataclass(frozen=True)
class Sweep:
    """How a cost grows with one quantity: for each x, the values of several repetitions."""

    name: str
    quantity: str
    cost: str
    x: list[float]
    values: list[list[float]]
    linear: float = 1.0
    """The exponent of x that counts as linear: 1 where more work is asked for, 0 where the same."""
    why: str = ""
    """What is known about a cost that grows faster."""


@dataclass
class Subject:
    name: str
    title: str
    about: str
    """What is measured, and how; a paragraph."""
    columns: list[Column] = field(default_factory=list)
    turns: Turns = field(default_factory=dict)
    ratios: list[Ratio] = field(default_factory=list)
    sweeps: list[Sweep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    """Sizes and settings: what a sentence or a plot wants to know."""


@dataclass
class Report:
    machine: dict[str, Any]
    settings: dict[str, Any]
    subjects: dict[str, Subject] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """Peers that could not take part, and subjects that failed."""
    seconds: float = 0.0

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1, allow_nan=False) + "\n")

    @classmethod
    def read(cls, path: Path) -> Report:
        document = json.loads(path.read_text())
        subjects = {
            name: Subject(
                **{
                    **fields,
                    "columns": [Column(**one) for one in fields["columns"]],
                    "ratios": [Ratio(**one) for one in fields["ratios"]],
                    "sweeps": [Sweep(**one) for one in fields["sweeps"]],
                }
            )
            for name, fields in document.pop("subjects").items()
        }
        return cls(**document, subjects=subjects)
