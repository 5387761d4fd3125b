"""Data files by path: finds the files that a path stands for, opens and verifies them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from graphzero import _engine
from graphzero.base.errors import FormatError, InputError
from graphzero.base.progress import Report
from graphzero.files.column_keys import is_column_directory

GRAPH_FILE = "graph.gl"
COLUMN_SUFFIX = ".gd"
ORIGINAL_IDS = "original_id"  # the column of original ids in a relabelled dataset
# Follows the name of a column in the name of its dictionary. No name of a column contains a dot.
CATEGORIES_SUFFIX = ".categories"

DataFile: TypeAlias = "_engine.Topology | _engine.Matrix"


def is_dataset(directory: Path) -> bool:
    """Whether a directory holds a graph or columns itself."""
    return (directory / GRAPH_FILE).is_file() or any(directory.glob(f"*{COLUMN_SUFFIX}"))


def datasets(path: Path) -> list[Path]:
    """The dataset directories that `path` stands for: itself, or those in it.

    A directory without a graph is no dataset if directories in it have graphs: a column beside them
    is a stray file, and must not hide these datasets.
    """
    if is_dataset(path) and not columns_beside_datasets(path):
        return [path]
    found = sorted(p for p in path.iterdir() if p.is_dir() and p.name[0] != "." and _may_be(p))
    if not found:
        raise InputError(
            f"{path}: found neither {GRAPH_FILE} nor a {COLUMN_SUFFIX} file nor a directory that "
            "has one"
        )
    return found


def columns_beside_datasets(path: Path) -> list[Path]:
    """Columns in a directory that has no graph itself, but datasets with graphs in it."""
    if (path / GRAPH_FILE).is_file() or not any(path.glob(f"[!.]*/{GRAPH_FILE}")):
        return []
    return sorted(path.glob(f"*{COLUMN_SUFFIX}"))


def _may_be(directory: Path) -> bool:
    """Also True if this user may not read the directory: opening it will say so. lost+found, which
    every disk has, is never a dataset."""
    try:
        return is_dataset(directory)
    except PermissionError:
        return directory.name != "lost+found"


def categories_file(dataset: Path, column: str) -> Path:
    """Where the dictionary of a column of categories is."""
    return dataset / f"{column}{CATEGORIES_SUFFIX}{COLUMN_SUFFIX}"


def files_of(dataset: Path) -> list[Path]:
    """The graph, if there is one, then columns sorted by name, then those of types and
    relations."""
    graph = dataset / GRAPH_FILE
    columns = sorted(dataset.glob(f"*{COLUMN_SUFFIX}"))
    return [graph, *columns, *columns_of_types(dataset)] if graph.exists() else columns


def columns_of_types(dataset: Path) -> list[Path]:
    """Columns in the directories of types and relations; [] for a graph without types, whatever
    files lie there."""
    found = columns_below(dataset)
    return found if found and _may_be_typed(dataset / GRAPH_FILE) else []


def columns_below(dataset: Path) -> list[Path]:
    """Columns in directories of a dataset that may belong to types and relations. A directory with
    a graph is a dataset of its own, and is left out."""
    return sorted(
        file
        for directory in dataset.iterdir()
        if is_column_directory(directory.name)
        and directory.is_dir()
        and not (directory / GRAPH_FILE).exists()
        for file in directory.glob(f"*{COLUMN_SUFFIX}")
    )


def _may_be_typed(graph: Path) -> bool:
    """Also True if the graph cannot be opened: whoever reads it will report why."""
    try:
        return _engine.Topology.open(os.fspath(graph)).typed
    except FileNotFoundError:
        return False
    except (FormatError, OSError):
        return True


def open_file(path: Path) -> DataFile:
    """Opens a file as its suffix says, or, if it has another suffix, as its first bytes say."""
    name = os.fspath(path)
    if path.suffix == ".gl" or (path.suffix != COLUMN_SUFFIX and _engine.is_topology(name)):
        return _engine.Topology.open(name)
    try:
        return _engine.Matrix.open(name)
    except FormatError as error:
        if path.suffix == COLUMN_SUFFIX:
            raise
        raise InputError(
            f"{error}; expected a .gl or .gd file, or a dataset's directory: graphzero convert "
            "makes them from tables and arrays"
        ) from error


def find_problems(file: DataFile, report: Report | None = None) -> list[str]:
    """Reads all of an open file; returns one line for each problem in it."""
    return _engine.verify(file, threads=len(os.sched_getaffinity(0)), report=report)


def require_sound(file: DataFile) -> None:
    """Raises FormatError with the first problem, if there is one."""
    problems = find_problems(file)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise FormatError(problems[0] + more)
