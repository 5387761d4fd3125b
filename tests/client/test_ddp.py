"""Two ranks that train together: no rank waits for another, whatever the number of seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

WORLD_SIZE = 2
BATCH_SIZE = 4
STEP = WORLD_SIZE * BATCH_SIZE
COUNTS = [5 * STEP + rest for rest in (0, 1, WORLD_SIZE - 1, STEP - 1)] + [WORLD_SIZE, STEP + 1]


def test_ranks_finish_every_epoch_together(daemon: Any, tmp_path: Path) -> None:
    script = Path(__file__).with_name("ddp_rank.py")
    ranks = [
        subprocess.Popen(
            [sys.executable, script, daemon.address, tmp_path / "meet", str(rank)]
            + [str(number) for number in (WORLD_SIZE, *COUNTS)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        )
        for rank in range(WORLD_SIZE)
    ]
    printed = [rank.communicate(timeout=300)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * WORLD_SIZE
    epochs = [[list(map(int, line.split())) for line in text.splitlines()] for text in printed]
    for count, *of_ranks in zip(COUNTS, *epochs, strict=True):
        assert len({epoch[0] for epoch in of_ranks}) == 1
        assert sorted(seed for epoch in of_ranks for seed in epoch[1:]) == list(range(count))
