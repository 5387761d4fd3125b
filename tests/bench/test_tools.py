"""What benchmarks are made with: turns and ratios, memory of processes, reports, the README."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from common.memory import system_memory
from common.rounds import ContenderFailed, Spread, Turn, best, ratios, take_turns
from loaders.subject import headline
from report.document import Column, Ratio, Report, Subject, Sweep
from report.growth import verdict
from report.markdown import markdown
from report.readme import README, STORED, current, section

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
MIB = 1 << 20


# --- turns ---


def test_contenders_alternate_and_each_round_begins_with_another() -> None:
    order: list[str] = []

    def contender(name: str) -> Turn:
        order.append(name)
        return {"rate": 1.0}

    take_turns({n: lambda n=n: contender(n) for n in "abc"}, 3, {})  # type: ignore[misc]
    assert "".join(order) == "abcbcacab"


def test_who_fails_is_left_out_with_the_reason_and_the_others_go_on() -> None:
    def fails() -> Turn:
        raise ContenderFailed("no such library")

    skipped: dict[str, str] = {}
    turns = take_turns({"good": lambda: {"rate": 2.0}, "bad": fails}, 2, skipped)
    assert turns == {"good": [{"rate": 2.0}, {"rate": 2.0}]}
    assert skipped == {"bad": "no such library"}


def test_ratios_are_taken_within_a_round() -> None:
    """A machine that is twice as fast in the second round changes no ratio."""
    turns = {"a": [{"r": 30.0}, {"r": 60.0}], "b": [{"r": 10.0}, {"r": 20.0}]}
    assert ratios(turns, "a", "b", "r") == [3.0, 3.0]
    assert best(turns, ["a", "b"], "r") == ["a"]


def test_a_spread_shows_the_median_and_what_it_lies_between() -> None:
    assert Spread.of([3.0, 1.0, 2.0]).text() == "2.0 (1.0 to 3.0)"
    assert Spread.of([2.0, 2.01]).text() == "2.0"


# --- memory ---

HOLDER = """
import sys
from multiprocessing import shared_memory
kind, size = sys.argv[1], int(sys.argv[2])
if kind == "anonymous":
    held = bytearray(b"x") * size
elif kind == "shared":
    held = shared_memory.SharedMemory(create=True, size=size)
    held.buf[:] = b"x" * size
elif kind == "parent":
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", sys.argv[3], "anonymous", str(size)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
print("there", flush=True)
sys.stdin.readline()
if kind == "shared":
    held.unlink()
elif kind == "parent":
    child.communicate(b"\\n")
"""


@contextmanager
def holder(kind: str, size: int) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, kind, str(size), HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.communicate("\n")


@pytest.mark.parametrize(
    ("kind", "field"), [("anonymous", "anonymous"), ("shared", "shared"), ("parent", "anonymous")]
)
def test_memory_of_every_kind_and_of_children_counts(kind: str, field: str) -> None:
    with holder(kind, 64 * MIB) as pid:
        found = system_memory([pid])
    assert 64 * MIB / 1e6 <= found[field] < 64 * MIB / 1e6 + 60
    kinds = ("anonymous", "shared", "files")
    assert found["total"] == pytest.approx(sum(found[one] for one in kinds))


def test_a_process_that_has_ended_counts_nothing() -> None:
    with holder("anonymous", MIB) as pid:
        pass
    assert system_memory([pid])["total"] == 0


# --- how cost grows ---


@pytest.mark.parametrize(
    ("power", "linear", "good"),
    [(1.0, 1.0, True), (0.5, 1.0, True), (1.5, 1.0, False), (0.0, 0.0, True), (0.5, 0.0, False)],
)
def test_the_exponent_of_a_cost_is_found(power: float, linear: float, good: bool) -> None:
    x = [1.0, 10.0, 100.0]
    found = verdict(Sweep("s", "x", "ms", x, [[3 * v**power] for v in x], linear, "Because."))
    assert found.exponent == pytest.approx(power)
    assert found.good == good
    assert ("Because." in found.text) == (not good)


# --- reports ---


def small_report() -> Report:
    turns = {
        "graphzero, 1 trainer": [{"batches_s": 70.0}, {"batches_s": 90.0}],
        "GraphBolt, 0 workers": [{"batches_s": 10.0}, {"batches_s": 10.0}],
    }
    subject = Subject("loaders", "Loaders", "About.", [Column("batches_s", "batches/s")], turns)
    ours, peer = turns
    subject.ratios = [
        Ratio.of(turns, f"graphzero / GraphBolt, by {by}", ours, peer, "batches_s")
        for by in ("batches", "nodes")
    ]
    subject.ratios[1].values[:] = [5.0, 6.0]
    subject.skipped["PyG"] = "not installed"
    machine = {"date": "2026-01-01", "processor": "P", "processors": 2, "memory_gib": 8.0}
    machine |= {"kernel": "Linux 6", "virtual": True, "file_system": "ext4", "python": "3.11"}
    machine |= {"huge_pages": "madvise", "huge_pages_shm": "never", "load_at_start": 0.1}
    machine |= {"versions": {"numpy": "2"}, "fio": {"missing": "fio is not installed"}}
    return Report(machine, {"rounds": 2}, {"loaders": subject}, {"DGL": "no wheel"}, 60.0)


def test_a_report_is_the_same_after_it_was_written(tmp_path: Path) -> None:
    small_report().write(tmp_path / "report.json")
    assert Report.read(tmp_path / "report.json") == small_report()


def test_markdown_has_medians_spread_and_what_is_missing() -> None:
    text = markdown(small_report(), {"loaders": [Path("loaders.svg")]})
    assert "| graphzero, 1 trainer | 80.0 (70.0 to 90.0) |" in text
    assert "graphzero / GraphBolt, by batches: 8.00 (7.00 to 9.00)" in text
    assert "Left out: PyG: not installed" in text
    assert "Not measured: DGL: no wheel" in text
    assert "fio is not installed" in text
    assert "![loaders](loaders.svg)" in text


def test_the_headline_is_the_least_favourable_ratio() -> None:
    ratio = headline(small_report().subjects["loaders"], "GraphBolt")
    assert ratio is not None
    assert ratio.what.endswith("by nodes")


def test_the_readme_says_what_the_stored_report_says() -> None:
    assert current(README.read_text()) == section(Report.read(STORED)), "run make bench-readme"
    assert STORED.with_suffix(".svg").exists()


# --- the programs ---


def run_program(name: str, *arguments: object) -> str:
    command = [sys.executable, str(BENCHMARKS / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_one_command_measures_and_writes_a_report(tmp_path: Path) -> None:
    names = ("loaders", "requests", "typed", "growth")
    only = [text for name in names for text in ("--only", name)]
    place = ("--out", tmp_path / "report", "--data", tmp_path / "data")
    run_program(
        "run.py", "--size", "tiny", "--no-peers", "--rounds", 1, "--seconds", 0.2, *only, *place
    )
    report = Report.read(tmp_path / "report/report.json")
    assert set(report.subjects) == set(names), report.missing
    assert not report.subjects["growth"].skipped
    assert not report.subjects["typed"].skipped
    turn = report.subjects["loaders"].turns["graphzero, 1 trainer"][0]
    assert turn["batches_s"] > 0
    assert turn["shared_mb"] > 0
    compared = [ratio.what.partition(" / ")[0] for ratio in report.subjects["typed"].ratios]
    assert compared[:3] == ["typed", "by time", "by time, the last"]
    assert "graphzero, 1 trainer" in compared[-1]
    assert (tmp_path / "report/growth-growth.svg").exists()
    assert section(report).startswith("## How fast\n")


@pytest.mark.slow
def test_two_builds_are_compared_in_turns(tmp_path: Path) -> None:
    options = ("--shape", "tiny", "--rounds", 1, "--seconds", 0.2, "--data", tmp_path)
    told = run_program("compare.py", sys.executable, *options)
    lines = [line for line in told.splitlines() if "->" in line]
    assert [line.split("  ")[0] for line in lines] == [
        "embedded",
        "1 trainer",
        "2 trainers",
        "small request",
    ]
    assert all(line.endswith("times") for line in lines)


def test_peers_say_what_cannot_be_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from common import peers

    monkeypatch.setattr(peers, "PLACE", tmp_path)
    found = peers.find_peers(make=False)
    assert found.dgl is None
    assert "DGL 2.1 GraphBolt" in found.missing
    assert json.dumps(found.missing)
