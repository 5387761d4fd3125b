"""A conversion whose output is four times as large as the memory it may have."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

GRAPHZERO = str(Path(sys.executable).with_name("graphzero"))
LIMIT = 128 << 20
EDGES = 66_000_000  # 8 bytes each in the output: 4 in each direction
NODES = 4_000_000


@dataclass(frozen=True)
class MemoryGroup:
    """A control group with a limit; `enter` is run by a process that is to be in it."""

    path: Path
    limit_file: str
    peak_file: str

    def enter(self) -> None:
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self) -> int:
        return int((self.path / self.peak_file).read_text())


def candidates() -> Iterator[MemoryGroup]:
    """Where a group could be: cgroup v1, then the v2 group of this process."""
    name = f"graphzero-test-{os.getpid()}"
    v1 = Path("/sys/fs/cgroup/memory")
    if (v1 / "memory.limit_in_bytes").exists():
        yield MemoryGroup(v1 / name, "memory.limit_in_bytes", "memory.max_usage_in_bytes")
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            own = Path("/sys/fs/cgroup") / line.removeprefix("0::").strip().lstrip("/")
            yield MemoryGroup(own.parent / name, "memory.max", "memory.peak")
            yield MemoryGroup(own / name, "memory.max", "memory.peak")


@contextlib.contextmanager
def limited_group(limit: int) -> Iterator[MemoryGroup]:
    reasons = []
    for group in candidates():
        try:
            group.path.mkdir()
        except OSError as error:
            reasons.append(str(error))
            continue
        try:
            (group.path / group.limit_file).write_text(str(limit))
            group.peak()
        except OSError as error:
            reasons.append(str(error))
            group.path.rmdir()
            continue
        try:
            yield group
        finally:
            group.path.rmdir()
        return
    pytest.skip(f"no memory control group can be made here: {'; '.join(reasons) or 'none found'}")


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A tenth of the edges leave one node, the others are spread."""
    path = tmp_path_factory.mktemp("large") / "edges.npy"
    array = np.lib.format.open_memmap(path, "w+", np.int32, (2, EDGES))
    rng = np.random.default_rng(0)
    step = 6_000_000
    for at in range(0, EDGES, step):
        block = array[:, at : at + step]
        block[:] = rng.integers(0, NODES, block.shape, np.int32)
        block[0, : block.shape[1] // 10] = 7
    del array, block
    yield path
    path.unlink()


def test_output_of_four_times_the_memory_is_the_same_file(tmp_path: Path, edges: Path) -> None:
    command = [GRAPHZERO, "convert", "--quiet", "--edges", str(edges), "--num-nodes", str(NODES)]
    limited, free = tmp_path / "limited", tmp_path / "free"
    with limited_group(LIMIT) as group:
        done = subprocess.run(
            [*command, "--memory", "64M", "--out", str(limited)],
            preexec_fn=group.enter,
            capture_output=True,
            text=True,
        )
        peak = group.peak()
    assert done.stderr == ""
    assert done.returncode == 0
    assert peak <= LIMIT
    size = (limited / "graph.gl").stat().st_size
    assert size >= 4 * LIMIT
    subprocess.run([*command, "--memory", "4G", "--out", str(free)], check=True)
    subprocess.run(["cmp", limited / "graph.gl", free / "graph.gl"], check=True)
