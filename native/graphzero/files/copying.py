"""Copies files that stay as they are.

The kernel copies: data does not pass through this process, and file systems that can (Btrfs, XFS,
NFS 4.2) let both files share their blocks, which takes neither time nor space. A hard link would
take none anywhere, but then a change of one file in place would change the other dataset too.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

# Bytes that the kernel copies in one call: Ctrl-C waits for its end.
_CALL_BYTES = 128 << 20
# Bytes that are read and written at once where the kernel does not copy.
_PIECE_BYTES = 8 << 20
# The kernel or one of the file systems cannot copy between these two files.
_CANNOT = (
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.ETXTBSY,
    errno.EBADF,
)


def copy_file(source: Path, target: Path) -> None:
    """Copies the content of a file; `target` must not exist. Errors name both files."""
    with source.open("rb") as opened:
        copy_opened(opened.fileno(), source, target)


def copy_opened(
    descriptor: int, source: Path, target: Path, *, keep_attributes: bool = False
) -> None:
    """The same for a file that is open. `keep_attributes`: the copy has the mode and the times of
    the source."""
    with target.open("xb", buffering=0) as copy:
        try:
            info = os.fstat(descriptor)
            _copy(descriptor, copy.fileno(), info.st_size)
            if keep_attributes:
                os.fchmod(copy.fileno(), stat.S_IMODE(info.st_mode))
                os.utime(copy.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))
        except OSError as error:
            error.filename, error.filename2 = os.fspath(source), os.fspath(target)
            raise


def _copy(source: int, target: int, size: int) -> None:
    at, by_kernel = 0, True
    while at < size:
        done = _copy_range(source, target, at, size - at) if by_kernel else 0
        if done == 0:  # also where a file system only pretends to be able to
            by_kernel = False
            done = _read_and_write(source, target, at)
        if done == 0:
            raise OSError(errno.EIO, f"found {at} bytes, expected {size}; the file was cut")
        at += done


def _copy_range(source: int, target: int, at: int, size: int) -> int:
    """Returns the number of bytes that the kernel has copied; 0 if it cannot."""
    if not hasattr(os, "copy_file_range"):  # Pythons that were built for an old C library
        return 0
    try:
        return os.copy_file_range(source, target, min(size, _CALL_BYTES), at, at)
    except OSError as error:
        if error.errno in _CANNOT:
            return 0
        raise


def _read_and_write(source: int, target: int, at: int) -> int:
    data = memoryview(os.pread(source, _PIECE_BYTES, at))
    done = 0
    while done < len(data):
        done += os.pwrite(target, data[done:], at + done)
    return done
