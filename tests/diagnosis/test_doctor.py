"""`graphzero doctor`: what it says of machines and datasets that have something to change."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
import system_calls
from commands import GRAPHZERO, run_graphzero
from graphzero.base.memory_division import divide_memory
from graphzero.diagnosis import machine, row_probe
from graphzero.diagnosis.datasets import dataset_findings
from graphzero.diagnosis.finding import Finding, in_order_of_benefit
from graphzero.diagnosis.machine import machine_findings
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import open_dataset
from sharded_daemons import deal

GIB = 1 << 30
RUN = "import sys; from graphzero.commands.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """52 MB of float32 features in rows of 520 bytes, beside a small graph."""
    directory = tmp_path_factory.mktemp("large") / "large"
    gz.generate(directory, nodes=100_000, edges=200_000, dim=8)
    (directory / "x.gd").unlink()
    gz.write_features(directory / "x.gd", np.zeros((100_000, 130), np.float32))
    return directory


def examine(*arguments: object, code: int = 0, setup: str = "") -> dict[str, dict[str, Any]]:
    """Findings by their subjects."""
    command = [sys.executable, "-c", setup + RUN, "doctor", "--json", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, ""), done.stdout
    return {finding["subject"]: finding for finding in json.loads(done.stdout)}


def test_a_dataset_that_fits_is_fine_and_untouched(dataset: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in dataset.rglob("*")}
    done = run_graphzero("doctor", dataset)
    assert done.returncode == 0, done.stderr
    assert "fits into memory" in done.stdout
    assert "rows/s at random" in done.stdout
    assert "reading small: graph.gl from the mapping" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert {path: path.stat().st_mtime_ns for path in dataset.rglob("*")} == before


def test_the_machine_alone_can_be_looked_at() -> None:
    found = examine()
    assert {"memory", "shared memory", "huge pages", "reads", "open files"} <= set(found)
    assert "disk" not in found


def test_the_limit_of_a_control_group_counts(memory_group: Callable[[int], Any]) -> None:
    found = examine(setup=memory_group(300 << 20).enter)
    assert found["memory"]["level"] == "advice"
    assert "a control group allows 300.0 MiB" in found["memory"]["found"]


@pytest.fixture(scope="module")
def findings(large: Path) -> list[Finding]:
    """Of a dataset that does not fit into the memory there is."""
    memory = divide_memory(40 << 20, GIB, 2, None, None)
    return in_order_of_benefit(dataset_findings([open_dataset(large)], memory))


def of(findings: list[Finding], subject: str, word: str = "") -> Finding:
    (found,) = (f for f in findings if f.subject == subject and word in f.do)
    return found


def test_a_dataset_larger_than_memory_gets_advice_with_measured_rates(
    findings: list[Finding],
) -> None:
    fit = of(findings, "larger than memory")
    assert fit.level == "advice"
    rates = re.search(r"([\d.]+ ?[kM]?) rows/s instead of ([\d.]+ ?[kM]?) ", fit.brings)
    assert rates is not None
    assert rates[2] in of(findings, "disk").found  # the same measurement
    assert "x around the page cache" in of(findings, "reading large").found


def test_columns_read_from_disk_are_told_about_half_precision_and_alignment(
    findings: list[Finding],
) -> None:
    half = of(findings, "large/x", "float16")
    assert "half the bytes" in half.brings
    assert "a quarter of the bytes" in of(findings, "large/x", "graphzero quantise").brings
    padded = of(findings, "large/x", "--row-align")
    align = int(padded.do.rpartition(" ")[2])
    assert 520 % align
    assert f"{-(-520 // align) * align} bytes a row" in padded.brings
    # What brings most comes first, and what is fine last.
    levels = [found.level for found in findings]
    assert levels == sorted(levels, key=("problem", "advice", "ok").index)


def test_wide_floats_are_advised_against(dataset: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(dataset, tmp_path / "wide"))
    gz.write_features(copy / "z.gd", np.zeros((2000, 16), np.float64))
    found = examine(copy)
    assert "--dtype float32" in found["wide/z"]["do"]


def test_a_damaged_dataset_is_a_problem_and_the_others_are_looked_at(
    dataset: Path, tmp_path: Path
) -> None:
    for name in ("good", "bad"):
        shutil.copytree(dataset, tmp_path / name)
    os.truncate(tmp_path / "bad" / "graph.gl", 100)
    found = examine(tmp_path, code=1)
    assert found["bad"]["level"] == "problem"
    assert "graphzero verify" in found["bad"]["do"]
    assert "reading good" in found


def test_a_disk_that_gives_nothing_back_is_a_problem(dataset: Path) -> None:
    """As on a disk that fails: every read of the largest column."""
    fault = "from graphzero import _engine; _engine.set_read_fault('x.gd', -5)\n"
    found = examine(dataset, code=1, setup=fault)
    assert found["disk"]["level"] == "problem"
    assert "Input/output error" in found["disk"]["found"]


def test_a_part_is_read_by_the_rows_that_it_has(dataset: Path, tmp_path: Path) -> None:
    """Its columns count the rows of all parts."""
    for part in deal(dataset, tmp_path, 3):
        assert examine(part)["disk"]["level"] == "ok"


def test_another_error_than_the_disk_s_is_raised_at_once(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is neither a silent disk nor one that fails."""

    def fail(*_: object) -> None:
        raise IndexError("id 7 of 3")

    monkeypatch.setattr(row_probe, "_probe", fail)
    with pytest.raises(IndexError, match="id 7 of 3"):
        row_probe.probe_rows("x", ColumnFile(dataset / "x.gd"))


def test_a_directory_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = run_graphzero("doctor", tmp_path / "missing")
    assert done.returncode == 1
    assert "missing: No such file" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_system_in_memory_needs_no_direct_reads(dataset: Path, small_disk: Path) -> None:
    found = examine(shutil.copytree(dataset, small_disk / "small"))
    assert found["disk"]["level"] == "ok"


def test_threads_that_read_are_told_how_to_allow_io_uring() -> None:
    where = str(Path(system_calls.__file__).parent)
    setup = f"import sys; sys.path.insert(0, {where!r})\nimport system_calls\n"
    found = examine(setup=setup + "system_calls.forbid_io_uring()\n")
    assert found["reads"]["level"] == "advice"
    assert "kernel.io_uring_disabled" in found["reads"]["do"]


def test_the_little_shared_memory_of_a_container_is_a_problem() -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a mount of one's own needs root and unshare")
    script = f"mount -t tmpfs -o size=64m none /dev/shm && exec {GRAPHZERO} doctor --json"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 1
    (found,) = (f for f in json.loads(done.stdout) if f["subject"] == "shared memory")
    assert found["level"] == "problem"
    assert "mount -o remount,size=" in found["do"]
    assert "--shm-size=" in found["do"]


@pytest.mark.parametrize(
    ("file", "content", "subject", "level"),
    [
        ("enabled", "always madvise [never]", "huge pages", "advice"),
        ("enabled", "always [madvise] never", "huge pages", "ok"),
        ("overcommit", "2\n", "overcommit", "problem"),
        ("overcommit", "0\n", "overcommit", None),
    ],
)
def test_settings_of_the_kernel(
    file: str,
    content: str,
    subject: str,
    level: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What these tests run on cannot be set, so the files of the kernel are read from elsewhere."""
    monkeypatch.setattr(machine, "_HUGE_PAGES", tmp_path)
    monkeypatch.setattr(machine, "_OVERCOMMIT", tmp_path / "overcommit")
    (tmp_path / file).write_text(content)
    memory = divide_memory(8 * GIB, 8 * GIB, 2, None, None)
    found = {finding.subject: finding.level for finding in machine_findings(memory, 10)}
    assert found.get(subject) == level


def test_what_brings_most_comes_first() -> None:
    findings = [
        Finding("ok", "a", ""),
        Finding("advice", "b", "", factor=1.5),
        Finding("problem", "c", "", factor=1.1),
        Finding("advice", "d", "", factor=3.0),
    ]
    assert [found.subject for found in in_order_of_benefit(findings)] == ["c", "d", "b", "a"]
