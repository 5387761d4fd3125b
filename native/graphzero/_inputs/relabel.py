"""Arbitrary ids to 0..N-1: the sorted list of all of them is the new numbering.

The new id of a node is the rank of its original one among all that occur in the edges and in the
columns, integers by value and texts by their bytes. So the numbering depends on the set of ids
alone, and the file of original ids, a column of the dataset, answers both questions: its row i is
the original id of node i, and bisection finds the node of an original id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero._compile_graph import Report
from graphzero._errors import InputError
from graphzero._inputs.streams import (
    EdgeChunk,
    EdgeStream,
    IdColumn,
    Parts,
    RowChunk,
    RowStream,
    Texts,
    as_int64,
    id_count,
    part_of,
    row_place,
)
from graphzero._inputs.texts import IdText, TextInput


class IdSource(NamedTuple):
    """Something that has ids to collect."""

    name: str
    chunks: Callable[[], Iterator[tuple[IdColumn, ...]]]  # columns of one length
    texts: bool
    num_rows: int = 0  # 0: not known
    parts: Parts = ()


def ids_of_edges(edges: EdgeStream | IdText) -> IdSource:
    if isinstance(edges, IdText):
        return _ids_of_text(edges)

    def chunks() -> Iterator[tuple[IdColumn, ...]]:
        return ((chunk.src, chunk.dst) for chunk in edges.open())

    return IdSource(edges.name, chunks, edges.texts, edges.count, edges.parts)


def ids_of_rows(rows: RowStream | IdText) -> IdSource:
    if isinstance(rows, IdText):
        return _ids_of_text(rows)
    if not rows.has_ids:
        raise InputError(
            f"{rows.name}: found rows without ids, expected a column of ids beside the values: "
            "with --relabel a row's place does not tell its node"
        )

    def chunks() -> Iterator[tuple[IdColumn, ...]]:
        return ((chunk.ids,) for chunk in rows.open() if chunk.ids is not None)

    return IdSource(rows.name, chunks, rows.texts, rows.rows or 0, rows.parts)


def _ids_of_text(text: IdText) -> IdSource:
    return IdSource(text.name, lambda: ((ids,) for ids in text.chunks_of_ids()), text.texts)


class Relabelling:
    """The new ids of a dataset in the making."""

    def __init__(self, ids_file: Path, resources: _engine.Resources) -> None:
        matrix = _engine.Matrix.open(str(ids_file))
        self.num_nodes = matrix.rows
        self._index = _engine.IdIndex(
            matrix, memory=resources.memory // 4, threads=resources.threads
        )

    def edges(self, edges: EdgeStream | IdText) -> EdgeStream | TextInput:
        """The same edges with new ids."""
        if isinstance(edges, IdText):
            return edges.rewritten(self._index)
        stream = edges

        def chunks() -> Iterator[EdgeChunk]:
            row = 0
            for src, dst, weights in stream.open():
                yield EdgeChunk(self._find(src, stream, row), self._find(dst, stream, row), weights)
                row += id_count(src)

        return replace(stream, open=chunks, texts=False)

    def rows(self, rows: RowStream | IdText) -> RowStream | TextInput:
        """The same rows under new ids."""
        if isinstance(rows, IdText):
            return rows.rewritten(self._index)
        stream = rows

        def chunks() -> Iterator[RowChunk]:
            row = 0
            for chunk in stream.open():
                assert chunk.ids is not None
                yield chunk._replace(ids=self._find(chunk.ids, stream, row))
                row += id_count(chunk.ids)

        return replace(stream, open=chunks, texts=False)

    def _find(
        self, ids: IdColumn, stream: EdgeStream | RowStream, first_row: int
    ) -> npt.NDArray[np.int64]:
        if isinstance(ids, Texts):
            found = self._index.find_texts(ids.offsets, ids.data)
        else:
            integers = as_int64(ids, stream.name, first_row, stream.parts)
            found = self._index.find_integers(integers)
        if found.size and int(found.min()) < 0:
            row = int(np.argmin(found))
            value = repr(ids.text(row)) if isinstance(ids, Texts) else ids[row]
            raise InputError(
                f"{row_place(stream.name, stream.parts, first_row + row)}: found id {value}, "
                "expected one that occurs in the edges or in a column"
            )
        return found


def write_original_ids(
    ids_file: Path,
    edges: IdSource,
    columns: Sequence[IdSource],
    resources: _engine.Resources,
    report: Report | None,
) -> Relabelling:
    """Reads all ids once and writes the file of them."""
    for column in columns:
        if column.texts != edges.texts:
            kinds = ("integers", "texts")
            raise InputError(
                f"{column.name}: found {kinds[column.texts]} as ids, expected "
                f"{kinds[edges.texts]} as in {edges.name}"
            )
    _collect(ids_file, [edges, *columns], resources, report)
    return Relabelling(ids_file, resources)


def _collect(
    ids_file: Path,
    sources: Sequence[IdSource],
    resources: _engine.Resources,
    report: Report | None,
) -> None:
    total = sum(source.num_rows for source in sources)
    done = 0
    integer_ids = _engine.IntegerIdCollector(resources)
    text_ids = _engine.TextIdCollector(resources)
    for source in sources:
        row = 0
        for columns in source.chunks():
            for ids in columns:
                if isinstance(ids, Texts):
                    file, first_row = part_of(source.name, source.parts, row)
                    text_ids.add(ids.offsets, ids.data, name=file, first_row=first_row)
                else:
                    integer_ids.add(as_int64(ids, source.name, row, source.parts))
            row += id_count(columns[0])
            done += id_count(columns[0])
            if report is not None:
                report("collecting ids", done, max(total, done))
    collector = text_ids if sources[0].texts else integer_ids
    if collector.write(str(ids_file), report=report) == 0:
        raise InputError(f"{sources[0].name}: found no ids, expected edges")
