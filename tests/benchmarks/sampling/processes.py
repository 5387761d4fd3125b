"""Samplers as processes that stay (peers/measure.py, serve), so that short turns alternate.

A process loads its graph once. A turn takes a second, so that what else a machine does hits all
samplers of a round alike.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common.contest import BENCHMARKS, ask, started
from common.rounds import ContenderFailed, Turn

SCRIPTS = BENCHMARKS / "sampling/peers"
DEADLINE_S = 1200.0
# Takes turns: of a workload, for so many seconds.
Sampler = Callable[[str, float], Turn]


@contextmanager
def sampler(
    script: str,
    folder: Path,
    threads: int,
    callers: int,
    *more: str,
    python: str = sys.executable,
    env: dict[str, str] | None = None,
) -> Iterator[Sampler]:
    """Runs a script of peers/ until the end; ContenderFailed if it cannot start."""
    command = [python, str(SCRIPTS / script), str(folder), str(threads), str(callers), "1", *more]
    # Exact, so that each peer gets the threads it is measured with and no more.
    everything = {**(env or {}), "OMP_NUM_THREADS": str(threads)}
    with started([command], everything, deadline_s=DEADLINE_S) as (process,):

        def take_turn(workload: str, seconds: float) -> Turn:
            try:
                return _values(json.loads(ask(process, f"{workload} {seconds}")))
            except (OSError, EOFError):
                raise ContenderFailed(f"it ended while it made {workload} samples") from None

        yield take_turn


def _values(told: dict[str, Any]) -> Turn:
    median = told["seconds"][1]
    return {
        "batches_s": 1 / median,
        "nodes_s": told["nodes"] / median,
        "edges_s": told["edges"] / median,
        "cpu_ms": 1000 * told["cpu_seconds"],
        "edges_cpu_s": told["edges"] / told["cpu_seconds"],
    }
