"""A dataset directory, opened as a whole: one version of all its files, never a mixture."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from graphzero.base.errors import InputError
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_names import is_reserved
from graphzero.files.original_ids import OriginalIds
from graphzero.files.paths import COLUMN_SUFFIX, GRAPH_FILE, ORIGINAL_IDS
from graphzero.files.residency import Residency
from graphzero.files.topology_file import TopologyFile

# Replacing a dataset takes one step; meeting it this often in a row means something else is wrong.
_OPEN_ATTEMPTS = 20
# A file that changed this recently may change again without its time telling.
_SETTLED_NS = 2 * 10**9


@dataclass(frozen=True)
class Dataset:
    """Open files of one dataset. They stay valid when the directory is replaced."""

    name: str
    path: Path
    graph: TopologyFile
    columns: dict[str, ColumnFile] = field(repr=False)
    fingerprint: bytes
    identity: tuple[object, ...] = field(repr=False)
    """Which files these are; others of the same content have another."""
    settled: bool = field(repr=False)
    """Whether any change after it was opened shows in its identity. The times of a file that was
    written just before may not tell."""
    left_out: tuple[str, ...] = ()
    """Columns that would hide a field of a batch, such as n_id; older releases wrote them."""
    residency: Residency = field(default_factory=Residency, repr=False)

    @cached_property
    def original_ids(self) -> OriginalIds | None:
        """Of a relabelled dataset."""
        column = self.columns.get(ORIGINAL_IDS)
        return None if column is None else OriginalIds(column)

    @property
    def damaged(self) -> bool:
        """Whether a file could not be read, or was cut, since it was opened: it stays unusable."""
        try:
            self.graph.topology.throw_if_damaged()
            for column in self.columns.values():
                column.matrix.throw_if_damaged()
        except OSError:
            return True
        return False

    @property
    def byte_size(self) -> int:
        """Of all its files, as they were when they were opened."""
        return self.graph.byte_size + sum(column.byte_size for column in self.columns.values())


def open_dataset(path: Path, name: str = "") -> Dataset:
    """Opens graph.gl and every column. Raises FormatError, InputError or OSError."""
    path = path.absolute()
    require_utf8(path)
    failure: Exception = InputError(f"{path}: replaced {_OPEN_ATTEMPTS} times while it was opened")
    for _ in range(_OPEN_ATTEMPTS):
        try:
            before = dataset_identity(path)
            graph = TopologyFile(path / GRAPH_FILE)
            columns = {
                file.name.removesuffix(COLUMN_SUFFIX): ColumnFile(file)
                for file in _column_files(path)
            }
            left_out = tuple(n for n, column in columns.items() if is_reserved(n, column.role))
            columns = {n: column for n, column in columns.items() if n not in left_out}
            after = dataset_identity(path)
        except FileNotFoundError as error:
            failure = error  # moved away just now, or not there: the next attempts tell
            continue
        # A dataset is replaced by exchanging directories: the same files before and after means
        # that all of them are of one version.
        if after == before:
            _check_rows(path, graph, columns)
            return Dataset(
                name=name or path.name,
                path=path,
                graph=graph,
                columns=columns,
                fingerprint=_fingerprint(graph, columns),
                identity=before.files,
                settled=before.changed_ns < time.time_ns() - _SETTLED_NS,
                left_out=left_out,
            )
    if isinstance(failure, FileNotFoundError) and path.is_dir():
        raise InputError(f"{path}: found no {GRAPH_FILE}, which every dataset has") from failure
    raise failure


@dataclass(frozen=True)
class DatasetIdentity:
    """Which files a directory holds; others of the same content are others."""

    files: tuple[object, ...]
    changed_ns: int
    """When the last of them changed, by the clock of the file system."""


def dataset_identity(path: Path) -> DatasetIdentity:
    """Without opening anything. Raises OSError, and InputError for names that cannot be opened."""
    directory = path.stat()  # without its times: they change when anything is put there
    names, changed = [], 0
    for file in (path / GRAPH_FILE, *_column_files(path)):
        require_utf8(file)
        info = file.stat()
        changed = max(changed, info.st_ctime_ns)
        # The last of these changes with every change of the file; nobody can set it back.
        times = (info.st_mtime_ns, info.st_ctime_ns)
        names.append((file.name, info.st_dev, info.st_ino, info.st_size, *times))
    return DatasetIdentity((directory.st_dev, directory.st_ino, *names), changed)


def require_utf8(path: Path) -> None:
    """The engine takes names of files as UTF-8, and so does everyone who asks for them."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"{path}: the name is not valid UTF-8; rename it") from None


def _column_files(path: Path) -> list[Path]:
    return sorted(path.glob(f"*{COLUMN_SUFFIX}"))


def _check_rows(path: Path, graph: TopologyFile, columns: dict[str, ColumnFile]) -> None:
    for name, column in columns.items():
        if column.role == "node" and column.num_rows != graph.num_nodes:
            raise InputError(
                f"{path / name}{COLUMN_SUFFIX}: found {column.num_rows} rows, expected "
                f"{graph.num_nodes}, one for each node of {GRAPH_FILE}"
            )


def _fingerprint(graph: TopologyFile, columns: dict[str, ColumnFile]) -> bytes:
    """Of names and contents. A file of GraphZero 0.2 has no fingerprint: its size and time stand
    in."""
    files: dict[str, TopologyFile | ColumnFile] = {GRAPH_FILE: graph, **columns}
    digest = hashlib.blake2b(digest_size=16)
    for name, file in sorted(files.items()):
        content = file.fingerprint
        if not content:
            info = os.stat(file.path)  # noqa: PTH116
            content = f"{info.st_size}-{info.st_mtime_ns}"
        digest.update(f"{name}\0{content}\0".encode())
    return digest.digest()
