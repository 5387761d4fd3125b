"""Synthetic datasets of any size, for trying things out and for benchmarks."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from graphzero import _engine
from graphzero.base.resources import make_resources
from graphzero.files.publish import new_dataset


@dataclass(frozen=True)
class SyntheticDataset:
    """What to generate. Equal values give equal bytes, on any machine."""

    nodes: int
    edges: int
    """Undirected edges; the graph stores both directions of each."""
    dim: int = 128
    classes: int = 16
    seed: int = 0
    dtype: str = "float32"
    """Of the features: float32, float16 or bfloat16."""


def generate_dataset(
    path: str | os.PathLike[str],
    dataset: SyntheticDataset,
    *,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    report: Callable[[str, int, int], None] | None = None,
) -> None:
    """Writes graph.gl, x.gd, y.gd, train.gd, valid.gd and test.gd into the directory `path`.

    The graph has a power-law degree distribution and planted classes. A node's class is its label
    in `y`; its features in `x` and its neighbours both tell about it, the neighbours more. The
    splits hold 60, 20 and 20 % of the nodes, as ascending ids.

    `report` is called with a phase, how much of it is done, and its total.
    """
    for name, value in vars(dataset).items():
        if name != "dtype" and not 0 <= value < 2**64:
            raise ValueError(f"{name} is {value}, expected 0 to 2^64 - 1")
    with new_dataset(path, overwrite=overwrite) as directory:
        _engine.generate(
            str(directory),
            nodes=dataset.nodes,
            edges=dataset.edges,
            dim=dataset.dim,
            classes=dataset.classes,
            seed=dataset.seed,
            dtype=dataset.dtype,
            resources=make_resources(memory, threads, directory),
            report=report,
        )
