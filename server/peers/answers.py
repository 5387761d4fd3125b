"""Sends rows to the daemons of other parts, from this daemon's own files and from nothing else.

The workers that serve trainers also read these answers, piece by piece; the scheduler gives each
peer turns like a session. While one piece is sent, only the next one is read, so a peer that reads
slowly makes this daemon hold two pieces. A few calls are answered at a time; the others wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from graphzero import _engine
from graphzero.base.errors import GraphZeroError
from graphzero.base.text import line_text, quoted
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotFound, NotPossible, UnreadableFile, code_for
from graphzero.server.compute.base import column_of
from graphzero.server.datasets.catalog import Catalog
from graphzero.server.sessions.scheduler import Scheduler

PIECE_BYTES = 2 << 20
AT_A_TIME = 16
# A peer that takes nothing for this long gives its place to others.
_STALLED_S = 60.0
# The tag of the field `rows` of ReadRowsResponse: its number and wire type (length-delimited).
_ROWS_TAG = bytes([pb.ReadRowsResponse.DESCRIPTOR.fields_by_name["rows"].number << 3 | 2])


class _Piece(NamedTuple):
    place: int
    column: ColumnFile
    ids: Any


class PeerAnswers:
    """Belongs to the event loop's thread."""

    def __init__(self, catalog: Catalog, scheduler: Scheduler) -> None:
        self._catalog = catalog
        self._scheduler = scheduler
        self._turns = asyncio.Semaphore(AT_A_TIME)

    async def read_rows(self, request: pb.ReadRowsRequest, context: Any) -> None:
        """The rpc ReadRows."""
        failure: Exception | None = None
        try:
            pieces = list(_pieces(self._find(request), request))
            async with self._turns:
                await self._send(pieces, context)
        except asyncio.TimeoutError:
            failure = OSError(f"nothing was taken for {_STALLED_S:g} s")
        except OSError as error:
            failure = UnreadableFile(str(error))
        except (GraphZeroError, NotFound, NotPossible, LookupError, ValueError) as error:
            failure = error
        if failure is not None:
            await context.abort(code_for(failure), line_text(str(failure), 2000))

    def _find(self, request: pb.ReadRowsRequest) -> Dataset:
        """Raises NotPossible unless this daemon has the part and versions that were asked for."""
        dataset = self._catalog.find(request.dataset)
        asked = request.shard
        if request.sampler_version != _engine.SAMPLER_VERSION:
            raise NotPossible(
                f"found sampler version {_engine.SAMPLER_VERSION}, expected "
                f"{request.sampler_version}: install the same release on all machines"
            )
        if request.expected_fingerprint != dataset.fingerprint:
            raise NotPossible(
                f"dataset {quoted(dataset.name)} has fingerprint {dataset.fingerprint.hex()}, "
                f"expected {line_text(request.expected_fingerprint.hex(), 40)}"
            )
        own = dataset.shard
        if own is None or (own.part, own.parts) != (asked.part, asked.parts):
            found = "no part" if own is None else f"part {own.part} of {own.parts}"
            raise NotPossible(
                f"dataset {quoted(dataset.name)} is {found}, expected part {asked.part} of "
                f"{asked.parts}"
            )
        return dataset

    async def _send(self, pieces: list[_Piece], context: Any) -> None:
        lane = _host(context.peer())
        ahead: asyncio.Future[bytes] | None = None
        try:
            for number, piece in enumerate(pieces):
                rows = await (ahead or self._read(lane, piece))
                following = pieces[number + 1 : number + 2]
                ahead = self._read(lane, following[0]) if following else None
                await asyncio.wait_for(context.write(rows), _STALLED_S)
        finally:
            if ahead is not None:
                ahead.cancel()

    def _read(self, lane: str, piece: _Piece) -> asyncio.Future[bytes]:
        """Reads a piece on a worker, outside of any call of the engine that could be refused
        working memory: then requests of two daemons could wait for each other. Pieces are small,
        and there are few at a time."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bytes] = loop.create_future()

        def settle(rows: bytes, error: BaseException | None) -> None:
            if done.done():
                return  # nobody waits for it any more
            if error is None:
                done.set_result(rows)
            else:
                done.set_exception(error)

        def job() -> None:
            rows, failure = b"", None
            try:
                if not done.cancelled():
                    rows = _answer(piece)
            except BaseException as error:
                failure = error
            loop.call_soon_threadsafe(settle, rows, failure)

        self._scheduler.submit(lane, job)
        return done


def _pieces(dataset: Dataset, request: pb.ReadRowsRequest) -> Iterator[_Piece]:
    for place, asked in enumerate(request.rows):
        column = column_of(dataset, asked.column)
        if column.sharded is None:
            raise ValueError(f"column {quoted(asked.column)} is whole here, expected a part of one")
        if len(asked.ids) % 8:
            raise ValueError(f"found {len(asked.ids)} bytes of ids, expected 8 for each")
        ids = np.frombuffer(asked.ids, np.int64)
        step = max(1, PIECE_BYTES // max(1, column.stored_row_bytes))
        for begin in range(0, len(ids), step):
            yield _Piece(place, column, ids[begin : begin + step])


def _answer(piece: _Piece) -> bytes:
    """A serialized ReadRowsResponse, into which rows are gathered directly: with a message object
    the event loop would copy them twice more."""
    assert piece.column.sharded is not None
    size = len(piece.ids) * piece.column.stored_row_bytes
    head = pb.ReadRowsResponse(place=piece.place).SerializeToString() + _ROWS_TAG + _varint(size)
    out = np.empty(len(head) + size, np.uint8)
    out[: len(head)] = np.frombuffer(head, np.uint8)
    piece.column.sharded.gather_for_peer(piece.ids, out[len(head) :])
    return out.tobytes()


def _varint(number: int) -> bytes:
    """A length as protobuf encodes it."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _host(peer: str) -> str:
    """ "ipv4:10.0.0.2:41822" -> "peer ipv4:10.0.0.2": connections of one machine count together."""
    return f"peer {peer.rpartition(':')[0]}"
