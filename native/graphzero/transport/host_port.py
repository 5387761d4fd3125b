"""HOST:PORT, as the daemon's --listen and the address of a client have it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True)
class HostPort:
    """A host by name or number, and a TCP port there."""

    host: str
    """Without the brackets around an IPv6 address."""
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether the name or number stands for this machine alone."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_host_port(text: str, *, least_port: int = 1) -> HostPort:
    """Raises ValueError, which says what was expected; `least_port` 0 allows "any free port"."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        _require_ipv6(host)
    elif ":" in host:
        raise ValueError(f"an IPv6 address stands in brackets: expected [{host}]:{port}")
    if not colon or not host or not (port.isascii() and port.isdecimal()):
        raise ValueError("expected HOST:PORT, with an IPv6 address in brackets, as in [::1]:7171")
    if len(port) > 5 or not least_port <= int(port) <= 65535:
        raise ValueError(f"expected a port from {least_port} to 65535")
    return HostPort(host, int(port))


def _require_ipv6(host: str) -> None:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        raise ValueError(f"found {host!r} in brackets, expected an IPv6 address") from None
