"""Tables: named columns of one length, from text or from files that pyarrow reads.

A table is read in chunks of rows, any number of times. The caller passes a list of `Wanted`, and
each of them gives one array; so ids, features and times of one table can be read together, and text
and Parquet give the same values for the same table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from graphzero.base.errors import InputError
from graphzero.conversion.inputs.names import no_column
from graphzero.conversion.inputs.streams import Array, IdColumn, Texts
from graphzero.files.column_types import TimeUnit

What: TypeAlias = Literal["integer", "number", "bool", "time", "text", "list", "other"]


class Kind(NamedTuple):
    """What a column of a table holds."""

    what: What
    name: str  # as the table calls it, for messages
    unit: TimeUnit | None = None  # of times, if the table says it
    items: What | None = None  # of lists
    # Only of text: integers with padding, like 007; texts that look like dates; texts mixed with
    # numbers.
    padded: bool = False
    looks_like_time: bool = False
    mixed: bool = False
    some_missing: bool = False  # of text: whether there are fields without a value
    is_empty: bool = False  # whether all fields are without a value, as far as the table tells


ReadAs: TypeAlias = Literal[
    "id",  # an original id: int64, or texts
    "node_id",  # int64, from 0 on
    "weight",  # float64, finite and not negative
    "number",  # float64, NaN where it is missing
    "integer",  # int64
    "bool",  # bool
    "time",  # int64 in a unit
    "text",  # texts
    "list",  # rows of numbers, as they are
]


class Wanted(NamedTuple):
    """Columns that are read in the same way and come as one array."""

    read_as: ReadAs
    columns: tuple[str, ...]
    texts: bool = False  # of ids: texts, else integers
    unit: TimeUnit = "s"  # of times
    # If false, a missing value is an error. Ids and weights must never be missing.
    may_be_missing: bool = False
    hint: str = ""  # what a message about a missing value advises
    text_hint: str = ""  # what a message about a text among numbers advises
    label: str = ""  # what a message calls an id: "source"
    truths: tuple[int, ...] = ()  # of numbers: columns of truth values among them, by position
    limit: int = 2**63  # node ids are below this
    names_rows: bool = False  # of integers: ids, which must not have been rounded
    width: int | None = None  # of lists: values in each; None: as many as in the first


class Values(NamedTuple):
    """The values of one `Wanted`."""

    # Ids, weights and texts are one-dimensional; others have shape (rows, columns).
    values: IdColumn
    missing: Array | None = None  # bool, same shape; None: none missing. Numbers have NaN instead
    rounded: int = 0  # times that were finer than the unit

    @property
    def array(self) -> Array:
        assert not isinstance(self.values, Texts)
        return self.values


class TableChunk(NamedTuple):
    """Consecutive rows of a table, but for those that were skipped."""

    first_row: int
    end_row: int  # the rows that were read so far, skipped ones included
    numbers: Array | None  # of the rows, int64; None: none was skipped
    groups: list[Values]  # for each Wanted
    byte_size: int = 0  # of text: stored bytes that it was read from


@dataclass
class ReadTally:
    """Counts from the last time that a table, or a stream of it, was read."""

    rows: int = 0  # of text, those left out included
    skipped: int = 0  # lines left out
    messages: tuple[str, ...] = ()  # what was wrong with the first of them
    # Values that were missing, by the column of the table; "" if columns have no names.
    missing: dict[str, int] = field(default_factory=dict)
    filled: bool = False  # whether another value replaced these
    rounded_times: int = 0
    rounded_integers: int = 0  # integers that a floating type does not hold exactly
    first_time: int | None = None
    last_time: int | None = None

    def begin(self) -> None:
        self.__init__()  # type: ignore[misc]


class Table(ABC):
    """Columns by name. Reading it again gives the same values."""

    name: str  # for messages
    has_names: bool = True  # else columns are called 1, 2, 3, ...

    @property
    @abstractmethod
    def columns(self) -> list[str]: ...

    @property
    @abstractmethod
    def num_rows(self) -> int | None:
        """None if that is not known before it is read."""

    @property
    def says_kinds(self) -> bool:
        """Whether kinds_of() costs nothing."""
        return True

    @property
    def skips(self) -> bool:
        """Whether bad rows are skipped."""
        return False

    @abstractmethod
    def kinds_of(self, columns: Sequence[str]) -> list[Kind]:
        """What columns hold. May read the whole table."""

    @abstractmethod
    def read(
        self, wanted: Sequence[Wanted], tally: ReadTally | None = None
    ) -> Iterator[TableChunk]:
        """The rows, chunk after chunk. For a value that is not as wanted, raises InputError with
        its place, or skips its row if the table skips bad rows."""

    def has_missing(self, column: str) -> bool:
        """Whether a column lacks a value somewhere. May read the whole table."""
        return self.kinds_of([column])[0].some_missing

    def width_of(self, column: str) -> int:
        """Values in each row of a column of lists."""
        raise InputError(f"{self.name} column {column!r}: found no lists, expected them")

    @abstractmethod
    def place(self, row: int) -> str:
        """What messages call a row; may take long."""

    @abstractmethod
    def bytes_of(self, columns: Sequence[str]) -> int:
        """Approximate stored bytes of these columns."""

    def require(self, columns: Sequence[str]) -> None:
        """Raises InputError for a column that is not there."""
        known = set(self.columns)  # a table may have ten thousands of columns
        for column in columns:
            if column not in known:
                raise no_column(self.name, column, self.columns)
