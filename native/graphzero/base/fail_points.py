"""Named places at which tests make this process fail.

GRAPHZERO_FAIL_POINT=NAME:kill ends the process there as a crash would (SIGKILL);
GRAPHZERO_FAIL_POINT=NAME:error fails there as a full disk would (OSError, ENOSPC). The variable is
read once. Only tests set it; without it, fail_point() does nothing.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable

VARIABLE = "GRAPHZERO_FAIL_POINT"

FAIL_POINTS = {
    "publish.filled": "a dataset is complete, and nothing of it is surely on the disk",
    "publish.durable": "all of it is on the disk, under a name that nobody reads",
    "publish.replaced": "it has its name, and the one before it is not yet removed",
    "lock.taken": "a daemon has the lock, which still says whose regions are to be swept",
    "lock.swept": "those are gone, and the lock does not yet say whose are to come",
    "server.listening": "the socket is there, and nobody has been told",
    "session.opened": "a trainer has a session, and does not know it",
    "region.made": "a region has a name, and no trainer has been told it",
    "result.filled": "a block is filled, and its trainer has not been told",
    "region.mapped": "a trainer has mapped a region whose name is still there",
    "client.offered": "a trainer was told of a region, and has not opened it",
    "client.mapped": "a trainer has mapped a region, and has not said so",
    "client.received": "a trainer has a batch that nobody knows it has",
    "client.releasing": "a trainer is about to give blocks back",
}


def _pass(name: str) -> None:
    pass


def _armed(setting: str) -> Callable[[str], None]:
    wanted, _, action = setting.partition(":")
    if wanted not in FAIL_POINTS or action not in ("kill", "error"):
        raise ValueError(f"{VARIABLE} is {setting!r}, expected NAME:kill or NAME:error")

    def fail(name: str) -> None:
        if name != wanted:
            return
        if action == "error":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        os.kill(os.getpid(), signal.SIGKILL)

    return fail


_setting = os.environ.get(VARIABLE, "")
fail_point: Callable[[str], None] = _armed(_setting) if _setting else _pass
