"""Names that columns of edges and nodes usually have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from graphzero.base.errors import InputError
from graphzero.files.column_types import COLUMN_TYPES

SOURCE_NAMES = ("source", "src", "from", "head", "u")
TARGET_NAMES = ("target", "dst", "to", "tail", "v")
WEIGHT_NAMES = ("weight", "edge_weight", "w")
ID_NAMES = ("id", "node_id", "node", "nid", "n_id")


class EdgeColumns(NamedTuple):
    """The columns of a table of edges."""

    source: str
    target: str
    weight: str | None
    guessed: bool = False  # nothing names the ends: they are the first of several columns
    time: str | None = None  # when an edge came to be


class EdgeNames(NamedTuple):
    """The user's names of the columns of a table of edges; None: usual names, and no times."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    time: str | None = None

    @property
    def given(self) -> bool:
        return any(name is not None for name in self)

    def choose(self, table: str, columns: Sequence[str]) -> EdgeColumns:
        """Chooses columns by the given names, else by usual names, else the first two."""
        for name in self:
            if name is not None and name not in columns:
                raise no_column(table, name, columns)
        source = self.source or usual_column(columns, SOURCE_NAMES)
        target = self.target or usual_column(columns, TARGET_NAMES)
        weight = self.weight or usual_column(columns, WEIGHT_NAMES)
        if source is not None and source == target:
            raise InputError(
                f"{table}: found column {source!r} as source and as target, expected two; name "
                "them with --source and --target"
            )
        if source is not None and target is not None:
            return EdgeColumns(source, target, weight, time=self.time)
        if len(columns) < 2 or source is not None or target is not None:
            raise InputError(
                f"{table}: found columns {', '.join(map(repr, columns))}, expected one for the "
                "source and one for the target of each edge; name them with --source and --target"
            )
        return EdgeColumns(columns[0], columns[1], weight, len(columns) > 2, self.time)


def usual_column(columns: Sequence[str], usual: Sequence[str]) -> str | None:
    """The column with the first of these names, in upper or lower case."""
    by_lower = {column.lower(): column for column in reversed(columns)}
    return next((by_lower[name] for name in usual if name in by_lower), None)


def likely_ids(columns: Sequence[str], ends: Sequence[str]) -> str | None:
    """The column of node ids: the only one that has the name of an end of the edges, or one with a
    usual name."""
    found = [name for name in ends if name in columns]
    return found[0] if len(found) == 1 else usual_column(columns, ID_NAMES)


def no_column(table: str, name: str, columns: Sequence[str]) -> InputError:
    """Says which columns there are, and which of them may have been meant."""
    from difflib import get_close_matches

    by_lower = {column.lower(): column for column in reversed(columns)}
    close = get_close_matches(name.lower(), by_lower, n=1)
    meant = f"; did you mean {by_lower[close[0]]!r}?" if close else ""
    column, _, asked = name.rpartition(":")
    if column in columns and asked in COLUMN_TYPES:
        meant = f"; a type goes by the name of the result: dtypes={{NAME: {asked!r}}}"
    elif column and column in columns:
        meant = f"; if {asked!r} is to be a type, it is none of {', '.join(COLUMN_TYPES)}"
    known = ", ".join(map(repr, columns)) or "none"
    return InputError(f"{table}: found no column {name!r}, expected one of {known}{meant}")
