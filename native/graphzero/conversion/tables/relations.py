"""References and tables of edges as streams of edges between node ids."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.streams import (
    WORDS_FOR_NOTHING,
    EdgeChunk,
    EdgeStream,
    IdColumn,
    Texts,
    select_ids,
)
from graphzero.conversion.inputs.table_views import FilteredTable, row_numbers
from graphzero.conversion.inputs.tables import Table, TableChunk, Values, Wanted
from graphzero.conversion.tables.description import EdgeEnds, Reference
from graphzero.conversion.tables.keys import Keys, OwnNodes, id_wanted, ids_of, missing_of
from graphzero.conversion.tables.times import TimeColumn
from graphzero.conversion.typed_plan import RelationTally

_HINT = '; missing = "drop" leaves out such edges and counts them'


class End:
    """One end of the edges of a table: a column that names rows of a type."""

    def __init__(self, table: Table, column: str, keys: Keys, *, drop: bool) -> None:
        self._table = table
        self._column = column
        self._keys = keys
        self._drop = drop

    @property
    def wanted(self) -> Wanted:
        return id_wanted(self._column, self._keys.texts, may_be_missing=self._drop, hint=_HINT)

    def find(
        self, found: Values, numbers: npt.NDArray[np.int64], tally: RelationTally
    ) -> npt.NDArray[np.int64]:
        """The node of each row; -1 where there is none, if such rows are dropped. Counts them."""
        ids, missing = ids_of(found), missing_of(found)
        if isinstance(ids, Texts) and missing is not None and missing.any():
            nodes: npt.NDArray[np.int64] = np.full(len(missing), -1, np.int64)
            nodes[~missing] = self._keys.find(select_ids(ids, ~missing))
        else:
            nodes = self._keys.find(ids)
            if missing is not None:
                nodes[missing] = -1
        empty = 0 if missing is None else int(np.count_nonzero(missing))
        absent = int(np.count_nonzero(nodes < 0))
        tally.empty += empty
        tally.dangling += absent - empty
        if absent > empty and not (self._drop and tally.first_dangling):
            dangling = nodes < 0 if missing is None else (nodes < 0) & ~missing
            problem = self._dangling(ids, int(np.argmax(dangling)), numbers)
            if not self._drop:
                raise InputError(f"{problem}{_HINT}")
            tally.first_dangling = problem
        return nodes

    def _dangling(self, ids: IdColumn, at: int, numbers: npt.NDArray[np.int64]) -> str:
        value = ids.text(at) if isinstance(ids, Texts) else int(ids[at])
        keys = self._keys
        expected = f"a key of {keys.owner}"
        if keys.file is None:
            expected = f"a row of {keys.owner}, 0 to {keys.count - 1}"
        hint = ""
        if value in WORDS_FOR_NOTHING:
            hint = f'; if it stands for a missing value, missing_texts = ["{value}"] says so'
        place = f"{self._table.place(int(numbers[at]))} column {self._column!r}"
        return f"{place}: found {value!r}, expected {expected}{hint}"


def reference_edges(
    table: Table, reference: Reference, own: OwnNodes, target: Keys, tally: RelationTally
) -> EdgeStream:
    """An edge from each row to the row that it refers to. The number of an edge is that of its
    source node, so that the order of edges does not depend on the order of the table's rows."""
    end = End(table, reference.column, target, drop=reference.drop_missing)

    def chunks() -> Iterator[EdgeChunk]:
        tally.begin()
        cursor = own.cursor()
        for chunk in table.read([end.wanted]):
            nodes = cursor.next(len(row_numbers(chunk)))
            targets = end.find(chunk.groups[-1], row_numbers(chunk), tally)
            if (targets < 0).any():
                kept = targets >= 0
                nodes, targets = nodes[kept], targets[kept]
            yield EdgeChunk(
                nodes, targets, None, nodes, max(own.count, 1), byte_size=chunk.byte_size
            )

    return EdgeStream(
        f"{table.name} column {reference.column!r}",
        chunks,
        weighted=False,
        stored_bytes=table.bytes_of([reference.column]),
        place_of=table.place,
        progress_bytes=0 if table.says_kinds else table.bytes_of([reference.column]),
    )


class KeptRows:
    """Which rows of a table of edges became edges when it was last read: a byte for each row, in an
    unnamed file."""

    def __init__(self, temp_dir: str) -> None:
        self._file = tempfile.TemporaryFile(dir=temp_dir)  # noqa: SIM115

    def begin(self) -> None:
        self._file.seek(0)
        self._file.truncate()

    def add(self, kept: npt.NDArray[np.bool_]) -> None:
        self._file.write(kept.tobytes())

    def filter(self, table: Table) -> Table:
        """The table without the rows that became no edge."""
        return FilteredTable(table, self._kept)

    def _kept(self, chunk: TableChunk) -> npt.NDArray[np.bool_]:
        self._file.seek(chunk.first_row)
        return np.frombuffer(self._file.read(chunk.end_row - chunk.first_row), np.bool_)


class TableEdges:
    """The edges of a table of edges."""

    def __init__(
        self,
        table: Table,
        edges: EdgeEnds,
        source: Keys,
        target: Keys,
        time: TimeColumn | None,
        tally: RelationTally,
        temp_dir: str,
    ) -> None:
        self._table = table
        self._edges = edges
        self._tally = tally
        drop = edges.drop_missing
        self._ends = (
            End(table, edges.source_column, source, drop=drop),
            End(table, edges.target_column, target, drop=drop),
        )
        self._time = time
        self._kept = KeptRows(temp_dir) if drop else None

    def stream(self) -> EdgeStream:
        edges, table = self._edges, self._table
        columns = [edges.source_column, edges.target_column]
        columns += [edges.weight] if edges.weight is not None else []
        columns += [self._time.column] if self._time is not None else []
        return EdgeStream(
            table.name,
            self._chunks,
            weighted=edges.weight is not None,
            count=0 if edges.drop_missing else table.num_rows or 0,
            stored_bytes=table.bytes_of(columns),
            place_of=table.place,
            progress_bytes=0 if table.says_kinds else table.bytes_of(columns),
            timed=self._time is not None,
        )

    def kept(self) -> Table:
        """The rows that became edges, once the stream was read to its end."""
        return self._table if self._kept is None else self._kept.filter(self._table)

    def _chunks(self) -> Iterator[EdgeChunk]:
        wanted = [end.wanted for end in self._ends]
        if self._time is not None:
            self._time.begin()
            wanted.append(self._time.wanted(may_be_missing=self._edges.drop_missing))
        if self._edges.weight is not None:
            wanted.append(Wanted("weight", (self._edges.weight,)))
        self._tally.begin()
        if self._kept is not None:
            self._kept.begin()
        for chunk in self._table.read(wanted):
            yield self._chunk(chunk)
        if self._time is not None:
            self._tally.rounded_times = self._time.rounded

    def _chunk(self, chunk: TableChunk) -> EdgeChunk:
        numbers = row_numbers(chunk)
        src, dst = (
            end.find(found, numbers, self._tally)
            for end, found in zip(self._ends, chunk.groups, strict=False)
        )
        kept = (src >= 0) & (dst >= 0)
        times = weights = None
        if self._edges.weight is not None:
            weights = np.ascontiguousarray(chunk.groups[-1].array, np.float32)
        if self._time is not None:
            missing = missing_of(chunk.groups[2])
            if missing is not None:
                self._tally.untimed += int(np.count_nonzero(missing & kept))
                kept &= ~missing
        whole = self._kept is None or bool(kept.all())
        if self._time is not None:
            found = chunk.groups[2]._replace(missing=None)
            if not whole:
                found = found._replace(values=found.array[kept])
            times = self._time.values(found, numbers if whole else numbers[kept])
        if self._kept is not None:
            self._kept.add(kept)
        if whole:
            return EdgeChunk(src, dst, weights, None, None, chunk.byte_size, times)
        return EdgeChunk(
            src[kept],
            dst[kept],
            None if weights is None else weights[kept],
            numbers[kept],
            chunk.end_row,
            chunk.byte_size,
            times,
        )
