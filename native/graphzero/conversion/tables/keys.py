"""How rows of a type are named by references: by a key, or by their number.

Nodes are numbered in the order of their keys, integers by value and texts by their bytes, as in
datasets of one type: the file of original ids translates in both directions, and its content
depends only on the keys. Rows of a table without a key are numbered in their order.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.progress import Report
from graphzero.conversion.inputs.streams import IdColumn, Texts, id_count
from graphzero.conversion.inputs.table_views import row_numbers
from graphzero.conversion.inputs.tables import Kind, Table, TableChunk, Values, Wanted
from graphzero.files.original_ids import texts_of_rows

# Indexes that are kept at a time: a relation has two ends.
_INDEXES = 2


def read_as_texts(kind: Kind) -> bool:
    """Whether ids of this kind are texts. Padded integers, like 007, are."""
    return kind.what == "text" or kind.padded


def check_id_kind(table: Table, column: str, kind: Kind) -> None:
    # pandas stores integers as floating values if some are missing.
    if kind.what not in ("integer", "text", "number"):
        raise InputError(
            f"{table.name} column {column!r}: found {kind.name}, expected integers or texts as ids"
        )


def id_wanted(column: str, texts: bool, *, may_be_missing: bool, hint: str = "") -> Wanted:
    """Asks for a column of ids. They are read as values, so that missing ids can be recognised."""
    return Wanted(
        "text" if texts else "integer",
        (column,),
        may_be_missing=may_be_missing,
        hint=hint,
        names_rows=True,
    )


def ids_of(found: Values) -> IdColumn:
    if isinstance(found.values, Texts):
        return found.values
    return np.ascontiguousarray(found.array.reshape(-1), np.int64)


def missing_of(found: Values) -> npt.NDArray[np.bool_] | None:
    return None if found.missing is None else found.missing.reshape(-1)


class KeyIndexes:
    """Finds keys in files of original ids; keeps few indexes, because each takes memory."""

    def __init__(self, resources: _engine.Resources) -> None:
        self._resources = resources
        self._kept: dict[Path, _engine.IdIndex] = {}

    def of(self, file: Path) -> _engine.IdIndex:
        index = self._kept.pop(file, None)
        if index is None:
            while len(self._kept) >= _INDEXES:
                del self._kept[next(iter(self._kept))]
            index = _engine.IdIndex(
                _engine.Matrix.open(str(file)),
                memory=self._resources.memory // (4 * _INDEXES),
                threads=self._resources.threads,
            )
        self._kept[file] = index  # as the last one used
        return index


@dataclass(frozen=True)
class Keys:
    """The keys of the rows of one type, after the rows are numbered."""

    type_name: str
    owner: str  # what messages call them: "airports.csv column 'faa'"
    count: int
    texts: bool
    file: Path | None  # of original ids; None: references name rows by number
    indexes: KeyIndexes

    def find(self, ids: IdColumn) -> npt.NDArray[np.int64]:
        """The nodes of these ids, -1 for an id that no row has."""
        if self.file is None:
            assert not isinstance(ids, Texts)
            return np.where((ids >= 0) & (ids < self.count), ids, -1)
        if self.count == 0:
            return np.full(id_count(ids), -1, np.int64)
        index = self.indexes.of(self.file)
        if isinstance(ids, Texts):
            return index.find_texts(ids.offsets, ids.data)
        return index.find_integers(ids)

    def name_of(self, node: int) -> str:
        """The key of a node, for messages."""
        if self.file is None:
            return str(node)
        row = _engine.Matrix.open(str(self.file)).tensor()[node]
        return repr(texts_of_rows(row[None, :])[0]) if self.texts else str(row)


class OwnNodes:
    """The node of each row of a table, in the order of the rows. An unnamed file holds them, so
    that keys are looked up only once; if rows are in the order of their keys, nodes are just
    counted."""

    def __init__(self, count: int, temp_dir: str | None = None) -> None:
        """`temp_dir`: for the file; None: rows are counted."""
        self.count = count
        self._file = None
        self.in_order = True
        self._rows = 0
        if temp_dir is not None:
            self._file = tempfile.TemporaryFile(dir=temp_dir)  # noqa: SIM115

    def add(self, nodes: npt.NDArray[np.int64]) -> None:
        assert self._file is not None
        expected = np.arange(self._rows, self._rows + len(nodes))
        self.in_order &= np.array_equal(nodes, expected)
        self._rows += len(nodes)
        self._file.write(np.ascontiguousarray(nodes, np.int64).tobytes())

    def cursor(self) -> NodeCursor:
        """A cursor for one reading of the table."""
        if self._file is not None:
            self._file.flush()
        return NodeCursor(None if self.in_order else self._file, self)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()


class NodeCursor:
    """Gives the nodes of consecutive rows."""

    def __init__(self, file: Any, owner: OwnNodes) -> None:
        self._file = file
        self._owner = owner  # closes the file when it dies
        self._row = 0

    def next(self, rows: int) -> npt.NDArray[np.int64]:
        first, self._row = self._row, self._row + rows
        if self._file is None:
            return np.arange(first, self._row)
        stored = os.pread(self._file.fileno(), 8 * rows, 8 * first)
        return np.frombuffer(stored, np.int64)


def own_nodes(table: Table, column: str, keys: Keys, temp_dir: str) -> OwnNodes:
    """Finds the node of each row by its key."""
    own = OwnNodes(keys.count, temp_dir)
    for chunk, found in key_chunks(table, column, keys.texts):
        nodes = keys.find(found)
        if nodes.size and int(nodes.min()) < 0:
            at = int(np.argmin(nodes))
            raise InputError(
                f"{table.place(int(row_numbers(chunk)[at]))} column {column!r}: expected a node of "
                f"{keys.type_name!r}, 0 to {keys.count - 1}"
            )
        own.add(nodes)
    return own


class IdWriter:
    """Collects ids of one kind and writes them, sorted, each once."""

    def __init__(self, texts: bool, resources: _engine.Resources) -> None:
        self._texts = texts
        self._text_ids = _engine.TextIdCollector(resources)
        self._integer_ids = _engine.IntegerIdCollector(resources)

    def add(self, ids: IdColumn, place: Callable[[int], str], first_row: int) -> None:
        if isinstance(ids, Texts):
            self._text_ids.add(*ids, place=place, first_row=first_row)
        else:
            self._integer_ids.add(ids)

    def write(self, file: Path, report: Report | None) -> int:
        """Returns how many different ids there are."""
        collector = self._text_ids if self._texts else self._integer_ids
        return collector.write(str(file), report=report).total


def collect_keys(
    table: Table,
    column: str,
    texts: bool,
    file: Path,
    resources: _engine.Resources,
    report: Report | None,
) -> tuple[int, int]:
    """Writes the keys of a table; returns how many rows it has, and how many different keys."""
    ids, rows = IdWriter(texts, resources), 0
    for chunk, found in key_chunks(table, column, texts):
        ids.add(found, places_of(table, row_numbers(chunk)), 0)
        rows += id_count(found)
        if report is not None:
            report("collecting ids", chunk.end_row, table.num_rows or 0)
    return rows, ids.write(file, report)


def key_chunks(table: Table, column: str, texts: bool) -> Iterator[tuple[TableChunk, IdColumn]]:
    """The keys of a table. A missing key is an error, unless the table leaves out its row."""
    hint = '; missing = "drop" leaves out such rows and counts them'
    wanted = id_wanted(column, texts, may_be_missing=False, hint=hint)
    for chunk in table.read([wanted]):
        yield chunk, ids_of(chunk.groups[0])


def places_of(table: Table, numbers: npt.NDArray[np.int64]) -> Callable[[int], str]:
    """Names rows of a table for messages, by their position in `numbers`."""
    return lambda at: table.place(int(numbers[at]))


def refuse_repeated(table: Table, column: str, keys: Keys) -> None:
    """Raises InputError with two rows that have the same key; there must be such rows."""
    seen = np.zeros(keys.count, np.bool_)
    for chunk, found in key_chunks(table, column, keys.texts):
        nodes = keys.find(found)
        order = np.argsort(nodes, kind="stable")
        again = seen[nodes]
        again[order[1:]] |= nodes[order[1:]] == nodes[order[:-1]]
        seen[nodes] = True
        if not again.any():
            continue
        at = int(np.argmax(again))
        second = int(row_numbers(chunk)[at])
        first = _first_row(table, column, keys, int(nodes[at]))
        raise InputError(
            f"{table.place(second)} column {column!r}: found key {keys.name_of(int(nodes[at]))} "
            f"again, expected each key once; it is also at {table.place(first)}"
        )


def _first_row(table: Table, column: str, keys: Keys, node: int) -> int:
    for chunk, found in key_chunks(table, column, keys.texts):
        equal = keys.find(found) == node
        if equal.any():
            return int(row_numbers(chunk)[int(np.argmax(equal))])
    raise AssertionError(f"a key of {table.name} is gone")
