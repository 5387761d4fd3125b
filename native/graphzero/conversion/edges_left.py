"""Splits of edges, without the edges that are no part of the graph because they repeat others."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.conversion.inputs.streams import RowChunk, RowStream
from graphzero.files.topology_file import TopologyFile


class EdgesLeft:
    """Which rows of its input a compiled relation has as edges: a byte for each row, in an unnamed
    file. The relation must have edge ids."""

    def __init__(self, graph_file: Path, relation: int, rows: int, temp_dir: str) -> None:
        self._file = tempfile.TemporaryFile(dir=temp_dir)  # noqa: SIM115
        # A full disk is an error here; at a write to the mapping it would be a signal.
        os.posix_fallocate(self._file.fileno(), 0, max(rows, 1))
        self._left: npt.NDArray[np.bool_] = np.memmap(self._file, np.bool_, "r+")
        # Any, because the tuples that it returns have no type.
        reader: Any = _engine.EdgeReader(TopologyFile(graph_file).topology, relation)
        while (found := reader.next()) is not None:
            self._left[found[3]] = True

    def filter(self, split: RowStream) -> RowStream:
        """The split without the edges that are not left."""

        def chunks() -> Iterator[RowChunk]:
            for chunk in split.open():
                ids = np.asarray(chunk.ids)
                yield RowChunk(ids[self._left[ids]], chunk.rows)

        return replace(split, open=chunks)
