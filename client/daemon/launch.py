"""A daemon for one directory, started on demand: `connect(data=DIR)`.

Its socket has a name made from the directory, so every process of this user finds the same one.
Processes that race take turns at a lock file; whoever comes second finds the daemon running. The
daemon is detached from the process that started it and leaves when nobody has been connected for a
while; or it is tied to that process and ends with it, if that process supervises it (client/ray/).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from graphzero.client.connection.address import Address
from graphzero.client.connection.stream import list_datasets
from graphzero.client.dataset.files import is_directory
from graphzero.client.errors import AccessDenied, ClientError, StartFailed
from graphzero.transport.runtime_dir import (
    default_socket,
    lock_file,
    private_directory,
    require_socket_path,
    socket_for_data,
    unlock_file,
)

IDLE_EXIT_S = 60

_POLL_S = 0.02
_LOG_TAIL_BYTES = 4000

_TIED = (sys.executable, "-m", "graphzero.client.daemon.tied_process")


def ensure_daemon(
    directory: str | os.PathLike[str],
    *,
    timeout: float,
    options: Sequence[str] = ("--idle-exit", str(IDLE_EXIT_S)),
    tied: bool = False,
) -> Address:
    """The address of a daemon that serves `directory`, started if there is none.

    options: command-line options for a daemon that is started, beside the directory and the socket.
    tied: such a daemon ends with the thread that called this.
    """
    data = Path(directory).resolve()
    if not is_directory(data):
        if data.exists():
            raise StartFailed(
                f"{data}: found a file, expected the directory of a dataset; graphzero convert "
                "makes one from tables and arrays"
            )
        raise StartFailed(f"{data}: no such directory, so there is nothing to serve")
    own = socket_for_data(data)
    require_socket_path(own)
    try:
        private_directory(own.parent)
    except PermissionError as error:
        raise AccessDenied(str(error)) from error
    if _listens(own):
        return Address(f"unix:{own}")
    standing = Address(f"unix:{default_socket()}")
    if _serves(standing, data):
        return standing
    deadline = time.monotonic() + timeout
    with _turn(own.with_suffix(".starting")):
        _let_former_daemon_leave(own, deadline)
        if not _listens(own):
            command = [*server_command(), "--data", str(data), "--socket", str(own), *options]
            tie = [*_TIED, str(os.getpid())] if tied else []
            _start(data, [*tie, *command], own, deadline)
    return Address(f"unix:{own}")


def let_reload(address: Address, fingerprint: str, *, timeout: float) -> bool:
    """Makes the daemon open its files anew, by SIGHUP. Returns whether it then serves that version.

    For daemons on a socket of this machine that this user may signal.
    """
    try:
        os.kill(_listener(address), signal.SIGHUP)
    except OSError:
        return False
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        served = list_datasets(address, timeout).datasets
        if any(dataset.fingerprint.hex() == fingerprint for dataset in served):
            return True
        time.sleep(_POLL_S)
    return False


def _listener(address: Address) -> int:
    """The pid of the process behind a socket, as the kernel says: a pid in a file could be that of
    another process by now, or in this container."""
    if address.socket is None:
        raise OSError("a daemon over TCP has no process here")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(os.fspath(address.socket))
        found = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid: int = struct.unpack("3i", found)[0]
    if pid == 0:
        raise OSError(f"{address.socket}: its daemon is not visible from here")
    return pid


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.fspath(path))
        except OSError:
            return False
    return True


def _serves(address: Address, data: Path) -> bool:
    """Whether a daemon listens at that address and serves exactly this directory."""
    assert address.socket is not None
    if not _listens(address.socket):
        return False
    try:
        found = [Path(dataset.path).resolve() for dataset in list_datasets(address, 5.0).datasets]
    except ClientError:
        return False
    return bool(found) and (found == [data] or all(path.parent == data for path in found))


@contextmanager
def _turn(lock: Path) -> Iterator[None]:
    descriptor = lock_file(lock, wait=True)
    try:
        yield
    finally:
        unlock_file(lock, descriptor)


def _let_former_daemon_leave(path: Path, deadline: float) -> None:
    """Waits while a daemon that does not listen any more still holds its lock."""
    while not _listens(path) and time.monotonic() < deadline:
        try:
            with path.with_name(path.name + ".lock").open("r") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except FileNotFoundError:
            return
        except BlockingIOError:
            time.sleep(_POLL_S)


class _Outliving(subprocess.Popen[bytes]):
    """A process that is meant to outlive this one, so that Popen must not warn about it."""

    def __del__(self) -> None:
        return


def _start(data: Path, command: Sequence[str], path: Path, deadline: float) -> None:
    """Runs the command, which serves `data`, until something listens at `path`."""
    log = path.with_suffix(".log")
    with log.open("wb") as output:
        process = _Outliving(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,  # it serves others too, so it must not end with this terminal
        )
    while not _listens(path):
        if process.poll() is not None:
            raise StartFailed(
                f"the daemon for {data} ended with status {process.returncode}:\n{_tail(log)}"
            )
        if time.monotonic() > deadline:
            process.kill()  # it has served nobody yet
            process.wait()
            raise StartFailed(f"the daemon for {data} was not ready in time:\n{_tail(log)}")
        time.sleep(_POLL_S)
    # The daemon is a child of this process: if it ends first, a thread must collect its status.
    threading.Thread(target=process.wait, name="graphzero-daemon", daemon=True).start()


def server_command() -> list[str]:
    """The installed command; the module itself where scripts are not installed."""
    installed = Path(sysconfig.get_path("scripts")) / "graphzero-server"
    found = str(installed) if installed.exists() else shutil.which("graphzero-server")
    if found:
        return [found]
    return [sys.executable, "-c", "import sys; from graphzero.server import main; sys.exit(main())"]


def _tail(log: Path) -> str:
    text = log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip()
    return text or "(it wrote nothing)"
