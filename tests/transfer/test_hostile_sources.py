"""Daemons and lists of files that are not what graphzero wrote: an error, and no endless work."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphzero as gz
import pytest
from graphzero.proto import graphzero_pb2 as pb
from graphzero.transfer.daemon_source import DaemonSource
from graphzero.transfer.manifest import Manifest
from graphzero.transfer.source import SourceFile

FILE = SourceFile("graph.gl", (1 << 20) + 1)


class EndlessCalls:
    """A daemon that sends one answer again and again. That a client takes 1000 of them shows that
    it would go on for ever."""

    def __init__(self, answer: pb.ReadFileResponse) -> None:
        self._answer = answer

    def read_file(self, *_: object, **__: object) -> Iterator[pb.ReadFileResponse]:
        for _ in range(1000):
            yield self._answer
        raise AssertionError("the client takes whatever comes")


def endless_daemon(**answer: Any) -> DaemonSource:
    calls: Any = contextlib.nullcontext(EndlessCalls(pb.ReadFileResponse(**answer)))
    return DaemonSource(calls, "", "daemon at somewhere", patience=0)


@pytest.mark.parametrize(("answer", "found"), [({"checksums": [1, 2]}, 4), ({}, 0)])
def test_endless_checksums_are_an_error(answer: dict[str, Any], found: int) -> None:
    daemon = endless_daemon(**answer)
    with pytest.raises(gz.InputError, match=rf"graph\.gl: found {found} checksums, expected 2"):
        daemon.block_checksums(FILE)


@pytest.mark.parametrize(("answer", "found"), [({"data": b"1234"}, 12), ({}, 0)])
def test_endless_pieces_are_an_error(answer: dict[str, Any], found: int) -> None:
    daemon = endless_daemon(**answer)
    with pytest.raises(gz.InputError, match=rf"graph\.gl: found {found} bytes at 5, expected 10"):
        daemon.read(FILE, 5, 10)


def manifest(**changes: object) -> bytes:
    entry = {"name": "graph.gl", "byte_size": 5, "fingerprint": "00", "modified_unix_ns": 7}
    content = {"version": 1, "fingerprint": "00", "files": [{**entry, **changes}]}
    return json.dumps(content).encode()


def test_a_manifest_of_the_tests_is_sound() -> None:
    assert Manifest.read(manifest(), "list").files == (SourceFile("graph.gl", 5, b"\0", 7),)
    early = Manifest.read(manifest(modified_unix_ns=-7), "list")  # before 1970
    assert early.files[0].modified_ns == -7


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(manifest(byte_size=float("inf")), id="infinite size"),
        pytest.param(manifest(byte_size=float("nan")), id="size that is no number"),
        pytest.param(manifest(byte_size=2**63), id="size beyond 63 bits"),
        pytest.param(manifest(byte_size=-1), id="negative size"),
        pytest.param(manifest(modified_unix_ns=float("-inf")), id="infinite time"),
        pytest.param(manifest(modified_unix_ns=10**30), id="late time"),
        pytest.param(manifest(modified_unix_ns=-(10**30)), id="early time"),
        pytest.param(b'{"version": Infinity}', id="infinite version"),
        pytest.param(b"[" * 200_000, id="deep lists"),
        pytest.param(b'{"a":' * 200_000, id="deep objects"),
    ],
)
def test_a_damaged_manifest_is_named(damaged: bytes, tmp_path: Path) -> None:
    import fsspec

    place = f"/damaged/{os.getpid()}"
    with fsspec.filesystem("memory").open(f"{place}/graphzero.json", "wb") as file:
        file.write(damaged)
    with pytest.raises(gz.InputError, match=r"graphzero\.json: not what graphzero push writes"):
        gz.fetch(f"memory:/{place}", tmp_path / "copy")
