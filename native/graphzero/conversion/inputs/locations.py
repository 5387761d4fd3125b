"""Files as users name them, and what is in them by their names."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from graphzero.base.errors import InputError

TABLE_SUFFIXES = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".arrows")


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
    if Path(path).suffix in TABLE_SUFFIXES:
        return True
    return Path(path).is_dir() and any(table_files(path))


def has_stream(source: str) -> bool:
    """Whether its rows come from a table or arrays, and not from text."""
    path = Location.parse(source).path
    return is_table(path) or Path(path).suffix in (".npy", ".npz")


def table_files(path: str) -> list[str]:
    """The file itself, or those of a folder by name, as writers number their parts."""
    if not Path(path).is_dir():
        return [path]
    # Hidden files and those with an underscore are notes of the program that wrote the folder.
    return sorted(
        str(file)
        for file in Path(path).iterdir()
        if file.suffix in TABLE_SUFFIXES and file.name[0] not in "._"
    )


def require_no_member(location: Location) -> str:
    if location.member is not None:
        raise InputError(
            f"{location}: only tables and .npz archives have parts that can be named after '#'"
        )
    return location.path


def stored_bytes(path: str) -> int:
    """Size of a file, or of the tables of a folder. Raises OSError if there is none."""
    return sum(Path(file).stat().st_size for file in table_files(path))
