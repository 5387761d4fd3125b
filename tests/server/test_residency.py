"""Small requests that the event loop runs itself: as long as their data lie in memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from graphzero import _engine
from graphzero.files.column_file import ColumnFile
from graphzero.files.residency import Residency
from graphzero.files.topology_file import TopologyFile

NODES = 300_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of many pages: 60 MB."""
    directory = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(1)
    edges = rng.integers(0, NODES, (2, 2_000_000))
    gz.write_graph(directory / "graph.gl", *edges, num_nodes=NODES)
    gz.write_features(directory / "x.gd", rng.random((NODES, 32), dtype=np.float32))
    return directory


def drop(path: Path, resident_bytes: Callable[[], int]) -> None:
    """Take a file out of memory that nobody has read since it was opened. The kernel passes over
    pages that it is still busy with, so it is asked until it has dropped all."""
    descriptor = os.open(path, os.O_RDONLY)
    for _ in range(20):
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        if resident_bytes() < path.stat().st_size // 100:
            break
        time.sleep(0.1)
    else:
        pytest.skip("this file system keeps everything in memory")
    os.close(descriptor)


def test_the_kernel_is_asked_without_waiting(large: Path) -> None:
    graph = TopologyFile(large / "graph.gl", io="mapped")
    x = ColumnFile(large / "x.gd", io="auto")
    nodes = np.arange(1, NODES, NODES // 50)

    def answers(
        path: Path, resident_bytes: Callable[[], int], ask: Callable[[], bool]
    ) -> Iterator[bool]:
        for _ in range(20):
            drop(path, resident_bytes)
            waits = _engine.disk_waits()
            answer = ask()
            assert _engine.disk_waits() == waits
            yield answer

    # The kernel starts to read what it is asked for, and a fast disk has it ready at once: then
    # rows that were not in memory are there, without any wait.
    in_graph = answers(
        large / "graph.gl",
        graph.topology.resident_bytes,
        lambda: graph.topology.rows_in_memory(nodes, "in"),
    )
    assert not all(in_graph)
    in_column = answers(
        large / "x.gd", x.matrix.resident_bytes, lambda: x.reader.rows_in_memory(nodes)
    )
    assert not all(in_column)
    graph.warm()
    x.warm()
    assert graph.topology.rows_in_memory(nodes, "in")
    assert graph.topology.rows_in_memory(nodes, "out")
    assert x.reader.rows_in_memory(nodes)
    strange = np.array([-1, NODES, 2**62])
    assert graph.topology.rows_in_memory(strange, "in")
    assert x.reader.rows_in_memory(strange)


@pytest.mark.parametrize("io", ["mapped", "cached"])
def test_waiting_for_a_disk_is_noticed(large: Path, io: str) -> None:
    x = ColumnFile(large / "x.gd", io=io)
    drop(large / "x.gd", x.matrix.resident_bytes)
    rows = np.arange(0, NODES, 10_000)
    before = _engine.disk_waits()
    x.reader.gather(rows, np.empty(len(rows) * 128, np.uint8), threads=1)
    assert _engine.disk_waits() > before


# In the daemon's process: gives up its pages when it gets the signal, as the kernel makes it do
# when others need memory.
EVICT = """
import ctypes, signal
def evict(*_):
    libc = ctypes.CDLL(None, use_errno=True)
    for line in open("/proc/self/maps"):
        if line.rstrip().endswith((".gl", ".gd")):
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), 21)  # MADV_PAGEOUT
    print("evicted", flush=True)
signal.signal(signal.SIGUSR2, evict)
"""


def faults(pid: int) -> tuple[int, int]:
    """Page faults that read from a disk: of the event loop's thread, and of all."""
    counts = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        counts[int(task.name)] = int(fields[9])
    return counts[pid], sum(counts.values())


def test_the_event_loop_reads_nothing_after_an_eviction(
    start_daemon: Callable[..., Any], large: Path
) -> None:
    # Of files that are mapped; others are read by workers alone.
    options = ("--feature-io", "mapped", "--topology-io", "mapped")
    daemon = start_daemon(large, *options, setup=EVICT)
    daemon.wait_for_output("warm start read 2 files")
    with gz.connect(daemon.address) as client:
        client.sample([0], [5, 5])  # its shared memory is there
        before = faults(daemon.pid)
        for seed in range(200):
            client.sample([seed * 1000], [5, 5])
        assert faults(daemon.pid)[0] - before[0] <= 5  # warm: hardly any
        os.kill(daemon.pid, 12)  # SIGUSR2
        daemon.wait_for_output("evicted")
        before = faults(daemon.pid)
        for seed in range(400):
            client.sample([seed * 700 + 1], [5, 5])
        after = faults(daemon.pid)
    by_loop, by_all = (now - then for now, then in zip(after, before, strict=True))
    if by_all < 100:
        pytest.skip("the kernel has evicted nothing")
    assert by_loop <= by_all // 20, (by_loop, by_all)


class Look:
    """A kernel that a test speaks for."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0
        self.answer = True

    def __call__(self) -> bool:
        self.looks += 1
        return self.answer


def test_a_warm_start_is_trusted_until_something_is_missing() -> None:
    look = Look()
    residency = Residency(clock=lambda: look.now)
    assert not residency.allows(look)
    residency.warmed()
    assert all(residency.allows(look) for _ in range(100))
    assert look.looks == 1  # not for every request
    look.now, look.answer = 1.0, False
    assert not residency.allows(look)
    assert not residency.allows(look)
    assert look.looks == 2


def calm_until_trusted(residency: Residency, most: int) -> int:
    for count in range(1, most + 1):
        residency.note(waited=False)
        if residency.trusted:
            return count
    return -1


def test_requests_in_a_row_that_read_nothing_bring_trust_back() -> None:
    look = Look()
    residency = Residency(clock=lambda: look.now)
    for _ in range(50):
        residency.note(waited=False)
    residency.note(waited=True)
    assert calm_until_trusted(residency, 1000) == 64
    residency.disappointed()
    assert not residency.trusted
    assert calm_until_trusted(residency, 1000) == 128  # it was soon
    look.now += 1000
    residency.disappointed()
    assert calm_until_trusted(residency, 1000) == 64


def test_files_that_are_read_from_the_disk_are_never_trusted() -> None:
    residency = Residency()
    residency.possible = False
    residency.warmed()
    assert not residency.allows(lambda: True)
