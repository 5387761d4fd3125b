"""Why a daemon does not answer, in one sentence instead of gRPC's."""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import suppress

from graphzero.client.connection.address import CERTIFICATE_VARIABLE, START_ONE, Address
from graphzero.client.errors import ServerUnavailable
from graphzero.transport.host_port import parse_host_port

# Time limit for finding out whether a port speaks TLS, after a connection has failed.
_PROBE_S = 2.0

# The last words to a session of a daemon that an operator stops: its own, and those of gRPC for a
# session that does not end in time.
_STOPPED = ("the daemon is shutting down", "Cancelling all calls")

_HINT = f"(or {CERTIFICATE_VARIABLE})"


def went_away(address: Address, details: str) -> ServerUnavailable:
    """For a daemon that had answered before. `details` are gRPC's, or the daemon's last words."""
    if details in _STOPPED:
        return ServerUnavailable(f"the daemon at {address} was stopped")
    broke = "" if address.socket is not None else ", or the connection to it broke"
    return ServerUnavailable(f"the daemon at {address} ended unexpectedly{broke} ({details})")


def not_reached(address: Address, details: str) -> ServerUnavailable:
    """For a daemon that never answered."""
    refused = re.search(r"connect: (.+) \(\d+\)$", details)
    if refused:
        return ServerUnavailable(f"no daemon answers at {address} ({refused[1]}); {START_ONE}")
    details = re.sub(r"^.*last error: \w+: \S+: ", "", details)
    problem = None if address.socket is not None else _tls_problem(address, details)
    return ServerUnavailable(problem or f"no answer from the daemon at {address} ({details})")


def _tls_problem(address: Address, details: str) -> str | None:
    if not address.secure:
        if not _speaks_tls(address.target):
            return None
        return (
            f"{address} speaks TLS and this client does not: give root_certificate= {_HINT}, the "
            "daemon's certificate (its --tls-certificate) or that of the authority which signed it"
        )
    if "WRONG_VERSION_NUMBER" in details:
        return (
            f"{address} speaks no TLS, and this client does, as it always does with a "
            f"root_certificate= {_HINT} and beyond this machine: start the daemon with "
            "--tls-certificate and --tls-key, or use it on its machine without a certificate"
        )
    if "CERTIFICATE_VERIFY_FAILED" in details:
        return (
            f"{address} has another certificate than expected: it is not signed by "
            f"root_certificate= {_HINT}; give the one that the daemon has (its --tls-certificate)"
        )
    return None


def _speaks_tls(target: str) -> bool:
    """Tries a TLS handshake. Sends nothing else, and looks at no certificate."""
    where = parse_host_port(target)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with (
        suppress(OSError),
        socket.create_connection((where.host, where.port), _PROBE_S) as plain,
        context.wrap_socket(plain),
    ):
        return True
    return False
