"""`push`: copies a dataset to an object store, or to a directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from graphzero.base.errors import InputError
from graphzero.base.object_store import ObjectStore, is_uri
from graphzero.base.progress import JobProgress
from graphzero.base.text import quoted
from graphzero.files.paths import COLUMN_SUFFIX, GRAPH_FILE, open_file, require_sound
from graphzero.files.publish import StrPath
from graphzero.transfer.directory_source import DirectorySource
from graphzero.transfer.fetch import fetch
from graphzero.transfer.manifest import MANIFEST, MOST_MANIFEST_BYTES, Manifest
from graphzero.transfer.source import SourceFile

_PIECE_BYTES = 8 << 20
_FILE_SCHEME = "file://"
# Bytes from the start of a file that include the header with its fingerprint.
_HEAD_BYTES = 4096


def push(
    path: StrPath, uri: str, *, overwrite: bool = False, verify: bool = True, progress: bool = False
) -> int:
    """Copies the dataset in the directory `path` to `uri`, as `graphzero push` does; returns the
    number of bytes written.

    uri: a URI that pyarrow or fsspec write to (s3://bucket/folder), or a directory.
    overwrite: replace a dataset that is there. Without it such a dataset is an error.
    verify: read the files first, and raise FormatError instead of copying damaged ones.
    progress: show progress on stderr.

    A list of all files, graphzero.json, is written last: until then the dataset counts as
    incomplete. A push after an interrupted one copies only the files that are missing.
    """
    if not is_uri(uri) or uri.startswith(_FILE_SCHEME):
        there = uri.removeprefix(_FILE_SCHEME)
        if verify:
            with DirectorySource(Path(path)) as source:
                _require_sound_files(Path(path), source.files())
        report = fetch(path, there, overwrite=overwrite, progress=progress)
        return report.byte_size - report.kept_bytes
    with DirectorySource(Path(path)) as source:
        return _Push(source, Path(path), ObjectStore(uri), progress).run(overwrite, verify)


def _require_sound_files(path: Path, files: Sequence[SourceFile]) -> None:
    """Reads all files of a dataset; raises FormatError if one is damaged."""
    for file in files:
        require_sound(open_file(path / file.name))


class _Push:
    def __init__(
        self, source: DirectorySource, path: Path, store: ObjectStore, progress: bool
    ) -> None:
        self._source = source
        self._path = path
        self._store = store
        self._progress = progress
        self._written = 0

    def run(self, overwrite: bool, verify: bool) -> int:
        # The graph comes last, because no reader takes a folder without one for a dataset. Columns
        # of the dataset before are removed first: with them, the folder would be a mixture.
        files = sorted(self._source.files(), key=lambda file: file.name == GRAPH_FILE)
        manifest = self._manifest(files)
        if not self._is_needed(manifest, overwrite):
            return 0
        if verify:
            _require_sound_files(self._path, files)
        # From now on no reader takes the folder for a dataset.
        self._store.remove(MANIFEST)
        self._store.remove(GRAPH_FILE)
        total = sum(file.byte_size for file in files)
        with JobProgress(self._path.name, unit="B") as shown:
            for file in files:
                if file.name == GRAPH_FILE:
                    self._remove_others(files)
                for size in self._copy(file):
                    self._written += size
                    if self._progress:
                        shown("pushing", self._written, total)
        with self._store.open_output(MANIFEST) as stream:
            stream.write(manifest.write())
        return self._written

    def _manifest(self, files: list[SourceFile]) -> Manifest:
        legacy = [file for file in files if not file.fingerprint]
        checksums = {file.name: self._source.block_checksums(file) for file in legacy}
        return Manifest(self._source.fingerprint, tuple(files), checksums)

    def _is_needed(self, manifest: Manifest, overwrite: bool) -> bool:
        """Whether there is anything to copy. Raises InputError for another dataset that is there,
        unless it may be replaced."""
        if self._store.find(MANIFEST) is not None:
            data = self._store.read_all(MANIFEST, MOST_MANIFEST_BYTES)
            if data == manifest.write():
                return False
            self._require(overwrite)
        elif self._store.find(GRAPH_FILE) is not None:
            self._require(overwrite)
        return True

    def _require(self, overwrite: bool) -> None:
        if not overwrite:
            raise InputError(
                f"{quoted(self._store.uri)}: holds another dataset; --overwrite (overwrite=True) "
                "replaces it"
            )

    def _copy(self, file: SourceFile) -> Iterator[int]:
        """Copies a file and yields the size of each piece that was written."""
        if self._is_there(file):
            return
        with self._store.open_output(file.name) as stream:
            for at in range(0, file.byte_size, _PIECE_BYTES):
                piece = self._source.read(file, at, min(_PIECE_BYTES, file.byte_size - at))
                stream.write(piece)
                yield len(piece)
        written = self._store.find(file.name)
        if written is None or written.byte_size != file.byte_size:
            found = "no file" if written is None else f"{written.byte_size} bytes"
            raise OSError(
                f"{self._store.uri}/{file.name}: found {found} after it was written, expected "
                f"{file.byte_size} bytes"
            )

    def _is_there(self, file: SourceFile) -> bool:
        """Whether an earlier push has written the file. Comparing the headers is enough: a file of
        a store is complete, and its header has the fingerprint of all its content."""
        found = self._store.find(file.name)
        if not file.fingerprint or found is None or found.byte_size != file.byte_size:
            return False
        size = min(_HEAD_BYTES, file.byte_size)
        with self._store.open_file(found.path) as opened:
            return bytes(opened.read_at(size, 0)) == self._source.read(file, 0, size)

    def _remove_others(self, files: list[SourceFile]) -> None:
        """Removes columns of a dataset that was there before, but not those of datasets in folders
        below."""
        wanted = {file.name for file in files}
        names = [
            PurePosixPath(found.path.removeprefix(self._store.path).lstrip("/"))
            for found in self._store.files()
        ]
        marks = (GRAPH_FILE, MANIFEST)
        others = {name.parent for name in names if name.name in marks and len(name.parts) > 1}
        for name in names:
            stale = name.suffix == COLUMN_SUFFIX and str(name) not in wanted
            if stale and not others.intersection(name.parents):
                self._store.remove(str(name))
