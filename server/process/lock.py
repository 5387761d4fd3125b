"""One daemon per socket: a lock file beside it, which also remembers whose shared memory to sweep.

A second grpcio server on a live socket silently takes it over, so the lock decides. The file
holds the pid of the daemon, the instance id in the names of its shared-memory regions, and the key
by which operators prove that they may read it (transport/admin_key.py). After a crash the next
daemon, once it has the lock, removes the regions of the instance that the file names. It never goes
by pid, because containers with pid namespaces of their own may share /dev/shm.
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
from graphzero.base.fail_points import fail_point
from graphzero.transport.admin_key import LOCK_ENTRY, lock_path, parse_lock
from graphzero.transport.runtime_dir import lock_file, unlock_file

SHM_DIRECTORY = Path("/dev/shm")
REGION_PREFIX = "graphzero-"
_INSTANCE = re.compile(r"[0-9a-f]{16}")


class AlreadyRunning(InputError):
    """Another daemon has this socket."""


class SocketLock:
    """Held until release() or the end of the process, however it comes."""

    def __init__(self, socket: Path) -> None:
        self.path = lock_path(socket)
        self.instance_id = secrets.token_hex(8)
        self.admin_key = secrets.token_hex(32)
        try:
            self._descriptor = lock_file(self.path, wait=False)
        except BlockingIOError:
            raise AlreadyRunning(
                f"{socket}: served by the daemon with pid {self._holder()}; stop it or choose "
                "another --socket"
            ) from None
        fail_point("lock.taken")
        self.swept = self._sweep()
        fail_point("lock.swept")
        with contextlib.suppress(FileNotFoundError):
            socket.unlink()  # of a daemon that is gone, since this one has the lock
        entries = {"pid": os.getpid(), "instance": self.instance_id, LOCK_ENTRY: self.admin_key}
        self._write(entries)

    @property
    def region_prefix(self) -> str:
        return REGION_PREFIX + self.instance_id

    def _sweep(self) -> int:
        """Removes what an earlier daemon on this socket left behind; returns how many regions."""
        instance = str(self._read().get("instance", ""))
        return sweep_regions(instance) if _INSTANCE.fullmatch(instance) else 0

    def _holder(self) -> object:
        try:
            return parse_lock(self.path.read_bytes()).get("pid", "unknown")
        except OSError:  # the other daemon has ended meanwhile
            return "unknown"

    def _read(self) -> dict[str, object]:
        return parse_lock(os.pread(self._descriptor, 4096, 0))

    def _write(self, content: dict[str, object]) -> None:
        os.fchmod(self._descriptor, 0o600)  # nobody else may read the key
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(content).encode(), 0)
        os.fsync(self._descriptor)

    def release(self) -> None:
        sweep_regions(self.instance_id)  # before the file that names their instance is removed
        unlock_file(self.path, self._descriptor)


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
