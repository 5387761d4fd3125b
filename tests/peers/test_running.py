"""Which peer is named to a request whose time runs out."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from graphzero.server.peers.running import CallsAtWorkers, RunningCall

PEER = "part 1 at host:1 has not answered yet"


def make_call() -> RunningCall:
    call: Any = SimpleNamespace(stopped=False)
    return RunningCall(call)


def wait_in_vain(calls: CallsAtWorkers) -> None:
    """Another request of the session waits for a peer until its time runs out."""
    other = make_call()
    with calls.having(other, time.monotonic()):
        other.waiting_for = PEER


def test_a_request_that_waits_for_a_peer_names_it() -> None:
    calls, ours, arrived = CallsAtWorkers(), make_call(), time.monotonic()
    with calls.having(ours, arrived):
        assert calls.peer_in_the_way(ours, arrived) == ""
        ours.waiting_for = PEER
        assert calls.peer_in_the_way(ours, arrived) == PEER


def test_a_request_without_a_worker_names_the_peer_that_others_wait_for() -> None:
    calls, ours, other, arrived = CallsAtWorkers(), make_call(), make_call(), time.monotonic()
    with calls.having(other, arrived):
        assert calls.peer_in_the_way(ours, arrived) == ""
        other.waiting_for = PEER
        assert calls.peer_in_the_way(ours, arrived) == PEER
    assert calls.peer_in_the_way(ours, arrived) == PEER
    assert calls.peer_in_the_way(ours, time.monotonic() + 1) == ""  # it came later


def test_a_request_that_a_worker_takes_up_at_the_last_moment_names_that_peer() -> None:
    calls, ours, arrived = CallsAtWorkers(), make_call(), time.monotonic() - 60
    wait_in_vain(calls)
    with calls.having(ours, arrived):
        assert calls.peer_in_the_way(ours, arrived) == PEER


def test_a_request_that_runs_again_after_it_waited_for_memory_names_no_peer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, ours = CallsAtWorkers(), make_call()
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with calls.having(ours, 0.0):
        wait_in_vain(calls)
        now = 40.0
    now = 41.0
    with calls.having(ours, 0.0):
        now = 60.0
        assert calls.peer_in_the_way(ours, 0.0) == ""


def test_a_request_that_takes_long_itself_names_no_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, ours, arrived = CallsAtWorkers(), make_call(), time.monotonic()
    wait_in_vain(calls)
    with calls.having(ours, arrived):
        later = time.monotonic() + 60
        monkeypatch.setattr(time, "monotonic", lambda: later)
        assert calls.peer_in_the_way(ours, arrived) == ""
