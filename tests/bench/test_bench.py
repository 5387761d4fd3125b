"""`graphzero bench`: what it measures of a dataset, and what it concludes from numbers."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from commands import run_graphzero
from graphzero.bench.limits import doubts, limit_of
from graphzero.bench.numbers import BenchNumbers, Latency, MemoryRates, Rounds, Served
from graphzero.bench.workload import choose_workload
from graphzero.diagnosis.row_probe import RowRates
from graphzero.files.dataset import open_dataset
from sharded_daemons import deal

QUICK = ("--seconds", "0.2", "--fanout", "5,3", "--batch-size", "64")


def measured(*arguments: object) -> dict[str, Any]:
    done = run_graphzero("bench", "--json", *QUICK, *arguments)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.slow
def test_every_figure_of_a_dataset_is_measured(dataset: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in dataset.rglob("*")}
    found = measured(dataset)
    assert found["disk"]["from_disk"] > 0
    assert found["memory"]["copy"] > 0
    assert found["memory"]["gather_all"] > 0
    assert "64 seeds (train) x [5, 3]" in found["workload"]
    assert 64 <= found["batch_nodes"] <= 64 * (1 + 5 + 15)
    assert all(min(rounds["rates"]) > 0 for rounds in found["sampling"].values())
    assert [served["trainers"] for served in found["served"]] == [1, 2]
    for served in found["served"]:
        assert len(served["batches"]["rates"]) == 3
        assert min(served["batches"]["rates"]) > 0
        assert served["sampling_ms"] > 0
        assert 0 <= served["waiting"] <= 1
    assert found["request"]["grpc_ms"] > 0
    assert 0 < found["request"]["median_ms"] <= found["request"]["p99_ms"]
    assert found["limit"]["do"]
    assert {path: path.stat().st_mtime_ns for path in dataset.rglob("*")} == before


@pytest.mark.slow
def test_the_same_in_words_of_a_generated_dataset() -> None:
    done = run_graphzero("bench", "--seconds", "0.3")
    assert done.returncode == 0, done.stderr
    assert "200,000 nodes" in done.stdout
    assert "Limited by " in done.stdout
    assert "Limited by the copying" not in done.stdout
    assert "/s read from the disk)" in " ".join(done.stdout.split())
    assert "measuring: starting a daemon\n" in done.stderr
    assert "\n  - " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.slow
def test_types_and_relations_are_measured_too(tmp_path: Path) -> None:
    gz.generate(tmp_path / "shop", schema="shop", scale=0.02)
    found = measured(tmp_path / "shop")
    assert found["batch_edges"] > 0
    assert min(found["served"][1]["batches"]["rates"]) > 0


def test_without_a_split_seeds_are_nodes_at_random(dataset: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    shutil.copy(dataset / "graph.gl", plain)
    workload = choose_workload(open_dataset(plain), (5,), 32)
    assert workload.split is None
    assert len(workload.seeds) == open_dataset(plain).graph.num_nodes
    assert "nodes at random" in workload.text
    assert "no columns" in workload.text
    assert len(next(workload.lists(0))) == 32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fanout", "a,b"), "found 'a,b', expected numbers"),
        (("--fanout", "5,-2"), "expected numbers such as"),
        (("--seconds", "0"), "expected positive numbers"),
        (("missing",), "missing"),
    ],
)
def test_what_cannot_be_measured_is_said(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = run_graphzero("bench", *arguments)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_part_is_refused_with_what_to_measure_instead(dataset: Path, tmp_path: Path) -> None:
    done = run_graphzero("bench", *QUICK, deal(dataset, tmp_path, 2)[1])
    assert done.returncode == 1
    assert "part-1: is part 1 of 2, and batches need rows of the other" in done.stderr
    assert "measure the whole dataset" in done.stderr
    assert len(done.stderr.splitlines()) == 1


# --- what limits: numbers of machines that differ in one thing ---

SERVED = Served(
    trainers=1,
    batches=Rounds((100.0, 101.0, 99.0)),
    sampling_ms=4.0,
    gathering_ms=4.0,
    memory_wait_ms=0.0,
    daemon_cpu_ms=8.0,
    trainer_cpu_ms=0.5,
    waiting=0.9,
    busy=0.45,
    others=0.0,
    rows_read=0.0,
)
NUMBERS = BenchNumbers(
    processors=2,
    dataset="d",
    byte_size=1 << 30,
    fits=True,
    workload="w",
    batch_bytes=10e6,
    batch_nodes=2e4,
    batch_edges=1e5,
    disk=RowRates("x", from_disk=50_000, bytes_from_disk=2e8, from_memory=1e6, fallback=""),
    memory=MemoryRates(5e9, 3e9, 6e9, "x"),
    sampling={1: Rounds((200.0,))},
    embedded=Rounds((110.0, 111.0)),
    served=(SERVED,),
    request=Latency(0.9, 1.3, 0.5),
    warm=True,
)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({}, "request round trip"),
        ({"sampling_ms": 4.0, "gathering_ms": 15.0, "busy": 0.95}, "copying"),
        ({"sampling_ms": 15.0, "gathering_ms": 4.0, "busy": 0.95}, "processor"),
        ({"busy": 0.3, "others": 0.7}, "processor"),
        ({"memory_wait_ms": 30.0}, "shared memory"),
        ({"waiting": 0.05}, "trainer"),
        ({"rows_read": 400.0}, "disk"),
        ({"rows_read": 10.0, "daemon_cpu_ms": 2.0}, "disk"),
        ({"rows_read": 10.0}, "request round trip"),
    ],
)
def test_the_limit_is_read_off_the_numbers(changes: dict[str, float], cause: str) -> None:
    limit = limit_of(replace(NUMBERS, served=(replace(SERVED, **changes),)))  # type: ignore[arg-type]
    assert limit.cause == cause
    assert limit.do


@pytest.mark.parametrize(("memory", "advised"), [(6e9, False), (1.2e9, True)])
def test_faster_memory_is_advised_only_where_copying_comes_near_to_it(
    memory: float, advised: bool
) -> None:
    copying = replace(SERVED, gathering_ms=15.0, busy=0.95)  # copies 1 GB/s
    rates = replace(NUMBERS.memory, gather_all=memory)
    limit = limit_of(replace(NUMBERS, memory=rates, served=(copying,)))
    assert limit.cause == "copying"
    assert any("memory channels" in text for text in limit.do) == advised


def test_the_faster_of_one_and_two_trainers_counts() -> None:
    two = replace(SERVED, trainers=2, batches=Rounds((180.0,)), sampling_ms=2.0, gathering_ms=8.0)
    assert limit_of(replace(NUMBERS, served=(SERVED, two))).cause == "copying"


def test_numbers_of_a_disturbed_machine_are_doubted() -> None:
    assert list(doubts(NUMBERS)) == []
    busy = replace(NUMBERS, served=(replace(SERVED, others=0.4),))
    assert "other processes used 40%" in next(doubts(busy))
    unsteady = replace(NUMBERS, embedded=Rounds((50.0, 100.0)))
    assert "rounds differ by up to 100%" in next(doubts(unsteady))
    assert "still reading" in next(doubts(replace(NUMBERS, warm=False)))
