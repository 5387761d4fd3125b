"""Ctrl-C in the middle of an import: nothing is left, and the same command works again."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from input_graphs import GRAPHZERO, convert
from pyarrow import parquet

pytestmark = pytest.mark.slow


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    """Takes seconds to convert."""
    path = tmp_path / "e.parquet"
    schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    rng = np.random.default_rng(0)
    with parquet.ParquetWriter(path, schema, compression="none") as writer:
        for _ in range(24):
            ends = rng.integers(0, 1_000_000, (2, 500_000))
            writer.write_table(pa.table({"src": ends[0], "dst": ends[1]}))
    return path


def wait_for(process: subprocess.Popen[Any], directory: Path, file: str) -> None:
    while process.poll() is None and not list(directory.glob(f".ds.part-*/ds/{file}")):
        time.sleep(0.005)
    assert process.poll() is None, "ended before it could be interrupted"


@pytest.mark.parametrize(("options", "file"), [([], "graph.gl"), (["--relabel"], "original_id.gd")])
def test_nothing_is_left_and_the_next_run_succeeds(
    tmp_path: Path, edges: Path, options: list[str], file: str
) -> None:
    command = ["--edges", edges, "--out", tmp_path / "ds", "--memory", "64M", *options]
    process = subprocess.Popen(
        [GRAPHZERO, "convert", *map(str, command)], stderr=subprocess.PIPE, text=True
    )
    wait_for(process, tmp_path, file)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert (process.returncode, error) == (130, "graphzero: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["e.parquet"]
    assert convert(*command).returncode == 0
    assert gz.Graph(tmp_path / "ds").num_edges == 12_000_000
