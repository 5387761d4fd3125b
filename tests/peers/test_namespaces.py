"""Daemons of two parts on two machines, as far as the network goes: namespaces with a link between
them, TLS and a token; and a link that breaks."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from certificates import make_certificate
from sharded_daemons import deal

pytestmark = pytest.mark.slow

ADDRESSES = ("10.77.32.1", "10.77.32.2")
PORT = 7433
# Makes the daemon's process enter a network namespace before it does anything else.
ENTER = """
import ctypes, os
place = os.open("/run/netns/{name}", os.O_RDONLY)
assert ctypes.CDLL(None).setns(place, 0x40000000) == 0
"""


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    """Two, with a link between them."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and iproute2")
    names = tuple(f"gz-{os.getpid()}-{side}" for side in "ab")
    made = [subprocess.run(["ip", "netns", "add", n], capture_output=True) for n in names]
    if any(done.returncode for done in made):
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        pytest.skip(f"namespaces are not permitted: {made[0].stderr.decode().strip()}")
    try:
        link = ["ip", "-n", names[0], "link", "add", "gz0", "type", "veth", "peer", "name", "gz1"]
        subprocess.run([*link, "netns", names[1]], check=True)
        for number, (name, address) in enumerate(zip(names, ADDRESSES, strict=True)):
            inside = ["ip", "-n", name]
            subprocess.run(
                [*inside, "addr", "add", f"{address}/30", "dev", f"gz{number}"], check=True
            )
            subprocess.run([*inside, "link", "set", f"gz{number}", "up"], check=True)
            subprocess.run([*inside, "link", "set", "lo", "up"], check=True)
        yield names[0], names[1]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=True)
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    assert not any(name in left for name in names)


def test_the_same_rows_over_a_link_that_breaks_and_comes_back(
    namespaces: tuple[str, str], start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path, *ADDRESSES)
    token = tmp_path / "token"
    token.write_text("a token of enough bytes")
    token.chmod(0o600)
    access = ("--tls-certificate", str(certificate), "--tls-key", str(key),
              "--token-file", str(token), "--peer-root-certificate", str(certificate))  # fmt: skip
    peers = ",".join(f"{address}:{PORT}" for address in ADDRESSES)
    first, _ = [
        start_daemon(
            part, "--listen", f"{address}:{PORT}", "--peers", peers, "--row-cache", "0", *access,
            setup=ENTER.format(name=name),
        )
        for part, address, name in zip(
            deal(dataset, tmp_path / "parts", 2), ADDRESSES, namespaces, strict=True
        )
    ]  # fmt: skip
    link = ["ip", "-n", namespaces[0], "link", "set", "gz0"]
    expected = np.asarray(gz.FeatureStore(dataset / "x.gd").get_tensor())
    with gz.connect(first.address, retry=True, timeout=5, retry_timeout=120) as client:
        assert np.array_equal(client.gather("x", range(2000)), expected)
        subprocess.run([*link, "down"], check=True)
        with (
            gz.connect(first.address, timeout=2) as impatient,
            pytest.raises(gz.ServerUnavailable, match=rf"part 1.*{ADDRESSES[1]}"),
        ):
            impatient.gather("x", range(100))
        # Whoever retries waits beyond its own deadline, and goes on.
        mended = threading.Timer(7.0, lambda: subprocess.run([*link, "up"], check=True))
        mended.start()
        assert np.array_equal(client.gather("x", range(2000)), expected)
        mended.join()
