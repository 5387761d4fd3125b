"""What /metrics and the log say of requests for rows of other parts."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from graphzero.client.daemon.daemon_calls import daemon_stats
from prometheus_client.parser import text_string_to_metric_families
from sharded_daemons import deal, start_parts
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow


def numbers(daemon: Any) -> dict[tuple[str, str | None], float]:
    """By the name, without its prefix, and what the column is, or what is waited for."""
    found = next(line for line in daemon.output().splitlines() if "http://" in line)
    address = found[found.index("http://") :].split()[0].rstrip("/")
    with urllib.request.urlopen(f"{address}/metrics") as answer:
        text = answer.read().decode()
    return {
        (
            sample.name.removeprefix("graphzero_"),
            sample.labels.get("column") or sample.labels.get("waiting_for"),
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_rows_of_other_parts_are_counted_by_column(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    parts = deal(dataset, tmp_path, 2)
    first, second = start_parts(start_daemon, parts, "--row-cache", "8M", "--http", "127.0.0.1:0")
    with gz.connect(first.address) as client, ThreadPoolExecutor() as threads:
        for _ in range(2):
            client.gather("x", range(1000))
        found = numbers(first)
        (column,) = [c for c in daemon_stats(first.address).columns if c.column == "x"]
        assert column.remote_rows > column.remote_cache_hits > 0
        for name, expected in (
            ("column_remote_rows_total", column.remote_rows),
            ("column_remote_cache_hits_total", column.remote_cache_hits),
            ("column_remote_bytes_total", column.remote_byte_size),
        ):
            assert found[name, "x"] == expected
        assert found["requests_waiting", "peer"] == 0
        with second.held():
            waiting = threads.submit(client.gather, "x", range(1000, 2000))
            wait_until(lambda: numbers(first)["requests_waiting", "peer"] == 1, "a peer")
            assert daemon_stats(first.address).open_requests.waiting_for_peer == 1
        assert waiting.result(DEADLINE_S).shape == (1000, 16)
        wait_until(lambda: numbers(first)["requests_waiting", "peer"] == 0, "the end of it")


def test_a_request_that_waited_for_a_peer_in_vain_is_logged_with_its_name_and_stage(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    parts = deal(dataset, tmp_path, 2)
    first, second = start_parts(start_daemon, parts, "--slow-request", "0.5")
    with gz.connect(first.address) as client:
        client.gather("x", range(10))
        with second.held(), pytest.raises(gz.ServerUnavailable):
            client.gather("x", range(1000, 2000), timeout=1.5)
    first.wait_for_output("ended with UNAVAILABLE")
    (line,) = [text for text in first.output().splitlines() if " took " in text]
    found = re.search(r"took ([\d.]+) s, most of it gathering: ([\d.]+) s \(", line)
    assert found is not None, line
    total, gathering = map(float, found.groups())
    assert 1.0 < gathering <= total
    assert f"part 1 at {second.tcp_address} has not answered yet" in line
    (event,) = daemon_stats(first.address).slow_requests
    assert 1_000_000 < event.gathering_us <= event.total_us
