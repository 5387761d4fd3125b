"""A program that runs COMMAND until PARENT, the process that started it, ends:

    python -m graphzero.client.daemon.tied_process PARENT COMMAND ...

The kernel then sends COMMAND a SIGTERM, however the parent ended.

This process stays between the two. When a worker ends, Ray kills its children with SIGKILL, and a
daemon that is killed leaves its files behind. Ray kills this process instead, and the daemon gets a
SIGTERM. It is a program of its own, because little is safe after a fork() of a parent with threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with_parent(parent: int) -> None:
    """Makes the kernel end this process when the thread that started it is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os._exit(1)  # the parent ended before prctl() was called


def main() -> int:
    parent, *command = sys.argv[1:]
    end_with_parent(int(parent))
    own = os.getpid()
    with subprocess.Popen(command, preexec_fn=lambda: end_with_parent(own)) as process:
        return process.wait()


if __name__ == "__main__":
    sys.exit(main())
