"""Tables in little memory: the same bytes, and nothing left of what was interrupted."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import graphzero as gz
import numpy as np
import pyarrow as pa
import pytest
from commands import GRAPHZERO, hold_graphzero, run_graphzero
from contents import file_bytes, names
from control_groups import MemoryGroup
from graphzero import _engine
from graphzero.conversion import convert_typed
from pyarrow import parquet
from waiting import DEADLINE_S

DESCRIPTION = """
[tables.people]
file = "people.parquet"
key = "id"
time = "born"
features = ["a", "b", "c", "d"]
references = { friend = "people" }

[tables.visits]
file = "visits.parquet"
time = "at"
references = { who = "people" }
features = ["a"]

[tables.calls]
file = "calls.parquet"
time = "at"
features = { length = "length" }
reverse = false

[tables.calls.edges]
source = { column = "caller", table = "people" }
target = { column = "callee", table = "people" }
"""


def write_tables(directory: Path, people: int, visits: int, calls: int) -> Path:
    """Keys of people are texts in random order, written piece by piece."""
    rng = np.random.default_rng(5)
    directory.mkdir()
    ids = rng.permutation(people)

    def texts(numbers: object) -> pa.Array:
        return pa.array([f"person-{number:012d}" for number in np.asarray(numbers).tolist()])

    step = 250_000

    def write(name: str, rows: int, make: Callable[[int, int], pa.Table]) -> None:
        writer = None
        for first in range(0, rows, step):
            table = make(first, min(step, rows - first))
            if writer is None:
                writer = parquet.ParquetWriter(directory / f"{name}.parquet", table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()

    def person(first: int, count: int) -> pa.Table:
        columns = {c: rng.random(count, np.float32) for c in "abcd"}
        friends = rng.integers(0, people, count)
        times = rng.integers(0, 10**9, count)
        own = ids[first : first + count]
        return pa.table({"id": texts(own), "born": times, "friend": texts(friends), **columns})

    def visit(first: int, count: int) -> pa.Table:
        times = np.arange(first, first + count)
        who = texts(rng.integers(0, people, count))
        return pa.table({"who": who, "at": times, "a": rng.random(count, np.float32)})

    def call(first: int, count: int) -> pa.Table:
        ends = {end: texts(rng.integers(0, people, count)) for end in ("caller", "callee")}
        times = rng.integers(0, 10**9, count)
        return pa.table({**ends, "at": times, "length": rng.random(count)})

    write("people", people, person)
    write("visits", visits, visit)
    write("calls", calls, call)
    (directory / "tables.toml").write_text(DESCRIPTION)
    return directory / "tables.toml"


def test_the_result_does_not_depend_on_memory_and_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With so little that everything goes to the disk in between."""
    tables = write_tables(tmp_path / "tables", 60_000, 90_000, 120_000)
    gz.import_tables(tables, tmp_path / "ds", threads=2)

    def little(memory: int | None, threads: int | None, temp_dir: Path) -> _engine.Resources:
        return _engine.Resources.make_for_tests(
            memory=1 << 20, threads=1, temp_dir=str(temp_dir), wide_records=False
        )

    monkeypatch.setattr(convert_typed, "make_resources", little)
    monkeypatch.setattr(_engine.Resources, "make", _engine.Resources.make_for_tests)
    gz.import_tables(tables, tmp_path / "little")
    assert file_bytes(tmp_path / "little") == file_bytes(tmp_path / "ds")


@pytest.mark.slow
def test_tables_larger_than_memory_become_the_same_files(
    tmp_path: Path, memory_group: Callable[[int], MemoryGroup]
) -> None:
    tables = write_tables(tmp_path / "tables", 1_500_000, 1_500_000, 2_000_000)
    # Python, NumPy and pyarrow take about 190 MiB before there is anything to do.
    limit = 448 << 20
    command = [GRAPHZERO, "convert", "--quiet", str(tables), "--out"]
    group = memory_group(limit)
    done = subprocess.run(
        [*command, str(tmp_path / "limited"), "--memory", "64M"],
        preexec_fn=group.join,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert group.peak <= limit
    subprocess.run([*command, str(tmp_path / "free"), "--memory", "4G"], check=True)
    assert file_bytes(tmp_path / "limited") == file_bytes(tmp_path / "free")


def test_an_interrupted_conversion_leaves_nothing(tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables", 2_000, 2_000, 2_000)
    command = ["convert", tables, "--out", tmp_path / "ds", "--memory", "64M"]
    process = hold_graphzero(*command)
    assert list(tmp_path.glob(".ds.part-*/ds"))
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, error) == (130, "graphzero: interrupted\n")
    assert names(tmp_path) == ["tables"]
    assert run_graphzero(*command).returncode == 0
