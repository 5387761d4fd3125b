"""Synthetic datasets of any size, for trying things out and for benchmarks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from graphzero import _engine
from graphzero.base.progress import JobProgress, Report, no_progress
from graphzero.base.resources import make_resources
from graphzero.files.publish import StrPath, new_dataset


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


@dataclass(frozen=True)
class GenerationReport:
    """What `generate` wrote."""

    path: Path
    num_nodes: int
    num_edges: int
    """Stored edges: an undirected edge counts twice, as in Graph.num_edges."""
    files: dict[str, int]
    """Bytes of each file, by its name."""
    seconds: float


def generate(
    out: StrPath,
    *,
    nodes: int = 1_000_000,
    edges: int = 20_000_000,
    dim: int = 128,
    classes: int = 16,
    seed: int = 0,
    dtype: Literal["float32", "float16", "bfloat16"] = "float32",
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> GenerationReport:
    """Writes a synthetic dataset to the directory `out`, as `graphzero generate` does.

    It has a power-law graph with planted classes, features `x` and labels `y` to learn them from,
    and the splits train, valid and test. The same arguments give the same bytes on every machine;
    memory (bytes of working memory), threads and progress (on stderr) do not change them.

    edges: undirected ones, each of which is stored both ways. dim: features of a node, of type
    `dtype`. overwrite: replace the dataset at `out`.

        >>> report = gz.generate("products", nodes=1_000, edges=10_000, dim=16)
        >>> report.num_edges
        20000
    """
    started = time.monotonic()
    dataset = SyntheticDataset(nodes, edges, dim, classes, seed, dtype)
    path = Path(out)
    with (JobProgress if progress else no_progress)(f"of {path.name}") as report:
        generate_dataset(
            path, dataset, overwrite=overwrite, memory=memory, threads=threads, report=report
        )
    files = {file.name: file.stat().st_size for file in sorted(path.iterdir())}
    return GenerationReport(path, nodes, 2 * edges, files, time.monotonic() - started)


def generate_dataset(
    path: StrPath,
    dataset: SyntheticDataset,
    *,
    overwrite: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    report: Report | None = None,
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
