"""The interface of everything that a dataset can be copied from."""

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
    """Path below the dataset's directory. A source may be hostile, so checked_file_name() checks
    the name before it is used as a path."""
    byte_size: int
    fingerprint: bytes = b""
    """b"" if unknown."""
    modified_ns: int = 0
    """0 if unknown."""


class Source(ABC):
    """Thread-safe except for close(). A context manager.

    Reads raise DatasetChanged if the dataset was replaced after files() listed it.
    """

    label: str
    """For messages."""

    @abstractmethod
    def files(self) -> Sequence[SourceFile]:
        """The files of the version that the source has now."""

    @property
    @abstractmethod
    def fingerprint(self) -> bytes:
        """Fingerprint of the dataset that files() listed last; b"" if the source does not know
        it."""

    @abstractmethod
    def read(self, file: SourceFile, offset: int, size: int) -> bytes | bytearray:
        """Exactly `size` bytes at `offset`. Raises OSError or ClientError."""

    @abstractmethod
    def block_checksums(self, file: SourceFile) -> list[int] | None:
        """Checksums of a file that stores none itself, one for each CHECKSUM_BLOCK bytes; None if
        the source does not know them."""

    def check_unchanged(self) -> None:
        """Raises DatasetChanged if the dataset was replaced; called when all files are read."""
        return

    def close(self) -> None:
        return

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def checked_file_name(name: str, label: str) -> str:
    """Returns `name` if it can be a file of a dataset, in its directory or one below; else raises
    InputError."""
    parts = name.split("/")
    sound = len(parts) <= 2 and all(
        part and part[0] != "." and part.isprintable() and "\\" not in part for part in parts
    )
    if name != GRAPH_FILE and not (sound and name.endswith(COLUMN_SUFFIX)):
        raise InputError(
            f"{label}: found a file {quoted(name)}, expected {GRAPH_FILE} and {COLUMN_SUFFIX} files"
        )
    return name
