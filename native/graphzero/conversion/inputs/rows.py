"""Rows of files as streams: features, labels, splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.locations import Location, has_stream, is_table, require_no_member
from graphzero.conversion.inputs.matrix_columns import Filling, MatrixColumn, matrix_rows
from graphzero.conversion.inputs.matrix_type import matrix_type
from graphzero.conversion.inputs.names import ID_NAMES, likely_ids, usual_column
from graphzero.conversion.inputs.opening import node_table, open_table, split_table
from graphzero.conversion.inputs.options import ReadOptions
from graphzero.conversion.inputs.plain_text import (
    has_ids,
    header_description,
    id_name,
    plain_text,
    takes_plain,
)
from graphzero.conversion.inputs.streams import RowChunk, RowStream, array_rows, select_ids
from graphzero.conversion.inputs.tables import ReadTally, Table, Wanted
from graphzero.conversion.inputs.texts import TextInput, sample_fields, text_input
from graphzero.files.description import ColumnDescription

if TYPE_CHECKING:
    from graphzero.conversion.plan import ColumnSource


class OpenedRows(NamedTuple):
    """Rows of a file: a text that the engine reads as it stands, or a stream of them."""

    rows: TextInput | RowStream
    dtype: str | None = None  # what the values of a text turned out to be
    description: str = ""  # the description to store with them


def open_rows(
    column: ColumnSource,
    options: ReadOptions,
    *,
    float_dtype: str | None = None,
    texts: bool | None = None,
    node_limit: int = 2**63,
) -> OpenedRows:
    """Opens the file of a column.

    `float_dtype`: what floating values of a table become unless a type is asked for. `texts`: ids
    are original ones, texts or integers; None: they are node ids below `node_limit`.
    """
    assert isinstance(column.source, str)
    if texts is None and (plain := plain_text(column, options)) is not None:
        return OpenedRows(plain.text, description=plain.description)
    opener = _Opener(column, options, float_dtype, texts, node_limit)
    location = Location.parse(column.source)
    if is_table(location.path) or column.columns is not None or location.member is not None:
        if Path(location.path).suffix not in (".npy", ".npz"):
            return OpenedRows(opener.named(location))
        if column.columns is not None:
            raise InputError(
                f"{location}: found names of columns, expected a table: an array has none"
            )
    if has_stream(location.path):
        return OpenedRows(_array_rows(location))
    return opener.positional(location.path)


def existing_columns(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """The columns of these names, which were split at commas: a name may contain commas itself."""
    joined = ",".join(names)
    found = (joined,) if joined in table.columns else tuple(names)
    table.require(found)
    return found


def check_names(column: ColumnSource, options: ReadOptions) -> None:
    """Raises InputError for a column that the table does not have."""
    assert isinstance(column.source, str)
    location = Location.parse(column.source)
    if Path(location.path).suffix in (".npy", ".npz"):
        return
    names = _names(column, location)
    if column.role == "ids" and names is None and not is_table(location.path):
        return  # a text of ids, which has no columns
    table = open_table(location.path, options)
    if column.id_column is not None and column.role == "node":
        table.require([column.id_column])
    if names is not None:
        existing_columns(table, names)


class _Opener(NamedTuple):
    column: ColumnSource
    options: ReadOptions
    float_dtype: str | None
    texts: bool | None
    node_limit: int

    def named(self, location: Location) -> RowStream:
        """Columns of a table by their names."""
        column = self.column
        table = open_table(location.path, self.options)
        names = _names(column, location)
        if names is not None:
            names = existing_columns(table, names)
        if column.role == "ids":
            return _table_split(table, names, column.id_column, self.options)
        ids = None
        if column.role == "node" and column.text_has_ids:
            own = id_column_of(table, column.id_column, self.options, names)
            ids = self._ids(table, own)
        return self._rows(table, names or _all_but(table, ids), ids)

    def positional(self, path: str) -> OpenedRows:
        """Text with an id and values on each line, or values alone; or a split."""
        column, texts = self.column, self.texts
        text = text_input(path)
        if column.role == "ids":
            assert texts is not None  # else it is plain
            split = split_table(path, texts, self.options)
            return OpenedRows(table_ids(split, split.columns[0], texts))
        if column.role == "node" and not has_ids(column) and texts is not None:
            raise InputError(
                f"{path}: found lines without ids (--rows-in-order), expected them: with --relabel "
                "a line's place does not tell its node"
            )
        first = sample_fields(text, 1)[0]
        named = id_name(column, first, self.options)
        if named is not None and named != first[0]:
            table = open_table(path, self.options)
            ids = self._ids(table, named)
            return OpenedRows(self._rows(table, _all_but(table, ids), ids))
        table = node_table(text, bool(texts), self.options, has_ids=has_ids(column))
        ids = self._ids(table, table.columns[0]) if has_ids(column) else None
        rows = self._rows(table, _all_but(table, ids), ids)
        assert rows.matrix is not None
        plain = texts is None and takes_plain(column, first, self.options)
        if plain and not rows.matrix.type.category:
            dtype = rows.matrix.type.quantised or rows.matrix.type.dtype
            return OpenedRows(text, dtype, header_description(column, first))
        return OpenedRows(rows)

    def _ids(self, table: Table, id_column: str | None) -> Wanted | None:
        if id_column is None:
            return None
        if not table.says_kinds:
            if self.texts is None:
                return Wanted("node_id", (id_column,), label="node id", limit=self.node_limit)
            return Wanted("id", (id_column,), texts=self.texts)
        kind = table.kinds_of([id_column])[0]
        if kind.what not in ("integer", "text"):
            raise InputError(
                f"{table.name} column {id_column!r}: found {kind.name}, expected integers or texts "
                "as ids; --id-column names another"
            )
        return Wanted("id", (id_column,), texts=kind.what == "text")

    def _rows(self, table: Table, names: Sequence[str], ids: Wanted | None) -> RowStream:
        column = self.column
        matrix = matrix_type(column.name, table, names, column.dtype, self.float_dtype)
        filling = Filling(column.fill_all, column.nan, column.fill)
        return matrix_rows(MatrixColumn(matrix, filling), ids, role=column.role)


def _names(column: ColumnSource, location: Location) -> tuple[str, ...] | None:
    """The columns that were asked for; None: all."""
    if column.columns is not None or location.member is None:
        return column.columns
    return tuple(location.member.split(","))


def id_column_of(
    table: Table,
    given: str | None,
    options: ReadOptions,
    values: Sequence[str] | None = None,
) -> str | None:
    """The column with the ids of the rows: the one that the user named, one with a likely name, or
    the first column of text. None: rows come in order."""
    if given is not None:
        table.require([given])
        return given
    likely = likely_ids(table.columns, options.ends)
    if likely is not None or table.says_kinds:
        return likely
    first = table.columns[0]
    if first in (values or ()):
        raise InputError(
            f"{table.name}: found no column of ids among {', '.join(map(repr, table.columns))}, "
            "expected one; --id-column names it"
        )
    return first


def _all_but(table: Table, ids: Wanted | None) -> tuple[str, ...]:
    names = tuple(name for name in table.columns if ids is None or name not in ids.columns)
    if not names:
        own = "" if ids is None else f" beside {ids.columns[0]!r}"
        raise InputError(f"{table.name}: found no column{own}, expected values")
    return names


def _array_rows(location: Location) -> RowStream:
    if Path(location.path).suffix == ".npz":
        from graphzero.conversion.inputs.npz import NpzArray

        return NpzArray(*location).rows()
    return npy_rows(require_no_member(location))


def npy_rows(source: str) -> RowStream:
    from graphzero.conversion.inputs.file_array import open_npy

    array = open_npy(source)
    if array.ndim == 0:
        raise InputError(f"{source}: found a single value, expected a row for each node")
    return array_rows(source, array)


def split_with_ids(stream: RowStream) -> RowStream:
    """Makes the values of a split the ids of its stream, so that they can be relabelled."""
    if stream.has_ids:
        return stream

    def chunks() -> Iterator[RowChunk]:
        for chunk in stream.open():
            rows = chunk.rows
            if rows.ndim != 1 or rows.dtype.kind not in "iu":
                raise InputError(
                    f"{stream.name}: found {rows.dtype} of shape {rows.shape}, expected node ids: "
                    "with --relabel a mask does not tell which"
                )
            yield RowChunk(rows, rows)

    return replace(stream, open=chunks, has_ids=True)


def _table_split(
    table: Table, names: Sequence[str] | None, id_column: str | None, options: ReadOptions
) -> RowStream:
    """A column of node ids, or a mask."""
    if (names is None and len(table.columns) != 1) or (names is not None and len(names) != 1):
        known = ", ".join(map(repr, table.columns))
        raise InputError(
            f"{table.name}: found columns {known}, expected one of node ids; name it as "
            f"{table.name}#COLUMN"
        )
    column = table.columns[0] if names is None else names[0]
    kind = table.kinds_of([column])[0]
    if kind.what == "bool":
        return _table_mask(table, column, id_column, options)
    if kind.what not in ("integer", "text"):
        raise InputError(f"{table.name} column {column!r}: found {kind.name}, expected node ids")
    return table_ids(table, column, kind.what == "text")


def _table_mask(
    table: Table, column: str, id_column: str | None, options: ReadOptions
) -> RowStream:
    """A bool for each node: in order, or beside a column of ids, which then names the node."""
    if id_column is not None:
        table.require([id_column])
    ids_name = id_column or likely_ids(table.columns, options.ends)
    wanted = [Wanted("bool", (column,))]
    texts = False
    if ids_name is not None:
        texts = table.kinds_of([ids_name])[0].what == "text"
        wanted.append(Wanted("id", (ids_name,), texts=texts))
    tally = ReadTally()

    def chunks() -> Iterator[RowChunk]:
        for chunk in table.read(wanted, tally):
            mask = chunk.groups[0].array.reshape(-1)
            ids = None if ids_name is None else select_ids(chunk.groups[1].values, mask)
            yield RowChunk(ids, mask)

    return RowStream(
        table.name,
        chunks,
        (),
        "bool",
        rows=table.num_rows,
        has_ids=ids_name is not None,
        id_column=ids_name,
        texts=texts,
        stored_bytes=table.bytes_of([name for each in wanted for name in each.columns]),
        place_of=table.place,
        tally=tally,
    )


def table_ids(table: Table, column: str, texts: bool | None = None) -> RowStream:
    """A column of node ids, as the ids of a stream: texts cannot be its values."""
    if texts is None:
        texts = table.kinds_of([column])[0].what == "text"
    tally = ReadTally()

    def chunks() -> Iterator[RowChunk]:
        import numpy as np

        for chunk in table.read([Wanted("id", (column,), texts=bool(texts))], tally):
            yield RowChunk(chunk.groups[0].values, np.empty(0), numbers=chunk.numbers)

    return RowStream(
        table.name,
        chunks,
        (),
        "int64",
        rows=table.num_rows,
        has_ids=True,
        # Ids in a list without a column name may state their side themselves.
        id_column=column if table.has_names else None,
        texts=texts,
        stored_bytes=table.bytes_of([column]),
        place_of=table.place,
        tally=tally,
    )


def described_column(
    table: Table,
    name: str,
    dtype: str,
    description: ColumnDescription,
    *,
    role: str,
    dictionary: Table | None,
) -> RowStream:
    """A column of an export, which has the name of its matrix, with the description from the
    manifest."""
    id_column = usual_column(table.columns, ID_NAMES) if role == "node" else None
    ids = None
    if id_column is not None:
        texts = table.kinds_of([id_column])[0].what == "text"
        ids = Wanted("id", (id_column,), texts=texts)
    asked = dtype if description.unit is None else f"date[{description.unit}]"
    matrix = matrix_type(name, table, [name], "category" if dictionary else asked, None)
    column = MatrixColumn(matrix, Filling(), described=description, dictionary=dictionary)
    return matrix_rows(column, ids, role=role)
