"""Files as users name them, and what their names say about their content."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from graphzero.base.errors import InputError
from graphzero.base.object_store import ObjectStore, is_uri, shown_uri

TABLE_SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".arrows")
# Of texts in a folder that is one table. Other texts there, such as .txt, are more often notes.
TEXT_SUFFIXES = (".csv", ".tsv")
_COMPRESSED = (".gz", ".zst")


class Location(NamedTuple):
    """A file, and a part of it: a column of a table or an array of an archive."""

    path: str
    member: str | None = None

    @classmethod
    def parse(cls, text: str) -> Location:
        """ "data.npz#node_feat"; a name that exists as it stands has no member."""
        path, hash_sign, member = text.rpartition("#")
        if not hash_sign or not path or Path(text).exists():
            return cls(text)
        return cls(path, member)

    def __str__(self) -> str:
        return self.path if self.member is None else f"{self.path}#{self.member}"


def is_table(path: str) -> bool:
    """Whether pyarrow reads it: a Parquet or Arrow file, or a folder of such files."""
    if suffix_of(path) in TABLE_SUFFIXES:
        return True
    if is_uri(path):
        return _store(path).find() is None and any(table_files(path))
    return Path(path).is_dir() and any(table_files(path))


def suffix_of(path: str) -> str:
    """The suffix of a path, or of a URI without its parameters."""
    return Path(path.partition("?")[0] if is_uri(path) else path).suffix


def has_stream(source: str) -> bool:
    """Whether its rows come from a table or arrays, and not from text."""
    path = Location.parse(source).path
    if is_uri(path) and not is_table(path):
        raise InputError(
            f"{path}: found neither a Parquet file nor a folder of them, expected one: text and "
            "arrays are read from files of this machine"
        )
    return is_table(path) or suffix_of(path) in (".npy", ".npz")


def table_files(path: str) -> list[str]:
    """The file itself, or the files of a folder in the order of their names, as writers number
    parts."""
    if is_uri(path):
        return _table_files_of_store(path)
    if not Path(path).is_dir():
        return [path]
    return sorted(str(file) for file in _parts(path) if file.suffix in TABLE_SUFFIXES)


def text_files(path: str) -> list[str]:
    """The texts of a folder that are one table, in the order of their names. None if the path is no
    folder, or a folder of tables that pyarrow reads."""
    if is_uri(path) or not Path(path).is_dir() or is_table(path):
        return []
    return sorted(str(file) for file in _parts(path) if _text_suffix(file) in TEXT_SUFFIXES)


def _parts(path: str) -> Iterator[Path]:
    """The files of a folder without hidden ones and those with an underscore, which are notes of
    the program that wrote the folder."""
    return (file for file in Path(path).iterdir() if file.name[0] not in "._" and file.is_file())


def _text_suffix(file: Path) -> str:
    return file.with_suffix("").suffix if file.suffix in _COMPRESSED else file.suffix


def _table_files_of_store(uri: str) -> list[str]:
    if _store(uri).find() is not None:
        return [uri]
    folder, question_mark, parameters = uri.partition("?")
    names = (file.path.rpartition("/") for file in _store(uri).files())
    found = sorted(
        name
        for parent, _, name in names
        if parent == _store(uri).path
        and Path(name).suffix in TABLE_SUFFIXES
        and name[0] not in "._"
    )
    return [f"{folder.rstrip('/')}/{name}{question_mark}{parameters}" for name in found] or [uri]


@lru_cache(maxsize=256)
def _store(uri: str) -> ObjectStore:
    return ObjectStore(uri)


def open_stored(uri: str) -> Any:
    """A file of an object store, for reads at any place. Raises FileNotFoundError."""
    return _store(uri).open_file(_store(uri).path)


def file_bytes(path: str) -> int:
    """The size of a file. Raises OSError if there is none."""
    if not is_uri(path):
        return Path(path).stat().st_size
    found = _store(path).find()
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown_uri(path))
    return found.byte_size


def require_no_member(location: Location) -> str:
    if location.member is not None:
        raise InputError(
            f"{location}: only tables and .npz archives have parts that can be named after '#'"
        )
    return location.path


def stored_bytes(path: str) -> int:
    """Size of a file, or of the tables of a folder. Raises OSError if there is none."""
    return sum(file_bytes(file) for file in text_files(path) or table_files(path))
