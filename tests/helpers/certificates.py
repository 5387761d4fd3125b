"""Certificates for tests of TLS."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def make_certificate(directory: Path, *addresses: str) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 and these addresses, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    names = ",".join(f"IP:{address}" for address in ("127.0.0.1", *addresses))
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", key, "-out", certificate, "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", f"subjectAltName={names}"),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key
