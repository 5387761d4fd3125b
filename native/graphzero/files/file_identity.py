"""Which file it is that a dataset was opened with: one that takes its name later is another one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from graphzero.base.errors import InputError


class FileReplaced(InputError):
    """A file of a dataset is not the one any more that the dataset was opened with."""


class FileIdentity(NamedTuple):
    """A file as it was when its dataset was opened."""

    key: str
    """That of a column, or the name of the graph's file."""
    name: str
    """Below the dataset's directory, with "/" in it for columns of types and relations."""
    path: Path
    device: int
    inode: int
    byte_size: int
    modified_ns: int
    changed_ns: int
    """Changes with every change of the file, and with its links; nobody can set it back."""

    @classmethod
    def of(cls, key: str, name: str, path: Path, info: os.stat_result) -> FileIdentity:
        times = (info.st_mtime_ns, info.st_ctime_ns)
        return cls(key, name, path, info.st_dev, info.st_ino, info.st_size, *times)

    def open(self, flags: int = 0) -> int:
        """A descriptor of this very file, to read from. Raises FileReplaced or OSError."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | flags)
        except FileNotFoundError:
            raise self._replaced() from None
        if not self._is(os.fstat(descriptor)):
            os.close(descriptor)
            raise self._replaced()
        return descriptor

    def _is(self, info: os.stat_result) -> bool:
        # Not changed_ns: a link that somebody makes to the file changes it, and no byte of it.
        found = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)
        return found == (self.device, self.inode, self.byte_size, self.modified_ns)

    def _replaced(self) -> FileReplaced:
        return FileReplaced(f"{self.path}: the dataset was replaced since it was opened")
