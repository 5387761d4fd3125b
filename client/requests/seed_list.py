"""The seeds that a loader goes through, by their positions: of one type or several, with times."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from graphzero.client.requests.messages import NodeSeeds, Seeds

IdArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SeedPart:
    """The seeds of one type."""

    type: int
    count: int
    ids: IdArray | None
    """None: every node of the type."""


@dataclass(frozen=True, eq=False)
class SeedList:
    """Seeds at positions 0, 1, ...: those of the first type, then those of the next."""

    parts: tuple[SeedPart, ...]
    times: IdArray | None = None
    """The time of each position; None if the daemon knows the times, or none are needed."""
    typed: bool = False
    _ends: IdArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", np.cumsum([part.count for part in self.parts]))

    def __len__(self) -> int:
        return sum(part.count for part in self.parts)

    def at(self, positions: IdArray) -> Seeds:
        """The seeds at these positions: by type, and of each type in the order of the positions."""
        if not self.typed and self.times is None:
            return _ids(self.parts[0], positions)
        order = np.argsort(np.searchsorted(self._ends, positions, side="right"), kind="stable")
        positions = positions[order]
        by_type, first, begin = [], 0, 0
        for part, end in zip(self.parts, self._ends, strict=True):
            last = int(np.count_nonzero(positions < end))
            by_type.append((part.type, _ids(part, positions[first:last] - begin)))
            first, begin = last, int(end)
        times = None if self.times is None else self.times[positions]
        return NodeSeeds(tuple(by_type), times)

    def digest(self) -> str:
        """Differs for other seeds, and for other times of the same seeds."""
        if not self.typed and self.times is None:
            return _digest(self.parts[0])
        parts = [f"{part.type}: {_digest(part)}" for part in self.parts]
        if self.times is not None:
            parts.append(f"times: {_hash(self.times)}")
        return ", ".join(parts)


def _ids(part: SeedPart, positions: IdArray) -> IdArray:
    return positions if part.ids is None else part.ids[positions]


def _digest(part: SeedPart) -> str:
    return f"all {part.count}" if part.ids is None else _hash(part.ids)


def _hash(array: npt.NDArray[Any]) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).hexdigest()
