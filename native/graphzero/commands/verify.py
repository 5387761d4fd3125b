"""`graphzero verify PATH`: reads every byte and says what is wrong, where."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graphzero import _engine
from graphzero.base.errors import FormatError, InputError
from graphzero.base.progress import JobProgress
from graphzero.base.text import size_text
from graphzero.commands.cli import EXIT_ERROR, describe
from graphzero.files.categories import Categories
from graphzero.files.column_file import ColumnFile
from graphzero.files.paths import (
    COLUMN_SUFFIX,
    GRAPH_FILE,
    ORIGINAL_IDS,
    datasets,
    files_of,
    find_problems,
    open_file,
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", type=Path, metavar="PATH", help="a .gl or .gd file, a dataset, or several in one"
    )


def run(args: argparse.Namespace) -> int:
    path: Path = args.path
    if path.is_dir():
        # All of them, also after the first that is damaged.
        results = [_verify_dataset(dataset) for dataset in datasets(path)]
    else:
        results = [_verify_file(path)]
    return 0 if all(results) else EXIT_ERROR


def _verify_dataset(dataset: Path) -> bool:
    """Checks each file of a dataset and, if all are sound, that they belong together."""
    results = [_verify_file(file) for file in files_of(dataset)]
    if not all(results):
        return False
    has_graph = (dataset / GRAPH_FILE).exists()
    return not has_graph or _print_problems(dataset, list(_mismatches(dataset)))


def _verify_file(path: Path) -> bool:
    """Checks one file by itself and prints the result."""
    try:
        file = open_file(path)
        with JobProgress(path.name, unit="B") as progress:
            problems = find_problems(file, progress)
    except OSError as error:
        print(f"FAILED   {describe(error)}", flush=True)
        return False
    except FormatError as error:
        problems = [describe(error)]
    if not problems:
        print(f"ok       {path}  {size_text(file.file_bytes)}", flush=True)
    return _print_problems(path, problems)


def _mismatches(dataset: Path) -> Iterator[str]:
    """Columns that do not fit the graph beside them."""
    topology = _engine.Topology.open(str(dataset / GRAPH_FILE))
    rows = {"node": topology.num_nodes, "edge": topology.edge_id_bound}
    for path in files_of(dataset)[1:]:
        column = ColumnFile(path)
        if column.description.categories:
            yield from _unknown_codes(column)
        if column.role == "ids":
            yield from _ids_outside(column, topology.num_nodes)
        elif column.role == "categories":
            yield from _out_of_order(column, "categories")
        elif column.num_rows != rows[column.role]:
            yield (
                f"{path}: rows: found {column.num_rows}, expected {rows[column.role]}, "
                f"one for each {column.role} of {GRAPH_FILE}"
            )
        if path.name == f"{ORIGINAL_IDS}{COLUMN_SUFFIX}":
            yield from _out_of_order(column, "ids")


def _out_of_order(column: ColumnFile, what: str) -> Iterator[str]:
    """Original ids and categories are found by bisection."""
    row = 0  # of the first id of `ids`
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
            found = f"{ids[at].item()!r} before {ids[at + 1].item()!r}"
            yield f"{column.path}: row {row + at}: found {found}, expected ascending {what}"
            return
        row += len(ids) - 1
        before = ids[-1:]


def _ids_outside(column: ColumnFile, num_nodes: int) -> Iterator[str]:
    first = 0
    for ids in column.pieces():
        wrong = np.flatnonzero(ids >= num_nodes)
        if wrong.size:
            at = int(wrong[0])
            yield (
                f"{column.path}: row {first + at}: found node {ids[at]}, expected below {num_nodes}"
            )
            return
        first += len(ids)


def _unknown_codes(column: ColumnFile) -> Iterator[str]:
    """Codes that the dictionary beside the column does not have."""
    try:
        known = len(Categories(column.path))
    except (InputError, FormatError) as error:
        yield describe(error)
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


def _print_problems(path: Path, problems: list[str]) -> bool:
    if problems:
        print(f"DAMAGED  {path}")
    for problem in problems:
        print(f"         {problem}", flush=True)
    return not problems
