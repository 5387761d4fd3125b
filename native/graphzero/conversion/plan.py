"""What a conversion is made of: where edges and columns come from, and options of the work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from graphzero.base.errors import InputError
from graphzero.conversion.compile_graph import GraphOptions, StoredDirection
from graphzero.files.publish import StrPath

if TYPE_CHECKING:
    from graphzero import _engine
    from graphzero.conversion.compile_column import Number
    from graphzero.conversion.inputs.streams import EdgeStream, RowStream

Role = Literal["node", "edge", "ids", "categories"]
# "auto": texts if the ids of the edges are texts, else integers.
Relabel = Literal["auto", "integer", "text"]


class ColumnSource(NamedTuple):
    """A column to compile: its name, where its values are, and how to store them."""

    name: str
    source: str | RowStream  # a file, or its rows
    dtype: str | None = None  # one of COLUMN_TYPES
    role: Role = "node"
    # Where one of these three is None, ColumnOptions give its value.
    nan: Number | None = None
    fill: Number | None = None
    row_align: int | None = None
    text_has_ids: bool = True  # lines of text begin with an id; else line i is row i
    columns: tuple[str, ...] | None = None  # columns of a table that make a row together; None: all
    id_column: str | None = None  # column of a table with each row's id; None: a usual name
    fill_all: Number | None = None  # what missing values and missing rows become; also "mean"
    description: str = ""  # the description to store with the values of an array
    # How the values were quantised before, so that they get the same codes again.
    quantisation: _engine.Quantisation | None = None

    def with_general(self, options: ColumnOptions) -> ColumnSource:
        """The column, with the options of all columns where it has none of its own."""
        return self._replace(
            nan=options.nan if self.nan is None else self.nan,
            # `fill` is for nodes without a row; a table of edges has a row for each edge.
            fill=options.fill if self.fill is None and self.role == "node" else self.fill,
            row_align=options.row_align if self.row_align is None else self.row_align,
        )


def with_fill(columns: Sequence[ColumnSource], fill: Mapping[str, Number]) -> list[ColumnSource]:
    """The columns, each with the value of `fill` for its name, which replaces what is missing."""
    known = {column.name for column in columns if column.role != "ids"}
    for name in fill:
        if name not in known:
            raise InputError(
                f"fill value of {name!r}: found no such column, expected one of "
                f"{', '.join(sorted(known)) or 'those to be made, of which there are none'}"
            )
    return [column._replace(fill_all=fill.get(column.name)) for column in columns]


class ColumnOptions(NamedTuple):
    """Options of `graphzero convert` that hold for each column that does not say otherwise."""

    row_align: int | None = None  # each row is padded to a multiple of this many bytes
    nan: Number | None = None  # what NaN becomes in columns of integers
    fill: Number | None = None  # the values of nodes that the source has no row for
    dtype: str | None = None  # of columns with floating values: one of FLOAT_TYPES
    # The lowest and the highest value of quantised columns, by name; other ranges are measured.
    ranges: Mapping[str, tuple[float, float]] = {}

    def check_ranges(self, columns: Iterable[str]) -> None:
        """Raises InputError for a range of a column that is not to be made."""
        known = sorted(set(columns))
        for name in self.ranges:
            if name not in known:
                raise InputError(
                    f"range of {name!r}: found no such column, expected one of {', '.join(known)}"
                )


class WorkOptions(NamedTuple):
    """How to do the work. Of these, only on_error and missing can change the result."""

    memory: int | str | None = None
    threads: int | None = None
    on_error: str = "stop"
    overwrite: bool = False
    missing: tuple[str, ...] = ()  # texts that stand for a missing value


class Plan(NamedTuple):
    """What is to be converted: the files, folder or object that the user named, as its reader
    understands it."""

    edges: StrPath | EdgeStream
    columns: list[ColumnSource]
    num_nodes: int | None = None  # if the source says how many there are
    original_ids: RowStream | None = None
    notes: tuple[str, ...] = ()  # what is left out, and why
    # How the graph is stored unless the user says otherwise: an export says how it was before.
    undirected: bool = False
    direction: StoredDirection | None = None
    dedup: bool = False
    edge_ids: bool = False
    weight_name: str | None = None  # name of the weights in the input
    relabel: Relabel | None = (
        None  # whether ids are original ones, to be numbered, and of which kind
    )
    node_ids: RowStream | None = None  # the original ids of all nodes, also of those without edges
    nodes: str | None = None  # a table of nodes, which has the ids of all
    id_column: str | None = None  # the column of that table with the ids
    separate_ids: bool = False  # sources and targets are different things, also with equal ids
    node_times: RowStream | None = None  # times of the nodes in order; needs num_nodes
    time_unit: str = ""  # of node_times and of the times of edges
    original_ids_description: str = ""  # the description to store with original_ids

    def graph_options(
        self,
        *,
        undirected: bool = False,
        direction: StoredDirection | None = None,
        num_nodes: int | None = None,
        dedup: bool = False,
        edge_ids: bool = False,
    ) -> GraphOptions:
        """The user's options, and those of the plan where the user gave none."""
        return GraphOptions(
            undirected=undirected or self.undirected,
            direction=direction or self.direction or "both",
            num_nodes=self.num_nodes if num_nodes is None else num_nodes,
            dedup=dedup or self.dedup,
            edge_ids=edge_ids or self.edge_ids,
            weight_name=self.weight_name or "",
        )
