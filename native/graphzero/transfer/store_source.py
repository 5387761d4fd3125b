"""A dataset in an object store, or wherever else pyarrow or fsspec read from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from threading import local
from typing import Any

from graphzero.base.errors import InputError
from graphzero.base.object_store import ObjectStore
from graphzero.files.paths import COLUMN_SUFFIX, GRAPH_FILE
from graphzero.transfer.manifest import MANIFEST, MOST_MANIFEST_BYTES, Manifest, dataset_folders
from graphzero.transfer.source import DatasetChanged, Source, SourceFile


class StoreSource(Source):
    def __init__(self, uri: str) -> None:
        self._store = ObjectStore(uri)
        self.label = self._store.uri
        self._manifest: Manifest | None = None
        self._listed: list[SourceFile] = []
        self._opened = local()

    def files(self) -> Sequence[SourceFile]:
        self._opened = local()
        self._manifest = self._read_manifest()
        self._listed = list(self._manifest.files) if self._manifest else self._list()
        return self._listed

    def _read_manifest(self) -> Manifest | None:
        if self._store.find(MANIFEST) is None:
            return None
        label = f"{self.label}/{MANIFEST}"
        return Manifest.read(self._store.read_all(MANIFEST, MOST_MANIFEST_BYTES), label)

    def _list(self) -> list[SourceFile]:
        """Lists the files of a dataset that was not copied there by `graphzero push`, without those
        of folders that are datasets of their own."""
        found = {self._store.name_of(file): file for file in self._store.files()}
        datasets = dataset_folders(found)
        files = [
            SourceFile(name, file.byte_size, modified_ns=file.modified_ns)
            for name, file in found.items()
            if (name == GRAPH_FILE or name.endswith(COLUMN_SUFFIX))
            and not any(part[0] == "." for part in name.split("/"))
            and not datasets.intersection(PurePosixPath(name).parents)
        ]
        if not any(file.name == GRAPH_FILE for file in files):
            raise InputError(
                f"{self.label}: found no {GRAPH_FILE}, which every dataset has, and no {MANIFEST}, "
                "which graphzero push writes"
            )
        return files

    @property
    def fingerprint(self) -> bytes:
        return self._manifest.fingerprint if self._manifest else b""

    def read(self, file: SourceFile, offset: int, size: int) -> bytes:
        opened = self._open(file)
        data = bytes(opened.read_at(size, offset))
        if len(data) != size:
            raise DatasetChanged(
                f"{self.label}/{file.name}: found {offset + len(data)} bytes, expected "
                f"{file.byte_size}"
            )
        return data

    def _open(self, file: SourceFile) -> Any:
        """The file, opened once per thread: files of some file systems are not thread-safe."""
        name, opened = getattr(self._opened, "last", (None, None))
        if name != file.name:
            if opened is not None:
                opened.close()
            opened = self._store.open_file(self._store.below(file.name))
            self._opened.last = (file.name, opened)
        return opened

    def block_checksums(self, file: SourceFile) -> list[int] | None:
        return self._manifest.checksums.get(file.name) if self._manifest else None

    def check_unchanged(self) -> None:
        now = self._read_manifest() if self._manifest else None
        same = now == self._manifest if self._manifest else self._list() == self._listed
        if not same:
            raise DatasetChanged(f"{self.label}: the dataset was replaced while it was copied")
