"""Addresses that the daemon listens on, and who may connect there."""

from __future__ import annotations

import grp
import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from graphzero._errors import InputError
from graphzero._runtime_dir import private_directory, require_socket_path
from graphzero.server.config import ListenConfig


def prepare_socket_directory(listen: ListenConfig) -> None:
    """Creates the socket's directory if need be; refuses one that others could tamper with."""
    require_socket_path(listen.socket)
    directory = private_directory(listen.socket.parent)
    if listen.group is not None:
        os.chown(directory, -1, _find_group(listen.group))
        directory.chmod(0o750)


def bind_socket(server: Any, listen: ListenConfig) -> None:
    """Only this user can connect; with a group, its members too."""
    with _umask(0o177 if listen.group is None else 0o117):
        server.add_insecure_port(f"unix:{listen.socket}")
    if listen.group is not None:
        os.chown(listen.socket, -1, _find_group(listen.group))


def bind_tcp(server: Any, listen: ListenConfig) -> tuple[str, bytes | None]:
    """Binds --listen; returns the address with its real port, and the token to ask for."""
    assert listen.tcp is not None
    host, colon, port = listen.tcp.rpartition(":")
    if not colon or not port.isdecimal() or not host:
        raise InputError(f"--listen: found {listen.tcp!r}, expected HOST:PORT")
    token = _read_token(listen.token_file) if listen.token_file else None
    has_tls = listen.tls_certificate is not None and listen.tls_key is not None
    if not _is_loopback(host.strip("[]")) and not (has_tls and token):
        raise InputError(
            f"--listen {listen.tcp}: others can reach this address; it needs --tls-certificate, "
            "--tls-key and --token-file, or a loopback address such as 127.0.0.1"
        )
    if listen.tls_certificate is not None and listen.tls_key is not None:
        pair = (listen.tls_key.read_bytes(), listen.tls_certificate.read_bytes())
        bound = server.add_secure_port(listen.tcp, grpc.ssl_server_credentials([pair]))
    else:
        bound = server.add_insecure_port(listen.tcp)
    return f"{host}:{bound}", token


def _read_token(path: Path) -> bytes:
    token = path.read_bytes().strip()
    if len(token) < 16:
        raise InputError(f"{path}: found a token of {len(token)} bytes, expected at least 16")
    return token


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def group_id(listen: ListenConfig) -> int | None:
    """The group whose members may connect."""
    return None if listen.group is None else _find_group(listen.group)


def _find_group(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise InputError(f"--group: found no group {name!r} on this machine") from None


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
