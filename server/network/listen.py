"""Addresses that the daemon listens on, and who may connect there."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from graphzero.base.errors import InputError
from graphzero.base.text import quoted
from graphzero.server.network.credentials import ServedCertificate, TlsConfig
from graphzero.transport.host_port import HostPort, parse_host_port
from graphzero.transport.runtime_dir import default_socket, private_directory, require_socket_path

# Errors of an address that this machine does not have. It is skipped if a name has other addresses.
_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


@dataclass(frozen=True)
class TcpConfig:
    """--listen or --http, and the options that belong to both."""

    option: str
    address: HostPort  # port 0: any free one
    tls: TlsConfig | None = None
    token_file: Path | None = None


@dataclass(frozen=True)
class ListenConfig:
    """Where trainers connect, and where the statistics are served over HTTP."""

    socket: Path
    group: str | None = None
    tcp: TcpConfig | None = None
    http: TcpConfig | None = None

    @property
    def tls(self) -> TlsConfig | None:
        """The TLS files, which all ports share."""
        return next((port.tls for port in self.ports), None)

    @property
    def token_file(self) -> Path | None:
        return next((port.token_file for port in self.ports), None)

    @property
    def ports(self) -> list[TcpConfig]:
        return [port for port in (self.tcp, self.http) if port is not None]


def make_listen(options: Mapping[str, Any]) -> ListenConfig:
    """Reads the options' values. Raises InputError for values that do not go together."""
    return ListenConfig(
        socket=options.get("socket", default_socket()).absolute(),
        group=options.get("group"),
        tcp=_make_tcp(options, "listen"),
        http=_make_tcp(options, "http"),
    )


def _make_tcp(options: Mapping[str, Any], option: str) -> TcpConfig | None:
    certificate, key, token_file = (
        options.get(name) for name in ("tls-certificate", "tls-key", "token-file")
    )
    if options.get("listen") is None and options.get("http") is None:
        for name in ("tls-certificate", "tls-key", "token-file"):
            if options.get(name) is not None:
                raise InputError(
                    f"--{name} is for TCP, and there is no --listen HOST:PORT and no --http "
                    f"HOST:PORT: add one, or leave --{name} out; the Unix socket is protected by "
                    "its permissions"
                )
    where = options.get(option)
    if where is None:
        return None
    try:
        address = parse_host_port(where, least_port=0)
    except ValueError as error:
        raise InputError(f"--{option}: found {quoted(where)}: {error}") from None
    if (certificate is None) != (key is None):
        given, missing = ("certificate", "key") if key is None else ("key", "certificate")
        raise InputError(
            f"--tls-{given} without --tls-{missing}: TLS needs both; give --tls-{missing} FILE"
        )
    if not address.is_loopback and not (certificate and token_file):
        raise InputError(
            f"--{option} {address}: others can reach this address; it needs --tls-certificate, "
            "--tls-key and --token-file, or a loopback address such as 127.0.0.1"
        )
    tls = TlsConfig(certificate, key) if certificate and key else None
    return TcpConfig(option, address, tls, token_file)


@dataclass(frozen=True)
class Door:
    """An address that the daemon listens on."""

    address: str
    access: str
    """For people: who may connect, and whether what they say is encrypted."""
    warning: str = ""
    """What the daemon's user may not have meant, and what to do about it."""


def prepare_socket_directory(listen: ListenConfig) -> None:
    """Creates the socket's directory if need be; refuses one that others could tamper with."""
    require_socket_path(listen.socket)
    directory = private_directory(listen.socket.parent)
    if listen.group is not None:
        _give_to_group(directory, listen.group)
        directory.chmod(0o750)


def bind_socket(server: Any, listen: ListenConfig) -> Door:
    """Only this user can connect; with a group, its members too."""
    with _umask(0o177 if listen.group is None else 0o117):
        server.add_insecure_port(f"unix:{listen.socket}")
    if listen.group is not None:
        _give_to_group(listen.socket, listen.group)
    members = "" if listen.group is None else f" and group {listen.group}"
    return Door(f"unix:{listen.socket}", f"this user{members}")


def bind_tcp(server: Any, tcp: TcpConfig, certificate: ServedCertificate | None) -> list[Door]:
    """Binds --listen. Returns a door for each address of its host name, with the actual port."""
    credentials = None if certificate is None else certificate.credentials()
    doors = []
    port = tcp.address.port
    for address in _free_addresses(tcp):
        where = str(replace(address, port=port))
        try:
            if credentials is None:
                port = server.add_insecure_port(where)
            else:
                port = server.add_secure_port(where, credentials)
        except RuntimeError:  # the port was free a moment ago; gRPC does not say what is wrong
            raise _cannot_listen(tcp, where, errno.EADDRINUSE) from None
        has_token = tcp.token_file is not None
        doors.append(_tcp_door(replace(address, port=port), credentials is not None, has_token))
    return doors


def bind_http(http: TcpConfig) -> tuple[list[socket.socket], list[Door]]:
    """Sockets that are bound and do not listen yet, and a door for each."""
    sockets, doors = [], []
    port = http.address.port
    scheme = "http" if http.tls is None else "https"
    for address in _free_addresses(http):
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            bound.bind((address.host, port))
        except OSError as error:
            bound.close()
            raise _cannot_listen(http, str(replace(address, port=port)), error.errno) from None
        port = bound.getsockname()[1]
        sockets.append(bound)
        where = f"{scheme}://{replace(address, port=port)}"
        doors.append(_http_door(where, http.token_file is not None))
    return sockets, doors


def _http_door(address: str, has_token: bool) -> Door:
    who = "whoever has the token" if has_token else "anyone on this machine (no token)"
    return Door(address, f"{who}: numbers only, nothing can be changed there")


def _tcp_door(address: HostPort, has_tls: bool, has_token: bool) -> Door:
    who = "whoever has the token" if has_token else "anyone on this machine (no token!)"
    access = f"{who}, {'with' if has_tls else 'without'} TLS"
    warning = ""
    if not has_token:
        warning = (
            f"{address} has no token: any user of this machine can connect there; give "
            "--token-file with --tls-certificate and --tls-key, or let trainers use the Unix socket"
        )
    elif not has_tls:
        warning = (
            f"{address} has a token but no TLS: a client would send the token to whoever holds "
            "the port, so it refuses to unless told connect(plaintext_token=True); give "
            "--tls-certificate and --tls-key"
        )
    return Door(str(address), access, warning)


def _free_addresses(tcp: TcpConfig) -> list[HostPort]:
    """The numeric addresses of a host name that this machine has. All of them must be free: a
    client may connect to any of them, and at one that is taken another process would answer."""
    wanted = tcp.address
    try:
        found = socket.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InputError(
            f"--{tcp.option} {wanted}: cannot resolve the host: {error.strerror}"
        ) from None
    addresses = []
    missing: OSError | None = None
    for family, kind, _, _, where in dict.fromkeys(found):
        address = HostPort(str(where[0]), wanted.port)
        if wanted.is_loopback and not address.is_loopback:
            raise InputError(
                f"--{tcp.option} {wanted}: {wanted.host} stands for {address.host} here, which "
                "others can reach; say 127.0.0.1"
            )
        try:
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(where)
        except OSError as error:
            if error.errno not in _NOT_HERE:
                raise _cannot_listen(tcp, str(address), error.errno) from None
            missing = error
        else:
            addresses.append(address)
    if not addresses:
        code = None if missing is None else missing.errno
        raise _cannot_listen(tcp, wanted.host, code) from None
    return addresses


def _cannot_listen(tcp: TcpConfig, address: str, code: int | None) -> InputError:
    reasons = {
        errno.EADDRINUSE: f"another process listens on {address}; stop it, or choose another port "
        "(0 takes any that is free)",
        errno.EACCES: f"this user may not listen on {address}; choose a port above 1023",
        **dict.fromkeys(_NOT_HERE, f"this machine has no address {address}; see: ip address"),
    }
    known = reasons.get(code or 0)
    return InputError(f"--{tcp.option} {tcp.address}: {known or os.strerror(code or errno.EINVAL)}")


def group_id(listen: ListenConfig) -> int | None:
    """The group whose members may connect."""
    return None if listen.group is None else _find_group(listen.group)


def _give_to_group(path: Path, name: str) -> None:
    try:
        os.chown(path, -1, _find_group(name))
    except PermissionError:
        user = _user_name()
        raise InputError(
            f"--group {name}: {user} is no member of it, so the daemon cannot open {path} to it; "
            f"run: usermod --append --groups {name} {user}, and start the daemon anew (by hand: "
            "after logging in again)"
        ) from None


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid {os.geteuid()}"


def _find_group(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise InputError(f"--group: found no group {quoted(name)} on this machine") from None


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
