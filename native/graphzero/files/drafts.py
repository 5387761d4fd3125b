"""Hidden places to write in before something is published.

A draft is a directory `.NAME.part-RANDOM` beside the target, so that publishing is a rename. Its
writer holds a lock on it, which the kernel drops when the process dies: a draft whose lock is free
was left by a killed run, and the next run to the same target removes it. A job that can be resumed
keeps its draft, `.NAME.partial`, for the next run. Everybody can guess that name, so in a directory
that users share, the next run takes such a draft only if nobody else can have written to it.
"""

import contextlib
import errno
import fcntl
import glob
import os
import stat
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def draft_directory(target: Path) -> Iterator[Path]:
    """A new, locked directory beside `target`. It is removed at the end, with its content."""
    _remove_stale(target)
    draft, lock = _create(target)
    try:
        yield draft
    finally:
        _remove(draft)
        os.close(lock)


@contextlib.contextmanager
def kept_draft(target: Path) -> Iterator[Path]:
    """A locked directory `.NAME.partial` beside `target` that stays when the block raises or the
    process dies, so that the next run goes on with it; at the end of the block it is removed.

    Raises PermissionError if the directory is there and others may have written to it, and
    BlockingIOError if another process has locked it.
    """
    draft = target.parent / f".{target.name}.partial"
    lock = _lock_kept(draft)
    try:
        yield draft
        _remove(draft)
    finally:
        os.close(lock)


@contextlib.contextmanager
def parent_directories(target: Path) -> Iterator[None]:
    """Makes the missing directories above `target`, and removes them if the block raises."""
    missing = [p for p in target.parents if not p.exists()]
    try:
        for directory in reversed(missing):
            directory.mkdir(exist_ok=True)
            make_durable(directory.parent)
        yield
    except BaseException:
        for directory in missing:
            with contextlib.suppress(OSError):  # someone else uses it by now
                directory.rmdir()
        raise


def make_durable(path: Path) -> None:
    """Flushes a file's bytes or a directory's entries to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create(target: Path) -> tuple[Path, int]:
    while True:
        draft = target.parent / f".{target.name}.part-{os.urandom(8).hex()}"
        try:
            draft.mkdir()
            lock = _try_lock(draft)
        except KeyboardInterrupt:
            _remove(draft)
            raise
        # Between mkdir and the lock, another run may have taken this draft for a stale one.
        if lock is not None:
            return draft, lock


def _lock_kept(draft: Path) -> int:
    while True:
        try:
            draft.mkdir(0o700)
            is_new = True
        except FileExistsError:
            is_new = False
        lock = _try_lock(draft)
        try:
            info = draft.lstat() if lock is None else os.fstat(lock)
            # What this process has just made is its own, even on a file system that stores neither
            # owners nor modes.
            if not is_new:
                _require_private(draft, info)
        except FileNotFoundError:
            continue  # another run has removed it since
        except PermissionError:
            if lock is not None:
                os.close(lock)
            raise
        if lock is not None:
            return lock
        raise BlockingIOError(
            errno.EWOULDBLOCK, "another process works here to the same end", str(draft)
        )


def _require_private(draft: Path, info: os.stat_result) -> None:
    """Raises PermissionError unless this user alone can have put something into `draft`: a link in
    it could lead anywhere, and files behind the link would be overwritten or removed."""
    mode = stat.S_IMODE(info.st_mode)
    is_own = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
    if not is_own or mode & (stat.S_IWGRP | stat.S_IWOTH):
        kind = "directory" if stat.S_ISDIR(info.st_mode) else "file or link"
        raise PermissionError(
            errno.EPERM,
            f"found a {kind} of user {info.st_uid} with mode {mode:04o}, expected a directory of "
            f"user {os.geteuid()} that only this user may write to; remove it, or choose another "
            "target",
            str(draft),
        )


def _remove(draft: Path) -> None:
    try:
        draft.rmdir()  # enough after a new dataset was published: the draft is empty
    except OSError:
        import shutil  # here, because it imports all compression modules: 7 ms

        try:
            shutil.rmtree(draft, ignore_errors=True)
        except KeyboardInterrupt:  # an old dataset takes a while to remove
            shutil.rmtree(draft, ignore_errors=True)
            raise


def _remove_stale(target: Path) -> None:
    for draft in target.parent.glob(f".{glob.escape(target.name)}.part-*"):
        lock = _try_lock(draft)
        if lock is not None:
            _remove(draft)
            os.close(lock)


def _try_lock(draft: Path) -> int | None:
    """The lock's descriptor, or None if someone holds it or the directory is gone. Another
    directory may have taken its name by now: then the directory that was opened is gone."""
    try:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), draft.lstat()):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None
