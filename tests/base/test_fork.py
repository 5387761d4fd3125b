"""A child that is forked in the middle of other threads' calls makes every call itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Forks for each way to read; `make crash` sets them high.
FORKS = int(os.environ.get("GRAPHZERO_FORKS", "10"))

# Threads open files, sample and gather on every path while the main thread forks. The first forks
# race with the very first calls, before anything has been set up.
BUSY_PARENT = """
import hashlib, os, signal, sys, threading
import numpy as np
import graphzero as gz

data, forks = sys.argv[1], int(sys.argv[2])
FEATURE_IO = ("auto", "mapped", "cached", "direct")
graphs = [gz.Graph(data + "/graph.gl", io=io) for io in ("mapped", "staged")]
stores = [gz.FeatureStore(data + "/x.gd", io=io, row_cache=1 << 20) for io in FEATURE_IO]
nodes = np.arange(300)

def call(number):
    graph, store = graphs[number % 2], stores[number % 4]
    sample = graph.sample(nodes, [4, 3], seed=number)
    walks = graph.random_walk(nodes, 3, seed=number)
    labels = gz.FeatureStore(data + "/y.gd", io=FEATURE_IO[number % 4])
    return [sample.n_id, sample.edge_index, walks.nodes, store.gather(sample.n_id),
            labels.gather(nodes)]

def digest():
    found = hashlib.sha256()
    for number in range(4):
        for array in call(number):
            found.update(np.ascontiguousarray(array))
    return found.digest()

def keep_busy(number):
    while not done.is_set():
        call(number)
        number += 1

def digest_of_a_child():
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(100)  # has no handler: it ends the process
        try:
            os.write(tell, digest())
        finally:
            os._exit(0)
    os.close(tell)
    found = os.read(told, 32)
    os.close(told)
    os.waitpid(pid, 0)
    return found

done = threading.Event()
busy = [threading.Thread(target=keep_busy, args=(number,)) for number in range(6)]
for thread in busy:
    thread.start()
found = [digest_of_a_child() for _ in range(forks)]
done.set()
for thread in busy:
    thread.join()
expected = digest()
wrong = [number for number, one in enumerate(found) if one != expected]
assert not wrong, f"children that hung or got something else: {wrong} of {forks}"
"""


@pytest.mark.parametrize("engine", ["io_uring", "pread"])
def test_a_child_forked_in_the_middle_of_calls_makes_them_all(dataset: Path, engine: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BUSY_PARENT, str(dataset), str(FORKS)],
        env={**os.environ, "GRAPHZERO_IO_ENGINE": engine},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# A thread reads, and so has a ring of io_uring, then forks. In the child, mappings lie where the
# ring of the parent was; the thread ends there as in any program.
FORKING_THREAD = """
import ctypes, mmap, os, sys, threading
import graphzero as gz
import numpy as np

def spans(kind=""):
    lines = [line.split() for line in open("/proc/thread-self/maps") if kind in line]
    # Of this thread: the maps of a process are empty once its first thread has ended.
    return [tuple(int(part, 16) for part in line[0].split("-")) for line in lines]

def among(address, ranges):
    return any(low <= address < high for low, high in ranges)

def work():
    gz.FeatureStore(sys.argv[1], io="cached").gather(np.arange(2))
    rings = spans("io_uring")
    if child := os.fork():
        print(os.waitpid(child, 0)[1])
        return
    kept = [mmap.mmap(-1, 4096) for _ in range(64)]
    places = [ctypes.addressof(ctypes.c_char.from_buffer(each)) for each in kept]
    inside = [place for place in places if among(place, rings)]
    ended = threading.current_thread()

    def look():
        ended.join()
        lost = sum(not among(place, spans()) for place in inside if kept)  # kept: not closed
        os._exit(lost if inside else 77)

    threading.Thread(target=look).start()

thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_a_thread_that_ends_in_a_forked_child_unmaps_nothing_of_the_childs(dataset: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKING_THREAD, str(dataset / "x.gd")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    status = os.waitstatus_to_exitcode(int(run.stdout))
    if status == 77:
        pytest.skip("no mapping of the child came to lie where the ring was")
    assert status == 0
