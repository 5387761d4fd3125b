"""Whether the system gives the daemon the threads that it needs.

A control group (pids.max) or `ulimit -u` may limit them. At that limit Python and the engine raise
or go on with fewer threads, but gRPC ends the process. So the daemon checks once, before it starts
the first of them, and starts the threads that housekeeping needs later right away.
"""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor

# gRPC has a timer, a poller, a watchman and about two threads for each processor. NumPy has one for
# each processor. The other threads free shared memory, do the warm start and housekeeping, ask the
# kernel what lies in memory, read files for copies, and run the web server.
_THREADS_OF_OTHERS = 14
_THREADS_PER_PROCESSOR = 3
_MOST_PROCESSORS = 16  # gRPC counts no more than this
_HOUSEKEEPERS = 2  # so that a reload can run beside the trimming of memory


def require_threads(threads: int, workers: int) -> None:
    """Raises OSError if the daemon cannot start `threads` for sampling, its workers and the threads
    that it needs beside them. Finds out by starting them all and ending them again."""
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
    """Starts the threads of asyncio.to_thread() now: later the system may refuse them."""
    executor = ThreadPoolExecutor(_HOUSEKEEPERS, "graphzero-house")
    all_there = threading.Barrier(_HOUSEKEEPERS)
    loop = asyncio.get_running_loop()
    loop.set_default_executor(executor)
    starts = [loop.run_in_executor(executor, all_there.wait) for _ in range(_HOUSEKEEPERS)]
    await asyncio.gather(*starts)
