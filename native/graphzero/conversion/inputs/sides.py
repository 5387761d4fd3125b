"""Ids of sources and of targets kept apart: --separate-ids.

A table of ratings has users and items, both counted from 1 on. As long as a dataset has one type of
nodes, the ids are told apart by the column that they stand in: user 7 becomes "user:7", item 7
"item:7". So nodes of one side are neighbours in the order of ids, and the original ids say which
side a node is of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.conversion.inputs.relabel import SOURCE, TARGET
from graphzero.conversion.inputs.streams import (
    EdgeChunk,
    EdgeStream,
    IdColumn,
    RowChunk,
    RowStream,
    Texts,
    as_int64,
)


class Sides(NamedTuple):
    """What the columns of sources and targets are called."""

    source: str
    target: str

    def edges(self, edges: EdgeStream) -> EdgeStream:
        """The same edges, with ids that say their side."""

        def chunks() -> Iterator[EdgeChunk]:
            row = 0
            for chunk in edges.open():
                src = _with_prefix(chunk.src, self.source, edges, row)
                dst = _with_prefix(chunk.dst, self.target, edges, row)
                yield chunk._replace(src=src, dst=dst)
                row += src.num_texts

        return replace(edges, open=chunks, texts=True)

    def side_of(self, id_column: str | None) -> int:
        """The side of a column of ids, by its name; 0: neither side."""
        return {self.source: SOURCE, self.target: TARGET}.get(id_column or "", 0)

    def rows(self, rows: RowStream, id_column: str | None) -> RowStream:
        """Rows of nodes of one side: that of their column of ids."""
        if not self.side_of(id_column):
            if rows.texts and id_column is None:  # a list of ids that state their side themselves
                return rows
            found = "ids without a name" if id_column is None else f"ids in column {id_column!r}"
            raise InputError(
                f"{rows.name}: found {found}, expected column {self.source!r} or {self.target!r} "
                "as in the edges, which tells their side (--separate-ids); --id-column "
                "chooses it, and a column of another name has to be renamed"
            )
        prefix = str(id_column)

        def chunks() -> Iterator[RowChunk]:
            row = 0
            for chunk in rows.open():
                assert chunk.ids is not None
                ids = _with_prefix(chunk.ids, prefix, rows, row)
                yield chunk._replace(ids=ids)
                row += ids.num_texts

        def ids_alone() -> Iterator[IdColumn]:
            assert rows.open_ids is not None
            row = 0
            for ids in rows.open_ids():
                prefixed = _with_prefix(ids, prefix, rows, row)
                yield prefixed
                row += prefixed.num_texts

        return replace(
            rows,
            open=chunks,
            texts=True,
            open_ids=None if rows.open_ids is None else ids_alone,
        )

    def note(self, counts: _engine.IdCounts) -> str:
        """A note on which nodes belong to which side."""
        sizes = {self.source: counts.with_sides(SOURCE), self.target: counts.with_sides(TARGET)}
        first = 0
        parts = []
        for name in sorted(sizes, key=lambda name: f"{name}:".encode()):
            if sizes[name]:
                parts.append(f"nodes {first} to {first + sizes[name] - 1} are {name}:...")
            first += sizes[name]
        return ", ".join(parts)


def _with_prefix(ids: IdColumn, name: str, stream: EdgeStream | RowStream, first_row: int) -> Texts:
    prefix = f"{name}:"
    if isinstance(ids, Texts):
        offsets, data = _engine.prefix_texts(*ids, prefix)
    else:
        offsets, data = _engine.prefix_integers(as_int64(ids, stream.place, first_row), prefix)
    return Texts(offsets, data)


def overlap_note(label: str, names: Sequence[str], counts: _engine.IdCounts) -> tuple[str, ...]:
    """A note if some ids are at both ends of edges: they may belong to two kinds of things."""
    both = counts.with_sides(SOURCE | TARGET)
    if not both:
        return ()
    source, target = names
    return (
        f"{label}: {both:,} of {counts.total:,} ids occur both as {source!r} and as {target!r} and "
        "are one node each; if sources and targets are different things, use --separate-ids",
    )
