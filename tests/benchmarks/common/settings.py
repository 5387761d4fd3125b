"""What a run of the benchmarks was asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from common.peers import Peers


@dataclass(frozen=True)
class Settings:
    directory: Path
    """Where generated data is kept from run to run."""
    peers: Peers
    size: str = "full"
    """Or quick, or tiny, which says nothing about speed and is for trying the programs out."""
    rounds: int = 5
    seconds: float = 4.0
    """Of one turn."""

    @property
    def processors(self) -> int:
        return len(os.sched_getaffinity(0))

    @property
    def shape(self) -> str:
        """Of the graph that loaders and samplers are compared on (common/graphs.py)."""
        return {"full": "small", "quick": "quick", "tiny": "tiny"}[self.size]

    @property
    def quick(self) -> bool:
        return self.size != "full"

    @property
    def scale(self) -> float:
        """Of generated datasets: their share of the full size."""
        return {"full": 1.0, "quick": 0.25, "tiny": 0.02}[self.size]
