"""Finding the daemon, and refusing sockets in other hands."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import graphzero as gz
import pytest
from graphzero.client.connect import ConnectOptions
from graphzero.client.connection.address import find_address
from graphzero.client.dataset.files import open_visible
from graphzero.client.portable_client import client_of
from graphzero.transport.runtime_dir import default_socket, private_directory, socket_for_data

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to a second user")
OTHER_UID = 54321


@pytest.fixture
def listening(runtime_directory: Path) -> Iterator[Path]:
    """A socket that someone listens on."""
    path = runtime_directory / "x.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(path))
        server.listen()
        yield path


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("unix:/run/gz.sock", "unix:/run/gz.sock"),
        ("unix:///run/gz.sock", "unix:/run/gz.sock"),
        ("/run/gz.sock", "unix:/run/gz.sock"),
        (Path("/run/gz.sock"), "unix:/run/gz.sock"),
        ("/run/a:b.sock", "unix:/run/a:b.sock"),
        ("localhost:7777", "localhost:7777"),
        ("[::1]:7777", "[::1]:7777"),
    ],
)
def test_address_syntax(given: str, target: str) -> None:
    assert find_address(given).target == target


@pytest.mark.parametrize(
    "given",
    [
        "unix:gz.sock",
        "host:",
        ":7777",
        "host:port",
        "h:0",
        "h:65536",
        "::1:7777",
        "[x]:1",
    ],
)
def test_other_syntax_is_an_error_that_shows_it(given: str) -> None:
    with pytest.raises(ValueError, match="address"):
        find_address(given)


def test_an_address_without_a_colon_is_a_path_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_address("gz.sock").target == f"unix:{tmp_path}/gz.sock"
    assert find_address(Path("run/gz.sock")).target == f"unix:{tmp_path}/run/gz.sock"
    with pytest.raises(gz.ServerUnavailable, match=f"no daemon at {tmp_path}/gz.sock"):
        gz.connect("gz.sock")
    options = ConnectOptions("gz.sock")
    monkeypatch.chdir("/")
    assert options.find().target == f"unix:{tmp_path}/gz.sock"  # also after another chdir()


def test_adapters_take_the_relative_path_of_a_socket(
    listening: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(listening.parent)
    connected = []
    monkeypatch.setattr("graphzero.client.portable_client.connect", connected.append)
    client_of(listening.name)
    assert connected == [listening.name]


def test_a_directory_as_address_names_the_argument_for_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is a directory; connect\(data="):
        gz.connect(tmp_path)


def test_argument_wins_over_environment_wins_over_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GRAPHZERO_ADDRESS", raising=False)
    assert find_address().target == f"unix:{default_socket()}"
    monkeypatch.setenv("GRAPHZERO_ADDRESS", "/env.sock")
    assert find_address().target == "unix:/env.sock"
    assert find_address("/argument.sock").target == "unix:/argument.sock"


def test_an_ipv6_address_without_brackets_is_shown_with_them() -> None:
    with pytest.raises(ValueError, match=r"expected \[::1\]:7777"):
        find_address("::1:7777")


def test_token_comes_from_argument_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHZERO_TOKEN", "from-environment\n")
    assert find_address("example.org:1").token == "from-environment"
    assert find_address("example.org:1", token="given").token == "given"
    assert "given" not in repr(find_address("example.org:1", token="given"))


def test_a_socket_s_daemon_gets_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be another user's, and asks for none."""
    monkeypatch.setenv("GRAPHZERO_TOKEN", "from-environment")
    assert find_address("/run/gz.sock", token="given", server_uid=OTHER_UID).token is None


def test_a_token_that_cannot_be_sent_is_an_error() -> None:
    with pytest.raises(ValueError, match="ASCII"):
        find_address("example.org:1", token="geheim\nnis")


def test_other_machines_are_spoken_to_with_tls_only() -> None:
    assert find_address("example.org:7777").secure
    assert not find_address("127.0.0.1:7777").secure
    assert not find_address("[::1]:7777").secure
    assert not find_address("/run/gz.sock").secure


def test_a_path_that_no_socket_can_have_is_a_clear_error() -> None:
    find_address("/" + "x" * 106)
    with pytest.raises(ValueError, match="has 108 bytes, a Unix socket takes at most 107"):
        find_address("/" + "x" * 107)


def test_a_missing_socket_says_how_to_start_a_daemon(runtime_directory: Path) -> None:
    with pytest.raises(gz.ServerUnavailable, match="graphzero-server --data"):
        gz.connect(runtime_directory / "none.sock")


def test_a_socket_that_nobody_listens_on_is_unavailable(listening: Path) -> None:
    stale = listening.with_name("stale.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(stale))
    with pytest.raises(gz.ServerUnavailable, match=str(stale)):
        gz.connect(stale)


def test_a_file_that_is_no_socket_is_refused(runtime_directory: Path) -> None:
    path = runtime_directory / "file"
    path.touch()
    with pytest.raises(gz.AccessDenied, match="not a socket"):
        gz.connect(path)


@needs_root
def test_a_socket_of_another_user_is_refused_unless_named(listening: Path) -> None:
    # Root is trusted and runs this test, so the check is made as a third user would make it.
    os.chown(listening, OTHER_UID, OTHER_UID)
    with pytest.raises(gz.AccessDenied, match=f"belongs to uid {OTHER_UID}"):
        find_address(listening).require_trusted()
    find_address(listening, server_uid=OTHER_UID).require_trusted()


@needs_root
def test_a_directory_that_one_may_not_enter_is_no_missing_daemon(listening: Path) -> None:
    listening.parent.chmod(0o700)
    os.seteuid(OTHER_UID)
    try:
        with pytest.raises(gz.AccessDenied, match=r"not open to you.*--group NAME"):
            find_address(listening).require_trusted()
    finally:
        os.seteuid(0)


@needs_root
@pytest.mark.parametrize("closed", ["data", "parent"])
def test_data_that_one_may_not_read_is_access_denied(
    dataset: Path, runtime_directory: Path, closed: str
) -> None:
    runtime_directory.chmod(0o755)
    data = runtime_directory / "parent" / "data"
    shutil.copytree(dataset, data)
    (data if closed == "data" else data.parent).chmod(0o700)
    info: Any = SimpleNamespace(path=str(data), fingerprint="")
    os.seteuid(OTHER_UID)
    try:
        for use in (lambda: gz.connect(data=data), lambda: client_of(data)):
            with pytest.raises(gz.AccessDenied, match=f"{data}: .*not open to you"):
                use()
        with pytest.raises(gz.ServerUnavailable, match=r"not visible here \(Permission denied\)"):
            open_visible(info, "the column cannot be mapped", "use gather()")
    finally:
        os.seteuid(0)


@needs_root
def test_a_directory_of_another_user_is_refused(listening: Path) -> None:
    os.chown(listening.parent, OTHER_UID, OTHER_UID)
    with pytest.raises(gz.AccessDenied, match=str(listening.parent)):
        find_address(listening).require_trusted()


def test_a_directory_that_anyone_may_change_is_refused(listening: Path) -> None:
    listening.parent.chmod(0o777)
    with pytest.raises(gz.AccessDenied, match="anyone may replace the socket"):
        find_address(listening).require_trusted()
    listening.parent.chmod(0o1777)  # as /tmp: only the owner may replace it
    find_address(listening).require_trusted()


def test_default_socket_is_in_the_user_s_runtime_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert default_socket() == tmp_path / "graphzero/server.sock"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    assert default_socket() == Path(f"/tmp/graphzero-{os.geteuid()}/server.sock")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert default_socket() == Path(f"/tmp/graphzero-{os.geteuid()}/server.sock")


def test_every_directory_has_a_socket_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert socket_for_data(tmp_path / "a") == socket_for_data(tmp_path / "link")
    assert socket_for_data(tmp_path / "a") != socket_for_data(tmp_path)


def test_private_directory_is_made_private(tmp_path: Path) -> None:
    made = private_directory(tmp_path / "new" / "run")
    assert made.stat().st_mode & 0o777 == 0o700
    assert private_directory(made) == made


@pytest.mark.parametrize("squat", ["link", "file", "open"])
def test_a_squatted_directory_is_refused(tmp_path: Path, squat: str) -> None:
    path = tmp_path / "run"
    if squat == "link":
        path.symlink_to(tmp_path)
    elif squat == "file":
        path.touch()
    else:
        path.mkdir()
        path.chmod(0o777)
    with pytest.raises(PermissionError, match=str(path)):
        private_directory(path)


@needs_root
def test_a_directory_that_another_user_made_first_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.mkdir()
    os.chown(path, OTHER_UID, OTHER_UID)
    with pytest.raises(PermissionError, match=f"belongs to uid {OTHER_UID}"):
        private_directory(path)
