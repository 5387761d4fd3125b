"""Finding the daemon, and whether the socket found is to be trusted.

An address is "unix:/path", "host:port", or the path of a socket, which has no colon if it is
relative to the working directory. Without one, GRAPHZERO_ADDRESS says
where, and without that the daemon is expected at this user's default socket.

A token goes only to a daemon that has proved who it is, by its certificate. Any user of the machine
can listen on a free port, also in the moment while a daemon restarts, and would get the token of
every client that comes.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path

from graphzero.client.errors import AccessDenied, ServerUnavailable
from graphzero.transport.host_port import parse_host_port
from graphzero.transport.root_certificate import read_root_certificate
from graphzero.transport.runtime_dir import default_socket, require_socket_path

ADDRESS_VARIABLE = "GRAPHZERO_ADDRESS"
TOKEN_VARIABLE = "GRAPHZERO_TOKEN"
CERTIFICATE_VARIABLE = "GRAPHZERO_ROOT_CERTIFICATE"
SERVER_UID_VARIABLE = "GRAPHZERO_SERVER_UID"

START_ONE = "start one with: graphzero-server --data DIR; or let connect(data=DIR) start it"


@dataclass(frozen=True)
class Address:
    """Where a daemon listens and how to introduce oneself there."""

    target: str
    """As gRPC takes it: "unix:/path" or "host:port"."""
    token: str | None = field(default=None, repr=False)
    """Sent with every call there; None for a socket, where the daemon asks for no token."""
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
        return self.root_certificate is not None or not parse_host_port(self.target).is_loopback

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
    plaintext_token: bool = False,
    server_uid: int | None = None,
) -> Address:
    """The argument, else GRAPHZERO_ADDRESS, else the default socket. Checks its syntax only.

    Raises AccessDenied if the token would be sent without TLS and `plaintext_token` is not set.
    """
    given = os.fspath(address) if address is not None else os.environ.get(ADDRESS_VARIABLE)
    if given and os.path.isdir(given):  # noqa: PTH112 - pathlib's raises where it may not look
        raise ValueError(f"address {given!r} is a directory; connect(data={given!r}) serves it")
    certificate = root_certificate or os.environ.get(CERTIFICATE_VARIABLE)
    found = Address(
        target=_target(given) if given else _target(os.fspath(default_socket())),
        root_certificate=_read_certificate(Path(certificate)) if certificate else None,
        server_uid=_server_uid() if server_uid is None else server_uid,
    )
    return found if found.socket else _with_token(found, token, plaintext_token)


def absolute_address(address: str | os.PathLike[str]) -> str:
    """The same address, also for a process with another working directory."""
    text = os.fspath(address)
    return os.fspath(Path(text).absolute()) if text and ":" not in text else text


def _server_uid() -> int | None:
    given = os.environ.get(SERVER_UID_VARIABLE, "").strip()
    if not given:
        return None
    if not (given.isascii() and given.isdecimal()):
        raise ValueError(f"{SERVER_UID_VARIABLE}: found {given!r}, expected the number of a user")
    return int(given)


def _read_certificate(path: Path) -> bytes:
    return read_root_certificate(path, "root certificate", "the daemon has")


def _with_token(address: Address, token: str | None, plaintext_token: bool) -> Address:
    source = "token=" if token is not None else TOKEN_VARIABLE
    token = (os.environ.get(TOKEN_VARIABLE, "") if token is None else token).strip()
    if not token:
        return address
    if not (token.isascii() and token.isprintable()):
        raise ValueError(f"{source}: found characters that cannot be sent, expected one line ASCII")
    if not address.secure and not plaintext_token:
        raise AccessDenied(
            f"{address} has no TLS: the token ({source}) would go to whoever holds that port. Give "
            f"root_certificate= (or {CERTIFICATE_VARIABLE}) if the daemon has TLS, use its Unix "
            f"socket, leave the token out if it asks for none, or say plaintext_token=True if you "
            "trust every user of this machine"
        )
    return replace(address, token=token)


def _target(address: str) -> str:
    if address.startswith("unix:"):
        path = address[len("unix:") :]
        path = path[2:] if path.startswith("///") else path  # unix:///path is common too
    elif address.startswith("/") or ":" not in address:
        path = absolute_address(address)
    else:
        return _host_and_port(address)
    if not path.startswith("/"):
        raise ValueError(f"address {address!r}: expected an absolute path after unix:")
    require_socket_path(path)
    return f"unix:{path}"


def _host_and_port(address: str) -> str:
    try:
        return str(parse_host_port(address))
    except ValueError as error:
        raise ValueError(f"address {address!r}: {error}") from None


def _require_trusted_socket(path: Path, server_uid: int | None) -> None:
    """Whoever owns the socket or its directory could answer in the daemon's place."""
    trusted = {os.geteuid(), 0} | ({server_uid} if server_uid is not None else set())
    try:
        places = {path.parent: path.parent.stat(), path: path.lstat()}
    except PermissionError as error:
        raise AccessDenied(
            f"{path}: its directory is not open to you (uid {os.geteuid()}); the daemon's user can "
            "let a group in with graphzero-server --group NAME"
        ) from error
    except OSError as error:
        raise ServerUnavailable(f"no daemon at {path} ({error.strerror}); {START_ONE}") from error
    for place, found in places.items():
        if found.st_uid not in trusted:
            raise AccessDenied(
                f"{place} belongs to uid {found.st_uid}, expected {os.geteuid()} or root; "
                f"pass server_uid={found.st_uid} if you trust that user's daemon (commands: "
                f"--server-uid {found.st_uid}; environment: {SERVER_UID_VARIABLE}={found.st_uid})"
            )
    directory = places[path.parent].st_mode
    if directory & stat.S_IWOTH and not directory & stat.S_ISVTX:
        raise AccessDenied(
            f"{path.parent} has mode {stat.S_IMODE(directory):04o}: "
            f"anyone may replace the socket in it; run: chmod o-w {path.parent}"
        )
    if not stat.S_ISSOCK(places[path].st_mode):
        raise AccessDenied(f"{path} is not a socket")
