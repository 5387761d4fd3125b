"""Files for whoever copies a dataset: which there are, and their bytes as they are stored.

A copy must not cost trainers what they need. A few calls are answered at a time, each of at most 64
MiB, so that everyone who copies gets turns. Reading happens on other threads than the event loop's.
What lies in memory is read from there; the rest is read around the page cache, which would else
fill with what no trainer asked for. And the event loop, which has to hand over every piece, pauses
after each one while there are sessions.
"""

from __future__ import annotations

import asyncio
import mmap
import os
from collections.abc import AsyncIterator, Callable
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

PIECE_BYTES = _engine.CHECKSUM_BLOCK
MAX_CALL_BYTES = 64 << 20
# Threads that read for copies: housekeeping has a few threads in all.
_AT_A_TIME = 2
# A client that takes nothing for this long gives its place to others.
_STALLED_S = 60.0
# Of the event loop's time, after each piece and for each session. A piece takes about as long.
_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02
_CHECKSUMS_AT_ONCE = 64
# O_DIRECT takes offsets, sizes and addresses that are multiples of this on every disk.
_DIRECT_ALIGN = 4096


class Transfers:
    """For the event loop's thread."""

    def __init__(self, catalog: Catalog, sessions: Callable[[], int]) -> None:
        """`sessions` tells how many there are."""
        self._catalog = catalog
        self._sessions = sessions
        self._turns = asyncio.Semaphore(_AT_A_TIME)
        self.open = 0
        """Calls that are answered or wait to be."""

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
            async with self._turns:
                async for piece in _pieces(file, request):
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
    file: FileIdentity, request: pb.ReadFileRequest
) -> AsyncIterator[pb.ReadFileResponse]:
    """What to send, one after the other."""
    reader = await asyncio.to_thread(_opened, file)
    try:
        end = request.offset + request.byte_size
        checksums: list[int] = []
        for at in range(request.offset, end, PIECE_BYTES):
            size = min(PIECE_BYTES, end - at)
            data, checksum = await asyncio.to_thread(_read, reader, file, at, size)
            if not request.checksums_only:
                yield pb.ReadFileResponse(data=data, checksums=[checksum])
                continue
            checksums.append(checksum)
            if len(checksums) == _CHECKSUMS_AT_ONCE or at + size == end:
                yield pb.ReadFileResponse(checksums=checksums)
                checksums = []
    finally:
        reader.close()


def _opened(file: FileIdentity) -> _PieceReader:
    try:
        return _PieceReader(file)
    except FileReplaced as error:
        raise NotPossible(f"{error}; send the daemon SIGHUP, then copy the new version") from error
    except OSError as error:
        raise UnreadableFile(f"{file.path}: {error.strerror}") from error


def _read(reader: _PieceReader, file: FileIdentity, at: int, size: int) -> tuple[bytes, int]:
    try:
        data = reader.read(at, size)
    except OSError as error:
        raise UnreadableFile(f"{file.path}: byte {at}: {error.strerror}") from error
    return data, _engine.checksum(memoryview(data))


class _PieceReader:
    """Reads pieces of a file. Used by one thread at a time."""

    def __init__(self, file: FileIdentity) -> None:
        self._descriptor = file.open()
        self._direct: int | None = None
        with suppress(OSError):  # not every file system offers it
            self._direct = file.open(os.O_DIRECT)
        # Of its own pages, because O_DIRECT wants it aligned; one page more, because offsets may
        # begin within a page.
        self._buffer = mmap.mmap(-1, PIECE_BYTES + 2 * _DIRECT_ALIGN)

    def read(self, at: int, size: int) -> bytes:
        """Raises OSError, also if the file has become shorter."""
        view = memoryview(self._buffer)[:size]
        with view, suppress(OSError):
            # Not every file system can tell (EOPNOTSUPP), and what is not in memory is EAGAIN.
            if os.preadv(self._descriptor, [view], at, os.RWF_NOWAIT) == size:
                return bytes(view)
        if self._direct is not None:
            with suppress(OSError):  # refused for another alignment: then through the cache
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
        os.close(self._descriptor)
        if self._direct is not None:
            os.close(self._direct)
        self._buffer.close()
