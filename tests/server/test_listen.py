"""Addresses of the daemon: options that do not go together, files that cannot be used, ports in
other hands, and what the start-up lines say about who may connect."""

from __future__ import annotations

import os
import socket as socketlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import graphzero as gz
import grpc
import pytest
from certificates import make_certificate
from graphzero.base.errors import InputError
from graphzero.server.network.credentials import Secrets, TlsConfig, read_token
from graphzero.server.settings.config import make_config

pytestmark = pytest.mark.slow

TOKEN = "a token of enough bytes"


def config_error(**options: object) -> str:
    with pytest.raises(InputError) as caught:
        make_config({"data": "/d", **{k.replace("_", "-"): v for k, v in options.items()}})
    return str(caught.value)


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    return path


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> TlsConfig:
    return TlsConfig(*make_certificate(tmp_path_factory.mktemp("tls")))


# --- options ---


@pytest.mark.parametrize(("given", "missing"), [("certificate", "key"), ("key", "certificate")])
def test_half_a_pair_is_an_error_that_names_the_other_half(given: str, missing: str) -> None:
    text = config_error(listen="127.0.0.1:0", **{f"tls-{given}": "/f.pem"})
    assert f"give --tls-{missing}" in text


@pytest.mark.parametrize("option", ["tls-certificate", "tls-key", "token-file"])
def test_options_of_tcp_without_tcp_are_an_error(option: str) -> None:
    text = config_error(**{option: "/f"})
    assert f"--{option}" in text
    assert "--listen" in text


@pytest.mark.parametrize(
    ("listen", "expected"),
    [
        ("127.0.0.1:99999", "0 to 65535"),
        ("127.0.0.1:65536", "0 to 65535"),
        ("127.0.0.1:4294967376", "0 to 65535"),
        ("127.0.0.1:-1", "HOST:PORT"),
        ("127.0.0.1:\u0667", "HOST:PORT"),
        ("127.0.0.1", "HOST:PORT"),
        (":7171", "HOST:PORT"),
        ("", "HOST:PORT"),
        ("::1:7171", "[::1]:7171"),
        ("[::1]", "brackets"),
        ("[localhost]:7171", "IPv6"),
        ("a\x1b[2J\nb:7171x", "a\\x1b[2J\\nb:7171x"),
    ],
)
def test_an_address_that_does_not_exist_is_an_error(listen: str, expected: str) -> None:
    assert expected in config_error(listen=listen)


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "localhost:65535", "[::1]:7171"])
def test_loopback_addresses_need_nothing_else(listen: str) -> None:
    tcp = make_config({"data": "/d", "listen": listen}).listen.tcp
    assert str(tcp.address) == listen


@pytest.mark.parametrize("listen", ["0.0.0.0:1", "[::]:1", "example.org:1", "192.0.2.1:1"])
def test_others_need_tls_and_a_token(listen: str) -> None:
    assert "--token-file" in config_error(listen=listen)
    assert "--token-file" in config_error(listen=listen, tls_certificate="/c", tls_key="/k")


# --- files ---


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_token_that_other_users_can_get_at_is_refused(token_file: Path, mode: int) -> None:
    token_file.chmod(mode)
    with pytest.raises(InputError, match=f"{mode:04o}.*chmod 600 {token_file}"):
        read_token(token_file)
    token_file.chmod(0o400)
    assert read_token(token_file) == TOKEN.encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"short", "at least 16"), ("ein schönes Geheimnis".encode(), "ASCII"), (b"a\n" * 20, "line")],
)
def test_a_token_that_no_client_could_send_is_refused(
    token_file: Path, content: bytes, expected: str
) -> None:
    token_file.write_bytes(content)
    with pytest.raises(InputError, match=expected):
        read_token(token_file)


def test_a_pair_that_was_made_together_is_taken(pair: TlsConfig) -> None:
    Secrets.read(pair, None)


def test_tls_files_that_cannot_be_used_are_named_with_the_reason(
    pair: TlsConfig, tmp_path: Path
) -> None:
    def problem(certificate: Path, key: Path) -> str:
        with pytest.raises(InputError) as caught:
            Secrets.read(TlsConfig(certificate, key), None)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    junk = tmp_path / "junk.pem"
    junk.write_text("-----BEGIN RUBBISH-----")
    junk.chmod(0o600)
    missing = tmp_path / "missing.pem"
    (tmp_path / "other").mkdir()
    _, other_key = make_certificate(tmp_path / "other")
    assert f"--tls-certificate {junk}: found no certificate" in problem(junk, pair.key)
    assert f"--tls-key {junk}: found no private key" in problem(pair.certificate, junk)
    assert f"--tls-certificate {missing}: No such file" in problem(missing, pair.key)
    assert f"--tls-key {missing}: No such file" in problem(pair.certificate, missing)
    assert f"is not the key of {pair.certificate}" in problem(pair.certificate, other_key)
    other_key.chmod(0o644)
    assert f"chmod 600 {other_key}" in problem(pair.certificate, other_key)


def test_an_encrypted_key_is_an_error_and_no_question(pair: TlsConfig, tmp_path: Path) -> None:
    encrypted = tmp_path / "encrypted.pem"
    command = ["openssl", "pkey", "-in", str(pair.key), "-aes128", "-passout", "pass:secret"]
    subprocess.run([*command, "-out", str(encrypted)], check=True, capture_output=True)
    encrypted.chmod(0o600)
    with pytest.raises(InputError, match="encrypted"):
        Secrets.read(TlsConfig(pair.certificate, encrypted), None)


# --- ports ---


def run_server(*options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "graphzero.server", *map(str, options)],
        capture_output=True,
        text=True,
        timeout=120,
    )


@contextmanager
def listening(host: str) -> Iterator[int]:
    """A port that someone else holds."""
    family = socketlib.AF_INET6 if ":" in host else socketlib.AF_INET
    with closing(socketlib.socket(family)) as other:
        other.bind((host, 0))
        other.listen()
        yield other.getsockname()[1]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_port_in_other_hands_is_one_line(
    name: str, dataset: Path, runtime_directory: Path
) -> None:
    """Also if the name has another address whose port is free: clients would go to either."""
    with listening("127.0.0.1") as port:
        done = run_server(
            *("--data", dataset, "--socket", runtime_directory / "s.sock"),
            *("--listen", f"{name}:{port}"),
        )
    assert done.returncode == 1
    assert f"another process listens on 127.0.0.1:{port}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("listen", "expected"),
    [("no-such-host.invalid:1", "cannot resolve"), ("192.0.2.1:7171", "no address")],
)
def test_a_host_that_is_not_this_machine_is_one_line(
    listen: str,
    expected: str,
    dataset: Path,
    runtime_directory: Path,
    pair: TlsConfig,
    token_file: Path,
) -> None:
    done = run_server(
        *("--data", dataset, "--socket", runtime_directory / "s.sock", "--listen", listen),
        *("--tls-certificate", pair.certificate, "--tls-key", pair.key),
        *("--token-file", token_file),
    )
    assert done.returncode == 1
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


# --- what the start-up lines say ---


def doors(daemon: Any) -> dict[str, str]:
    """Who may connect, by address."""
    daemon.wait_for_output("connect with")
    lines = [line.strip() for line in daemon.output().splitlines()]
    found = [line for line in lines if line.startswith("listening on ")]
    return dict(line.removeprefix("listening on ").split(" for ", 1) for line in found)


def test_start_says_of_each_address_who_may_connect(
    start_daemon: Callable[..., Any], dataset: Path, token_file: Path, pair: TlsConfig
) -> None:
    tls = ("--tls-certificate", str(pair.certificate), "--tls-key", str(pair.key))
    token = ("--token-file", str(token_file))
    for options, access, warning in (
        ((), "anyone on this machine (no token!), without TLS", "any user of this machine"),
        (tls, "anyone on this machine (no token!), with TLS", "any user of this machine"),
        (token, "whoever has the token, without TLS", "has a token but no TLS"),
        ((*tls, *token), "whoever has the token, with TLS", ""),
    ):
        daemon = start_daemon(dataset, "--listen", "127.0.0.1:0", *options)
        found = doors(daemon)
        assert found.pop(daemon.address) == "this user"
        ((address, text),) = found.items()
        assert text == access
        warnings = [line for line in daemon.output().splitlines() if line.startswith("warning: ")]
        about = [line for line in warnings if address in line]
        assert bool(about) == bool(warning)
        assert all(warning in line for line in about)
        daemon.stop()


def test_a_socket_for_a_group_says_so(start_daemon: Callable[..., Any], dataset: Path) -> None:
    import grp

    group = grp.getgrgid(os.getegid()).gr_name
    daemon = start_daemon(dataset, "--group", group)
    assert doors(daemon) == {daemon.address: f"this user and group {group}"}


def test_every_address_of_a_name_is_served(start_daemon: Callable[..., Any], dataset: Path) -> None:
    found = doors(start_daemon(dataset, "--listen", "localhost:0"))
    tcp = [address for address in found if not address.startswith("unix:")]
    assert "127.0.0.1" in {address.rpartition(":")[0] for address in tcp}
    assert len({address.rpartition(":")[2] for address in tcp}) == 1
    for address in tcp:
        gz.connect(address).close()


def test_a_wrong_token_is_refused_and_the_socket_needs_none(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, token_file: Path
) -> None:
    daemon = start_daemon(dataset, "--listen", "127.0.0.1:0", "--token-file", str(token_file))
    address = next(a for a in doors(daemon) if not a.startswith("unix:"))
    with pytest.raises(grpc.RpcError) as caught:
        raw(address)
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
    raw(daemon.address).close()
