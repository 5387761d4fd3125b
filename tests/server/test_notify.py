"""What systemd is told: reloads with their time, and that the event loop is alive."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from graphzero.server.process.notify import Watchdog, notify
from waiting import DEADLINE_S


@pytest.fixture
def manager(
    runtime_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], dict[str, str]]]:
    """manager() -> the next message to systemd, as a dict."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(runtime_directory / "notify"))
        listener.settimeout(DEADLINE_S)
        monkeypatch.setenv("NOTIFY_SOCKET", str(runtime_directory / "notify"))
        yield lambda: dict(
            line.split("=", 1) for line in listener.recv(1000).decode().split("\n") if line
        )


def now_us() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def test_a_reload_is_told_with_its_time_and_when_it_is_over(
    manager: Callable[[], dict[str, str]], start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset)
    assert manager() == {"READY": "1"}
    for _ in range(2):
        asked = now_us()
        daemon.process.send_signal(signal.SIGHUP)
        told = manager()
        # systemd takes the READY=1 that follows for the end of this reload only if it is not older.
        assert told["RELOADING"] == "1"
        assert asked <= int(told["MONOTONIC_USEC"]) <= now_us()
        assert manager() == {"READY": "1"}


def test_the_watchdog_is_fed_as_long_as_the_daemon_serves(
    manager: Callable[[], dict[str, str]], start_daemon: Callable[..., Any], dataset: Path
) -> None:
    daemon = start_daemon(dataset, env={"WATCHDOG_USEC": "2000000"})
    assert [manager() for _ in range(4)] == [{"READY": "1"}, *3 * [{"WATCHDOG": "1"}]]
    daemon.process.send_signal(signal.SIGTERM)
    assert any(manager() == {"STOPPING": "1"} for _ in range(100))
    assert daemon.process.wait(timeout=60) == 0


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": str(os.getppid())},  # another process's
    ],
)
def test_nobody_is_told_who_did_not_ask(environment: dict[str, str]) -> None:
    assert Watchdog(environment).every_s == float("inf")


def test_the_watchdog_is_fed_four_times_as_often_as_systemd_looks() -> None:
    environment = {"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": str(os.getpid())}
    assert Watchdog(environment).every_s == 0.5


def test_a_systemd_that_does_not_read_holds_nobody_up(
    manager: Callable[[], dict[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    longest_queue = int(Path("/proc/sys/net/unix/max_dgram_qlen").read_text())
    for _ in range(longest_queue + 2):
        notify("WATCHDOG=1")
    assert "cannot tell systemd WATCHDOG=1: timed out" in caplog.text
    assert manager() == {"WATCHDOG": "1"}


def test_a_systemd_that_is_gone_is_no_reason_to_stop(
    runtime_directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(runtime_directory / "gone"))
    notify("WATCHDOG=1")
    assert "cannot tell systemd WATCHDOG=1" in caplog.text
