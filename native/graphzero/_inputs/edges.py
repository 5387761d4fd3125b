"""Edges of files as streams: which columns of a table are which, how arrays lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphzero._errors import InputError
from graphzero._inputs.file_array import FileArray, open_npy
from graphzero._inputs.locations import Location, is_table, require_no_member
from graphzero._inputs.names import EdgeColumns, EdgeNames
from graphzero._inputs.streams import EdgeChunk, EdgeStream, pair_edges, rows_per_chunk

if TYPE_CHECKING:
    from graphzero._inputs.tables import Table


def stream_edges(source: str, names: EdgeNames) -> EdgeStream:
    """Edges of a table or an array."""
    location = Location.parse(source)
    if is_table(location.path):
        from graphzero._inputs.tables import open_table

        if location.member is not None:
            raise InputError(
                f"{location}: found one column, expected a table of edges; --source and --target "
                "choose its columns"
            )
        table = open_table(location.path)
        return table_edges(table, names.choose(table.name, table.columns))
    if names.given:
        raise InputError(
            f"{source}: found names of columns (--source, --target, --weight), which an array does "
            "not have: its two rows or columns are source and target"
        )
    suffix = Path(location.path).suffix
    if suffix == ".npz":
        from graphzero._inputs.npz import NpzArray

        return NpzArray(*location).edges()
    return pair_edges(location.path, npy_edge_pairs(require_no_member(location)), None)


def table_edges(table: Table, names: EdgeColumns) -> EdgeStream:
    """Edges of a table."""
    from graphzero._inputs.arrow_types import is_integer, is_text
    from graphzero._inputs.table_values import ids_of, values_of

    source, target, weight = names
    for column in (source, target):
        if not (is_integer(table.type_of(column)) or is_text(table.type_of(column))):
            raise InputError(
                f"{table.name} column {column!r}: found {table.type_of(column)}, expected integers "
                "or texts as node ids; --source and --target choose other columns"
            )
    if is_text(table.type_of(source)) != is_text(table.type_of(target)):
        raise InputError(
            f"{table.name}: found {table.type_of(source)} in {source!r} and "
            f"{table.type_of(target)} in {target!r}, expected the same kind of ids"
        )
    columns = [source, target] if weight is None else [source, target, weight]
    table.require_same_kinds(columns)

    def chunks() -> Iterator[EdgeChunk]:
        for piece in table.pieces(columns, rows_per_chunk(8 * len(columns))):
            ends = [ids_of(piece, column) for column in columns[:2]]
            weights = None
            if weight is not None:
                values = values_of(piece, [weight], None).values
                weights = np.ascontiguousarray(values, np.float32)
            yield EdgeChunk(ends[0], ends[1], weights)

    return EdgeStream(
        table.name,
        chunks,
        weighted=weight is not None,
        texts=is_text(table.type_of(source)),
        count=table.num_rows or 0,
        parts=table.parts,
        stored_bytes=table.bytes_of(columns),
    )


def npy_edge_pairs(source: str) -> FileArray:
    """The ends of each edge in a row: an (E, 2) array, or a (2, E) one turned; (2, 2) counts as the
    latter."""
    array = open_npy(source)
    if array.ndim != 2 or 2 not in array.shape or array.dtype.kind not in "iu":
        raise InputError(
            f"{source}: found {array.dtype} of shape {array.shape}, expected integers of shape "
            "(2, E) or (E, 2)"
        )
    if not array.dtype.isnative:  # would have to be copied, and may exceed memory
        raise InputError(
            f"{source}: found {array.dtype} of shape {array.shape}, expected integers of shape "
            "(2, E) or (E, 2) in the byte order of this machine; save it anew with "
            "array.astype(array.dtype.newbyteorder('='))"
        )
    return array.T if array.shape[0] == 2 else array
