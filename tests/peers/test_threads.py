"""The threads that ask peers and stop calls, on a machine that has none left for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from graphzero.server.peers.directory import Peers
from graphzero.server.peers.running import RunningCall, StopWatch, entered
from graphzero.transport.host_port import HostPort
from sharded_daemons import free_ports
from waiting import wait_until


@contextmanager
def no_threads() -> Iterator[None]:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        yield


class Call:
    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def cancel(self) -> None:
        self.cancelled.set()


def test_calls_are_stopped_after_a_time_without_threads() -> None:
    watch = StopWatch()
    ended: Any = SimpleNamespace(stopped=True)
    with entered(RunningCall(ended)):
        with no_threads(), pytest.raises(RuntimeError):
            watch.watch(Call())
        call = Call()
        watch.watch(call)
        assert call.cancelled.wait(60)


def test_peers_are_asked_after_a_time_without_threads() -> None:
    peers = Peers([HostPort("127.0.0.1", free_ports(1)[0])], lambda: None, None)
    with no_threads(), pytest.raises(RuntimeError):
        peers._want()
    peers._want()
    wait_until(lambda: peers._found.number, "a round in which all peers were asked")
    peers.close()
