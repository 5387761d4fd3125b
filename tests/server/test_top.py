"""`graphzero top`: what it tells of trainers, and how it fits into a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.commands.cli import main
from graphzero.commands.top_page import page_lines
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.metrics.durations import DurationCounts
from waiting import wait_until


def test_latencies_are_counted_by_powers_of_two() -> None:
    counts = DurationCounts()
    for microseconds in (0, 0.5, 1, 2, 3, 4, 1023, 1024, 1e12, -5):
        counts.add(microseconds / 1e6)
    assert counts.entries[:4] == [3, 1, 2, 1]
    assert (counts.entries[10], counts.entries[11]) == (1, 1)
    assert counts.entries[-1] == 1
    assert sum(counts.entries) == 10


def test_each_trainer_s_latencies_are_those_of_its_answered_requests(
    start_daemon: Callable[..., Any], dataset: Path, raw: Any
) -> None:
    daemon = start_daemon(dataset)
    first, second = raw(daemon.address), raw(daemon.address)
    for request_id in range(2, 12):
        first.sample(request_id, [1, 2], [2])
        first.release(first.receive().result)
    second.sample(2, [5000], [2])  # no such node: an answer too
    assert second.receive().error.code
    second.sample(3, [1], [2])
    second.release(second.receive().result)
    stats = daemon_stats(daemon.address)
    assert [sum(session.request_latency) for session in stats.sessions] == [10, 2]
    assert all(session.request_latency[0] == 0 for session in stats.sessions)  # not below 1 us
    first.close()
    second.close()


def test_top_shows_rate_and_latency_of_each_trainer(
    start_daemon: Callable[..., Any], dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = start_daemon(dataset)
    with gz.connect(daemon.address) as client:
        for _ in range(20):
            client.sample([1, 2], [2])
        assert main(["top", "--once", "--interval", "0.1", daemon.address]) == 0
    page = capsys.readouterr().out
    header = next(line for line in page.splitlines() if "p99" in line)
    assert header.split() == [
        "id", "requests", "req/s", "wait", "p50", "p99", "open", "held", "trainer,", "dataset",
    ]  # fmt: skip
    line = next(line for line in page.splitlines() if ", small" in line)
    assert re.match(r" +1 +20 +[\d.]+ +\d+% +<\d+ (us|ms|s) +<\d+ (us|ms|s) +0 ", line)


def stats_at(seconds: float, requests: int, **rest: Any) -> pb.GetStatsResponse:
    session = pb.SessionStats(session_id=1, requests=requests, waited_us=int(seconds * 1e4))
    return pb.GetStatsResponse(
        instance_id="a",
        uptime_ms=int(1000 * seconds),
        requests=requests,
        num_sessions=1,
        sessions=[session],
        **rest,
    )


def test_once_tells_who_waits_for_whom_as_the_live_view_does() -> None:
    page = page_lines(stats_at(12, 300), stats_at(10, 100), 80)
    assert "trainers wait 1% of their time for data: their models set the pace" in page
    (line,) = [line for line in page if line.startswith("    1 ")]
    assert line.split()[:4] == ["1", "300", "100.0", "1%"]


def test_an_empty_table_says_so() -> None:
    stats = pb.GetStatsResponse(uptime_ms=1000)
    page = page_lines(stats, stats, 80)
    assert "no trainers" in page
    assert not any("trainer, dataset" in line for line in page)


@pytest.mark.parametrize(
    ("path", "capacity", "hits"), [("direct", 8, "50.0%"), ("direct", 0, "-"), ("mapped", 8, "-")]
)
def test_hits_are_told_only_where_there_is_a_row_cache(path: str, capacity: int, hits: str) -> None:
    column = pb.ColumnStats(dataset="d", column="x", path=path, gathers=1, rows=4, cache_hits=2)
    cache = pb.RowCacheStats(capacity_byte_size=capacity)
    stats = stats_at(1, 1, columns=[column], row_cache=cache)
    assert page_lines(stats, stats, 80)[-1].split()[2] == hits


def same_numbers(document: dict[str, Any], message: Any) -> None:
    """Every field of the message, zeros too, but for times, which go on meanwhile."""
    names = {field.name for field in message.DESCRIPTOR.fields}
    assert set(document) == names
    changing = {"uptime_ms", "age_ms", "idle_ms", "oldest_block_ms", "held_byte_size_by_age"}
    for name in names - changing:
        found, expected = document[name], getattr(message, name)
        if hasattr(expected, "DESCRIPTOR"):
            same_numbers(found, expected)
        elif hasattr(expected, "append"):
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                if hasattr(other, "DESCRIPTOR"):
                    same_numbers(one, other)
                else:
                    assert (type(one), one) == (type(other), other)
        else:
            assert (type(found), found) == (type(expected), expected), name


def test_programs_get_every_number(
    start_daemon: Callable[..., Any], dataset: Path, raw: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = start_daemon(dataset, "--feature-io", "direct", "--row-cache", "8M", "--warm", "none")
    session = raw(daemon.address, client_name="train.py[7]")
    session.sample(2, [1, 2], [2], columns=["x"])
    session.receive()
    session.sample(3, [5000], [2])
    assert session.receive().error.code
    # How much of the files lies in memory is known only after somebody has asked.
    wait_until(
        lambda: daemon_stats(daemon.address).files[0].resident_percent, "what lies in memory"
    )
    assert main(["top", "--json", daemon.address]) == 0
    document = json.loads(capsys.readouterr().out)
    same_numbers(document, daemon_stats(daemon.address))
    assert (document["pid"], document["uptime_ms"] >= 0) == (daemon.pid, True)
    assert (document["requests"], document["failed_requests"]) == (2, 1)
    (trainer,) = document["sessions"]
    assert (trainer["client_name"], trainer["dataset"]) == ("train.py[7]", "small")
    assert (trainer["requests"], trainer["blocks"]) == (2, 1)
    columns = {column["column"]: column for column in document["columns"]}
    assert (columns["x"]["path"], columns["x"]["gathers"]) == ("direct", 1)
    session.close()


def test_all_columns_fit_into_80(
    start_daemon: Callable[..., Any],
    dataset: Path,
    raw: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    daemon = start_daemon(dataset, "--feature-io", "direct", "--row-cache", "8M")
    session = raw(daemon.address, client_name="train.py[123]")
    session.sample(2, [1], [2], columns=["x"])
    session.receive()
    assert main(["top", "--once", "--interval", "0.1", daemon.address]) == 0
    page = capsys.readouterr().out
    assert max(map(len, page.splitlines())) <= 80
    assert "train.py[123], sm" in page
    assert "small/x, direct" in page
    session.close()
