"""Whether the system gives the daemon the threads that it needs.

A control group (pids.max) or `ulimit -u` may bound them. Python and the engine then raise, or go on
with fewer; gRPC ends the process. So the question is asked once, before the first of them starts,
and the threads that housekeeping needs later are started right away.
"""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor

# Of gRPC: its timer, its poller, its watchman and about two for each processor. Of NumPy: one for
# each processor. The others: the one that frees shared memory, the warm start, housekeeping, the
# one that asks what lies in memory, the web server.
_THREADS_OF_OTHERS = 12
_THREADS_PER_PROCESSOR = 3
_MOST_PROCESSORS = 16  # of those that gRPC counts
_HOUSEKEEPERS = 2  # a reload beside the trimming of memory


def require_threads(threads: int, workers: int) -> None:
    """Raises OSError if that many for sampling, and what the daemon needs beside them, cannot be
    started. Starts them all, and ends them again."""
    processors = min(os.cpu_count() or 1, _MOST_PROCESSORS)
    needed = threads + workers + _THREADS_OF_OTHERS + _THREADS_PER_PROCESSOR * processors
    leave = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(needed):
            thread = threading.Thread(target=leave.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, _refusal(len(started), needed)) from error
    finally:
        leave.set()
        for thread in started:
            thread.join()


def _refusal(found: int, needed: int) -> str:
    return (
        f"the system allows {found} more threads, expected {needed}: raise the limit of processes "
        "(pids.max of the control group: TasksMax= of a systemd unit, --pids-limit of a container; "
        "or ulimit -u)"
    )


async def start_housekeepers() -> None:
    """Starts the threads of asyncio.to_thread() now: later there may be none to be had."""
    executor = ThreadPoolExecutor(_HOUSEKEEPERS, "graphzero-house")
    all_there = threading.Barrier(_HOUSEKEEPERS)
    loop = asyncio.get_running_loop()
    loop.set_default_executor(executor)
    starts = [loop.run_in_executor(executor, all_there.wait) for _ in range(_HOUSEKEEPERS)]
    await asyncio.gather(*starts)
