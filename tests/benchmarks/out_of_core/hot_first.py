"""A dataset with its nodes numbered by degree: `python hot_first.py DATASET COPY`.

Nodes of high degree are in many samples. Numbered one after the other, their rows share pages, and
a read that fetches one brings others that the batch wants too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import graphzero as gz
import numpy as np
import numpy.typing as npt
from graphzero import _engine

CHUNK = 1 << 17  # rows


def main(dataset: Path, copy: Path) -> None:
    indptr, indices = _array(dataset, "out.indptr"), _array(dataset, "out.indices")
    degree = np.diff(indptr.astype(np.int64))
    order = np.argsort(-degree, kind="stable")  # order[new id] = old id
    new_id = np.empty(len(order), np.int32)
    new_id[order] = np.arange(len(order), dtype=np.int32)

    copy.mkdir(parents=True)
    source = np.repeat(np.arange(len(order), dtype=np.uint32), degree)
    once = source <= indices  # the graph is symmetric: every edge is stored both ways
    gz.write_graph(
        copy / "graph.gl",
        new_id[source[once]],
        new_id[indices[once]],
        num_nodes=len(order),
        undirected=True,
    )
    for name in ("x", "y"):
        rows = gz.FeatureStore(dataset / f"{name}.gd").get_tensor()
        gz.write_features(
            copy / f"{name}.gd", _in_order(rows, order), shape=rows.shape, dtype=rows.dtype
        )
    train = gz.FeatureStore(dataset / "train.gd").get_tensor()
    gz.write_features(copy / "train.gd", new_id[train].astype(np.int64), role="ids")


def _in_order(rows: npt.NDArray[np.float32], order: npt.NDArray[np.int64]) -> Iterator[object]:
    for begin in range(0, len(order), CHUNK):
        yield rows[order[begin : begin + CHUNK]]


def _array(dataset: Path, name: str) -> npt.NDArray[np.integer]:
    topology = _engine.Topology.open(os.fspath(dataset / "graph.gl"))
    section = next(section for section in topology.sections if section.name == name)
    return np.memmap(
        dataset / "graph.gl", section.dtype, "r", offset=section.offset, shape=(section.count,)
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
