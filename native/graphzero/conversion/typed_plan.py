"""What a conversion to a dataset with types is made of, and what it reports.

A TypedSource is what a user named: tables, a folder, an object of another library. It makes a
TypedPlan, in which all ids are node ids; it may have to read and number keys for that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from graphzero.conversion.compile_graph import StoredDirection
from graphzero.conversion.plan import ColumnSource

if TYPE_CHECKING:
    from graphzero import _engine
    from graphzero.base.progress import ShowProgress
    from graphzero.conversion.compile_column import ColumnReport
    from graphzero.conversion.inputs.options import ReadOptions
    from graphzero.conversion.inputs.streams import EdgeStream, RowStream
    from graphzero.conversion.ordering import OrderReport

# Source type, name, target type.
RelationName: TypeAlias = tuple[str, str, str]
# How users may name one: a name suffices if no other relation has it.
RelationKey: TypeAlias = "RelationName | str"


@dataclass
class TypeTally:
    """Counts of what was left out or rounded while the rows of a type were read."""

    dropped: int = 0  # rows without a key or time, which were left out
    unlabelled: int = 0  # rows that are in no split because they have no label
    rounded_times: int = 0  # times that were finer than the unit of the dataset


@dataclass
class RelationTally:
    """Counts of what was left out or rounded when the edges of a relation were last read."""

    empty: int = 0  # rows without a reference
    dangling: int = 0  # rows that refer to nothing
    untimed: int = 0  # edges without a time, which were left out
    first_dangling: str = ""  # where the first dangling reference is
    unlabelled: int = 0  # rows that are in no split because they have no label
    rounded_times: int = 0  # times that were finer than the unit of the dataset

    def begin(self) -> None:
        self.__init__()  # type: ignore[misc]


@dataclass(frozen=True)
class TypePlan:
    """Nodes of one type. Rows of columns come in order, or with their node ids."""

    name: str
    count: int
    columns: list[ColumnSource] = field(default_factory=list)  # splits too
    time: str | None = None  # the column that has their times
    times: RowStream | None = None  # or their times, if these are no column
    original_ids: RowStream | None = None  # None: there are none, or their file is already written
    original_ids_description: str = ""  # the description to store with them
    tally: TypeTally = field(default_factory=TypeTally)
    name_node: Callable[[int], str] | None = None  # what messages call a node


@dataclass(frozen=True)
class RelationPlan:
    """Edges of one kind, between node ids."""

    triple: RelationName
    edges: EdgeStream
    columns: list[ColumnSource] = field(default_factory=list)  # of edges, and lists of edge ids
    view: str | None = None  # the name of its reverse relation
    symmetric: bool = False  # every edge is stored both ways; within one type only
    dedup: bool = False
    edge_ids: bool = False
    direction: StoredDirection = "both"
    weight_name: str = ""  # name of the weights in the input
    tally: RelationTally = field(default_factory=RelationTally)


@dataclass(frozen=True)
class TypedPlan:
    """All types and relations of a dataset."""

    types: list[TypePlan]
    relations: list[RelationPlan]
    inverses: list[tuple[RelationName, RelationName]] = field(default_factory=list)
    time_unit: str = ""
    notes: tuple[str, ...] = ()  # what is left out, and why
    cautions: tuple[str, ...] = ()  # what can make models trained on the dataset look too good


@dataclass(frozen=True)
class Workshop:
    """The directory, resources and options with which a dataset is made."""

    directory: Path  # of the dataset in the making
    resources: _engine.Resources
    reading: ReadOptions
    float_dtype: str | None  # of columns of floating values that have no type of their own
    show_progress: ShowProgress


class TypedSource(ABC):
    """What is to be converted."""

    name: str  # for messages and progress

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Bytes of the files that it is read from, by path. Raises OSError for one that is not
        there."""

    @abstractmethod
    def plan(self, workshop: Workshop) -> TypedPlan:
        """Makes the plan. May create the directories of types, and write files of original ids
        there."""


@dataclass(frozen=True)
class PlannedSource(TypedSource):
    """A source whose ids are node ids from the start."""

    name: str
    planned: TypedPlan
    files: tuple[str, ...] = ()

    def sizes(self) -> dict[str, int]:
        from graphzero.conversion.inputs.locations import stored_bytes

        return {file: stored_bytes(file) for file in self.files}

    def plan(self, workshop: Workshop) -> TypedPlan:
        return self.planned


# --- Reports ---


@dataclass(frozen=True)
class TypeReport:
    """What became of the nodes of a type."""

    num_nodes: int
    columns: dict[str, ColumnReport]  # splits too
    times: tuple[int, int] | None = None  # the first and the last
    dropped: int = 0  # rows without a key or time, which were left out
    unlabelled: int = 0  # rows that are in no split because they have no label
    rounded_times: int = 0  # times that were finer than the unit of the dataset


@dataclass(frozen=True)
class RelationReport:
    """What became of the edges of a relation."""

    num_edges: int  # stored edges; a symmetric relation stores both directions of each
    columns: dict[str, ColumnReport]
    view: RelationName | None = None  # its reverse
    symmetric: bool = False
    times: tuple[int, int] | None = None  # the first and the last of the edges' own times
    repeated: int = 0  # edges that dedup left out
    empty: int = 0  # rows without a reference
    dangling: int = 0  # rows that refer to nothing
    untimed: int = 0  # edges without a time, which were left out
    unlabelled: int = 0  # edges that are in no split because they have no label
    first_dangling: str = ""  # where the first dangling reference is, and what it says
    rounded_times: int = 0  # times that were finer than the unit of the dataset
    inverse: RelationName | None = None  # the stored relation that has its edges in reverse


@dataclass(frozen=True)
class TypedConversionReport:
    """What became of each table, type and relation."""

    types: dict[str, TypeReport]
    relations: dict[RelationName, RelationReport]
    time_unit: str  # "" if times are integers without a unit, or if there are none
    input_bytes: int
    output_bytes: int
    seconds: float
    notes: tuple[str, ...] = ()  # what was left out, and why
    order: OrderReport | None = None  # if an order of the nodes was asked for
    cautions: tuple[str, ...] = ()  # what can make models trained on the dataset look too good

    @property
    def num_nodes(self) -> int:
        return sum(report.num_nodes for report in self.types.values())

    @property
    def num_edges(self) -> int:
        return sum(report.num_edges for report in self.relations.values())
