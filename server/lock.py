"""One daemon per socket: a lock file beside it, which also remembers whose shared memory to sweep.

A second grpcio server on a live socket takes it over without a word, so the lock decides. The file
holds the pid of the daemon and the instance id in the names of its shared-memory regions. After a
crash the next daemon, once it has the lock, removes the regions of the instances it finds there:
never by pid, because containers with pid namespaces of their own may share /dev/shm.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
from pathlib import Path

from graphzero._errors import InputError

SHM_DIRECTORY = Path("/dev/shm")
REGION_PREFIX = "graphzero-"
_INSTANCE = re.compile(r"[0-9a-f]{16}")


class AlreadyRunning(InputError):
    """Another daemon has this socket."""


class SocketLock:
    """Held until release() or the end of the process, however it comes."""

    def __init__(self, socket: Path) -> None:
        self.path = socket.with_name(socket.name + ".lock")
        self.instance_id = secrets.token_hex(8)
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = self._read().get("pid", "unknown")
            os.close(self._descriptor)
            raise AlreadyRunning(
                f"{socket}: served by the daemon with pid {pid}; stop it or choose another --socket"
            ) from None
        self.swept = self._sweep()
        with contextlib.suppress(FileNotFoundError):
            socket.unlink()  # of a daemon that is gone: we hold the lock
        self._write({"pid": os.getpid(), "instance": self.instance_id})

    @property
    def region_prefix(self) -> str:
        return REGION_PREFIX + self.instance_id

    def _sweep(self) -> int:
        """Removes what an earlier daemon on this socket left behind; returns how many regions."""
        instance = str(self._read().get("instance", ""))
        return sweep_regions(instance) if _INSTANCE.fullmatch(instance) else 0

    def _read(self) -> dict[str, object]:
        try:
            content = json.loads(os.pread(self._descriptor, 4096, 0))
        except ValueError:
            return {}
        return content if isinstance(content, dict) else {}

    def _write(self, content: dict[str, object]) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(content).encode(), 0)
        os.fsync(self._descriptor)

    def release(self) -> None:
        """The file stays: removing it would let two daemons hold locks on different files."""
        sweep_regions(self.instance_id)  # while the file says whose they are
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def sweep_regions(instance: str) -> int:
    """Removes the regions of a daemon that is gone, and their folder; returns how many regions."""
    swept = 0
    for entry in SHM_DIRECTORY.glob(f"{REGION_PREFIX}{instance}-*"):
        with contextlib.suppress(OSError):
            if entry.is_dir() and not entry.is_symlink():
                swept += len(list(entry.iterdir()))
                shutil.rmtree(entry)
            else:
                entry.unlink()
                swept += 1
    return swept
