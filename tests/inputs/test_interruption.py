"""Ctrl-C in the middle of an import: nothing is left, and the same command works again."""

from __future__ import annotations

import signal
from pathlib import Path

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from commands import hold_graphzero, run_graphzero
from contents import names
from pyarrow import parquet
from waiting import DEADLINE_S


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "e.parquet"
    ends = np.random.default_rng(0).integers(0, 1_000, (2, 5_000))
    parquet.write_table(pa.table({"src": ends[0], "dst": ends[1]}), path)
    return path


@pytest.mark.parametrize("options", [[], ["--relabel"]], ids=["ids", "relabel"])
def test_nothing_is_left_and_the_next_run_succeeds(
    tmp_path: Path, edges: Path, options: list[str]
) -> None:
    command = ["convert", "--edges", edges, "--out", tmp_path / "ds", "--memory", "64M", *options]
    process = hold_graphzero(*command)
    assert list(tmp_path.glob(".ds.part-*/ds"))
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, error) == (130, "graphzero: interrupted\n")
    assert names(tmp_path) == ["e.parquet"]
    assert run_graphzero(*command).returncode == 0
    assert gz.Graph(tmp_path / "ds").num_edges == 5_000
