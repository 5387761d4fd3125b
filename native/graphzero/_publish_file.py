"""Publishes a single file: readers see the old one or the complete new one, never a part.

The file is written in a hidden directory beside its target, `.NAME.part-RANDOM`, made durable and
renamed. Its writer holds a lock on that directory, which the kernel drops when the process dies: a
directory whose lock is free was left by a killed run, and the next run to the same target removes
it.
"""

import contextlib
import errno
import fcntl
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[str]:
    """Yields the name of a file to create. When the block ends it becomes `path`; when the block
    raises, nothing is left."""
    target = Path(os.fspath(path)).absolute()
    _check_target(target, overwrite)
    _remove_stale_parts(target)
    part, lock = _locked_part(target)
    try:
        draft = part / target.name
        yield str(draft)
        _sync(draft)
        _check_target(target, overwrite)
        draft.rename(target)
        _sync(target.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        os.close(lock)


def _check_target(target: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory, expected a file name", str(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such directory", str(target.parent))
    if target.exists() and not overwrite:
        raise FileExistsError(errno.EEXIST, "exists; allow overwriting to replace it", str(target))


def _locked_part(target: Path) -> tuple[Path, int]:
    while True:
        part = target.parent / f".{target.name}.part-{secrets.token_hex(8)}"
        part.mkdir(mode=0o700)
        lock = _try_lock(part)
        # Between mkdir and the lock, another run may have taken it for a stale one.
        if lock is not None:
            return part, lock


def _remove_stale_parts(target: Path) -> None:
    for part in target.parent.glob(f".{glob.escape(target.name)}.part-*"):
        lock = _try_lock(part)
        if lock is not None:
            shutil.rmtree(part, ignore_errors=True)
            os.close(lock)


def _try_lock(part: Path) -> int | None:
    """The lock's descriptor, or None if someone holds it or the directory is gone."""
    try:
        descriptor = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink > 0 and part.exists():
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
