"""Finding the daemon, and whether the socket found is to be trusted.

An address is "unix:/path", an absolute path, or "host:port". Without one, GRAPHZERO_ADDRESS says
where, and without that the daemon is expected at this user's default socket.
"""

from __future__ import annotations

import ipaddress
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from graphzero._runtime_dir import default_socket, require_socket_path
from graphzero.client.errors import AccessDenied, ServerUnavailable

ADDRESS_VARIABLE = "GRAPHZERO_ADDRESS"
TOKEN_VARIABLE = "GRAPHZERO_TOKEN"

_START_IT = "start one with: graphzero-server --data DIR; or let connect(data=DIR) start it"


@dataclass(frozen=True)
class Address:
    """Where a daemon listens and how to introduce oneself there."""

    target: str
    """As gRPC takes it: "unix:/path" or "host:port"."""
    token: str | None = field(default=None, repr=False)
    root_certificate: bytes | None = field(default=None, repr=False)
    server_uid: int | None = None
    """A user whose daemon is trusted beside one's own and root's."""

    @property
    def socket(self) -> Path | None:
        """The socket's path, or None for TCP."""
        return Path(self.target[len("unix:") :]) if self.target.startswith("unix:") else None

    @property
    def secure(self) -> bool:
        """Whether to use TLS: always, except on this machine without a certificate."""
        if self.socket is not None:
            return False
        return self.root_certificate is not None or not _is_loopback(self.target)

    def require_trusted(self) -> None:
        """Raises ServerUnavailable if there is no socket, AccessDenied if it is another user's."""
        if self.socket is not None:
            _require_trusted_socket(self.socket, self.server_uid)

    def __str__(self) -> str:
        return self.target


def find_address(
    address: str | os.PathLike[str] | None = None,
    *,
    token: str | None = None,
    root_certificate: str | os.PathLike[str] | None = None,
    server_uid: int | None = None,
) -> Address:
    """The argument, else GRAPHZERO_ADDRESS, else the default socket. Checks its syntax only."""
    given = os.fspath(address) if address is not None else os.environ.get(ADDRESS_VARIABLE)
    if given and Path(given).is_dir():
        raise ValueError(f"address {given!r} is a directory; connect(data={given!r}) serves it")
    return Address(
        target=_target(given) if given else _target(os.fspath(default_socket())),
        token=token if token is not None else os.environ.get(TOKEN_VARIABLE),
        root_certificate=Path(root_certificate).read_bytes() if root_certificate else None,
        server_uid=server_uid,
    )


def _target(address: str) -> str:
    if address.startswith("unix:"):
        path = address[len("unix:") :]
        path = path[2:] if path.startswith("///") else path  # unix:///path is common too
    elif address.startswith("/"):
        path = address
    else:
        return _host_and_port(address)
    if not path.startswith("/"):
        raise ValueError(f"address {address!r}: expected an absolute path after unix:")
    require_socket_path(path)
    return f"unix:{path}"


def _host_and_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"address {address!r}: expected unix:/path, /path or host:port")
    return address


def _is_loopback(target: str) -> bool:
    host = target.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _require_trusted_socket(path: Path, server_uid: int | None) -> None:
    """Whoever owns the socket or its directory could answer in the daemon's place."""
    trusted = {os.geteuid(), 0} | ({server_uid} if server_uid is not None else set())
    try:
        places = {path.parent: path.parent.stat(), path: path.lstat()}
    except OSError as error:
        raise ServerUnavailable(f"no daemon at {path} ({error.strerror}); {_START_IT}") from error
    for place, found in places.items():
        if found.st_uid not in trusted:
            raise AccessDenied(
                f"{place} belongs to uid {found.st_uid}, expected {os.geteuid()} or root; "
                f"pass server_uid={found.st_uid} if you trust that user's daemon"
            )
    directory = places[path.parent].st_mode
    if directory & stat.S_IWOTH and not directory & stat.S_ISVTX:
        raise AccessDenied(
            f"{path.parent} has mode {stat.S_IMODE(directory):04o}: "
            f"anyone may replace the socket in it; run: chmod o-w {path.parent}"
        )
    if not stat.S_ISSOCK(places[path].st_mode):
        raise AccessDenied(f"{path} is not a socket")
