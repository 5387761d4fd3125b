"""Edges of files as streams: which columns of a table are which, how arrays lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphzero._errors import InputError
from graphzero._inputs.locations import Location, is_table, require_no_member
from graphzero._inputs.streams import EdgeChunk, EdgeStream, array_edges, rows_per_chunk

if TYPE_CHECKING:
    from graphzero._inputs.tables import Table

Ends = tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]]]

SOURCE_NAMES = ("source", "src", "from", "head", "u")
TARGET_NAMES = ("target", "dst", "to", "tail", "v")
WEIGHT_NAMES = ("weight", "edge_weight", "w")


class EdgeNames(NamedTuple):
    """Which columns of a table of edges are what; None: by the usual names."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None

    @property
    def given(self) -> bool:
        return any(name is not None for name in self)


def stream_edges(source: str, names: EdgeNames, *, texts: bool = False) -> EdgeStream:
    """Edges of a table, an array or text. For text, `texts` takes its ids as they stand."""
    location = Location.parse(source)
    if is_table(location.path):
        from graphzero._inputs.tables import open_table

        return table_edges(open_table(require_no_member(location)), names)
    suffix = Path(location.path).suffix
    if suffix == ".npz":
        from graphzero._inputs.npz import NpzArray

        return NpzArray(*location).edges()
    if suffix == ".npy":
        src, dst = npy_edge_ends(require_no_member(location))
        return array_edges(location.path, src, dst, None)
    from graphzero._inputs.tables import open_text_table

    as_texts = (0, 1) if texts else ()
    return table_edges(open_text_table(require_no_member(location), as_texts=as_texts), names)


def table_edges(table: Table, names: EdgeNames) -> EdgeStream:
    """Edges of a table."""
    from graphzero._inputs.tables import ids_of, is_integer, is_text, values_of

    source, target = _end_columns(table.columns, names, table.name)
    weight = names.weight or _usual(table.columns, WEIGHT_NAMES)
    if weight is None and len(table.columns) == 3 and table.columns[0].isdigit():
        weight = table.columns[2]  # text without names: source, target, weight
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
    if weight is not None:
        table.type_of(weight)

    def chunks() -> Iterator[EdgeChunk]:
        row = 0
        for batch in table.batches(columns, rows_per_chunk(8 * len(columns))):
            ends = [ids_of(batch.column(c), f"{table.name} column {c!r}", row) for c in columns[:2]]
            weights = None
            if weight is not None:
                values = values_of(batch, [weight], table.name, None, row)
                weights = np.ascontiguousarray(values, np.float32)
            yield EdgeChunk(ends[0], ends[1], weights)
            row += batch.num_rows

    return EdgeStream(
        table.name,
        chunks,
        weighted=weight is not None,
        texts=is_text(table.type_of(source)),
        count=table.num_rows or 0,
    )


def npy_edge_ends(source: str) -> Ends:
    """The two rows of a (2, E) array or the two columns of an (E, 2) one; (2, 2) counts as rows."""
    from graphzero._compile_column import load_npy

    array = load_npy(source)
    if array.ndim != 2 or 2 not in array.shape or array.dtype.kind not in "iu":
        raise InputError(
            f"{source}: found {array.dtype} of shape {array.shape}, expected integers of shape "
            "(2, E) or (E, 2)"
        )
    if not array.dtype.isnative:  # would have to be copied, and may exceed memory
        raise InputError(
            f"{source}: found {array.dtype} of shape {array.shape}, expected integers of shape "
            "(2, E) or (E, 2) in the byte order of this machine"
        )
    return (array[0], array[1]) if array.shape[0] == 2 else (array[:, 0], array[:, 1])


def _end_columns(columns: Sequence[str], names: EdgeNames, table: str) -> tuple[str, str]:
    """By the names given, then by the usual ones, then the first two."""
    source = names.source or _usual(columns, SOURCE_NAMES)
    target = names.target or _usual(columns, TARGET_NAMES)
    if source is not None and target is not None:
        return source, target
    if len(columns) < 2 or source is not None or target is not None:
        raise InputError(
            f"{table}: found columns {', '.join(map(repr, columns))}, expected one for the source "
            "and one for the target of each edge; name them with --source and --target"
        )
    return columns[0], columns[1]


def _usual(columns: Sequence[str], usual: Sequence[str]) -> str | None:
    by_lower = {column.lower(): column for column in reversed(columns)}
    return next((by_lower[name] for name in usual if name in by_lower), None)
