"""Arbitrary ids to 0..N-1: the sorted list of all of them is the new numbering.

The new id of a node is the rank of its original id among all ids of the edges and the columns,
integers by value and texts by their bytes. So the numbering depends on the set of ids alone, and
the file of original ids, a column of the dataset, answers both questions: its row i is the original
id of node i, and bisection finds the node of an original id.
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

Numbers = npt.NDArray[np.uint32]

# At which ends of edges an id was met, as bits.
SOURCE, TARGET = 1, 2


class IdSource(NamedTuple):
    """Rows that have ids to collect."""

    name: str
    chunks: Callable[[], Iterator[IdColumn]]
    texts: bool
    place: Callable[[int], str]  # what messages call a row
    num_rows: int = 0  # 0: not known
    side: int = 0


def ids_of_rows(rows: RowStream, side: int = 0) -> IdSource:
    if not rows.has_ids:
        raise InputError(
            f"{rows.name}: found rows without ids, expected a column of ids beside the values: "
            "with --relabel a row's place does not tell its node; --id-column names it"
        )

    def chunks() -> Iterator[IdColumn]:
        if rows.open_ids is not None:
            return rows.open_ids()
        return (chunk.ids for chunk in rows.open() if chunk.ids is not None)

    return IdSource(rows.name, chunks, rows.texts, rows.place, rows.rows or 0, side)


class _Ids:
    """Collects ids, all of them integers or all texts."""

    def __init__(self, texts: bool, resources: _engine.Resources) -> None:
        self._integers = _engine.IntegerIdCollector(resources)
        self._texts = _engine.TextIdCollector(resources)
        self.collector = self._texts if texts else self._integers

    def add(self, ids: IdColumn, place: Callable[[int], str], row: int, side: int) -> None:
        """`row`: the row of the first id. `place`: names a row for messages."""
        if isinstance(ids, Texts):
            self._texts.add(*ids, place=place, first_row=row, sides=side)
        else:
            self._integers.add(as_int64(ids, place, row), sides=side)

    def number(
        self, ids: IdColumn, place: Callable[[int], str], row: int, side: int
    ) -> Numbers | None:
        """Adds ids and gives their numbers; None if memory does not hold all of them."""
        if isinstance(ids, Texts):
            return self._texts.number(*ids, place=place, first_row=row, sides=side)
        return self._integers.number(as_int64(ids, place, row), sides=side)


class _Spool:
    """Keeps the edges in a temporary file while ids are collected, so that the input is not read
    twice."""

    def __init__(self, resources: _engine.Resources) -> None:
        self._spool = _engine.EdgeSpool(resources)
        self._rest: list[EdgeChunk] = []  # what belongs to a chunk beside its arrays

    def add(self, chunk: EdgeChunk, src: Numbers, dst: Numbers) -> None:
        """`src`, `dst`: the numbers of the ends."""
        rows = None if chunk.numbers is None else np.ascontiguousarray(chunk.numbers, np.int64)
        times = None if chunk.times is None else np.ascontiguousarray(chunk.times, np.int64)
        self._spool.add(src, dst, weights=chunk.weights, rows=rows, times=times)
        weights = None if chunk.weights is None else chunk.weights[:0]
        rest = chunk._replace(src=src[:0], dst=dst[:0], weights=weights, numbers=None)
        self._rest.append(rest._replace(times=None if times is None else times[:0]))

    def finish(self, ids: _engine.IntegerIdCollector | _engine.TextIdCollector) -> None:
        """Call it when the new ids are written."""
        self._spool.finish(ids)

    def chunks(self) -> Iterator[EdgeChunk]:
        for i, chunk in enumerate(self._rest):
            src, dst, weights, rows, times = self._spool.read(i)
            if weights is None:  # also of a chunk without edges
                weights = chunk.weights
            if times is None:
                times = chunk.times
            yield chunk._replace(src=src, dst=dst, weights=weights, numbers=rows, times=times)


class Relabelling:
    """The new ids of a dataset in the making."""

    def __init__(
        self,
        ids_file: Path,
        counts: _engine.IdCounts,
        spool: _Spool | None,
        resources: _engine.Resources,
    ) -> None:
        self.counts = counts
        self._spool = spool
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
        """The edges whose ids were collected, with new ids."""
        if self._spool is not None:
            return replace(edges, open=self._spool.chunks, texts=False)

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
    edges: EdgeStream,
    columns: Sequence[IdSource],
    resources: _engine.Resources,
    report: Report | None,
) -> Relabelling:
    """Reads all ids once and writes the file of original ids."""
    for column in columns:
        if column.texts != edges.texts:
            kinds = ("integers", "texts")
            raise InputError(
                f"{column.name}: found {kinds[column.texts]} as ids, expected "
                f"{kinds[edges.texts]} as in {edges.name}"
            )
    ids = _Ids(edges.texts, resources)
    known = edges.count and all(column.num_rows for column in columns)
    total = edges.count + sum(column.num_rows for column in columns) if known else 0
    done = 0

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        if report is not None:
            report("collecting ids", done, total)

    spool = _collect_ends(ids, edges, resources, advance)
    for column in columns:
        row = 0
        for chunk in column.chunks():
            ids.add(chunk, column.place, row, column.side)
            row += id_count(chunk)
            advance(id_count(chunk))
    counts = ids.collector.write(str(ids_file), report=report)
    if counts.total == 0:
        raise InputError(f"{edges.name}: found no ids, expected edges{_skipped(edges.tally)}")
    if spool is not None and ids.collector.numbered:
        spool.finish(ids.collector)
    else:
        spool = None
    return Relabelling(ids_file, counts, spool, resources)


def _collect_ends(
    ids: _Ids, edges: EdgeStream, resources: _engine.Resources, advance: Callable[[int], None]
) -> _Spool | None:
    """Collects the ids of edges. Returns the edges, or None if there are too many ids to number in
    memory: then the edges are read again when the new ids are known."""
    spool: _Spool | None = _Spool(resources)
    row = 0
    for chunk in edges.open():
        src = ids.number(chunk.src, edges.place, row, SOURCE)
        dst = ids.number(chunk.dst, edges.place, row, TARGET)
        if src is None or dst is None:
            spool = None
        elif spool is not None:
            spool.add(chunk, src, dst)
        row += id_count(chunk.src)
        advance(id_count(chunk.src))
    return spool


def _skipped(tally: ReadTally | None) -> str:
    if tally is None or not tally.skipped:
        return ""
    return f"; all lines were skipped, {tally.skipped} of them, the first: {tally.messages[0]}"
