"""`verify`: reads every byte of files and datasets and says what is wrong, where."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.error_text import error_text
from graphzero.base.errors import FormatError, InputError
from graphzero.base.progress import JobProgress, ShowProgress, no_progress
from graphzero.files.categories import Categories
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import split_key
from graphzero.files.dataset import key_of, rows_bound
from graphzero.files.dtypes import DataType
from graphzero.files.paths import (
    COLUMN_SUFFIX,
    GRAPH_FILE,
    ORIGINAL_IDS,
    datasets,
    files_of,
    find_problems,
    open_file,
)
from graphzero.files.publish import StrPath
from graphzero.files.schema import Schema


@dataclass(frozen=True)
class Verified:
    """Result for a file, or for a dataset whose files are each sound but do not fit together."""

    path: Path
    byte_size: int
    """Bytes of the file; 0 for a dataset, and for a file that could not be opened."""
    problems: tuple[str, ...] = ()
    """One line for each thing that is wrong: what was found, and what was expected."""
    unreadable: bool = False
    """Whether reading failed with a system error; the last problem says why."""


@dataclass(frozen=True)
class VerificationReport:
    """What `verify` found."""

    files: tuple[Verified, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems of all files, in the order of the files."""
        return tuple(problem for file in self.files for problem in file.problems)


def verify(path: StrPath, *, progress: bool = False) -> VerificationReport:
    """Reads every byte of a .gl or .gd file, a dataset or a directory of datasets, as `graphzero
    verify` does: checksums, bounds, and whether the columns of a dataset fit its graph.

    Files that are damaged or cannot be read appear in the report and raise nothing. A path that
    does not exist raises FileNotFoundError; a directory without data files, or a file of another
    kind, raises InputError. `progress` shows progress on stderr.

        >>> gz.verify("products").ok
        True
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    show = show_bytes if progress else no_progress
    return VerificationReport(tuple(verify_all(path, show)))


def show_bytes(label: str) -> JobProgress:
    """Shows the progress of reading a file, in bytes."""
    return JobProgress(label, unit="B")


def verify_all(path: Path, show_progress: ShowProgress) -> Iterator[Verified]:
    """Yields each file as soon as it has been read, then mismatches between files of a dataset."""
    if not path.is_dir():
        yield _verify_file(path, show_progress)
        return
    for dataset in datasets(path):
        sound = True
        for file in files_of(dataset):
            result = _verify_file(file, show_progress)
            sound = sound and not result.problems
            yield result
        if sound and (dataset / GRAPH_FILE).exists():
            result = _verify_together(dataset)
            if result.problems:
                yield result


def _verify_file(path: Path, show_progress: ShowProgress) -> Verified:
    """Checks one file by itself."""
    size = 0
    try:
        file = open_file(path)
        size = file.file_bytes
        with show_progress(path.name) as report:
            problems = find_problems(file, report)
        if not problems and path.suffix == COLUMN_SUFFIX:
            ColumnFile(path)  # raises if the description in the file is damaged
    except OSError as error:
        return Verified(path, size, (error_text(error),), unreadable=True)
    except FormatError as error:
        problems = [error_text(error)]
    return Verified(path, size, tuple(problems))


def _verify_together(dataset: Path) -> Verified:
    """Checks whether files that are each sound fit together."""
    problems: list[str] = []
    try:
        problems.extend(_mismatches(dataset))
    except OSError as error:
        return Verified(dataset, 0, (*problems, error_text(error)), unreadable=True)
    except (FormatError, InputError) as error:
        problems.append(error_text(error))
    return Verified(dataset, 0, tuple(problems))


def _mismatches(dataset: Path) -> Iterator[str]:
    """One line for each column that does not fit the graph beside it."""
    topology = _engine.Topology.open(str(dataset / GRAPH_FILE))
    schema = Schema.of(topology)
    for path in files_of(dataset)[1:]:
        column = ColumnFile(path)
        key = key_of(dataset, path)
        try:
            bound = rows_bound(schema, key, column)
        except InputError as error:
            yield error_text(error)
            continue
        if column.description.categories:
            yield from _unknown_codes(column)
        if column.role == "ids":
            of_edges = schema.typed and "." in split_key(key)[0]
            yield from _ids_outside(column, "edge" if of_edges else "node", bound)
        elif column.role == "categories":
            yield from _out_of_order(column, "categories")
        elif column.num_rows != bound:
            yield (
                f"{path}: rows: found {column.num_rows}, expected {bound}, "
                f"one for each {column.role} of {GRAPH_FILE}"
            )
        if path.name == f"{ORIGINAL_IDS}{COLUMN_SUFFIX}":
            yield from _out_of_order(column, "ids")


def _out_of_order(column: ColumnFile, what: str) -> Iterator[str]:
    """A line if rows do not ascend: original ids and categories are found by bisection. If a file
    also stores the order in which its ids ascend, that order was verified with the file."""
    if (column.dtype, len(column.shape)) not in ((DataType.INT64, 1), (DataType.UINT8, 2)):
        yield (
            f"{column.path}: found {column.dtype.label} in {len(column.shape)} dimensions, "
            f"expected {what} as int64, or as texts of equal length"
        )
        return
    if column.matrix.has_rows_by_id:
        return
    if (fall := _first_fall(column)) is not None:
        row, first, second = fall
        yield (
            f"{column.path}: row {row}: found {first!r} before {second!r}, expected ascending "
            f"{what}"
        )


def ids_ascend(column: ColumnFile) -> bool:
    """Whether the rows of original ids ascend, each less than the next."""
    return _first_fall(column) is None


def _first_fall(column: ColumnFile) -> tuple[int, Any, Any] | None:
    """The first row whose value is not less than the next one, and both values."""
    row = 0  # the row of the first id in `ids`
    before: npt.NDArray[Any] | None = None  # the last id of the piece before
    for piece in column.pieces():
        ids = piece
        if ids.ndim == 2:  # texts, in the order of their bytes
            ids = ids.view(f"S{ids.shape[1]}").reshape(-1)
        if before is not None:
            ids = np.concatenate([before, ids])
        wrong = np.flatnonzero(ids[:-1] >= ids[1:])
        if wrong.size:
            at = int(wrong[0])
            return row + at, ids[at].item(), ids[at + 1].item()
        row += len(ids) - 1
        before = ids[-1:]
    return None


def _ids_outside(column: ColumnFile, what: str, bound: int) -> Iterator[str]:
    first = 0
    for ids in column.pieces():
        wrong = np.flatnonzero((ids < 0) | (ids >= bound))
        if wrong.size:
            at = int(wrong[0])
            yield (
                f"{column.path}: row {first + at}: found {what} {ids[at]}, expected below {bound}"
            )
            return
        first += len(ids)


def _unknown_codes(column: ColumnFile) -> Iterator[str]:
    """A line for the first code that the dictionary beside the column does not have."""
    try:
        known = len(Categories(column.path))
    except (InputError, FormatError) as error:
        yield error_text(error)
        return
    first = 0
    for codes in column.pieces():
        wrong = np.flatnonzero((codes < -1) | (codes >= known))
        if wrong.size:
            at = int(wrong[0])
            yield (
                f"{column.path}: row {first + at}: found code {codes[at]}, expected -1 to "
                f"{known - 1}"
            )
            return
        first += len(codes)
