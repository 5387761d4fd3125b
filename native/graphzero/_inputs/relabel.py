"""Arbitrary ids to 0..N-1: the sorted list of all of them is the new numbering.

The new id of a node is the rank of its original one among all that occur in the edges and in the
columns, integers by value and texts by their bytes. So the numbering depends on the set of ids
alone, and the file of original ids, a column of the dataset, answers both questions: its row i is
the original id of node i, and bisection finds the node of an original id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero._compile_graph import Report
from graphzero._errors import InputError
from graphzero._inputs.streams import (
    EdgeChunk,
    EdgeStream,
    IdColumn,
    RowChunk,
    RowStream,
    Texts,
    as_int64,
    id_count,
)


class Relabelling:
    """The new ids of a dataset in the making."""

    def __init__(self, ids_file: Path, resources: _engine.Resources) -> None:
        matrix = _engine.Matrix.open(str(ids_file))
        self.num_nodes = matrix.rows
        self._index = _engine.IdIndex(
            matrix, memory=resources.memory // 4, threads=resources.threads
        )

    def edges(self, stream: EdgeStream) -> EdgeStream:
        """The same edges with new ids."""

        def chunks() -> Iterator[EdgeChunk]:
            row = 0
            for src, dst, weights in stream.open():
                yield EdgeChunk(
                    self._find(src, stream.name, row), self._find(dst, stream.name, row), weights
                )
                row += id_count(src)

        return replace(stream, open=chunks, texts=False)

    def rows(self, stream: RowStream) -> RowStream:
        """The same rows under new ids."""

        def chunks() -> Iterator[RowChunk]:
            row = 0
            for ids, rows in stream.open():
                assert ids is not None
                yield RowChunk(self._find(ids, stream.name, row), rows)
                row += id_count(ids)

        return replace(stream, open=chunks, texts=False)

    def _find(self, ids: IdColumn, name: str, first_row: int) -> npt.NDArray[np.int64]:
        if isinstance(ids, Texts):
            found = self._index.find_texts(ids.offsets, ids.data)
        else:
            found = self._index.find_integers(as_int64(ids, name, first_row))
        if found.size and int(found.min()) < 0:
            row = int(np.argmin(found))
            value = repr(ids.text(row)) if isinstance(ids, Texts) else ids[row]
            raise InputError(
                f"{name} row {first_row + row}: found id {value}, expected one that occurs in the "
                "edges or in a column"
            )
        return found


def write_original_ids(
    ids_file: Path,
    edges: EdgeStream,
    columns: Sequence[RowStream],
    resources: _engine.Resources,
    report: Report | None,
) -> Relabelling:
    """Reads all ids once and writes the file of them."""
    for stream in columns:
        if not stream.has_ids:
            raise InputError(
                f"{stream.name}: found rows without ids, expected a column of ids beside the "
                "values: with --relabel a row's place does not tell its node"
            )
        if stream.texts != edges.texts:
            kinds = ("integers", "texts")
            raise InputError(
                f"{stream.name}: found {kinds[stream.texts]} as ids, expected "
                f"{kinds[edges.texts]} as in {edges.name}"
            )
    sources: list[tuple[str, Iterator[tuple[IdColumn, ...]], int]] = [
        (edges.name, ((chunk.src, chunk.dst) for chunk in edges.open()), edges.count)
    ]
    for stream in columns:
        ids = ((chunk.ids,) for chunk in stream.open() if chunk.ids is not None)
        sources.append((stream.name, ids, stream.rows or 0))
    _collect(ids_file, sources, edges.texts, resources, report)
    return Relabelling(ids_file, resources)


def _collect(
    ids_file: Path,
    sources: Sequence[tuple[str, Iterator[tuple[IdColumn, ...]], int]],
    texts: bool,
    resources: _engine.Resources,
    report: Report | None,
) -> None:
    total = sum(count for _, _, count in sources)
    done = 0
    integer_ids = _engine.IntegerIdCollector(resources)
    text_ids = _engine.TextIdCollector(resources)
    for name, chunks, _ in sources:
        row = 0
        for columns in chunks:
            for ids in columns:
                if isinstance(ids, Texts):
                    text_ids.add(ids.offsets, ids.data, name=name, first_row=row)
                else:
                    integer_ids.add(as_int64(ids, name, row))
            row += id_count(columns[0])
            done += id_count(columns[0])
            if report is not None:
                report("collecting ids", done, max(total, done))
    collector = text_ids if texts else integer_ids
    if collector.write(str(ids_file), report=report) == 0:
        raise InputError(f"{sources[0][0]}: found no ids, expected edges")
