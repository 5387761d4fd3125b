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
from graphzero.base.errors import InputError
from graphzero.base.progress import Report
from graphzero.conversion.inputs.streams import (
    EdgeChunk,
    EdgeStream,
    IdColumn,
    RowChunk,
    RowStream,
    Texts,
    as_int64,
    id_count,
    words_for_nothing,
)
from graphzero.conversion.inputs.tables import ReadTally
from graphzero.files.original_ids import texts_of_rows

# At which ends of edges an id was met, as bits.
SOURCE, TARGET = 1, 2


class IdSource(NamedTuple):
    """Something that has ids to collect."""

    name: str
    chunks: Callable[[], Iterator[tuple[IdColumn, ...]]]  # columns of one length
    texts: bool
    place: Callable[[int], str]  # what messages call a row
    num_rows: int = 0  # 0: not known
    sides: tuple[int, ...] = (0,)  # of the columns
    tally: ReadTally | None = None


def ids_of_edges(edges: EdgeStream) -> IdSource:
    def chunks() -> Iterator[tuple[IdColumn, ...]]:
        return ((chunk.src, chunk.dst) for chunk in edges.open())

    sides = (SOURCE, TARGET)
    return IdSource(edges.name, chunks, edges.texts, edges.place, edges.count, sides, edges.tally)


def ids_of_rows(rows: RowStream, side: int = 0) -> IdSource:
    if not rows.has_ids:
        raise InputError(
            f"{rows.name}: found rows without ids, expected a column of ids beside the values: "
            "with --relabel a row's place does not tell its node; --id-column names it"
        )

    def chunks() -> Iterator[tuple[IdColumn, ...]]:
        if rows.open_ids is not None:
            return ((ids,) for ids in rows.open_ids())
        return ((chunk.ids,) for chunk in rows.open() if chunk.ids is not None)

    return IdSource(rows.name, chunks, rows.texts, rows.place, rows.rows or 0, (side,))


class Relabelling:
    """The new ids of a dataset in the making."""

    def __init__(
        self, ids_file: Path, counts: _engine.IdCounts, resources: _engine.Resources
    ) -> None:
        self.counts = counts
        self._matrix = _engine.Matrix.open(str(ids_file))
        self.num_nodes = self._matrix.rows
        self._index = _engine.IdIndex(
            self._matrix, memory=resources.memory // 4, threads=resources.threads
        )

    def name_of(self, node: int) -> str:
        """The original id of a node, for messages."""
        row = self._matrix.tensor()[node]
        return repr(texts_of_rows(row[None, :])[0]) if self._index.holds_texts else str(row)

    @property
    def words_for_nothing(self) -> list[str]:
        """Ids that often stand for a missing value."""
        return words_for_nothing(self._index)

    def edges(self, edges: EdgeStream) -> EdgeStream:
        """The same edges with new ids."""

        def chunks() -> Iterator[EdgeChunk]:
            row = 0
            for chunk in edges.open():
                src, dst = (
                    self._find(ids, edges.place, row, chunk.numbers)
                    for ids in (chunk.src, chunk.dst)
                )
                yield chunk._replace(src=src, dst=dst)
                row += id_count(chunk.src)

        return replace(edges, open=chunks, texts=False)

    def rows(self, rows: RowStream) -> RowStream:
        """The same rows under new ids."""

        def chunks() -> Iterator[RowChunk]:
            row = 0
            for chunk in rows.open():
                assert chunk.ids is not None
                ids = self._find(chunk.ids, rows.place, row, chunk.numbers)
                yield chunk._replace(ids=ids)
                row += id_count(chunk.ids)

        return replace(rows, open=chunks, texts=False)

    def _find(
        self,
        ids: IdColumn,
        place: Callable[[int], str],
        first_row: int,
        numbers: npt.NDArray[np.int64] | None,
    ) -> npt.NDArray[np.int64]:
        if isinstance(ids, Texts):
            found = self._index.find_texts(ids.offsets, ids.data)
        else:
            found = self._index.find_integers(as_int64(ids, place, first_row))
        if found.size and int(found.min()) < 0:
            at = int(np.argmin(found))
            row = first_row + at if numbers is None else int(numbers[at])
            value = repr(ids.text(at)) if isinstance(ids, Texts) else ids[at]
            where = place(row)
            header = "; if this is the name of the column, give FILE#COLUMN"
            raise InputError(
                f"{where}: found id {value}, expected one that occurs in the edges or in a "
                f"column{header if where.endswith(' line 1') else ''}"
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
    counts = _collect(ids_file, [edges, *columns], resources, report)
    return Relabelling(ids_file, counts, resources)


def _collect(
    ids_file: Path,
    sources: Sequence[IdSource],
    resources: _engine.Resources,
    report: Report | None,
) -> _engine.IdCounts:
    known = all(source.num_rows for source in sources)
    total = sum(source.num_rows for source in sources) if known else 0
    done = 0
    integer_ids = _engine.IntegerIdCollector(resources)
    text_ids = _engine.TextIdCollector(resources)
    for source in sources:
        row = 0
        for columns in source.chunks():
            for ids, side in zip(columns, source.sides, strict=True):
                if isinstance(ids, Texts):
                    text_ids.add(*ids, place=source.place, first_row=row, sides=side)
                else:
                    integer_ids.add(as_int64(ids, source.place, row), sides=side)
            row += id_count(columns[0])
            done += id_count(columns[0])
            if report is not None:
                report("collecting ids", done, total)
    collector = text_ids if sources[0].texts else integer_ids
    counts = collector.write(str(ids_file), report=report)
    if counts.total == 0:
        raise InputError(f"{sources[0].name}: found no ids, expected edges{_skipped(sources[0])}")
    return counts


def _skipped(source: IdSource) -> str:
    tally = source.tally
    if tally is None or not tally.skipped:
        return ""
    return f"; all lines were skipped, {tally.skipped} of them, the first: {tally.messages[0]}"
