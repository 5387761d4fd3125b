"""The daemon's log: what it says of sessions and requests, as text and as JSON."""

from __future__ import annotations

import json
import logging
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.server.process.log_lines import JsonFormatter, fields
from waiting import wait_until

FAULT = "from graphzero import _engine; _engine.set_read_fault('x.gd', -5)"
HOSTILE = 'a "quoted" \\ name\n\x1b[31m\u202e\x00{"level": "error"}'


def events(daemon: Any) -> list[dict[str, Any]]:
    """Of a daemon with --log-format json: every line is one."""
    return [json.loads(line) for line in daemon.output().splitlines()]


def wait_for_event(daemon: Any, text: str) -> dict[str, Any]:
    daemon.wait_for_output(text)
    wait_until(lambda: daemon.output().endswith("\n"), "the end of the line")
    return next(event for event in events(daemon) if text in event["message"])


def test_every_line_is_json_whatever_clients_are_called(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(dataset, data / "small")
    (data / "bad").mkdir()
    (data / "bad" / "graph.gl").write_bytes(b"no graph")
    daemon = start_daemon(data, "--log-format", "json", "--log-level", "debug")
    session = raw(daemon.address, client_name=HOSTILE, dataset="small")
    session.sample(2, [1, 2], [2])
    session.receive()
    session.sample(3, [10**9], [2])
    assert session.receive().error.code
    session.close()
    closed = wait_for_event(daemon, "closed after 2 requests of ")
    assert closed["level"] == "info"
    assert closed["message"].endswith(" s, of which the trainer waited 0.0 s")
    assert (closed["requests"], closed["failed"]) == (2, 1)
    assert closed["result_bytes"] > 0
    assert closed["seconds"] >= closed["waited_seconds"] == 0
    assert closed["client"] == r'a "quoted" \ name\n\x1b[31m\u202e\x00{"level": "error"}'
    answered = wait_for_event(daemon, "request 2 (sample on small): OK")
    assert (answered["level"], answered["kind"], answered["code"]) == ("debug", "sample", "OK")
    assert wait_for_event(daemon, "request 3 (sample")["code"] == "INVALID_ARGUMENT"
    # The lines of the start, and the warnings, are in the same form.
    assert wait_for_event(daemon, "listening on unix:")["level"] == "info"
    assert wait_for_event(daemon, "'bad' is left out")["level"] == "warning"
    with pytest.raises(gz.ServerError):
        gz.connect(daemon.address, dataset="bad")
    assert wait_for_event(daemon, "refused a session: DATA_LOSS")["level"] == "warning"
    assert daemon.stop() == 0
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", e["time"]) for e in events(daemon))


def test_a_traceback_is_a_field() -> None:
    try:
        raise RuntimeError("line\nbreak \udc80")
    except RuntimeError:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "it %s", ("broke",), sys.exc_info())
    record.__dict__ |= fields(path=Path("/a"), text="\udc80", number=1.5, nothing=None)
    document = json.loads(JsonFormatter().format(record))
    assert document["message"] == "it broke"
    assert (document["path"], document["text"]) == ("/a", r"\x80")
    assert (document["number"], document["nothing"]) == (1.5, None)
    assert document["traceback"][-1].startswith("break")


def test_failures_of_the_disk_are_logged_and_mistakes_of_clients_are_not(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--feature-io", "direct", "--row-cache", "0", setup=FAULT)
    session = raw(daemon.address, client_name="train.py")
    session.sample(2, [10**9], [2])
    assert session.receive().error.code == 3
    session.sample(3, [1], [2], columns=["x"])
    assert session.receive().error.code == 15
    daemon.wait_for_output(
        "ERROR session 1 of train.py, request 3 (sample on small) failed with DATA_LOSS: "
    )
    assert "Input/output error" in daemon.output()
    assert "request 2" not in daemon.output()
    session.close()


def test_the_log_of_failures_is_limited(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path
) -> None:
    daemon = start_daemon(dataset, "--feature-io", "direct", "--row-cache", "0", setup=FAULT)
    session = raw(daemon.address)
    for request_id in range(2, 302):
        session.sample(request_id, [1], [2], columns=["x"])
        session.receive()
    daemon.wait_for_output("more like: session 1 of")
    assert 100 <= daemon.output().count("failed with DATA_LOSS") < 200
    session.close()


def test_a_slow_request_is_logged_with_the_stage_that_was_slow(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, gate: Any
) -> None:
    """It stands in the queue while another one has the only worker."""
    daemon = start_daemon(
        dataset,
        *("--threads", "1", "--slow-request", "0.05", "--log-format", "json"),
        setup=gate.setup,
    )
    session = raw(daemon.address, client_name="train.py")
    session.sample(2, [1], [2])
    session.sample(3, [1], [2])
    stats = daemon_stats(daemon.address)
    wait_until(
        lambda: daemon_stats(daemon.address).sessions[0].age_ms > stats.sessions[0].age_ms + 60,
        "time",
    )
    gate.open()
    session.receive()
    session.receive()
    slow = wait_for_event(daemon, "request 3 (sample on small) took")
    assert slow["level"] == "warning"
    assert "most of it waiting for a worker: " in slow["message"]
    assert slow["queue_seconds"] >= 0.05
    assert slow["seconds"] >= slow["queue_seconds"]
    assert [event.code for event in daemon_stats(daemon.address).slow_requests] == ["OK", "OK"]
    session.close()


def test_quiet_levels_leave_sessions_out_and_a_reload_brings_them_back(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, tmp_path: Path
) -> None:
    file = tmp_path / "graphzero.toml"
    file.write_text('log-level = "error"\n')
    daemon = start_daemon(dataset, "--config", str(file))
    raw(daemon.address, client_name="first").close()
    wait_until(lambda: not daemon_stats(daemon.address).sessions, "the end of the first session")
    file.write_text('log-level = "info"\nlog-format = "json"\n')
    daemon.process.send_signal(1)
    daemon.wait_for_output("from now on: --log-level info instead of error")
    raw(daemon.address, client_name="second").close()
    daemon.wait_for_output("opened by second on")
    assert "first" not in daemon.output()
    [opened] = [line for line in daemon.output().splitlines() if "opened by second" in line]
    assert json.loads(opened)["client"] == "second"
