"""Sends the files of a dataset to clients that copy it: their list, and their bytes as stored.

A copy must not slow trainers down. A few calls are answered at a time, each of at most 64 MiB, so
that all clients that copy get turns. Other threads than the event loop's read the files. They read
from the page cache what lies there, and the rest around it, because the cache would otherwise fill
with data that no trainer asked for. The event loop, which hands over every piece, pauses after each
one while there are sessions.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from graphzero import _engine
from graphzero.base.errors import GraphZeroError
from graphzero.base.text import line_text, names_text, quoted, size_text
from graphzero.files.dataset import Dataset
from graphzero.files.file_identity import FileIdentity, FileReplaced
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotFound, NotPossible, UnreadableFile, code_for
from graphzero.server.datasets.catalog import Catalog
from graphzero.server.network.host_turns import HostTurns, host_of

PIECE_BYTES = _engine.CHECKSUM_BLOCK
MAX_CALL_BYTES = 64 << 20
# Calls that are answered at a time: of all machines, and of one, so that another machine need not
# wait for one that reads slowly. Each has a thread, so that a disk that hangs stops only copies.
_AT_A_TIME = 3
_OF_ONE_HOST = 2
# A client that takes nothing for this long gives its place to others.
_STALLED_S = 60.0
# The event loop pauses this long for each session after a piece, which takes it about as long.
_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02
_CHECKSUMS_AT_ONCE = 64
# O_DIRECT takes offsets, sizes and addresses that are multiples of this on every disk.
_DIRECT_ALIGN = 4096


class Transfers:
    """Belongs to the event loop's thread."""

    def __init__(self, catalog: Catalog, sessions: Callable[[], int]) -> None:
        """`sessions` returns the number of open sessions."""
        self._catalog = catalog
        self._sessions = sessions
        self._turns = HostTurns(_AT_A_TIME, _OF_ONE_HOST)
        self._threads = ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="copy")
        self.open = 0
        """Calls of ReadFile that are being answered or wait for their turn."""

    async def list_files(self, request: pb.ListFilesRequest, context: Any) -> pb.ListFilesResponse:
        """The rpc ListFiles."""
        try:
            dataset = self._catalog.find(request.dataset)
        except GraphZeroError as error:
            await context.abort(code_for(error), str(error))
            raise AssertionError("abort() raises") from error
        files = [_describe(dataset, file) for file in dataset.files]
        return pb.ListFilesResponse(
            dataset=dataset.name, fingerprint=dataset.fingerprint, files=files
        )

    async def read_file(self, request: pb.ReadFileRequest, context: Any) -> None:
        """The rpc ReadFile."""
        self.open += 1
        failure: Exception | None = None
        try:
            file = self._find(request)
            async with self._turns.turn(host_of(context.peer())):
                async for piece in _pieces(file, request, self._threads):
                    await asyncio.wait_for(context.write(piece), _STALLED_S)
                    await self._let_trainers_work()
        except asyncio.TimeoutError:
            failure = TimeoutError(f"nothing was taken for {_STALLED_S:g} s")
        except (GraphZeroError, NotFound, NotPossible, UnreadableFile, ValueError) as error:
            failure = error
        finally:
            self.open -= 1
        if failure is not None:
            await context.abort(_code_of(failure), line_text(str(failure), 2000))

    def _find(self, request: pb.ReadFileRequest) -> FileIdentity:
        dataset = self._catalog.find(request.dataset)
        if request.expected_fingerprint != dataset.fingerprint:
            raise NotPossible(
                f"dataset {quoted(dataset.name)} has changed: found fingerprint "
                f"{dataset.fingerprint.hex()}, expected "
                f"{line_text(request.expected_fingerprint.hex(), 40) or 'none'}"
            )
        files = {file.name: file for file in dataset.files}
        file = files.get(request.file)
        if file is None:
            raise NotFound(f"found file {quoted(request.file)}, expected {names_text(files)}")
        _check_range(request, file)
        return file

    async def _let_trainers_work(self) -> None:
        if sessions := self._sessions():
            await asyncio.sleep(min(_PAUSE_S * sessions, _LONGEST_PAUSE_S))


def _code_of(failure: Exception) -> Any:
    from grpc import StatusCode

    if isinstance(failure, TimeoutError):
        return StatusCode.DEADLINE_EXCEEDED
    return code_for(failure)


def _describe(dataset: Dataset, file: FileIdentity) -> pb.DataFile:
    return pb.DataFile(
        name=file.name,
        byte_size=file.byte_size,
        fingerprint=dataset.file_fingerprint(file),
        modified_unix_ns=file.modified_ns,
    )


def _check_range(request: pb.ReadFileRequest, file: FileIdentity) -> None:
    begin, size = request.offset, request.byte_size
    if begin > file.byte_size or size > file.byte_size - begin:
        raise ValueError(
            f"found {size} bytes at {begin}, expected a part of the {file.byte_size} bytes of "
            f"{quoted(request.file)}"
        )
    if size > MAX_CALL_BYTES and not request.checksums_only:
        raise ValueError(f"found {size_text(size)}, expected at most {size_text(MAX_CALL_BYTES)}")


async def _pieces(
    file: FileIdentity, request: pb.ReadFileRequest, threads: ThreadPoolExecutor
) -> AsyncIterator[pb.ReadFileResponse]:
    """The messages to send, in order."""
    loop = asyncio.get_running_loop()
    opening = threads.submit(_opened, file)
    try:
        reader = await asyncio.wrap_future(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_opened)  # the thread may still be opening the file
        raise
    try:
        end = request.offset + request.byte_size
        checksums: list[int] = []
        for at in range(request.offset, end, PIECE_BYTES):
            size = min(PIECE_BYTES, end - at)
            data, checksum = await loop.run_in_executor(threads, _read, reader, file, at, size)
            if not request.checksums_only:
                yield pb.ReadFileResponse(data=data, checksums=[checksum])
                continue
            checksums.append(checksum)
            if len(checksums) == _CHECKSUMS_AT_ONCE or at + size == end:
                yield pb.ReadFileResponse(checksums=checksums)
                checksums = []
    finally:
        # A call that is cancelled leaves a thread behind that still reads: close() waits for it.
        loop.run_in_executor(threads, reader.close)


def _opened(file: FileIdentity) -> _PieceReader:
    try:
        return _PieceReader(file)
    except FileReplaced as error:
        raise NotPossible(f"{error}; send the daemon SIGHUP, then copy the new version") from error
    except OSError as error:
        raise UnreadableFile(f"{file.path}: {error.strerror}") from error


def _close_opened(opening: Future[_PieceReader]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def _read(reader: _PieceReader, file: FileIdentity, at: int, size: int) -> tuple[bytes, int]:
    try:
        data = reader.read(at, size)
    except OSError as error:
        raise UnreadableFile(f"{file.path}: byte {at}: {error.strerror}") from error
    return data, _engine.checksum(memoryview(data))


class _PieceReader:
    """Reads pieces of a file. Thread-safe: one thread reads or closes at a time."""

    def __init__(self, file: FileIdentity) -> None:
        self._lock = threading.Lock()
        self._descriptor = file.open()
        self._direct: int | None = None
        try:
            with suppress(OSError):  # not every file system offers it
                self._direct = file.open(os.O_DIRECT)
            # Whole pages, because O_DIRECT needs an aligned address; longer than a piece, because
            # an offset may lie within a page.
            self._buffer = mmap.mmap(-1, PIECE_BYTES + _DIRECT_ALIGN)
        except BaseException:  # the file was replaced meanwhile, or there is no memory
            self._close_descriptors()
            raise

    def read(self, at: int, size: int) -> bytes:
        """Raises OSError, also if the file has become shorter."""
        with self._lock:
            return self._read(at, size)

    def _read(self, at: int, size: int) -> bytes:
        view = memoryview(self._buffer)[:size]
        with view, suppress(OSError):
            # Fails with EAGAIN if a page is not in memory, and with EOPNOTSUPP if the file system
            # cannot tell.
            if os.preadv(self._descriptor, [view], at, os.RWF_NOWAIT) == size:
                return bytes(view)
        if self._direct is not None:
            with suppress(OSError):  # the disk needs another alignment: read through the cache
                return self._read_direct(at, size)
        data = os.pread(self._descriptor, size, at)
        if len(data) != size:
            raise OSError(0, f"found {len(data)} bytes, expected {size}; the file was cut")
        return data

    def _read_direct(self, at: int, size: int) -> bytes:
        assert self._direct is not None
        skipped = at % _DIRECT_ALIGN
        whole = -(-(skipped + size) // _DIRECT_ALIGN) * _DIRECT_ALIGN
        with memoryview(self._buffer)[:whole] as view:
            if os.preadv(self._direct, [view], at - skipped) < skipped + size:
                raise OSError(0, "a short read")
            return bytes(view[skipped : skipped + size])

    def close(self) -> None:
        with self._lock:
            self._close_descriptors()
            self._buffer.close()

    def _close_descriptors(self) -> None:
        os.close(self._descriptor)
        if self._direct is not None:
            os.close(self._direct)
