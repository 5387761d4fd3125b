"""SIGHUP: options of the file, the token and the certificate, without a restart."""

from __future__ import annotations

import os
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from certificates import make_certificate
from graphzero.client.daemon.daemon_calls import daemon_stats
from graphzero.server.settings.config import make_config
from graphzero.server.settings.options import OPTIONS
from graphzero.server.settings.reload import CHANGEABLE, reload_options
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow


def reload(daemon: Any, *told: str) -> None:
    """Returns when the daemon has reloaded, and has told these things on the way."""
    before = daemon.output().count("reloaded ")
    os.kill(daemon.pid, signal.SIGHUP)
    wait_until(lambda: daemon.output().count("reloaded ") > before, daemon.output)
    for text in told:
        assert text in daemon.output()


def write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def test_limits_of_the_file_change_and_what_cannot_is_told(
    start_daemon: Callable[..., Any], raw: Any, dataset: Path, tmp_path: Path
) -> None:
    file = tmp_path / "graphzero.toml"
    file.write_text('max-sessions = 1\nmax-ids = 2\nshm-limit = "64M"\n')
    daemon = start_daemon(dataset, "--config", str(file), "--max-in-flight", "3")
    first = raw(daemon.address)
    first.sample(2, [1, 2, 3], [2])
    assert "--max-ids" in first.receive().error.message
    with pytest.raises(gz.ResourceExhausted):
        gz.connect(daemon.address)

    file.write_text('max-sessions = 2\nmax-ids = 3\nshm-limit = "128M"\nmax-in-flight = 5\n')
    reload(
        daemon,
        "from now on: --max-sessions 2 instead of 1",
        "from now on: --max-ids 3 instead of 2",
        f"needs a restart: --shm-limit {128 << 20} instead of {64 << 20}",
    )
    assert "max-in-flight" not in daemon.output()  # the command line wins, as ever
    first.sample(3, [1, 2, 3], [2])  # in the session that was there before
    assert first.receive().result.batch_size == 3
    with gz.connect(daemon.address) as client:
        assert client.sample([1], fanout=[2]).batch_size == 1
    first.close()


def test_a_file_that_makes_no_sense_changes_nothing(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    file = tmp_path / "graphzero.toml"
    file.write_text("max-ids = 2\n")
    daemon = start_daemon(dataset, "--config", str(file))
    file.write_text("max-ids = 3\nmax-sessions = -1\n")
    reload(daemon, f"stay as they were: {file}: max-sessions: found -1")
    file.write_text(f"max-ids = 3\ndrain-timeout = {10**400}\n")
    reload(daemon, f"stay as they were: {file}: drain-timeout: found 1000")
    file.unlink()
    reload(daemon, f"stay as they were: {file}: No such file")
    with (
        gz.connect(daemon.address) as client,
        pytest.raises(gz.InvalidRequest, match="more than 2 ids"),
    ):
        client.sample([1, 2, 3], fanout=[2])


def test_more_sessions_than_a_message_can_tell_are_no_obstacle(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    file = tmp_path / "graphzero.toml"
    file.write_text("max-sessions = 5000000000\n")
    daemon = start_daemon(dataset, "--config", str(file))
    assert daemon_stats(daemon.address).max_sessions == 2**32 - 1


def shown_certificate(address: str) -> str:
    """That which the daemon shows at the start of a connection."""
    host, port = address.split(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection((host, int(port)), DEADLINE_S) as plain,
        context.wrap_socket(plain) as secured,
    ):
        shown = secured.getpeercert(binary_form=True)
    assert shown is not None
    return ssl.DER_cert_to_PEM_cert(shown)


def test_token_and_certificate_are_replaced_while_trainers_go_on(
    start_daemon: Callable[..., Any], dataset: Path, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    token_file = tmp_path / "token"
    write_secret(token_file, b"first-token-first-token")
    daemon = start_daemon(
        dataset,
        *("--listen", "127.0.0.1:0", "--token-file", str(token_file)),
        *("--tls-certificate", str(certificate), "--tls-key", str(key)),
    )
    address = daemon.tcp_address
    old, old_root = certificate.read_text(), tmp_path / "old.pem"
    old_root.write_text(old)
    assert shown_certificate(address).split() == old.split()
    first = gz.connect(address, token="first-token-first-token", root_certificate=old_root)
    batch = first.sample([1, 2], fanout=[3])

    # A key that is not that of the certificate: both stay, and so does the token.
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    new_certificate, new_key = make_certificate(fresh)
    write_secret(token_file, b"second-token-second-token")
    write_secret(key, new_key.read_bytes())
    reload(daemon, f"stay as they were: --tls-key {key}: is not the key of")
    assert shown_certificate(address).split() == old.split()

    certificate.write_bytes(new_certificate.read_bytes())
    reload(daemon)
    assert shown_certificate(address).split() == new_certificate.read_text().split()
    again = first.sample([1, 2], fanout=[3], seed=batch.seed)  # its connection is as it was
    assert again.n_id.tolist() == batch.n_id.tolist()
    first.close()
    with pytest.raises(gz.AccessDenied):
        gz.connect(address, token="first-token-first-token", root_certificate=certificate)
    with pytest.raises(gz.ServerUnavailable, match="another certificate than expected"):
        gz.connect(address, token="second-token-second-token", root_certificate=old_root)
    with gz.connect(
        address, token="second-token-second-token", root_certificate=certificate
    ) as client:
        assert client.sample([1], fanout=[2]).batch_size == 1


# Values that differ from the defaults, for options that take no number of 7.
OTHERS: dict[str, Any] = {
    "data": "/elsewhere",
    "socket": "/elsewhere/s.sock",
    "group": "users",
    "listen": "127.0.0.1:7",
    "http": "127.0.0.1:8",
    "peers": "127.0.0.1:9",
    "peer-root-certificate": "/elsewhere/root.pem",
    "warm": "none",
    "feature-io": "mapped",
    "topology-io": "mapped",
    "shm-limit": "64M",
    "work-memory": "64M",
    "log-level": "debug",
    "log-format": "json",
}
TOGETHER = ("tls-certificate", "tls-key", "token-file")


@pytest.mark.parametrize("name", sorted(set(OPTIONS) - set(TOGETHER)))
def test_every_option_either_changes_or_asks_for_a_restart(name: str, tmp_path: Path) -> None:
    now = make_config({"data": str(tmp_path)})
    read = make_config({"data": str(tmp_path), name: OTHERS.get(name, 7)})
    found = reload_options(now, read)
    told = found.changed if name in CHANGEABLE else found.needs_restart
    assert [text.split()[0] for text in told] == [f"--{name}"]
    assert len(found.changed) + len(found.needs_restart) == 1
    assert (found.config == now) == (name not in CHANGEABLE)
    assert reload_options(found.config, read).changed == []


def test_other_files_are_taken_but_not_whether_there_are_any(tmp_path: Path) -> None:
    def config(*files: str) -> Any:
        values = dict(zip(TOGETHER, files, strict=False))
        return make_config({"data": str(tmp_path), "listen": "127.0.0.1:0", **values})

    now, other, without = config("a", "b", "c"), config("d", "e", "f"), config()
    found = reload_options(now, other)
    assert found.config.listen == other.listen
    assert len(found.changed) == 3
    found = reload_options(now, without)
    assert found.config.listen == now.listen
    assert len(found.needs_restart) == 3
