"""`graphzero convert` as a user meets it: exit codes, one line for an error, what is left."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import golden
import graphzero as gz
import numpy as np
import pytest
from commands import hold_graphzero, run_graphzero
from contents import names
from graphzero.base import progress
from graphzero.base.progress import JobProgress
from graphzero.commands.convert_report import print_work
from waiting import DEADLINE_S


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return run_graphzero("convert", *arguments, **options)


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("0,1\n1,2\n")
    return path


def test_a_dataset_is_made_and_described(tmp_path: Path, edges: Path) -> None:
    (tmp_path / "x.csv").write_text("0,1.5,2\n1,2.5,3\n2,3.5,4\n")
    out = tmp_path / "deep" / "down" / "ds"
    done = run("--edges", edges, "--column", f"x={tmp_path / 'x.csv'}", "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{out}: 3 nodes, 2 edges\n  x: 3 x 2 float32\n  read ")
    assert names(out) == ["graph.gl", "x.gd"]
    assert names(out.parent) == ["ds"]
    assert gz.Graph(out).get_neighbours(0).tolist() == [1]
    assert run("--quiet", "--edges", edges, "--out", tmp_path / "q").stdout == ""


def test_shapes_are_told_as_batches_have_them_and_one_is_no_plural(
    tmp_path: Path, edges: Path
) -> None:
    (tmp_path / "y.csv").write_text("0,1\n1,0\n")
    (tmp_path / "train.csv").write_text("0\n2\n")
    np.save(tmp_path / "z.npy", np.ones((3, 1), np.float32))
    done = run(
        "--edges", edges, "--column", f"y={tmp_path / 'y.csv'}:int64", "--fill", "0",
        "--column", f"z={tmp_path / 'z.npy'}", "--split", f"train={tmp_path / 'train.csv'}",
        "--out", tmp_path / "ds",
    )  # fmt: skip
    assert done.stdout.splitlines()[1:4] == [
        "  y: 3 int64, 1 row filled",
        "  z: 3 x 1 float32",
        "  train: 2 node ids",
    ]
    assert gz.FeatureStore(tmp_path / "ds" / "y.gd").shape == (3,)


def test_a_rate_needs_an_input_of_some_size(
    tmp_path: Path, edges: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = gz.import_files(edges, tmp_path / "ds")
    print_work(report._replace(input_bytes=(1 << 20) - 1, seconds=2.0))
    assert capsys.readouterr().out.endswith(" in 2.0 s\n")
    print_work(report._replace(input_bytes=1 << 20, seconds=2.0))
    assert capsys.readouterr().out.endswith(" in 2.0 s (512.0 KiB/s)\n")


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("10,20\n20,30\n", [], "28 of 31 node ids occur in no edge; --relabel numbers only those"),
        ("10,20\n20,30\n", ["--relabel"], ""),
        ("10,20\n20,30\n", ["--num-nodes", "31"], ""),
        ("10,20\n20,30\n", ["--direction", "in"], ""),
        ("10,20\n20,30\n", ["--column", "x={}/x.npy"], ""),
        ("0,1\n1,5\n", [], ""),
    ],
)
def test_ids_with_gaps_are_told(tmp_path: Path, text: str, options: list[str], told: str) -> None:
    (tmp_path / "e.csv").write_text(text)
    np.save(tmp_path / "x.npy", np.ones(31, np.float32))
    given = [option.replace("{}", str(tmp_path)) for option in options]
    done = run("--edges", tmp_path / "e.csv", *given, "--out", tmp_path / "ds")
    assert done.returncode == 0
    assert f"note: e.csv: {told}" in done.stdout if told else "occur in no edge" not in done.stdout


def test_graphzero_0_2_files_become_a_dataset(tmp_path: Path) -> None:
    out = tmp_path / "ds"
    files = [golden.DIRECTORY / name for name in ("graphzero02.gl", "graphzero02.gd")]
    done = run(*files, "--num-nodes", 4, "--fill", 0, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert names(out) == ["graph.gl", "graphzero02.gd"]
    graph = gz.Graph(out, verify=True)
    assert [graph.get_neighbours(i).tolist() for i in range(4)] == [[1, 1, 2], [], [1], [0]]
    assert gz.FeatureStore(out / "graphzero02.gd").shape == (4, 2)


def test_skipped_lines_are_reported_on_stderr(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("0,1\nx,2\n1,0\n1\n")
    done = run("--edges", bad, "--on-error", "skip", "--out", tmp_path / "ds")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "skipped 2 bad lines:",
        f'  {bad} line 2: found source "x", expected an integer id; --relabel takes texts: "x,2"',
        f'  {bad} line 4: expected 2 columns, found 1: "1"',
    ]


# Each case: the options, and the one line that is expected, {} being the directory of the inputs.
ERRORS = [
    pytest.param(
        ["--edges", "{}/bad.csv"],
        '{}/bad.csv line 2: found target "-2", expected an id from 0 to 2^63 - 1: "1,-2"',
        id="negative-id",
    ),
    pytest.param(
        ["--edges", "{}/none.csv"], "{}/none.csv: No such file or directory", id="missing-file"
    ),
    pytest.param(
        ["--edges", "{}/empty"],
        "{}/empty: found a folder without a .parquet, .arrow, .csv or .tsv file in it, expected a "
        "file or such a folder; folders inside it are not looked into",
        id="directory-for-file",
    ),
    pytest.param(
        ["--edges", "{}/edges.csv", "--num-nodes", "2"],
        '{}/edges.csv line 2: found target "2", expected an id below 2, the given number of nodes: '
        '"1,2"',
        id="id-beyond-num-nodes",
    ),
    pytest.param(
        ["--edges", "{}/edges.csv", "--column", "x={}/wide.csv"],
        "{}/wide.csv line 4: node id 7 is out of range, expected an id below 3",
        id="column-id-beyond-num-nodes",
    ),
    pytest.param(
        ["--edges", "{}/edges.csv", "--column", "n_id={}/wide.csv"],
        "column 'n_id': ",
        id="reserved-column-name",
    ),
    pytest.param(
        ["--edges", "{}/edges.csv", "--column", "x={}/gone.csv"],
        "{}/gone.csv: No such file or directory",
        id="missing-column-file",
    ),
    pytest.param(
        ["--edges", "{}/edges.csv", "--column", "x"],
        "--column 'x': expected NAME=FILE or NAME=FILE:TYPE",
        id="column-without-file",
    ),
    pytest.param(
        ["--edges", "{}/edges.csv", "--column", "x=a.csv:int7"],
        "--column 'x=a.csv:int7': unknown type 'int7', expected one of ",
        id="unknown-type",
    ),
    pytest.param(
        ["--edges", "{}/edges.csv", "--memory", "1M"],
        "found a memory limit of 1048576 bytes, expected at least 64 MiB",
        id="too-little-memory",
    ),
    pytest.param(
        ["--edges", "{}/edges.csv", "--threads", "0"],
        "found 0 threads, expected at least 1",
        id="no-threads",
    ),
    pytest.param([], "found 0 sources of edges, expected one: --edges FILE", id="no-edges"),
    pytest.param(
        ["{}/edges.csv"],
        "{}/edges.csv: expected a folder, .gl or .gd; text, tables and arrays go to --edges and "
        "--column; try: graphzero convert --edges {}/edges.csv --out DIR\n",
        id="text-without-option",
    ),
    pytest.param(["{}/gone"], "{}/gone: No such file or directory\n", id="missing-folder"),
    pytest.param(
        ["--edges", "{}/\udcff.csv"],
        "found '{}/\\udcff.csv', expected valid UTF-8",
        id="name-that-is-not-utf-8",
    ),
    pytest.param(["{}/damaged.gl"], "{}/damaged.gl: ", id="damaged-graph"),
]


@pytest.mark.parametrize(("options", "message"), ERRORS)
def test_an_error_is_one_line_and_leaves_nothing(
    tmp_path: Path, edges: Path, options: list[str], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.csv").write_text("0,1\n1,-2\n")
    (tmp_path / "wide.csv").write_text("0,1\n1,1\n2,1\n7,1\n")
    (tmp_path / "damaged.gl").write_bytes((golden.DIRECTORY / "directed.gl").read_bytes()[:5000])
    before = names(tmp_path)
    arguments = [option.replace("{}", str(tmp_path)) for option in options]
    done = run(*arguments, "--out", tmp_path / "new" / "ds")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    expected = f"graphzero convert: error: {message.replace('{}', str(tmp_path))}"
    assert done.stderr.startswith(expected)
    assert names(tmp_path) == before


@pytest.mark.parametrize(
    "options", [["--direction", "up"], ["--memory", "lots"], ["--on-error", "cry"], ["--nope"]]
)
def test_a_wrong_command_line_is_exit_code_2(
    tmp_path: Path, edges: Path, options: list[str]
) -> None:
    done = run("--edges", edges, *options, "--out", tmp_path / "ds")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert names(tmp_path) == ["edges.csv"]


def test_an_existing_dataset_is_kept_unless_overwrite_is_given(tmp_path: Path, edges: Path) -> None:
    out = tmp_path / "ds"
    assert run("--edges", edges, "--out", out).returncode == 0
    old = (out / "graph.gl").read_bytes()
    done = run("--edges", edges, "--undirected", "--out", out)
    assert done.returncode == 1
    assert done.stderr == (
        f"graphzero convert: error: {out}: exists; --overwrite (overwrite=True) replaces it\n"
    )
    assert (out / "graph.gl").read_bytes() == old
    assert run("--edges", edges, "--undirected", "--out", out, "--overwrite").returncode == 0
    assert gz.Graph(out).is_symmetric
    assert names(tmp_path) == ["ds", "edges.csv"]


@pytest.mark.parametrize("foreign", ["notes.txt", "graph.gl.bak", "sub"])
def test_overwrite_refuses_a_directory_that_holds_anything_else(
    tmp_path: Path, edges: Path, foreign: str
) -> None:
    out = tmp_path / "ds"
    run("--edges", edges, "--out", out)
    if foreign == "sub":
        (out / foreign).mkdir()
    else:
        (out / foreign).write_text("mine")
    done = run("--edges", edges, "--out", out, "--overwrite")
    assert done.returncode == 1
    assert done.stderr == (
        f"graphzero convert: error: {out}: holds '{foreign}', which is no part of a dataset; "
        "choose another directory\n"
    )
    assert names(out) == sorted(["graph.gl", foreign])


@pytest.mark.parametrize("kind", ["file", "link"])
def test_overwrite_refuses_what_is_no_directory(tmp_path: Path, edges: Path, kind: str) -> None:
    out, other = tmp_path / "ds", tmp_path / "other"
    other.mkdir()
    if kind == "file":
        out.write_text("mine")
    else:
        out.symlink_to(other)
    done = run("--edges", edges, "--out", out, "--overwrite")
    assert done.stderr == (
        f"graphzero convert: error: {out}: exists and is not a dataset directory\n"
    )
    assert names(tmp_path) == ["ds", "edges.csv", "other"]


def test_a_dataset_gets_the_permissions_of_the_umask_or_of_the_one_it_replaces(
    tmp_path: Path, edges: Path
) -> None:
    out = tmp_path / "ds"
    run("--edges", edges, "--out", out, umask=0o027)
    assert stat.S_IMODE(out.stat().st_mode) == 0o750
    assert stat.S_IMODE((out / "graph.gl").stat().st_mode) == 0o640
    out.chmod(0o700)
    run("--edges", edges, "--out", out, "--overwrite", umask=0o022)
    assert stat.S_IMODE(out.stat().st_mode) == 0o700


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_leaves_nothing_behind(tmp_path: Path, edges: Path, number: int) -> None:
    process = hold_graphzero("convert", "--edges", edges, "--out", tmp_path / "ds")
    assert list(tmp_path.glob(".ds.part-*/ds"))
    process.send_signal(number)
    _, error = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 128 + number
    assert error == "graphzero: interrupted\n"
    assert names(tmp_path) == ["edges.csv"]


def read_terminal(terminal: int) -> bytes:
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # EIO: the other side is closed
            return shown
        if not piece:
            return shown
        shown += piece


IMPATIENT = """
import sys
from graphzero.base import progress
from graphzero.commands.cli import main
progress.QUIET_S = 0.0  # Nothing is so quick that its bar stays away.
"""
CONVERT = IMPATIENT + "sys.exit(main(sys.argv[1:]))"
REPORT = (
    IMPATIENT
    + """
with progress.JobProgress("edges.csv") as report:
    report("writing edges", 40, 100)
"""
)


def shown_on_a_terminal(program: str, *arguments: object) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-c", program, *map(str, arguments)]
    process = subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    shown = read_terminal(ours).decode()
    os.close(ours)
    assert process.wait(DEADLINE_S) == 0
    return shown


def test_a_conversion_shows_its_progress_on_a_terminal(tmp_path: Path, edges: Path) -> None:
    shown = shown_on_a_terminal(CONVERT, "convert", "--edges", edges, "--out", tmp_path / "ds")
    assert "edges.csv:" in shown


def test_a_bar_has_rate_and_time_left() -> None:
    shown = shown_on_a_terminal(REPORT)
    expected = r"writing edges edges\.csv: +40%\|.*\[00:00<00:00, [\d.]+[kMG]? edges/s\]"
    assert re.search(expected, shown), shown


def test_a_log_gets_plain_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds: Iterator[float] = iter([0.0, 0.0, *(float(s) for s in range(0, 1000, 5))])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    with JobProgress("edges.csv") as report:
        for done in range(0, 100, 10):
            report("reading edges", done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("reading edges edges.csv: ") and "/s" in line for line in lines)


IMPORTED = """
import sys
from graphzero.commands.cli import main
assert main(sys.argv[1:]) == 0
print(*sys.modules)
"""


def test_a_conversion_of_text_starts_without_what_is_slow_to_import(
    tmp_path: Path, edges: Path
) -> None:
    command = ["convert", "--quiet", "--edges", edges, "--out", tmp_path / "ds"]
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *command], capture_output=True, text=True, check=True
    )
    slow = {"numpy", "tqdm", "torch", "inspect", "shutil", "hashlib", "subprocess", "asyncio"}
    assert slow.isdisjoint(done.stdout.split())


def test_a_short_job_shows_no_progress(tmp_path: Path, edges: Path) -> None:
    assert run("--edges", edges, "--out", tmp_path / "ds").stderr == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small filesystem needs root")
@pytest.mark.parametrize("where", ["spill", "output"])
def test_a_full_disk_is_one_clear_line_and_leaves_nothing(tmp_path: Path, where: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24M", "tmpfs", disk], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small filesystem: {mounted.stderr.strip()}")
    try:
        count = 16_000_000 if where == "spill" else 4_000_000
        ids = np.random.default_rng(0).integers(0, 2_000_000, (2, count), np.int32)
        np.save(tmp_path / "edges.npy", ids)
        done = run("--edges", tmp_path / "edges.npy", "--memory", "64M", "--out", disk / "ds")
        assert done.returncode == 1
        assert done.stderr.startswith("graphzero convert: error: ")
        assert done.stderr.endswith("No space left on device\n")
        assert done.stderr.count("\n") == 1
        assert names(disk) == []
    finally:
        subprocess.run(["umount", disk], check=True)
