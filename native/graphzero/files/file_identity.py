"""Identity of the files that a dataset was opened with: a file that takes over the name later
differs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from graphzero.base.errors import InputError


class FileReplaced(InputError):
    """A file of a dataset was replaced after the dataset was opened."""


class FileIdentity(NamedTuple):
    """A file as it was when its dataset was opened."""

    key: str
    """The key of a column, or the name of the graph's file."""
    name: str
    """Path below the dataset's directory; columns of types and relations have a "/" in it."""
    path: Path
    device: int
    inode: int
    byte_size: int
    modified_ns: int
    changed_ns: int
    """Time of the last change of the file or of its number of links; nobody can set it back."""

    @classmethod
    def of(cls, key: str, name: str, path: Path, info: os.stat_result) -> FileIdentity:
        times = (info.st_mtime_ns, info.st_ctime_ns)
        return cls(key, name, path, info.st_dev, info.st_ino, info.st_size, *times)

    def open(self, flags: int = 0) -> int:
        """A descriptor for reading this file. Raises FileReplaced if another file has its name, or
        OSError."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | flags)
        except FileNotFoundError:
            raise self._replaced() from None
        if not self._is(os.fstat(descriptor)):
            os.close(descriptor)
            raise self._replaced()
        return descriptor

    def _is(self, info: os.stat_result) -> bool:
        # changed_ns is not compared: a new hard link to the file changes it, but no byte of the
        # file.
        found = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)
        return found == (self.device, self.inode, self.byte_size, self.modified_ns)

    def _replaced(self) -> FileReplaced:
        return FileReplaced(f"{self.path}: the dataset was replaced since it was opened")
