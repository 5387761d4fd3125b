"""Files that are sent to clients which copy a dataset: what a call leaves behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from graphzero.files.dataset import open_dataset
from graphzero.files.file_identity import FileIdentity, FileReplaced
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server import transfers
from waiting import wait_until


@pytest.fixture(scope="module")
def graph(dataset: Path) -> FileIdentity:
    return next(file for file in open_dataset(dataset).files if file.name == "graph.gl")


@pytest.fixture
def opened(graph: FileIdentity) -> Callable[[], int]:
    """How many descriptors of the file this process has more than at the start of the test."""

    def count() -> int:
        found = Path("/proc/self/fd").iterdir()
        return sum(each.exists() and each.samefile(graph.path) for each in found)

    before = count()
    return lambda: count() - before


def test_a_call_that_is_cancelled_while_its_file_is_opened_leaves_no_descriptor(
    graph: FileIdentity, opened: Callable[[], int], monkeypatch: Any
) -> None:
    go_on = threading.Event()
    real = transfers._opened

    def slow(file: FileIdentity) -> Any:
        reader = real(file)
        go_on.wait()
        return reader

    async def cancel_while_it_opens(threads: ThreadPoolExecutor) -> None:
        request = pb.ReadFileRequest(byte_size=4096)
        reading = asyncio.create_task(anext(transfers._pieces(graph, request, threads)))
        while not opened():
            await asyncio.sleep(0.001)
        reading.cancel()
        await asyncio.wait([reading])
        go_on.set()

    monkeypatch.setattr(transfers, "_opened", slow)
    with ThreadPoolExecutor(1) as threads:
        asyncio.run(asyncio.wait_for(cancel_while_it_opens(threads), 60))
    wait_until(lambda: opened() == 0, "an end of all descriptors")


@pytest.mark.parametrize("failing", ["direct", "mmap"])
def test_a_file_that_cannot_be_opened_wholly_leaves_no_descriptor(
    graph: FileIdentity, opened: Callable[[], int], monkeypatch: Any, failing: str
) -> None:
    real = FileIdentity.open

    def fail_direct(file: FileIdentity, flags: int = 0) -> int:
        if flags:
            raise FileReplaced("replaced just now")
        return real(file, flags)

    def fail_mmap(*_: Any) -> None:
        raise OSError(12, "no memory")

    if failing == "direct":
        monkeypatch.setattr(FileIdentity, "open", fail_direct)
    else:
        monkeypatch.setattr(transfers.mmap, "mmap", fail_mmap)
    with pytest.raises((FileReplaced, OSError)):
        transfers._PieceReader(graph)
    assert opened() == 0
