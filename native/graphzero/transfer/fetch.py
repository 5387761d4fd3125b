"""`fetch`: copies a dataset from a daemon, a directory or an object store."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from graphzero.base.errors import GraphZeroError, InputError
from graphzero.base.numbers import seconds
from graphzero.base.object_store import is_uri, secrets_hidden
from graphzero.base.progress import JobProgress, Report
from graphzero.base.text import quoted, size_text
from graphzero.client.daemon.daemon_calls import open_calls
from graphzero.files.dataset import open_dataset
from graphzero.files.drafts import kept_draft, parent_directories
from graphzero.files.paths import find_problems, open_file
from graphzero.files.publish import StrPath, check_dataset_target, put_in_place
from graphzero.transfer.daemon_source import DaemonSource
from graphzero.transfer.directory_source import DirectorySource
from graphzero.transfer.file_copy import PIECES_AT_ONCE, FileCopy, block_checksums
from graphzero.transfer.source import DatasetChanged, Source, SourceFile, checked_file_name
from graphzero.transfer.store_source import StoreSource

# More versions would not help with a dataset that is replaced again and again.
_VERSIONS = 3
# At least so many attempts at one version, however long each of them takes.
_ATTEMPTS = 3
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0
_MOST_FILES = 100_000
# The directory in the draft that is filled, and that the next run goes on with.
_FILLING = "filling"


@dataclass(frozen=True)
class FetchReport:
    """What `fetch` did."""

    path: Path
    fingerprint: str
    """Fingerprint of the dataset, in hex."""
    byte_size: int
    """Size of all its files."""
    kept_bytes: int
    """Bytes that an earlier, interrupted run had copied; all if the dataset was there already."""
    seconds: float


def fetch(
    source: StrPath,
    path: StrPath,
    *,
    dataset: str = "",
    overwrite: bool = False,
    timeout: float = 60.0,
    token: str | None = None,
    root_certificate: StrPath | None = None,
    plaintext_token: bool = False,
    server_uid: int | None = None,
    progress: bool = False,
) -> FetchReport:
    """Copies a dataset into the directory `path`, as `graphzero fetch` does.

    source: a daemon ("host:port", "unix:/path" or the path of its socket), the directory of a
    dataset, or a URI that pyarrow or fsspec read from (s3://bucket/folder).
    dataset: which dataset, if the daemon serves several.
    overwrite: replace a dataset that is at `path`. Without it such a dataset is an error, unless it
    is the same one already, by the fingerprints of its files: then nothing is copied. With it, a
    dataset that is the same one is read and checked first, and copied again if it is damaged.
    timeout: seconds that a daemon may be unreachable, or not have noticed yet that the dataset was
    replaced (SIGHUP tells it), before fetch gives up.
    token, root_certificate, plaintext_token, server_uid: for a daemon, as in connect().
    progress: show progress on stderr.

    Every block that is copied is compared with its checksum. `path` appears when the copy is
    complete, never in parts; until then copied blocks lie in a hidden directory beside it, and the
    next call continues there. If the dataset is replaced meanwhile, the copy begins anew, but keeps
    the blocks that have not changed; with the third version, DatasetChanged is raised.

        >>> gz.fetch("node-1:7171", "/data/products")
    """
    target = Path(path).absolute()
    seconds(timeout, "timeout")
    began = time.monotonic()
    place = os.fspath(source)
    with secrets_hidden(place):
        opened = _open(
            place, dataset, timeout,
            token=token, root_certificate=root_certificate, plaintext_token=plaintext_token,
            server_uid=server_uid,
        )  # fmt: skip
        done = _fetch(opened, target, overwrite, timeout, progress)
    return FetchReport(target, *done, time.monotonic() - began)


def _fetch(
    opened: Source, target: Path, overwrite: bool, timeout: float, progress: bool
) -> tuple[str, int, int]:
    """Copies a dataset; begins anew when it was replaced meanwhile. Returns what _Fetch.run()
    does."""
    with opened, JobProgress(target.name, unit="B") as shown:
        patience = _Patience(timeout)
        while True:
            try:
                return _Fetch(opened, target, overwrite, shown if progress else None).run()
            except DatasetChanged:
                if not patience.wait(opened.fingerprint):
                    raise


def _open(source: str, dataset: str, timeout: float, **access: object) -> Source:
    """The source that the text names: a URI, a directory or a daemon."""
    if is_uri(source):
        return StoreSource(source)
    found = Path(source)
    with suppress(OSError):
        mode = found.stat().st_mode
        if stat.S_ISDIR(mode):
            return DirectorySource(found)
        if not stat.S_ISSOCK(mode):
            raise InputError(f"{source}: found a file, expected the directory of a dataset")
        source = f"unix:{found.absolute()}"
    if not source.startswith("unix:") and (os.sep in source or ":" not in source):
        raise FileNotFoundError(errno.ENOENT, "no such directory, and no daemon's socket", source)
    calls = open_calls(source, timeout=timeout, **access)  # type: ignore[arg-type]
    return DaemonSource(calls, dataset, f"daemon at {source}", timeout)


class _Patience:
    """Decides whether to begin anew when the dataset has changed.

    A daemon serves a dataset that was replaced only after SIGHUP. Until then it lists the old
    version and gives none of its bytes: that is no further change, and is waited for.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._version: bytes | None = None
        self._versions = 0

    def wait(self, version: bytes) -> bool:
        """Pauses. False if it is no use: the copy of yet another version failed, or the source has
        not had a new one for too long."""
        if version != self._version:
            self._version = version
            self._versions += 1
            self._attempts = 0
            self._deadline = time.monotonic() + self._timeout_s
            self._pause_s = _FIRST_PAUSE_S
        self._attempts += 1
        late = time.monotonic() + self._pause_s > self._deadline
        if self._versions == _VERSIONS or (late and self._attempts >= _ATTEMPTS):
            return False
        time.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return True


class _Fetch:
    """One attempt to copy the version that the source has now."""

    def __init__(self, source: Source, target: Path, overwrite: bool, report: Report | None):
        self._source = source
        self._target = target
        self._overwrite = overwrite
        self._report = report
        self._lock = threading.Lock()
        self._done = self._kept = 0

    def run(self) -> tuple[str, int, int]:
        """Returns the fingerprint, all bytes, and the bytes that were there before."""
        files = self._files()
        self._total = sum(file.byte_size for file in files)
        if self._is_there(files):
            return self._source.fingerprint.hex(), self._total, self._total
        check_dataset_target(self._target, overwrite=self._overwrite)
        with parent_directories(self._target), kept_draft(self._target) as draft:
            copy = draft / _FILLING
            _clear(draft)
            _make_room(copy, files, self._target)
            self._copy(files, copy)
            self._source.check_unchanged()
            fingerprint = self._check(copy)
            put_in_place(copy, self._target, overwrite=self._overwrite)
        return fingerprint, self._total, self._kept

    def _files(self) -> Sequence[SourceFile]:
        files = self._source.files()
        for file in files:
            checked_file_name(file.name, self._source.label)
        if len({file.name for file in files}) != len(files) or len(files) > _MOST_FILES:
            raise InputError(
                f"{self._source.label}: found {len(files)} files, expected at most {_MOST_FILES} "
                "of different names"
            )
        return files

    def _is_there(self, files: Sequence[SourceFile]) -> bool:
        """Whether the target is this very dataset already. Files are compared too, because all
        parts of a sharded dataset have the same fingerprint."""
        if not self._source.fingerprint or not self._target.is_dir():
            return False
        with suppress(GraphZeroError, OSError):
            there = open_dataset(self._target)
            found = {(f.name, f.byte_size, there.file_fingerprint(f)) for f in there.files}
            same_files = found == {(f.name, f.byte_size, f.fingerprint) for f in files}
            same = same_files and there.fingerprint == self._source.fingerprint
            # Fingerprints are in the headers, which do not show damage behind them.
            return same and (not self._overwrite or all(map(self._is_sound, files)))
        return False

    def _is_sound(self, file: SourceFile) -> bool:
        """Whether a file of the target has the right bytes: by its own checksums, or, for a file of
        GraphZero 0.2, by those that the source knows."""
        path = self._target / file.name
        if file.fingerprint:
            return not find_problems(open_file(path), self._report)
        return block_checksums(path) == self._source.block_checksums(file)

    def _copy(self, files: Sequence[SourceFile], copy: Path) -> None:
        with ThreadPoolExecutor(PIECES_AT_ONCE, "graphzero-fetch") as executor:
            for file in files:
                target = copy / file.name
                target.parent.mkdir(exist_ok=True)
                FileCopy(self._source, file, target, self._advance).run(executor)

    def _advance(self, size: int, kept: bool) -> None:
        with self._lock:
            self._done += size
            self._kept += size if kept else 0
            if self._report is not None:
                self._report("fetching", min(self._done, self._total), self._total)

    def _check(self, copy: Path) -> str:
        """Returns the copy's fingerprint. Raises if files do not fit together, or differ from what
        the source announced."""
        found = open_dataset(copy).fingerprint
        if self._source.fingerprint and found != self._source.fingerprint:
            raise DatasetChanged(
                f"{self._source.label}: the copy has fingerprint {found.hex()}, expected "
                f"{self._source.fingerprint.hex()}"
            )
        return found.hex()


def _clear(draft: Path) -> None:
    """Removes everything but the directory to fill, such as a dataset that an earlier run has
    replaced: it was published, so daemons may have it open."""
    for path in draft.iterdir():
        is_directory = path.is_dir() and not path.is_symlink()
        if is_directory and path.name != _FILLING:
            shutil.rmtree(path)
        elif not is_directory:
            path.unlink()


def _make_room(copy: Path, files: Sequence[SourceFile], target: Path) -> None:
    """Makes the directory `copy`, and removes files that are not in `files`. Raises OSError
    (ENOSPC) if the disk is too small for all files."""
    copy.mkdir(exist_ok=True)
    wanted = {copy / file.name for file in files}
    there = 0
    for path in sorted(copy.rglob("*"), reverse=True):  # entries come before their directory
        info = path.lstat()
        # A file with a second name may be a file of another dataset, and is not written to.
        if path in wanted and stat.S_ISREG(info.st_mode) and info.st_nlink == 1:
            there += 512 * info.st_blocks
        elif stat.S_ISDIR(info.st_mode):
            with suppress(OSError):  # not empty
                path.rmdir()
        else:
            path.unlink()
    needed = sum(file.byte_size for file in files) - there
    free = shutil.disk_usage(copy).free
    if needed > free:
        raise OSError(
            errno.ENOSPC,
            f"needs {size_text(needed)} more, and the disk has {size_text(free)}",
            quoted(str(target)),
        )
