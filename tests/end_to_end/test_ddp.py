"""Two ranks train together with torch's DistributedDataParallel, whatever is left over."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ddp_rank import BATCH, LEFT_OVER, RANKS, seeds_for

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
    for left_over in LEFT_OVER:
        orders = [order_of(tmp_path, left_over, epoch) for epoch in range(2)]
        assert not np.array_equal(*orders)


def order_of(directory: Path, left_over: int, epoch: int) -> Any:
    """All seeds of an epoch, checked."""
    ranks = [
        list(np.load(directory / f"{left_over}-{epoch}-{rank}.npz").values())
        for rank in range(RANKS)
    ]
    assert len({len(batches) for batches in ranks}) == 1
    assert all(1 <= len(batch) <= BATCH for batches in ranks for batch in batches)
    order = np.concatenate([batch for batches in ranks for batch in batches])
    assert sorted(order) == sorted(seeds_for(left_over))
    return order
