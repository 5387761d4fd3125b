"""The batches that are measured: their seeds, their fanout and the columns of their nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import column_key, split_key
from graphzero.files.dataset import Dataset
from graphzero.files.paths import ORIGINAL_IDS

# The most seeds that are used in this process.
_MOST_SEEDS = 200_000
_SPLIT = "train"


@dataclass(frozen=True)
class Workload:
    """Batches of one dataset. In a graph without types, `type` is ""."""

    path: Path
    type: str
    split: str | None
    """The split whose ids are the seeds; None for all nodes of the type."""
    seeds: npt.NDArray[np.int64]
    """The seeds that are used in this process, at most _MOST_SEEDS."""
    fanout: tuple[int, ...]
    batch_size: int
    columns: dict[str, dict[str, ColumnFile]]
    """By type, then by name, the columns that are gathered for nodes: all of them."""

    def lists(self, seed: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yields the seeds of one batch after the other, without end, in an order that follows from
        `seed`."""
        random = np.random.default_rng(seed)
        while True:
            order = random.permutation(self.seeds)
            for first in range(0, len(order), self.batch_size):
                yield order[first : first + self.batch_size]

    def seeds_of_call(self, seeds: npt.NDArray[np.int64]) -> Any:
        """The seeds in the form that Graph.sample() and loaders take."""
        return (self.type, seeds) if self.type else seeds

    @property
    def text(self) -> str:
        kinds = {name for columns in self.columns.values() for name in columns}
        rows = f"columns {', '.join(sorted(kinds))}" if kinds else "no columns"
        seeds = self.split or "nodes at random"
        return f"{self.batch_size} seeds ({seeds}) x {list(self.fanout)}, {rows}"


def choose_workload(dataset: Dataset, fanout: tuple[int, ...], batch_size: int) -> Workload:
    """Seeds are the ids of the split "train", or random nodes if there is no such split."""
    schema = dataset.schema
    split: str | None
    found = next(
        (
            (kind.name, dataset.columns[key])
            for kind in schema.types
            if (key := column_key(kind.directory, _SPLIT)) in dataset.columns
            and dataset.columns[key].role == "ids"
        ),
        None,
    )
    if found is not None:
        name, column = found
        split, seeds = _SPLIT, _some(column.matrix.tensor().reshape(-1))
    else:
        kind = max(schema.types, key=lambda kind: kind.count)
        name, split, seeds = kind.name, None, _random_nodes(kind.count)
    if not len(seeds):
        raise InputError(f"{dataset.path}: found no nodes, expected some to sample from")
    columns: dict[str, dict[str, ColumnFile]] = {kind.name: {} for kind in schema.types}
    owners = {kind.directory: kind.name for kind in schema.types}
    for key, column in dataset.columns.items():
        directory, short = split_key(key)
        if column.role == "node" and short != ORIGINAL_IDS:
            columns[owners[directory]][short] = column
    return Workload(dataset.path, name, split, seeds, fanout, batch_size, columns)


def _some(ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    chosen = ids
    if len(ids) > _MOST_SEEDS:
        chosen = ids[np.sort(np.random.default_rng(0).choice(len(ids), _MOST_SEEDS, replace=False))]
    return chosen.astype(np.int64)


def _random_nodes(count: int) -> npt.NDArray[np.int64]:
    if count <= _MOST_SEEDS:
        return np.arange(count, dtype=np.int64)
    return np.unique(np.random.default_rng(0).integers(0, count, _MOST_SEEDS))
