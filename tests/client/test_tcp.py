"""Daemons over TCP: batches inline, tokens, certificates."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from certificates import make_certificate
from graphzero.commands.cli import main

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
    path.chmod(0o600)
    return str(path)


def test_batches_over_tcp_travel_inline(listen: Callable[..., str], graph: gz.Graph) -> None:
    with gz.connect(listen()) as client:
        assert client.info().transport == "inline"
        batch = client.sample(range(2000), [5, 5], seed=3)
        assert batch.n_id.tolist() == graph.sample(range(2000), [5, 5], seed=3).n_id.tolist()
        assert len(list(client.loader("train", [3], 100, shuffle=True))) == 7


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls(pair: tuple[Path, Path]) -> tuple[str, ...]:
    """Options of a daemon with TLS."""
    return ("--tls-certificate", str(pair[0]), "--tls-key", str(pair[1]))


def test_a_token_is_needed_where_one_is_set(
    listen: Callable[..., str], token_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRAPHZERO_TOKEN", raising=False)
    address = listen("--token-file", token_file)
    for wrong in (None, "another token of enough bytes"):
        with pytest.raises(gz.AccessDenied, match="a wrong token, or none"):
            gz.connect(address, token=wrong, plaintext_token=True)
    with gz.connect(address, token=TOKEN, plaintext_token=True) as client:
        assert client.sample([1], [2]).batch_size == 1
        assert len(client.datasets()) == 1
    monkeypatch.setenv("GRAPHZERO_TOKEN", TOKEN)
    gz.connect(address, plaintext_token=True).close()


def test_tls_with_a_certificate_of_one_s_own(
    listen: Callable[..., str], token_file: str, tls: tuple[str, ...], pair: tuple[Path, Path]
) -> None:
    address = listen(*tls, "--token-file", token_file)
    with gz.connect(address, token=TOKEN, root_certificate=pair[0]) as client:
        assert client.sample([1], [2]).batch_size == 1
    with pytest.raises(gz.ServerUnavailable, match="speaks TLS and this client does not"):
        gz.connect(address, token=TOKEN, plaintext_token=True)


@pytest.mark.parametrize("source", ["argument", "environment"])
def test_a_token_never_goes_to_a_port_that_proved_nothing(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds the port, for instance while the daemon restarts, would have it."""
    monkeypatch.delenv("GRAPHZERO_TOKEN", raising=False)
    given = {"token": TOKEN} if source == "argument" else {}
    if source == "environment":
        monkeypatch.setenv("GRAPHZERO_TOKEN", TOKEN)
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        squatter.setblocking(False)
        address = f"127.0.0.1:{squatter.getsockname()[1]}"
        with pytest.raises(gz.AccessDenied, match="root_certificate=") as caught:
            gz.connect(address, timeout=5, **given)  # type: ignore[arg-type]
        assert "plaintext_token=True" in str(caught.value)
        assert TOKEN not in str(caught.value)
        with pytest.raises(BlockingIOError):  # it was not even knocked at
            squatter.accept()


def test_ping_and_top_go_by_the_certificate(
    listen: Callable[..., str],
    token_file: str,
    tls: tuple[str, ...],
    pair: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = listen(*tls, "--token-file", token_file)
    monkeypatch.setenv("GRAPHZERO_TOKEN", TOKEN)
    assert main(["ping", address]) == 1
    assert "root_certificate=" in capsys.readouterr().err
    assert main(["ping", address, "--root-certificate", str(pair[0])]) == 0
    monkeypatch.setenv("GRAPHZERO_ROOT_CERTIFICATE", str(pair[0]))
    assert main(["top", "--once", address]) == 0
    gz.connect(address).close()


def test_whoever_disagrees_about_tls_is_told_so(
    listen: Callable[..., str],
    tls: tuple[str, ...],
    pair: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    secure, plain = listen(*tls), listen()
    other = make_certificate(tmp_path)[0]
    for address, options, message in (
        (secure, {}, "speaks TLS and this client does not: give root_certificate="),
        (secure, {"root_certificate": other}, "has another certificate than expected"),
        (plain, {"root_certificate": pair[0]}, "speaks no TLS, and this client does"),
    ):
        with pytest.raises(gz.ServerUnavailable, match=f"^{address} {message}") as caught:
            gz.connect(address, **options)  # type: ignore[arg-type]
        assert "SSL" not in str(caught.value)
    assert main(["ping", secure]) == 1
    assert "speaks TLS" in capsys.readouterr().err


def test_a_root_certificate_that_is_none_is_named(tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("junk")
    with pytest.raises(ValueError, match=f"{junk}: found no certificate"):
        gz.connect("127.0.0.1:1", root_certificate=junk)
