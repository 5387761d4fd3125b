"""What a dataset is copied from, whatever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from graphzero.base.errors import InputError
from graphzero.base.text import quoted
from graphzero.client.errors import DatasetChanged
from graphzero.files.paths import COLUMN_SUFFIX, GRAPH_FILE

S = TypeVar("S", bound="Source")

__all__ = ["DatasetChanged", "Source", "SourceFile", "checked_file_name"]


@dataclass(frozen=True)
class SourceFile:
    """A file of the dataset, as its source describes it."""

    name: str
    """Below the dataset's directory; a source may be hostile, so checked_file_name() looks at it
    before it becomes a path."""
    byte_size: int
    fingerprint: bytes = b""
    """b"" if it is not known."""
    modified_ns: int = 0
    """0 if it is not known."""


class Source(ABC):
    """Thread-safe but for close(). A context manager.

    Reads raise DatasetChanged if the dataset is not the one any more that files() told of.
    """

    label: str
    """For messages."""

    @abstractmethod
    def files(self) -> Sequence[SourceFile]:
        """The files of the version that is there now."""

    @property
    @abstractmethod
    def fingerprint(self) -> bytes:
        """Of the dataset that files() told of last; b"" if the source does not know it."""

    @abstractmethod
    def read(self, file: SourceFile, offset: int, size: int) -> bytes | bytearray:
        """Exactly these bytes. Raises OSError or ClientError."""

    @abstractmethod
    def block_checksums(self, file: SourceFile) -> list[int] | None:
        """Of a file that has none itself, in blocks of CHECKSUM_BLOCK; None if nobody knows."""

    def check_unchanged(self) -> None:
        """Raises DatasetChanged; to be called when all is read."""
        return

    def close(self) -> None:
        return

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def checked_file_name(name: str, label: str) -> str:
    """A name that can only be that of a file of a dataset, in its directory or one below."""
    parts = name.split("/")
    sound = len(parts) <= 2 and all(
        part and part[0] != "." and part.isprintable() and "\\" not in part for part in parts
    )
    if name != GRAPH_FILE and not (sound and name.endswith(COLUMN_SUFFIX)):
        raise InputError(
            f"{label}: found a file {quoted(name)}, expected {GRAPH_FILE} and {COLUMN_SUFFIX} files"
        )
    return name
