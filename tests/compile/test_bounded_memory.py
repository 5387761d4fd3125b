"""A conversion whose output is four times as large as the memory it may have."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from commands import GRAPHZERO
from control_groups import MemoryGroup

pytestmark = pytest.mark.slow

LIMIT = 128 << 20
EDGES = 66_000_000  # 8 bytes each in the output: 4 in each direction
NODES = 4_000_000


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


def test_output_of_four_times_the_memory_is_the_same_file(
    tmp_path: Path, edges: Path, memory_group: Callable[[int], MemoryGroup]
) -> None:
    command = [GRAPHZERO, "convert", "--quiet", "--edges", str(edges), "--num-nodes", str(NODES)]
    limited, free = tmp_path / "limited", tmp_path / "free"
    group = memory_group(LIMIT)
    done = subprocess.run(
        [*command, "--memory", "64M", "--out", str(limited)],
        preexec_fn=group.join,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert group.peak <= LIMIT
    size = (limited / "graph.gl").stat().st_size
    assert size >= 4 * LIMIT
    subprocess.run([*command, "--memory", "4G", "--out", str(free)], check=True)
    subprocess.run(["cmp", limited / "graph.gl", free / "graph.gl"], check=True)


COMPILE_TYPED = """
import sys
from pathlib import Path

import numpy as np
from graphzero import _engine

folder, out, memory = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
src, dst, times, node_times = (
    np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("src", "dst", "times", "node_times")
)
count = len(node_times)
timed, late = (_engine.EdgeInput.arrays("edges", src, dst, None, t) for t in (times, None))
report = _engine.compile_typed_topology(
    out,
    types=[_engine.TypeSpec.make("a", count, node_times), _engine.TypeSpec.make("b", count)],
    relations=[
        _engine.RelationSpec.make(0, "timed", 1, timed),
        _engine.RelationSpec.make(1, "late", 0, late, dedup=True),
    ],
    resources=_engine.Resources.make(memory=memory, threads=2, temp_dir=str(Path(out).parent)),
)
print(report.spilled_bytes)
"""


def test_relations_and_times_keep_to_one_memory(
    tmp_path: Path, memory_group: Callable[[int], MemoryGroup]
) -> None:
    """The interpreter and NumPy take some 60 MB beside the 64 MiB that the compiler may have."""
    nodes, edges = 1_000_000, 12_000_000
    rng = np.random.default_rng(1)
    np.save(tmp_path / "node_times.npy", rng.integers(-(10**9), 10**9, nodes))
    for name in ("src", "dst"):
        np.save(tmp_path / f"{name}.npy", rng.integers(0, nodes, edges, np.int32))
    np.save(tmp_path / "times.npy", rng.integers(-(10**9), 10**9, edges))
    limit = 160 << 20
    group = memory_group(limit)
    command = [sys.executable, "-c", COMPILE_TYPED, str(tmp_path)]
    done = subprocess.run(
        [*command, str(tmp_path / "limited.gl"), str(64 << 20)],
        preexec_fn=group.join,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert group.peak <= limit
    assert int(done.stdout) > limit  # that much went to the disk
    assert (tmp_path / "limited.gl").stat().st_size > 3 * limit
    subprocess.run([*command, str(tmp_path / "free.gl"), str(2 << 30)], check=True)
    subprocess.run(["cmp", tmp_path / "limited.gl", tmp_path / "free.gl"], check=True)
