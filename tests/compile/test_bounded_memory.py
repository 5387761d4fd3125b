"""A conversion whose output is four times as large as the memory it may have."""

from __future__ import annotations

import subprocess
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
