"""A dataset in a directory of this machine, or of a network file system."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from graphzero import _engine
from graphzero.files.dataset import Dataset, open_dataset
from graphzero.files.file_identity import FileIdentity, FileReplaced
from graphzero.transfer.source import DatasetChanged, Source, SourceFile


class DirectorySource(Source):
    def __init__(self, path: Path) -> None:
        self.label = str(path)
        self._path = path
        self._dataset: Dataset | None = None
        self._descriptors: dict[str, int] = {}

    def files(self) -> Sequence[SourceFile]:
        self.close()
        self._dataset = dataset = open_dataset(self._path)
        found = []
        for file in dataset.files:
            # Stays open, so that the copy is of this version even if the dataset is replaced.
            self._open(file)
            content = dataset.file_fingerprint(file)
            found.append(SourceFile(file.name, file.byte_size, content, file.modified_ns))
        return found

    def _open(self, file: FileIdentity) -> None:
        try:
            self._descriptors[file.name] = file.open()
        except FileReplaced as error:
            raise DatasetChanged(str(error)) from error

    @property
    def fingerprint(self) -> bytes:
        assert self._dataset is not None
        return self._dataset.fingerprint

    def read(self, file: SourceFile, offset: int, size: int) -> bytes:
        data = os.pread(self._descriptors[file.name], size, offset)
        if len(data) != size:
            raise DatasetChanged(
                f"{self._path / file.name}: found {offset + len(data)} bytes, expected "
                f"{file.byte_size}; the file was cut"
            )
        return data

    def block_checksums(self, file: SourceFile) -> list[int]:
        step = _engine.CHECKSUM_BLOCK
        return [
            _engine.checksum(memoryview(self.read(file, at, min(step, file.byte_size - at))))
            for at in range(0, file.byte_size, step)
        ]

    def close(self) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors = {}
