"""Names that stand for other addresses than before, as those of pods that were moved."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from sharded_daemons import deal, free_ports, start_parts
from waiting import DEADLINE_S

pytestmark = pytest.mark.slow

# In the daemon, "localhost" stands for the addresses in a file.
NAMES = """
import socket
real = socket.getaddrinfo
def found(host, port, *args, **options):
    if host != "localhost":
        return real(host, port, *args, **options)
    addresses = open({file!r}).read().split()
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]
socket.getaddrinfo = found
"""

# Closes all channels between the moment when a request learns which peer to ask, and its call.
CLOSE = """
from graphzero.transport.grpc_setup import import_grpc
import_grpc()
from graphzero.server.peers.directory import Peers
real, closed = Peers.wait_for, []
def close_then_return(self, dataset, part):
    peer = real(self, dataset, part)
    if len(closed) < 2:
        closed.append(part)
        self._forget_channels({})
    return peer
Peers.wait_for = close_then_return
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, dataset: Path) -> list[Path]:
    return deal(dataset, tmp_path_factory.mktemp("parts"), 3)


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Listens at 127.0.0.6 and never answers, so that asking all peers takes its longest."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.6", free_ports(1)[0]))
        listener.listen()
        listener.settimeout(DEADLINE_S)
        yield listener


def test_a_peer_whose_name_moves_answers_until_the_next_one_is_known(
    start_daemon: Callable[..., Any], parts: list[Path], tmp_path: Path, silent: socket.socket
) -> None:
    port = silent.getsockname()[1]
    names = tmp_path / "names"
    names.write_text("127.0.0.2 127.0.0.3")
    second = start_daemon(parts[1], "--listen", f"127.0.0.2:{port}")
    start_daemon(parts[2], "--listen", f"127.0.0.3:{port}")
    setup = NAMES.format(file=str(names))
    options = ("--peers", f"localhost:{port}", "--row-cache", "0")
    first = start_daemon(parts[0], *options, setup=setup)
    with gz.connect(first.address) as client, ThreadPoolExecutor() as threads:
        expected = np.asarray(client.gather("x", range(21)))
        start_daemon(parts[1], "--listen", f"127.0.0.4:{port}")
        start_daemon(parts[2], "--listen", f"127.0.0.5:{port}")
        names.write_text("127.0.0.4 127.0.0.5 127.0.0.6")
        second.kill()
        moved = threads.submit(client.gather, "x", range(7, 14))
        connection, _ = silent.accept()  # the daemon is asking the new addresses now
        with connection:
            assert np.array_equal(client.gather("x", range(14, 21)), expected[14:])
            assert np.array_equal(moved.result(DEADLINE_S), expected[7:14])


def test_a_call_on_a_channel_that_was_just_closed_is_made_again(
    start_daemon: Callable[..., Any], parts: list[Path]
) -> None:
    first, *_ = start_parts(start_daemon, parts, setup=CLOSE)
    with gz.connect(first.address) as client:
        assert client.gather("x", range(100)).shape == (100, 16)
