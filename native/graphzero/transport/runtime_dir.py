"""Where the daemon's sockets are, so that trainers find it without being told.

Client and daemon both ask here. The directory belongs to one user: `$XDG_RUNTIME_DIR/graphzero`
where the system provides such a place, else `/tmp/graphzero-<uid>`. Anyone may create a name in
/tmp, so whoever uses the directory calls private_directory() or checks its owner first.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

# sun_path has 108 bytes, the last of which is zero.
MAX_SOCKET_PATH_BYTES = 107

_SOCKET_NAME = "server.sock"


def runtime_directory() -> Path:
    """The directory of this user's sockets. It may not exist yet."""
    provided = os.environ.get("XDG_RUNTIME_DIR", "")
    if provided and _is_own_directory(provided):
        return Path(provided) / "graphzero"
    return Path(f"/tmp/graphzero-{os.geteuid()}")


def default_socket() -> Path:
    """The socket of a daemon that was started without --socket."""
    return runtime_directory() / _SOCKET_NAME


def socket_for_data(directory: str | os.PathLike[str]) -> Path:
    """The socket of the daemon that `connect(data=directory)` starts: one for each directory."""
    real = os.path.realpath(directory)
    digest = hashlib.blake2b(os.fsencode(real), digest_size=8).hexdigest()
    return runtime_directory() / f"data-{digest}.sock"


def private_directory(path: Path) -> Path:
    """Creates `path` with mode 0700 if it is missing, and returns it.

    Raises PermissionError if it is another user's, a symbolic link, or open to writes by others:
    whoever can write there can put a socket of their own in place of ours.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{path}: expected a directory, not a link or a file; remove it")
    if found.st_uid != os.geteuid():
        raise PermissionError(
            f"{path} belongs to uid {found.st_uid}, expected {os.geteuid()}; "
            "set XDG_RUNTIME_DIR to a directory of your own, or choose a socket in one"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        is_for_all = found.st_mode & stat.S_ISVTX  # as /tmp is, which must stay so
        remedy = "choose a directory of your own" if is_for_all else f"run: chmod 700 {path}"
        raise PermissionError(
            f"{path} has mode {stat.S_IMODE(found.st_mode):04o}: others may write to it; {remedy}"
        )
    return path


def require_socket_path(path: str | os.PathLike[str]) -> None:
    """Raises ValueError if the path is too long for a Unix socket."""
    size = len(os.fsencode(path))
    if size > MAX_SOCKET_PATH_BYTES:
        raise ValueError(
            f"socket path {os.fspath(path)} has {size} bytes, "
            f"a Unix socket takes at most {MAX_SOCKET_PATH_BYTES}; choose a shorter one"
        )


def lock_file(path: Path, *, wait: bool) -> int:
    """A descriptor that holds the lock of `path`, until unlock_file() or the end of the process.

    The file is created if need be. Raises BlockingIOError if another process holds the lock and
    this one is not to wait.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if _is_file_of(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # The holder removed the file between this open and lock: others lock a new one.
        os.close(descriptor)


def unlock_file(path: Path, descriptor: int) -> None:
    """Removes the file while this process still holds the lock: later it may be another's."""
    with suppress(FileNotFoundError):
        if _is_file_of(path, descriptor):
            path.unlink()
    os.close(descriptor)


def _is_file_of(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _is_own_directory(path: str) -> bool:
    try:
        found = Path(path).stat()
    except OSError:
        return False
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return own and os.access(path, os.W_OK | os.X_OK)
