"""The secrets of --listen: the token that clients send, and the pair of files for TLS.

They are read at start and by every reload, and checked before they are used: gRPC does not say what
is wrong with them.
"""

from __future__ import annotations

import os
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphzero.base.errors import InputError

_LEAST_TOKEN_BYTES = 16


@dataclass(frozen=True)
class TlsConfig:
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Secrets:
    """What the files held when they were read."""

    token: bytes | None
    key_and_certificate: tuple[bytes, bytes] | None

    @classmethod
    def read(cls, tls: TlsConfig | None, token_file: Path | None) -> Secrets:
        """Raises InputError, which names the option and what to do."""
        return cls(
            token=None if token_file is None else read_token(token_file),
            key_and_certificate=None if tls is None else _read_pair(tls),
        )


class ServedCertificate:
    """The certificate that new connections are shown. Open connections are not affected."""

    def __init__(self, key_and_certificate: tuple[bytes, bytes]) -> None:
        self.replace(key_and_certificate)

    def replace(self, key_and_certificate: tuple[bytes, bytes]) -> None:
        import grpc  # imported late, because import_grpc() must configure it first

        self._configuration = grpc.ssl_server_certificate_configuration([key_and_certificate])

    def credentials(self) -> Any:
        """Credentials for a port. gRPC asks for the certificate at the start of every handshake."""
        import grpc

        return grpc.dynamic_ssl_server_credentials(self._configuration, lambda: self._configuration)


def _read_pair(tls: TlsConfig) -> tuple[bytes, bytes]:
    _require_secret(tls.key, "--tls-key")
    pair = (_read(tls.key, "--tls-key"), _read(tls.certificate, "--tls-certificate"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_verify_locations(tls.certificate)
    except ssl.SSLError as error:
        raise InputError(
            f"--tls-certificate {tls.certificate}: found no certificate in PEM format "
            f"({error.reason or 'unreadable'})"
        ) from None
    try:
        context.load_cert_chain(tls.certificate, tls.key, password=_refuse_passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            text = f"is not the key of {tls.certificate}; give the two that were made together"
        else:
            text = f"found no private key in PEM format ({error.reason or 'unreadable'})"
        raise InputError(f"--tls-key {tls.key}: {text}") from None
    except _EncryptedKey:
        raise InputError(
            f"--tls-key {tls.key}: the key is encrypted, and the daemon asks for no passphrase; "
            f"decrypt it with: openssl pkey -in {tls.key} -out NEW"
        ) from None
    return pair


class _EncryptedKey(Exception):
    """The key needs a passphrase."""


def _refuse_passphrase() -> str:
    raise _EncryptedKey


def read_token(path: Path) -> bytes:
    """The token that clients of --listen must send."""
    _require_secret(path, "--token-file")
    token = _read(path, "--token-file").strip()
    if len(token) < _LEAST_TOKEN_BYTES:
        raise InputError(
            f"--token-file {path}: found a token of {len(token)} bytes, expected at least "
            f"{_LEAST_TOKEN_BYTES}; make one with: openssl rand -hex 32"
        )
    if not (token.isascii() and token.decode("ascii").isprintable()):
        raise InputError(
            f"--token-file {path}: found bytes that a client cannot send, expected one line of "
            "printable ASCII; make one with: openssl rand -hex 32"
        )
    return token


def _read(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{option} {path}: {error.strerror}") from None


def _require_secret(path: Path, option: str) -> None:
    """Raises InputError if others can get at the file: they could pass for a client, or for the
    daemon."""
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"{option} {path}: {error.strerror}") from None
    open_to = stat.S_IMODE(found.st_mode) & 0o077
    # A secret that is mounted into a container belongs to root, and the daemon's user reads it by
    # its group: there is no other way to hand it over.
    if found.st_uid == 0 and os.geteuid() != 0:
        open_to &= ~stat.S_IRGRP
    if open_to:
        raise InputError(
            f"{option} {path}: has mode {stat.S_IMODE(found.st_mode):04o}, so that other users can "
            f"get at it; run: chmod 600 {path}"
        )
