"""Two ranks train together with torch's DistributedDataParallel, whatever is left over."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ddp_rank import BATCH, COUNTS, RANKS, seeds_for

pytestmark = pytest.mark.slow

RANK_PROGRAM = Path(__file__).with_name("ddp_rank.py")


def test_every_rank_has_as_many_batches_and_every_seed_is_used_once(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    daemon = start_daemon(dataset, "--threads", "2", "--shm-limit", "256M")
    command = [sys.executable, str(RANK_PROGRAM)]
    # They meet whatever the machine's name leads to, and say where they were if they are aborted.
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "PYTHONFAULTHANDLER": "1"}
    ranks = [
        subprocess.Popen([*command, str(rank), daemon.address, str(tmp_path)], env=environment)
        for rank in range(RANKS)
    ]
    try:
        assert [rank.wait(timeout=300) for rank in ranks] == [0] * RANKS  # a hang would be longer
    finally:
        for rank in ranks:
            rank.kill()
    orders = [[order_of(tmp_path, count, epoch) for count in COUNTS] for epoch in range(2)]
    assert orders[0] != orders[1]


def order_of(directory: Path, count: int, epoch: int) -> list[int]:
    """All seeds of an epoch, checked."""
    ranks = [
        list(np.load(directory / f"{count}-{epoch}-{rank}.npz").values()) for rank in range(RANKS)
    ]
    assert len({len(batches) for batches in ranks}) == 1
    assert all(1 <= len(batch) <= BATCH for batches in ranks for batch in batches)
    order = [seed for batches in ranks for batch in batches for seed in batch.tolist()]
    assert sorted(order) == sorted(seeds_for(count).tolist())
    return order
