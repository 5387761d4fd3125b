"""The file by which one side of a connection checks the certificate of the other."""

from __future__ import annotations

from pathlib import Path

from graphzero.base.errors import InputError


def read_root_certificate(path: Path, given_by: str, whose: str) -> bytes:
    """What the file holds, checked here: gRPC would only say that it cannot connect. Raises OSError
    and InputError. `given_by` names the argument or option, `whose` the side that is checked."""
    import ssl

    content = path.read_bytes()
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise InputError(
            f"{given_by} {path}: found no certificate in PEM format; give the one that {whose} "
            "(--tls-certificate), or that of the authority which signed it"
        ) from None
    return content
