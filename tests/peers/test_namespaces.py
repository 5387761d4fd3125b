"""Daemons of two parts on two machines, as far as the network goes: namespaces with a link between
them, TLS and a token; and a link that breaks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import numpy as np
import pytest
from certificates import make_certificate
from network_namespaces import ADDRESSES, Namespaces, network_namespaces
from sharded_daemons import deal

pytestmark = pytest.mark.slow

PORT = 7433


@pytest.fixture
def namespaces() -> Iterator[Namespaces]:
    with network_namespaces() as made:
        yield made


def test_the_same_rows_over_a_link_that_breaks_and_comes_back(
    namespaces: Namespaces, start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
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
            setup=setup,
        )
        for part, address, setup in zip(
            deal(dataset, tmp_path / "parts", 2), ADDRESSES, namespaces.setups, strict=True
        )
    ]  # fmt: skip
    expected = np.asarray(gz.FeatureStore(dataset / "x.gd").get_tensor())
    with gz.connect(first.address, retry=True, timeout=5, retry_timeout=120) as client:
        assert np.array_equal(client.gather("x", range(2000)), expected)
        namespaces.set_link("down")
        with (
            gz.connect(first.address, timeout=2) as impatient,
            pytest.raises(gz.ServerUnavailable, match=rf"part 1.*{ADDRESSES[1]}"),
        ):
            impatient.gather("x", range(100))
        # Whoever retries waits beyond its own deadline, and goes on.
        mended = threading.Timer(7.0, namespaces.set_link, ["up"])
        mended.start()
        assert np.array_equal(client.gather("x", range(2000)), expected)
        mended.join()
