"""Daemons over TCP: batches inline, tokens, certificates."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest

TOKEN = "a token of enough bytes"


@pytest.fixture
def listen(start_daemon: Callable[..., Any], dataset: Path) -> Callable[..., str]:
    """listen(*options) -> the TCP address of a daemon."""

    def start(*options: str) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        start_daemon(dataset, "--listen", f"127.0.0.1:{port}", *options)
        return f"127.0.0.1:{port}"

    return start


@pytest.fixture
def token_file(tmp_path: Path) -> str:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    return str(path)


def test_batches_over_tcp_travel_inline(listen: Callable[..., str], graph: gz.Graph) -> None:
    with gz.connect(listen()) as client:
        assert client.info().transport == "inline"
        batch = client.sample(range(2000), [5, 5], seed=3)
        assert batch.n_id.tolist() == graph.sample(range(2000), [5, 5], seed=3).n_id.tolist()
        assert len(list(client.loader("train", [3], 100, shuffle=True))) == 7


def test_a_token_is_needed_where_one_is_set(
    listen: Callable[..., str], token_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRAPHZERO_TOKEN", raising=False)
    address = listen("--token-file", token_file)
    for wrong in (None, "another token of enough bytes"):
        with pytest.raises(gz.AccessDenied, match="token"):
            gz.connect(address, token=wrong)
    with gz.connect(address, token=TOKEN) as client:
        assert client.sample([1], [2]).batch_size == 1
        assert len(client.datasets()) == 1
    monkeypatch.setenv("GRAPHZERO_TOKEN", TOKEN)
    gz.connect(address).close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate")
def test_tls_with_a_certificate_of_one_s_own(
    listen: Callable[..., str], token_file: str, tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", key, "-out", certificate, "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    address = listen(
        *("--tls-certificate", str(certificate), "--tls-key", str(key)),
        *("--token-file", token_file),
    )
    with gz.connect(address, token=TOKEN, root_certificate=certificate) as client:
        assert client.sample([1], [2]).batch_size == 1
    with pytest.raises(gz.ServerUnavailable):
        gz.connect(address, token=TOKEN)  # speaks without TLS
