"""What tests of imports share: a small graph, the dataset it must become, the command line."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import graphzero as gz
import numpy as np
import numpy.typing as npt
from commands import run_graphzero


@dataclass(frozen=True)
class SmallGraph:
    """Random edges with repeats, features and labels."""

    src: npt.NDArray[np.int64]
    dst: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float32]
    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.int64]

    @property
    def num_nodes(self) -> int:
        return len(self.y)

    def write(self, directory: Path, *, weighted: bool = False, edge_ids: bool = False) -> Path:
        """The dataset as the array functions write it."""
        directory.mkdir(parents=True)
        gz.write_graph(
            directory / "graph.gl",
            self.src,
            self.dst,
            weights=self.weight if weighted else None,
            num_nodes=self.num_nodes,
            edge_ids=edge_ids,
        )
        return directory / "graph.gl"


def make_small_graph() -> SmallGraph:
    rng = np.random.default_rng(3)
    nodes, edges = 500, 6_000
    return SmallGraph(
        rng.integers(0, nodes, edges),
        rng.integers(0, nodes, edges),
        rng.random(edges, dtype=np.float32),
        rng.random((nodes, 7), dtype=np.float32),
        rng.integers(0, 4, nodes),
    )


def convert(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_graphzero("convert", *arguments)
