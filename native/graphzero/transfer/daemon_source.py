"""A dataset that a daemon serves, on this machine or another one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from graphzero import _engine
from graphzero.base.errors import InputError
from graphzero.client.daemon.daemon_calls import DaemonCalls
from graphzero.client.errors import InvalidRequest, RequestTimeout, ServerUnavailable
from graphzero.transfer.source import DatasetChanged, Source, SourceFile

T = TypeVar("T")

# The most that a daemon sends in one call.
_CALL_BYTES = 64 << 20
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0


class DaemonSource(Source):
    def __init__(
        self, calls: AbstractContextManager[DaemonCalls], dataset: str, label: str, patience: float
    ) -> None:
        """`patience`: seconds to wait until a daemon that has gone comes back."""
        self.label = label
        self._context = calls
        self._calls = calls.__enter__()
        self._dataset = dataset
        self._patience = patience
        self._fingerprint = b""

    def files(self) -> Sequence[SourceFile]:
        found = self._patiently(lambda: self._calls.files(self._dataset))
        self._fingerprint = found.fingerprint
        self._dataset = found.dataset
        return [
            SourceFile(file.name, file.byte_size, file.fingerprint, file.modified_unix_ns)
            for file in found.files
        ]

    @property
    def fingerprint(self) -> bytes:
        return self._fingerprint

    def read(self, file: SourceFile, offset: int, size: int) -> bytearray:
        data = bytearray()
        for at in range(offset, offset + size, _CALL_BYTES):
            part = min(_CALL_BYTES, offset + size - at)
            data += self._patiently(lambda at=at, part=part: self._read(file, at, part))  # type: ignore[misc]
        return data

    def _read(self, file: SourceFile, offset: int, size: int) -> bytearray:
        data = bytearray()
        for piece in self._answers(file, offset, size):
            data += piece.data
            # A hostile daemon could go on for ever, also with pieces of nothing.
            if len(data) > size or not piece.data:
                break
        if len(data) != size:
            raise InputError(
                f"{self.label}: {file.name}: found {len(data)} bytes at {offset}, expected {size}"
            )
        return data

    def block_checksums(self, file: SourceFile) -> list[int]:
        return self._patiently(lambda: self._block_checksums(file))

    def _block_checksums(self, file: SourceFile) -> list[int]:
        expected = -(-file.byte_size // _engine.CHECKSUM_BLOCK)
        checksums: list[int] = []
        for answer in self._answers(file, 0, file.byte_size, checksums_only=True):
            checksums += answer.checksums
            if len(checksums) > expected or not answer.checksums:
                break
        if len(checksums) != expected:
            raise InputError(
                f"{self.label}: {file.name}: found {len(checksums)} checksums, expected {expected}"
            )
        return checksums

    def _answers(self, file: SourceFile, offset: int, size: int, **more: Any) -> Any:
        try:
            yield from self._calls.read_file(
                self._dataset, self._fingerprint, file.name, offset, size, **more
            )
        except InvalidRequest as error:  # FAILED_PRECONDITION: the daemon has another version now
            raise DatasetChanged(f"{self.label}: {error}") from None

    def _patiently(self, call: Callable[[], T]) -> T:
        """Tries again for a while, because daemons are restarted and connections break."""
        deadline = time.monotonic() + self._patience
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return call()
            except (ServerUnavailable, RequestTimeout):
                if time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def check_unchanged(self) -> None:
        """Does nothing: an answer from another version was an error already."""

    def close(self) -> None:
        self._context.__exit__(None, None, None)
