"""Rows of files as streams: features, labels, splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphzero._errors import InputError
from graphzero._inputs.locations import Location, is_table, require_no_member
from graphzero._inputs.names import ID_NAMES, usual_column
from graphzero._inputs.streams import (
    Array,
    IdColumn,
    RowChunk,
    RowStream,
    Texts,
    array_rows,
    rows_per_chunk,
)

if TYPE_CHECKING:
    from graphzero._compile_column import Number
    from graphzero._inputs.tables import Table

# A list column does not say how long its lists are: so many rows are looked at, at most.
_PEEK_ROWS = 1024


def stream_rows(source: str, *, role: str, nan: Number | None = None) -> RowStream:
    """Rows of a table, a .npy file or an array of an archive."""
    location = Location.parse(source)
    if is_table(location.path):
        from graphzero._inputs.tables import open_table

        return table_rows(open_table(location.path), location.member, role=role, nan=nan)
    if Path(location.path).suffix == ".npz":
        from graphzero._inputs.npz import NpzArray

        return NpzArray(*location).rows()
    return npy_rows(require_no_member(location))


def npy_rows(source: str) -> RowStream:
    from graphzero._inputs.file_array import open_npy

    array = open_npy(source)
    if array.ndim == 0:
        raise InputError(f"{source}: found a single value, expected a row for each node")
    return array_rows(source, array)


def table_rows(table: Table, member: str | None, *, role: str, nan: Number | None) -> RowStream:
    """One column of a table, or all but the ids; node rows go by the ids if there are any."""
    if role == "ids":
        return _table_split(table, member)
    from graphzero._compile_column import parse_number
    from graphzero._inputs.arrow_types import is_text
    from graphzero._inputs.table_values import ids_of, values_of

    id_column = usual_column(table.columns, ID_NAMES) if role == "node" else None
    if member is not None:
        values = [member]
    else:
        values = [column for column in table.columns if column != id_column]
    if not values:
        raise InputError(f"{table.name}: found no column beside {id_column!r}, expected values")
    wanted = values if id_column is None else [id_column, *values]
    table.require_same_kinds(wanted)
    value = None if nan is None else parse_number(nan, "value for NaN")
    row_shape, dtype = _row_kind(table, values, value)
    step = rows_per_chunk(8 * (row_shape[0] if row_shape else 1))

    def chunks() -> Iterator[RowChunk]:
        for piece in table.pieces(wanted, step):
            ids = None if id_column is None else ids_of(piece, id_column)
            yield RowChunk(ids, *values_of(piece, values, value))

    return RowStream(
        table.name if member is None else f"{table.name}#{member}",
        chunks,
        row_shape,
        dtype,
        rows=table.num_rows,
        has_ids=id_column is not None,
        texts=id_column is not None and is_text(table.type_of(id_column)),
        parts=table.parts,
        stored_bytes=table.bytes_of(wanted),
    )


def split_with_ids(stream: RowStream) -> RowStream:
    """A split whose values stand where other streams have ids, so that they can be relabelled."""
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


def select_ids(ids: IdColumn, chosen: Array) -> IdColumn:
    """Those where `chosen` is true."""
    import numpy as np

    if not isinstance(ids, Texts):
        return ids[chosen]
    return ids.take(np.flatnonzero(chosen))


def _table_split(table: Table, member: str | None) -> RowStream:
    """A column of node ids, or a mask."""
    from graphzero._inputs.arrow_types import is_bool

    if member is None and len(table.columns) != 1:
        known = ", ".join(map(repr, table.columns))
        raise InputError(
            f"{table.name}: found columns {known}, expected one of node ids; name it as "
            f"{table.name}#COLUMN"
        )
    column = member or table.columns[0]
    if is_bool(table.type_of(column)):
        return _table_mask(table, column)
    return table_ids(table, column)


def _table_mask(table: Table, column: str) -> RowStream:
    """A bool for each node: in order, or beside a column of ids, which then tells whose it is."""
    from graphzero._inputs.arrow_types import is_text
    from graphzero._inputs.table_values import ids_of, mask_of

    id_column = usual_column(table.columns, ID_NAMES)
    wanted = [column] if id_column is None else [column, id_column]
    table.require_same_kinds(wanted)

    def chunks() -> Iterator[RowChunk]:
        for piece in table.pieces(wanted, rows_per_chunk(16)):
            mask = mask_of(piece, column)
            ids = None if id_column is None else select_ids(ids_of(piece, id_column), mask)
            yield RowChunk(ids, mask)

    return RowStream(
        table.name,
        chunks,
        (),
        "bool",
        rows=table.num_rows,
        has_ids=id_column is not None,
        texts=id_column is not None and is_text(table.type_of(id_column)),
        parts=table.parts,
        stored_bytes=table.bytes_of(wanted),
    )


def table_ids(table: Table, column: str) -> RowStream:
    """A column of node ids. They stand where other streams have theirs: texts cannot be values."""
    from graphzero._inputs.arrow_types import is_integer, is_text
    from graphzero._inputs.table_values import ids_of

    kind = table.type_of(column)
    if not (is_integer(kind) or is_text(kind)):
        raise InputError(f"{table.name} column {column!r}: found {kind}, expected node ids")
    table.require_same_kinds([column])

    def chunks() -> Iterator[RowChunk]:
        import numpy as np

        for piece in table.pieces([column], rows_per_chunk(8)):
            yield RowChunk(ids_of(piece, column), np.empty(0))

    return RowStream(
        table.name,
        chunks,
        (),
        "int64",
        rows=table.num_rows,
        has_ids=True,
        texts=is_text(kind),
        parts=table.parts,
        stored_bytes=table.bytes_of([column]),
    )


def _row_kind(
    table: Table, columns: Sequence[str], nan: int | float | None
) -> tuple[tuple[int, ...], str]:
    """Shape and type of a row, as the schema tells and, for lists, the first rows."""
    import numpy as np

    from graphzero._inputs.arrow_types import is_list, width_of
    from graphzero._inputs.table_values import values_of

    def dtype_of(arrow_type: Any) -> Any:
        scalar = arrow_type.value_type if is_list(arrow_type) else arrow_type
        return np.dtype(scalar.to_pandas_dtype())

    first = next(table.pieces(columns, _PEEK_ROWS), None)
    if first is not None:
        shape = values_of(first, columns, nan).values.shape[1:]
    elif len(columns) > 1 or not is_list(table.type_of(columns[0])):
        shape = () if len(columns) == 1 else (len(columns),)
    elif (width := width_of(table.type_of(columns[0]))) is not None:
        shape = (width,)
    else:
        raise InputError(f"{table.name}: found no rows, so the width of a row is not known")
    dtypes = [dtype_of(kind) for column in columns for kind in table.types_of(column)]
    return shape, np.result_type(*dtypes).name
