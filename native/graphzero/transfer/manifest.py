"""`graphzero.json`: `graphzero push` writes it last, so its presence says that all files are there.

Object stores cannot rename a folder: without the manifest, a dataset whose copy is under way could
not be told from a whole one. The manifest lists the files with their sizes and fingerprints, and
checksums for files of GraphZero 0.2, which store none. It also makes it possible to fetch from a
store whose files cannot be listed, such as a web server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from graphzero.base.errors import InputError
from graphzero.base.text import line_text
from graphzero.files.paths import GRAPH_FILE
from graphzero.transfer.source import SourceFile

MANIFEST = "graphzero.json"
MOST_MANIFEST_BYTES = 64 << 20
_VERSION = 1
# The largest size or time, in nanoseconds, that system calls take.
_MOST = 2**63 - 1


@dataclass(frozen=True)
class Manifest:
    fingerprint: bytes
    files: tuple[SourceFile, ...]
    checksums: dict[str, list[int]]
    """Checksums of the blocks of files that store none themselves, by file name."""

    def same_content(self, other: Manifest | None) -> bool:
        """Whether both list the same bytes. The times of a file with a fingerprint do not count:
        every copy of a dataset may have others. Files of GraphZero 0.2 have nothing but their time
        to tell them apart."""
        return (
            other is not None
            and self.fingerprint == other.fingerprint
            and self.checksums == other.checksums
            and set(map(_content, self.files)) == set(map(_content, other.files))
        )

    def write(self) -> bytes:
        def entry(file: SourceFile) -> dict[str, Any]:
            found: dict[str, Any] = {
                "name": file.name,
                "byte_size": file.byte_size,
                "fingerprint": file.fingerprint.hex(),
                "modified_unix_ns": file.modified_ns,
            }
            if file.name in self.checksums:
                found["checksums"] = [f"{value:016x}" for value in self.checksums[file.name]]
            return found

        content = {
            "version": _VERSION,
            "fingerprint": self.fingerprint.hex(),
            "files": [entry(file) for file in self.files],
        }
        return json.dumps(content, indent=1).encode()

    @classmethod
    def read(cls, data: bytes, label: str) -> Manifest:
        try:
            content = json.loads(data)
            version = int(content["version"])
            if version > _VERSION:
                raise InputError(
                    f"{label}: found version {version}, expected {_VERSION}; a newer release of "
                    "graphzero-server may read it"
                )
            return cls(
                bytes.fromhex(content["fingerprint"]),
                tuple(_file(entry) for entry in content["files"]),
                _checksums(content["files"]),
            )
        except InputError:
            raise
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            OverflowError,  # of a number such as Infinity
            RecursionError,  # of lists in lists in lists
        ) as error:
            raise InputError(
                f"{label}: not what graphzero push writes: {line_text(repr(error))}"
            ) from error


def dataset_folders(names: Iterable[str]) -> set[PurePosixPath]:
    """The folders below a folder that are datasets of their own, by the names of all files below
    it."""
    paths = map(PurePosixPath, names)
    return {
        path.parent for path in paths if path.name in (GRAPH_FILE, MANIFEST) and len(path.parts) > 1
    }


def _content(file: SourceFile) -> SourceFile:
    """Without the time of its last change, if a fingerprint tells the content."""
    return replace(file, modified_ns=0) if file.fingerprint else file


def _file(entry: Any) -> SourceFile:
    size, modified = int(entry["byte_size"]), int(entry["modified_unix_ns"])
    if not 0 <= size <= _MOST:
        raise ValueError(f"byte_size {size}")
    if not -_MOST <= modified <= _MOST:
        raise ValueError(f"modified_unix_ns {modified}")
    return SourceFile(str(entry["name"]), size, bytes.fromhex(entry["fingerprint"]), modified)


def _checksums(entries: Sequence[Any]) -> dict[str, list[int]]:
    return {
        str(entry["name"]): [int(value, 16) for value in entry["checksums"]]
        for entry in entries
        if "checksums" in entry
    }
