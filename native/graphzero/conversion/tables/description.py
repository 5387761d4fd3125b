"""What a user says about tables that become a dataset with types.

Rows are nodes whose type is the table; a reference to another table is a relation between the two.
A table may also be declared to hold the edges of one relation. README.md of the parent package has
examples; `describe` makes a description from a TOML file or a dict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from graphzero.files.column_types import TimeUnit

RelationName: TypeAlias = tuple[str, str, str]
Direction: TypeAlias = Literal["in", "out", "both"]
# A date as text, or a number on the scale of integer times.
TimePoint: TypeAlias = "str | int"

# Default names of node features, edge features, labels and times, as in PyG.
FEATURES, EDGE_FEATURES, LABEL, TIME = "x", "edge_attr", "y", "time"
SPLITS = ("train", "valid", "test")
NUMERIC = "numeric"  # features: all columns of numbers that have no other use
REVERSE_PREFIX = "rev_"


@dataclass(frozen=True)
class MatrixDescription:
    """Columns of a table that become one matrix."""

    name: str
    columns: tuple[str, ...]  # empty: all columns of numbers that have no other use
    type: str | None = None  # one of COLUMN_TYPES; None: deduced from the values
    fill: int | float | str | None = None  # what replaces missing values
    is_label: bool = False
    is_list: bool = False  # rows are lists of numbers, even with one column


@dataclass(frozen=True)
class SplitDescription:
    """How rows are divided: at points in time, or by the texts of a column."""

    at: tuple[TimePoint, ...] = ()
    names: tuple[str, ...] = ()  # one more than points in time
    column: str | None = None


@dataclass(frozen=True)
class TimeDescription:
    """The column with the time of each row."""

    column: str
    unit: TimeUnit | None = None  # of its integers, if it is not the dataset's


@dataclass(frozen=True)
class RelationDescription:
    """A relation, and where its edges come from."""

    source: str
    name: str
    target: str
    drop_missing: bool
    reverse: str | None  # the name of the view, if there is one
    direction: Direction = "both"
    undirected: bool = False  # every edge is stored both ways; within one table only

    @property
    def triple(self) -> RelationName:
        return self.source, self.name, self.target


@dataclass(frozen=True)
class Reference(RelationDescription):
    """Rows of the source table name rows of the target table in a column."""

    column: str = ""


@dataclass(frozen=True)
class EdgeEnds(RelationDescription):
    """Rows of a table of edges name a row of the source and one of the target table."""

    source_column: str = ""
    target_column: str = ""
    weight: str | None = None
    dedup: bool = False
    edge_ids: bool | None = None  # None: stored if something needs them


@dataclass(frozen=True)
class TableDescription:
    """A table: of nodes, or of edges if `edges` is there."""

    name: str
    source: Any  # a path, an object that holds a table, or None: it has no rows of its own
    key: str | None = None
    references: tuple[Reference, ...] = ()
    edges: EdgeEnds | None = None
    time: TimeDescription | None = None
    matrices: tuple[MatrixDescription, ...] = ()
    split: SplitDescription | None = None
    drop_missing: bool = False
    missing_texts: tuple[str, ...] = ()

    @property
    def label(self) -> MatrixDescription | None:
        """The label that decides whether a row is in a split."""
        return next((matrix for matrix in self.matrices if matrix.is_label), None)


@dataclass(frozen=True)
class TablesDescription:
    """The description of all tables of a dataset."""

    name: str  # for messages: the file, or the function that was called
    nodes: tuple[TableDescription, ...]
    edges: tuple[TableDescription, ...]
    time_unit: TimeUnit | None = None
    # In the order of the description, which is that of the dataset's schema.
    relations: tuple[RelationDescription, ...] = field(default=())
    # Relations that are said to have each other's edges in reverse.
    inverses: Mapping[Any, Any] = field(default_factory=dict)

    def table(self, name: str) -> TableDescription:
        return next(table for table in self.nodes if table.name == name)


def needed_columns(table: TableDescription) -> list[str]:
    """The columns that the description names, without those that "numeric" selects."""
    found: list[str] = []
    if table.key is not None:
        found.append(table.key)
    if table.time is not None:
        found.append(table.time.column)
    found += [reference.column for reference in table.references]
    if table.edges is not None:
        found += [table.edges.source_column, table.edges.target_column]
        found += [table.edges.weight] if table.edges.weight is not None else []
    if table.split is not None and table.split.column is not None:
        found.append(table.split.column)
    for matrix in table.matrices:
        found += matrix.columns
    return list(dict.fromkeys(found))
