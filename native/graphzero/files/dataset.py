"""A dataset directory, opened as a whole: one version of all its files, never a mixture.

Columns are named by their keys, see column_keys.py; in a graph without types, a key is just a name.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.base.text import names_text
from graphzero.files.column_file import ColumnFile
from graphzero.files.column_keys import column_key, split_key
from graphzero.files.column_names import is_reserved
from graphzero.files.file_identity import FileIdentity
from graphzero.files.original_ids import OriginalIds
from graphzero.files.paths import COLUMN_SUFFIX, GRAPH_FILE, ORIGINAL_IDS, columns_of_types
from graphzero.files.residency import Residency
from graphzero.files.schema import Schema, type_text
from graphzero.files.topology_file import TopologyFile

# Replacing a dataset is one atomic step. If it happens in this many attempts in a row, something
# else is wrong.
_OPEN_ATTEMPTS = 20
# A file that changed this recently may change again without a change of its timestamps.
_SETTLED_NS = 2 * 10**9


@dataclass(frozen=True)
class Dataset:
    """Open files of one dataset. They stay valid when the directory is replaced."""

    name: str
    path: Path
    graph: TopologyFile
    columns: dict[str, ColumnFile] = field(repr=False)
    """Columns by key."""
    fingerprint: bytes
    identity: tuple[object, ...] = field(repr=False)
    """Tells these files apart from others of the same content."""
    settled: bool = field(repr=False)
    """Whether any later change shows in the identity. If a file was written just before it was
    opened, another change may leave its timestamps as they are."""
    left_out: tuple[str, ...] = ()
    """Keys of columns that would hide a field of a batch, such as n_id; older releases wrote
    them."""
    residency: Residency = field(default_factory=Residency, repr=False)
    files: tuple[FileIdentity, ...] = field(default=(), repr=False)
    """The files of the graph and of the columns, without columns that are left out."""

    @property
    def schema(self) -> Schema:
        return self.graph.schema

    @property
    def original_ids(self) -> OriginalIds | None:
        """Original ids of a relabelled dataset without types; None for others."""
        return None if self.schema.typed else self.original_ids_by_type.get(0)

    @cached_property
    def original_ids_by_type(self) -> dict[int, OriginalIds]:
        """Original ids of the types whose nodes were relabelled, by the types' numbers."""
        keys = enumerate(column_key(t.directory, ORIGINAL_IDS) for t in self.schema.types)
        return {n: OriginalIds(self.columns[key]) for n, key in keys if key in self.columns}

    @property
    def shard(self) -> _engine.Shard | None:
        """Which part of its large columns the dataset has; None if all columns are whole."""
        return next((c.shard for c in self.columns.values() if c.shard is not None), None)

    @cached_property
    def block_rows(self) -> dict[str, int]:
        """Rows per block of each column of which the dataset has one part, by key."""
        return {key: c.shard.block_rows for key, c in self.columns.items() if c.shard is not None}

    @cached_property
    def layout(self) -> bytes:
        """Hash of `block_rows`. Parts of one dataset have the same fingerprint however it was
        dealt, but rows of a part are only found by daemons whose own parts have its layout."""
        digest = hashlib.blake2b(digest_size=16)
        for key, rows in sorted(self.block_rows.items()):
            digest.update(f"{key}\0{rows}\0".encode())
        return digest.digest()

    def file_fingerprint(self, file: FileIdentity) -> bytes:
        """Fingerprint of one file of the dataset; b"" for a file of GraphZero 0.2."""
        if file.key == GRAPH_FILE:
            return bytes.fromhex(self.graph.fingerprint)
        return bytes.fromhex(self.columns[file.key].file_fingerprint)

    def column(self, key: str) -> ColumnFile | None:
        """The column of a key, or of a view's key: a view has the columns of its relation."""
        return self.columns.get(self.schema.stored_key(key))

    @property
    def damaged(self) -> bool:
        """Whether a file failed to be read or was cut since it was opened; the dataset then stays
        unusable."""
        try:
            self.graph.topology.throw_if_damaged()
            for column in self.columns.values():
                column.matrix.throw_if_damaged()
        except OSError:
            return True
        return False

    @property
    def byte_size(self) -> int:
        """Size of all files when they were opened."""
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
            columns = {key_of(path, file): ColumnFile(file) for file in _column_files(path)}
            left_out = tuple(
                key for key, c in columns.items() if is_reserved(split_key(key)[1], c.role)
            )
            columns = {key: column for key, column in columns.items() if key not in left_out}
            after = dataset_identity(path)
        except FileNotFoundError as error:
            failure = error  # moved away just now, or missing: the next attempts will show which
            continue
        # A dataset is replaced by exchanging directories: if the files before and after opening are
        # the same, all of them are of one version.
        if after == before:
            _check_rows(graph.schema, columns)
            _check_shards(columns)
            return Dataset(
                name=name or path.name,
                path=path,
                graph=graph,
                columns=columns,
                fingerprint=_fingerprint(graph, columns),
                identity=before.files,
                settled=before.changed_ns < time.time_ns() - _SETTLED_NS,
                left_out=left_out,
                files=tuple(
                    file for file in before.data_files if file.key in {GRAPH_FILE, *columns}
                ),
            )
    if isinstance(failure, FileNotFoundError) and path.is_dir():
        raise InputError(f"{path}: found no {GRAPH_FILE}, which every dataset has") from failure
    raise failure


@dataclass(frozen=True)
class DatasetIdentity:
    """Tells the files of a directory apart from others of the same content."""

    files: tuple[object, ...]
    data_files: tuple[FileIdentity, ...]
    changed_ns: int
    """When the last change of a file was, by the clock of the file system."""


def dataset_identity(path: Path) -> DatasetIdentity:
    """Opens no file. Raises OSError, and InputError for names that cannot be opened."""
    directory = path.stat()  # without its timestamps, which any new entry changes
    files, changed = [], 0
    for file in (path / GRAPH_FILE, *_column_files(path)):
        require_utf8(file)
        info = file.stat()
        changed = max(changed, info.st_ctime_ns)
        name = file.relative_to(path).as_posix()
        files.append(FileIdentity.of(key_of(path, file), name, file, info))
    whole = (directory.st_dev, directory.st_ino, *files)
    return DatasetIdentity(whole, tuple(files), changed)


def require_utf8(path: Path) -> None:
    """Raises InputError for a name that is not UTF-8: the engine and requests cannot express it."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"{path}: the name is not valid UTF-8; rename it") from None


def _column_files(path: Path) -> list[Path]:
    return [*sorted(path.glob(f"*{COLUMN_SUFFIX}")), *columns_of_types(path)]


def key_of(dataset: Path, file: Path) -> str:
    """The key of a column, from the path of its file."""
    return str(file.relative_to(dataset)).removesuffix(COLUMN_SUFFIX)


def _check_rows(schema: Schema, columns: dict[str, ColumnFile]) -> None:
    for key, column in columns.items():
        bound = rows_bound(schema, key, column)
        if column.role == "node" and column.num_rows != bound:
            number = schema.number_of(split_key(key)[0])
            raise InputError(
                f"{column.path}: found {column.num_rows} rows, expected {bound}, one for each node "
                f"of {GRAPH_FILE}{type_text(schema, number)}"
            )


def _check_shards(columns: dict[str, ColumnFile]) -> None:
    """Raises InputError if files of two parts lie in one directory, after a mistake in copying."""
    parts = {(c.shard.part, c.shard.parts): c for c in columns.values() if c.shard is not None}
    if len(parts) > 1:
        found = " and ".join(f"{c.path} (part {p} of {n})" for (p, n), c in parts.items())
        raise InputError(f"found {found}, expected columns of one part")


def rows_bound(schema: Schema, key: str, column: ColumnFile) -> int:
    """The number of nodes of a column's type, or of edge ids of its relation.

    Raises InputError for a column in a directory where it does not belong.
    """
    kind, number = "relation" if column.role == "edge" else "type", 0
    if schema.typed:
        kind, number = _checked_owner(schema, split_key(key)[0], column)
    return schema.types[number].count if kind == "type" else schema.relations[number].edge_id_bound


def _checked_owner(schema: Schema, directory: str, column: ColumnFile) -> tuple[str, int]:
    """("type" or "relation", number) of the owner of a column in a graph with types."""
    if not directory:
        raise InputError(
            f"{column.path}: found a column of no type, expected it in the directory of its type "
            f"or relation: {names_text(_directories(schema))}"
        )
    owner = schema.owner_of(directory)
    if owner is None:
        raise InputError(
            f"{column.path.parent}: found columns of a type or relation that {GRAPH_FILE} does not "
            f"have, expected one of {names_text(_directories(schema))}"
        )
    kind, number = owner
    if kind == "relation" and schema.relations[number].is_view:
        base = schema.relations[schema.relations[number].base].directory
        raise InputError(
            f"{column.path}: found a column of a view, expected it in {base}, whose edges it has"
        )
    strange = {"type": "edge", "relation": "node"}[kind]
    if column.role == strange:
        raise InputError(
            f"{column.path}: found rows by {strange}, expected none in the directory of a {kind}"
        )
    return owner


def _directories(schema: Schema) -> list[str]:
    stored = [relation.directory for relation in schema.relations if not relation.is_view]
    return [*(kind.directory for kind in schema.types), *stored]


def _fingerprint(graph: TopologyFile, columns: dict[str, ColumnFile]) -> bytes:
    """Hash of keys and contents. A file of GraphZero 0.2 has no fingerprint: its size and time are
    hashed instead."""
    files: dict[str, TopologyFile | ColumnFile] = {GRAPH_FILE: graph, **columns}
    digest = hashlib.blake2b(digest_size=16)
    for name, file in sorted(files.items()):
        content = file.fingerprint
        if not content:
            info = os.stat(file.path)  # noqa: PTH116
            content = f"{info.st_size}-{info.st_mtime_ns}"
        digest.update(f"{name}\0{content}\0".encode())
    return digest.digest()
