"""Splits of a type or relation: cut by time, or named by the texts of a column.

A row whose label is missing is in no split: there is nothing to learn from it, or to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.conversion.inputs.matrix_columns import NO_CATEGORY, Filling, MatrixColumn
from graphzero.conversion.inputs.matrix_type import matrix_type
from graphzero.conversion.inputs.streams import Array, RowChunk, RowStream, Texts
from graphzero.conversion.inputs.table_views import row_numbers
from graphzero.conversion.inputs.tables import Table, Values, Wanted
from graphzero.conversion.plan import ColumnSource
from graphzero.conversion.tables.keys import OwnNodes
from graphzero.conversion.tables.times import TimeColumn
from graphzero.files.categories import Categories
from graphzero.files.column_names import check_column_name
from graphzero.files.paths import COLUMN_SUFFIX, categories_file

# A column with more different texts does not hold names of splits.
_MOST_SPLITS = 64


@dataclass(frozen=True)
class Cuts:
    """Points in time, and the names of the splits that they separate."""

    points: list[int]
    names: tuple[str, ...]

    def number(self, name: str, times: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which times are in the split of that name: from its point on, before the next one's."""
        numbers = np.searchsorted(self.points, times, side="right")
        chosen: npt.NDArray[np.bool_] = numbers == self.names.index(name)
        return chosen


class SplitTally(Protocol):
    """Counts rows that are in no split because they have no label."""

    unlabelled: int


def node_time_splits(
    directory: Path, time: str, label: str | None, cuts: Cuts, tally: SplitTally
) -> list[ColumnSource]:
    """The splits of a type whose missing labels were not filled in. They are read from its columns
    of times and labels, which must be compiled before."""
    return [
        ColumnSource(name, _node_split(directory, time, label, cuts, name, tally), role="ids")
        for name in cuts.names
    ]


def _node_split(
    directory: Path, time: str, label: str | None, cuts: Cuts, name: str, tally: SplitTally
) -> RowStream:
    def chunks() -> Iterator[RowChunk]:
        from graphzero.files.column_file import ColumnFile

        times = ColumnFile(directory / f"{time}{COLUMN_SUFFIX}")
        labels = None if label is None else ColumnFile(directory / f"{label}{COLUMN_SUFFIX}")
        tally.unlabelled = row = 0
        for piece in times.pieces():
            chosen = cuts.number(name, piece)
            if labels is not None:
                own = np.empty((len(piece), *labels.shape[1:]), labels.dtype.storage)
                labels.matrix.read_rows(row, own.reshape(-1).view(np.uint8))
                missing = _unlabelled(labels.as_users_type(own), labels.description.categories)
                tally.unlabelled += int(np.count_nonzero(missing))
                chosen &= ~missing
            yield _chosen(np.arange(row, row + len(piece)), chosen)
            row += len(piece)

    return _list_of_ids(f"split {name!r} of {directory.name}", chunks)


def _unlabelled(labels: Array, categories: bool) -> npt.NDArray[np.bool_]:
    labels = np.asarray(labels.float() if hasattr(labels, "float") else labels)
    if categories:
        missing = labels == NO_CATEGORY
    elif labels.dtype.kind == "f":
        missing = np.isnan(labels)
    else:
        return np.zeros(len(labels), np.bool_)
    return _any_of_row(missing, len(labels))


def row_time_splits(
    kept: Callable[[], Table],
    time: TimeColumn,
    own: OwnNodes | None,
    label: Wanted | None,
    cuts: Cuts,
    tally: SplitTally,
) -> list[ColumnSource]:
    """The splits of a table of edges, as lists of edge ids; or of nodes, as lists of node ids, if
    `own` has the nodes of the rows. They are read from the rows that became edges or nodes, so that
    a label that was missing there counts as missing, whatever was filled in."""

    def stream(name: str) -> RowStream:
        def chunks() -> Iterator[RowChunk]:
            table = kept()
            cursor = None if own is None else own.cursor()
            tally.unlabelled = 0
            wanted = [time.wanted(may_be_missing=False), *([] if label is None else [label])]
            for chunk in table.read(wanted):
                numbers = row_numbers(chunk)
                ids = numbers if cursor is None else cursor.next(len(numbers))
                chosen = cuts.number(name, time.values(chunk.groups[0], numbers))
                if label is not None:
                    missing = _missing_values(chunk.groups[1])
                    tally.unlabelled += int(np.count_nonzero(missing))
                    chosen &= ~missing
                yield _chosen(ids, chosen)

        return _list_of_ids(f"split {name!r} of {time.table.name}", chunks)

    return [ColumnSource(name, stream(name), role="ids") for name in cuts.names]


def _missing_values(found: Values) -> npt.NDArray[np.bool_]:
    """Rows in which a label is missing."""
    missing: Any
    if isinstance(found.values, Texts):
        missing = found.missing
        count = found.values.num_texts
    else:
        missing = found.missing
        if found.values.dtype.kind == "f":
            missing = np.isnan(found.values)
        count = len(found.values)
    return np.zeros(count, np.bool_) if missing is None else _any_of_row(missing, count)


def _any_of_row(missing: Array, count: int) -> npt.NDArray[np.bool_]:
    """For each row, whether any value is missing. Handles pieces of a table that have no rows."""
    by_row = missing.reshape(count, missing.size // max(count, 1))
    rows: npt.NDArray[np.bool_] = np.logical_or.reduce(by_row, axis=1)
    return rows


def column_splits(
    table: Table,
    column: str,
    own: OwnNodes | None,
    label: Wanted | None,
    taken: set[str],
    tally: SplitTally,
    kept: Callable[[], Table],
    resources: _engine.Resources,
) -> list[ColumnSource]:
    """One split for each text of a column. `own`: the nodes of the rows; None: rows are edges.
    `kept`, called when columns are compiled, gives the rows that became nodes or edges."""
    codes = _Codes(table, column, resources)

    def stream(name: str, code: int) -> RowStream:
        def chunks() -> Iterator[RowChunk]:
            labels = [] if label is None else [label]
            cursor = None if own is None else own.cursor()
            tally.unlabelled = 0
            for chunk in kept().read([codes.wanted, *labels]):
                ids = row_numbers(chunk)
                if cursor is not None:
                    ids = cursor.next(len(ids))
                chosen = codes.of(chunk.groups[0]) == code
                if label is not None:
                    missing = _missing_values(chunk.groups[-1])
                    tally.unlabelled += int(np.count_nonzero(missing))
                    chosen &= ~missing
                yield _chosen(ids, chosen)

        return _list_of_ids(f"split {name!r} of {table.name}", chunks)

    return [
        ColumnSource(name, stream(name, code), role="ids")
        for code, name in enumerate(codes.names(taken))
    ]


class _Codes:
    """The texts of a column as codes of categories, which the dataset does not keep."""

    def __init__(self, table: Table, column: str, resources: _engine.Resources) -> None:
        self._place = f"{table.name} column {column!r}"
        kind = table.kinds_of([column])[0]
        if kind.what != "text":
            raise InputError(
                f"{self._place}: found {kind.name}, expected texts such as train, valid, test"
            )
        matrix = matrix_type("split", table, [column], "category", None)
        self._column = MatrixColumn(matrix, Filling())
        self._directory = TemporaryDirectory(dir=resources.temp_dir)
        self._column.prepare(Path(self._directory.name), resources)
        self.wanted = self._column.wanted

    def names(self, taken: set[str]) -> list[str]:
        """The names of the splits, in the order of their codes."""
        if self._column.num_categories > _MOST_SPLITS:
            raise InputError(
                f"{self._place}: found {self._column.num_categories} texts, expected names of "
                f"splits such as train, valid, test, {_MOST_SPLITS} at most"
            )
        file = categories_file(Path(self._directory.name), "split")
        names = [str(name) for name in Categories(file).gather(range(self._column.num_categories))]
        for name in names:
            try:
                check_column_name(name, "ids")
            except InputError as error:
                raise InputError(f"{self._place}: as the name of a split, {error}") from None
            if name in taken:
                raise InputError(f"{self._place}: found {name!r}, which a column is called already")
        return names

    def of(self, found: Values) -> Array:
        return self._column.rows(found).reshape(-1)


def _chosen(ids: npt.NDArray[np.int64], chosen: npt.NDArray[np.bool_]) -> RowChunk:
    return RowChunk(ids[chosen], np.empty(0))


def _list_of_ids(name: str, chunks: Callable[[], Iterator[RowChunk]]) -> RowStream:
    return RowStream(name, chunks, (), "int64", has_ids=True)
