"""Edges of files as streams: chooses the columns of a table, and orients arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.file_array import FileArray, open_npy
from graphzero.conversion.inputs.locations import Location, is_table, require_no_member
from graphzero.conversion.inputs.names import EdgeNames
from graphzero.conversion.inputs.opening import EdgeTable, edge_table
from graphzero.conversion.inputs.options import ReadOptions
from graphzero.conversion.inputs.streams import EdgeChunk, EdgeStream, pair_edges
from graphzero.conversion.inputs.table_views import row_numbers
from graphzero.conversion.inputs.tables import ReadTally, Table, Wanted


def stream_edges(
    source: str,
    names: EdgeNames,
    options: ReadOptions | None = None,
    *,
    same_kind: bool = True,
) -> EdgeStream:
    """Edges of a table that pyarrow reads, or of an array. `same_kind`: sources and targets must
    both be integers, or both texts."""
    location = Location.parse(source)
    if is_table(location.path):
        if location.member is not None:
            raise InputError(
                f"{location}: found one column, expected a table of edges; --source and --target "
                "choose its columns"
            )
        table = edge_table(location.path, names, options or ReadOptions())
        return table_edges(table, same_kind=same_kind)
    if names.given:
        raise InputError(
            f"{source}: found names of columns (--source, --target, --weight, --time), which an "
            "array does not have: its two rows or columns are source and target"
        )
    suffix = Path(location.path).suffix
    if suffix == ".npz":
        from graphzero.conversion.inputs.npz import NpzArray

        return NpzArray(*location).edges()
    return pair_edges(location.path, npy_edge_pairs(require_no_member(location)), None)


def table_edges(
    edges: EdgeTable,
    *,
    node_limit: int | None = None,
    checked: Sequence[Wanted] = (),
    same_kind: bool = True,
) -> EdgeStream:
    """Edges of a table. `node_limit`: ids are node ids below it; None: they are original ids.
    `checked`: values that are read with the edges, so that a row with a bad one is skipped as an
    edge too."""
    table, time, texts = edges.table, edges.time, edges.texts
    source, target, weight, guessed, _ = edges.columns
    if texts is None:
        texts = _kind_of_ids(table, source, target, same_kind)
    ends = [
        Wanted("id", (column,), texts=texts)
        if node_limit is None or texts
        else Wanted("node_id", (column,), label=label, limit=node_limit)
        for column, label in ((source, "source"), (target, "target"))
    ]
    wanted = [*ends, *([] if weight is None else [Wanted("weight", (weight,))]), *checked]
    wanted += [] if time is None else [time.wanted(may_be_missing=False)]
    tally = ReadTally()

    def chunks() -> Iterator[EdgeChunk]:
        if time is not None:
            time.begin()
        for chunk in table.read(wanted, tally):
            src, dst = chunk.groups[0].values, chunk.groups[1].values
            weights = None
            if weight is not None:
                weights = np.ascontiguousarray(chunk.groups[2].array, np.float32)
            times = None
            if time is not None:
                times = time.values(chunk.groups[-1], row_numbers(chunk))
            size = chunk.byte_size
            yield EdgeChunk(src, dst, weights, chunk.numbers, chunk.end_row, size, times)

    columns = [source, target, *([] if weight is None else [weight])]
    columns += [] if time is None else [time.column]
    return EdgeStream(
        table.name,
        chunks,
        weighted=weight is not None,
        texts=texts,
        count=table.num_rows or 0,
        stored_bytes=table.bytes_of(columns),
        place_of=table.place,
        tally=tally,
        ends=(source, target) if table.has_names else None,
        guessed=guessed,
        progress_bytes=0 if table.says_kinds else table.bytes_of(columns),
        timed=time is not None,
        time_unit="" if time is None else time.unit or "",
    )


def _kind_of_ids(table: Table, source: str, target: str, same_kind: bool) -> bool:
    """Whether all ids are texts."""
    kinds = table.kinds_of([source, target])
    for column, kind in zip((source, target), kinds, strict=True):
        if kind.what not in ("integer", "text"):
            raise InputError(
                f"{table.name} column {column!r}: found {kind.name}, expected integers or texts as "
                "node ids; --source and --target choose other columns"
            )
    if same_kind and kinds[0].what != kinds[1].what:
        raise InputError(
            f"{table.name}: found {kinds[0].name} in {source!r} and {kinds[1].name} in {target!r}, "
            "expected the same kind of ids"
        )
    return all(kind.what == "text" for kind in kinds)


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
