"""One daemon per socket: a lock file beside it, which also remembers whose shared memory to sweep.

A second grpcio server on a live socket takes it over without a word, so the lock decides. The file
holds the pid of the daemon and the instance id in the names of its shared-memory regions. After a
crash the next daemon, once it has the lock, removes the regions of the instances it finds there:
never by pid, because containers with pid namespaces of their own may share /dev/shm.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from pathlib import Path

from graphzero.base.errors import InputError
from graphzero.transport.runtime_dir import lock_file, unlock_file

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
        try:
            self._descriptor = lock_file(self.path, wait=False)
        except BlockingIOError:
            raise AlreadyRunning(
                f"{socket}: served by the daemon with pid {self._holder()}; stop it or choose "
                "another --socket"
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

    def _holder(self) -> object:
        try:
            return _parse(self.path.read_bytes()).get("pid", "unknown")
        except OSError:  # it has left meanwhile
            return "unknown"

    def _read(self) -> dict[str, object]:
        return _parse(os.pread(self._descriptor, 4096, 0))

    def _write(self, content: dict[str, object]) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(content).encode(), 0)
        os.fsync(self._descriptor)

    def release(self) -> None:
        sweep_regions(self.instance_id)  # while the file says whose they are
        unlock_file(self.path, self._descriptor)


def _parse(content: bytes) -> dict[str, object]:
    try:
        parsed = json.loads(content)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


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
