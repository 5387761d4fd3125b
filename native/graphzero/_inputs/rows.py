"""Rows of files as streams: features, labels, splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphzero._errors import InputError
from graphzero._inputs.locations import Location, is_table, require_no_member
from graphzero._inputs.streams import RowChunk, RowStream, array_rows, rows_per_chunk

if TYPE_CHECKING:
    from graphzero._inputs.tables import Table

ID_NAMES = ("id", "node_id", "node", "nid", "n_id")
# A list column does not say how long its lists are: so many rows are looked at, at most.
_PEEK_ROWS = 1024


def stream_rows(source: str, *, role: str, nan: Any = None) -> RowStream:
    """Rows of a table, a .npy file or an array of an archive."""
    location = Location.parse(source)
    if is_table(location.path):
        from graphzero._inputs.tables import open_table

        return table_rows(open_table(location.path), location.member, role=role, nan=nan)
    if Path(location.path).suffix == ".npz":
        from graphzero._inputs.npz import NpzArray

        return NpzArray(*location).rows()
    return npy_rows(require_no_member(location))


def text_rows(source: str, *, role: str, texts: bool, nan: Any = None) -> RowStream:
    """Rows of text whose ids (for a split: values) are to be relabelled."""
    from graphzero._inputs.tables import open_text_table

    table = open_text_table(source, as_texts=(0,) if texts else ())
    if role == "ids":
        return table_rows(table, table.columns[0], role=role, nan=nan)
    return table_rows(table, None, role=role, nan=nan, id_column=table.columns[0])


def npy_rows(source: str) -> RowStream:
    from graphzero._compile_column import load_npy

    array = load_npy(source)
    if array.ndim not in (1, 2):
        raise InputError(f"{source}: found {array.ndim} dimensions, expected 1 or 2")
    return array_rows(source, array)


def table_rows(
    table: Table, member: str | None, *, role: str, nan: Any, id_column: str | None = None
) -> RowStream:
    """One column of a table, or all but the ids; node rows go by the ids if there are any."""
    if role == "ids":
        return _table_ids(table, member)
    from graphzero._inputs.tables import ids_of, is_text, values_of

    if id_column is None and role == "node":
        by_lower = {column.lower(): column for column in reversed(table.columns)}
        id_column = next((by_lower[name] for name in ID_NAMES if name in by_lower), None)
    if member is not None:
        table.type_of(member)
        values = [member]
    else:
        values = [column for column in table.columns if column != id_column]
    if not values:
        raise InputError(f"{table.name}: found no column beside {id_column!r}, expected values")
    wanted = values if id_column is None else [id_column, *values]
    row_shape, dtype = _row_kind(table, values, nan)
    step = rows_per_chunk(8 * (row_shape[0] if row_shape else 1))

    def chunks() -> Iterator[RowChunk]:
        row = 0
        for batch in table.batches(wanted, step):
            ids = None
            if id_column is not None:
                where = f"{table.name} column {id_column!r}"
                ids = ids_of(batch.column(id_column), where, row)
            yield RowChunk(ids, values_of(batch, values, table.name, nan, row))
            row += batch.num_rows

    return RowStream(
        table.name if member is None else f"{table.name}#{member}",
        chunks,
        row_shape,
        dtype,
        rows=table.num_rows,
        has_ids=id_column is not None,
        texts=id_column is not None and is_text(table.type_of(id_column)),
    )


def split_with_ids(stream: RowStream) -> RowStream:
    """A split whose values stand where other streams have ids, so that they can be relabelled."""
    if stream.has_ids:
        return stream

    def chunks() -> Iterator[RowChunk]:
        for _, rows in stream.open():
            if rows.ndim != 1 or rows.dtype.kind not in "iu":
                raise InputError(
                    f"{stream.name}: found {rows.dtype} of shape {rows.shape}, expected node ids: "
                    "with --relabel a mask does not tell which"
                )
            yield RowChunk(rows, rows)

    return replace(stream, open=chunks, has_ids=True)


def _table_ids(table: Table, member: str | None) -> RowStream:
    """A column of node ids, as a split has them."""
    from graphzero._inputs.tables import ids_of, is_integer, is_text

    if member is None and len(table.columns) != 1:
        known = ", ".join(map(repr, table.columns))
        raise InputError(
            f"{table.name}: found columns {known}, expected one of node ids; name it as "
            f"{table.name}#COLUMN"
        )
    column = member or table.columns[0]
    kind = table.type_of(column)
    if not (is_integer(kind) or is_text(kind)):
        raise InputError(f"{table.name} column {column!r}: found {kind}, expected node ids")

    def chunks() -> Iterator[RowChunk]:
        import numpy as np

        row = 0
        for batch in table.batches([column], rows_per_chunk(8)):
            ids = ids_of(batch.column(column), f"{table.name} column {column!r}", row)
            # Ids stand where other columns have theirs: texts cannot be values of a matrix.
            yield RowChunk(ids, np.empty(0))
            row += batch.num_rows

    return RowStream(
        table.name, chunks, (), "int64", rows=table.num_rows, has_ids=True, texts=is_text(kind)
    )


def _row_kind(table: Table, columns: Sequence[str], nan: Any) -> tuple[tuple[int, ...], str]:
    """Shape and type of a row, as the schema tells and, for lists, the first batch."""
    import numpy as np

    from graphzero._inputs.tables import is_list, values_of

    for batch in table.batches(columns, _PEEK_ROWS):
        values = values_of(batch, columns, table.name, nan, 0)
        return values.shape[1:], values.dtype.name
    if len(columns) == 1 and is_list(table.type_of(columns[0])):
        raise InputError(f"{table.name}: found no rows, so the width of a row is not known")
    dtype = np.result_type(*(np.dtype(table.type_of(c).to_pandas_dtype()) for c in columns))
    return (() if len(columns) == 1 else (len(columns),)), dtype.name
