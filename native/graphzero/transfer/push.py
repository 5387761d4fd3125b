"""`push`: copies a dataset to an object store, or to a directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from graphzero.base.errors import InputError
from graphzero.base.object_store import (
    ObjectStore,
    is_uri,
    is_web,
    local_path,
    secrets_hidden,
    shown_uri,
)
from graphzero.base.progress import JobProgress
from graphzero.base.text import names_text, quoted
from graphzero.files.paths import COLUMN_SUFFIX, GRAPH_FILE, open_file, require_sound
from graphzero.files.publish import StrPath
from graphzero.transfer.directory_source import DirectorySource
from graphzero.transfer.fetch import fetch
from graphzero.transfer.manifest import MANIFEST, MOST_MANIFEST_BYTES, Manifest, dataset_folders
from graphzero.transfer.source import SourceFile, checked_file_name

# In the folder while a push is under way.
PUSHING = "graphzero.pushing.json"
_PIECE_BYTES = 8 << 20
# Bytes from the start of a file that include the header with its fingerprint.
_HEAD_BYTES = 4096


def push(
    path: StrPath, uri: str, *, overwrite: bool = False, verify: bool = True, progress: bool = False
) -> int:
    """Copies the dataset in the directory `path` to `uri`, as `graphzero push` does; returns the
    number of bytes written.

    uri: a URI that pyarrow or fsspec write to (s3://bucket/folder), or a directory.
    overwrite: replace a dataset that is there. Without it such a dataset is an error, and so is any
    .gl or .gd file that no interrupted push of this dataset can have left. With it, all bytes of
    files that are there already are read and compared, and files that differ are written again.
    verify: read the files first, and raise FormatError instead of copying damaged ones.
    progress: show progress on stderr.

    A list of all files, graphzero.json, is written last: until then the dataset counts as
    incomplete. A push after an interrupted one copies only the files that are missing. A
    replacement removes the files that the old dataset's list names, and no others.
    """
    if is_web(uri):
        raise InputError(
            f"{shown_uri(uri)}: web servers are read from (graphzero fetch), not written to; push "
            "to a directory or an object store, and let the web server serve what is there"
        )
    there = local_path(uri) if is_uri(uri) else uri
    if there is not None:
        if verify:
            with DirectorySource(Path(path)) as source:
                _require_sound_files(Path(path), source.files())
        report = fetch(path, there, overwrite=overwrite, progress=progress)
        return report.byte_size - report.kept_bytes
    with secrets_hidden(uri), DirectorySource(Path(path)) as source:
        return _Push(source, Path(path), ObjectStore(uri), progress).run(overwrite, verify)


def _require_sound_files(path: Path, files: Sequence[SourceFile]) -> None:
    """Reads all files of a dataset; raises FormatError if one is damaged."""
    for file in files:
        require_sound(open_file(path / file.name))


class _Push:
    """One push to a store.

    Whoever replaces a dataset must know which files were its own: others in the folder may be
    precious. The manifest lists them, but it has to go first, so that no reader takes a mixture for
    a dataset. So PUSHING, which lists all files that this push may write or remove, is there from
    before the first change until after the last one, and a push after an interrupted one reads it.
    """

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
        before = self._read(MANIFEST)
        same = manifest.same_content(before)
        there: set[str] = set()
        if overwrite or not same:
            there = {file.name for file in files if self._is_there(file, all_bytes=overwrite)}
        if same and (not overwrite or len(there) == len(files)):
            self._store.remove(PUSHING)
            return 0
        interrupted = self._read(PUSHING) if self._store.find(MANIFEST) is None else None
        if not overwrite:
            self._require_room(manifest, interrupted, there)
        if verify:
            _require_sound_files(self._path, files)
        stale = self._stale_files(files, before or interrupted)
        with self._store.open_output(PUSHING) as stream:
            stream.write(Manifest(manifest.fingerprint, (*files, *stale), {}).write())
        # From now on no reader takes the folder for a dataset.
        self._store.remove(MANIFEST)
        self._store.remove(GRAPH_FILE)
        total = sum(file.byte_size for file in files)
        with JobProgress(self._path.name, unit="B") as shown:
            for file in files:
                if file.name == GRAPH_FILE:
                    for other in stale:
                        self._store.remove(other.name)
                elif file.name in there:
                    continue
                for size in self._copy(file):
                    self._written += size
                    if self._progress:
                        shown("pushing", self._written, total)
        with self._store.open_output(MANIFEST) as stream:
            stream.write(manifest.write())
        self._store.remove(PUSHING)
        return self._written

    def _manifest(self, files: list[SourceFile]) -> Manifest:
        legacy = [file for file in files if not file.fingerprint]
        checksums = {file.name: self._source.block_checksums(file) for file in legacy}
        return Manifest(self._source.fingerprint, tuple(files), checksums)

    def _read(self, name: str) -> Manifest | None:
        """The list of files in `name`; None if there is none, or one that cannot be read: then it
        does not say which files may be removed."""
        if self._store.find(name) is None:
            return None
        with suppress(InputError):
            data = self._store.read_all(name, MOST_MANIFEST_BYTES)
            return Manifest.read(data, f"{self._store.uri}/{name}")
        return None

    def _require_room(
        self, manifest: Manifest, interrupted: Manifest | None, there: set[str]
    ) -> None:
        """Raises InputError if the folder holds a dataset, or files that no interrupted push of
        this one explains. `there`: the files of this dataset that are there already."""
        place = quoted(self._store.uri)
        if self._store.find(MANIFEST) is not None:
            raise InputError(
                f"{place}: holds another dataset; --overwrite (overwrite=True) replaces it"
            )
        explained = set()
        if interrupted is not None and interrupted.fingerprint == manifest.fingerprint:
            explained = {file.name for file in interrupted.files}
        foreign = [
            name for name in self._data_files() if name not in explained and name not in there
        ]
        if GRAPH_FILE in foreign:
            raise InputError(
                f"{place}: holds another dataset; --overwrite (overwrite=True) replaces it"
            )
        if foreign:
            raise InputError(
                f"{place}: found {names_text(foreign)}, which no push of this dataset has written; "
                "choose another folder, or --overwrite (overwrite=True), which replaces files that "
                "have the name of a new one and leaves the others alone"
            )

    def _data_files(self) -> list[str]:
        """Names of all graphs and columns in the folder and below it, but for those of
        datasets in folders below."""
        names = [self._store.name_of(found) for found in self._store.files()]
        datasets = dataset_folders(names)
        return [
            name
            for name in names
            if PurePosixPath(name).suffix in (COLUMN_SUFFIX, PurePosixPath(GRAPH_FILE).suffix)
            and not datasets.intersection(PurePosixPath(name).parents)
        ]

    def _stale_files(self, files: list[SourceFile], before: Manifest | None) -> list[SourceFile]:
        """The files of the dataset that was there before which the new one does not replace."""
        wanted = {file.name for file in files}
        others = [file for file in (before.files if before else ()) if file.name not in wanted]
        for file in others:
            checked_file_name(file.name, self._store.uri)  # they are going to be removed
        return others

    def _copy(self, file: SourceFile) -> Iterator[int]:
        """Copies a file and yields the size of each piece that was written."""
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

    def _is_there(self, file: SourceFile, *, all_bytes: bool) -> bool:
        """Whether an earlier push has written the file. Comparing the headers shows it: a file of a
        store is complete, and its header has the fingerprint of all its content. Only all bytes
        show that it is not damaged. A file of GraphZero 0.2 has no such header, and is always
        compared as a whole."""
        found = self._store.find(file.name)
        if found is None or found.byte_size != file.byte_size:
            return False
        all_bytes = all_bytes or not file.fingerprint
        size = file.byte_size if all_bytes else min(_HEAD_BYTES, file.byte_size)
        with self._store.open_file(found.path) as opened:
            return all(
                bytes(opened.read_at(min(_PIECE_BYTES, size - at), at))
                == self._source.read(file, at, min(_PIECE_BYTES, size - at))
                for at in range(0, size, _PIECE_BYTES)
            )
