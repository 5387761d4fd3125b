"""Sends rows to the daemons of other parts, from this daemon's own files and from nothing else.

The workers that serve trainers also read these answers, piece by piece; the scheduler gives each
peer turns like a session. While one piece is sent, only the next one is read, so a peer that reads
slowly makes this daemon hold two pieces. A few calls are answered at a time, fewer of one machine;
the others wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from graphzero import _engine
from graphzero.base.errors import GraphZeroError
from graphzero.base.text import line_text, quoted
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotFound, NotPossible, TooManyCalls, UnreadableFile, code_for
from graphzero.server.compute.base import column_of
from graphzero.server.datasets.catalog import Catalog
from graphzero.server.network.host_turns import HostTurns, host_of
from graphzero.server.sessions.scheduler import Scheduler

PIECE_BYTES = 2 << 20
# Calls that are answered at a time: of all machines, and of one.
AT_A_TIME = 16
_OF_ONE_HOST = 4
# Calls of one machine that may wait; each holds a request of up to 2 MiB. The daemon there repeats
# a call that was refused.
_WAITING_OF_ONE_HOST = 64
# A request has a list of rows for each column. More than twice as many and this would only keep the
# event loop busy.
_MORE_LISTS = 16
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

    def __init__(
        self,
        catalog: Catalog,
        scheduler: Scheduler,
        in_use: Callable[[], Iterable[Dataset]] = tuple,
    ) -> None:
        """`in_use` returns the datasets of the open sessions, which may be older versions."""
        self._catalog = catalog
        self._in_use = in_use
        self._scheduler = scheduler
        self._turns = HostTurns(AT_A_TIME, _OF_ONE_HOST, _WAITING_OF_ONE_HOST)
        self.open = 0
        """Calls of ReadRows that are being answered or wait for their turn."""

    async def read_rows(self, request: pb.ReadRowsRequest, context: Any) -> None:
        """The rpc ReadRows."""
        self.open += 1
        failure: Exception | None = None
        try:
            wanted = _wanted(self._find(request), request)
            host = host_of(context.peer())
            async with self._turns.turn(host):
                await self._send(_pieces(wanted), f"peer {host}", context)
        except asyncio.TimeoutError:
            failure = OSError(f"nothing was taken for {_STALLED_S:g} s")
        except OSError as error:
            failure = UnreadableFile(str(error))
        except (
            GraphZeroError, NotFound, NotPossible, TooManyCalls, LookupError, ValueError
        ) as error:  # fmt: skip
            failure = error
        finally:
            self.open -= 1
        if failure is not None:
            await context.abort(code_for(failure), line_text(str(failure), 2000))

    def _find(self, request: pb.ReadRowsRequest) -> Dataset:
        """Raises NotPossible unless this daemon has the part and versions that were asked for. It
        also has the versions that its own sessions keep."""
        asked = request.shard
        if request.sampler_version != _engine.SAMPLER_VERSION:
            raise NotPossible(
                f"found sampler version {_engine.SAMPLER_VERSION}, expected "
                f"{request.sampler_version}: install the same release on all machines"
            )
        wanted = (request.dataset, request.expected_fingerprint, asked.part, asked.parts)
        for dataset in (*self._catalog.all(), *self._in_use()):
            own = dataset.shard
            if own is None:
                continue
            same_layout = asked.layout in (dataset.layout, b"")  # older daemons send none
            found = (dataset.name, dataset.fingerprint, own.part, own.parts)
            if found == wanted and same_layout:
                return dataset
        dataset = self._catalog.find(request.dataset)
        text = "no part" if (own := dataset.shard) is None else f"part {own.part} of {own.parts}"
        raise NotPossible(
            f"dataset {quoted(dataset.name)} is {text} and has fingerprint "
            f"{dataset.fingerprint.hex()} and layout {dataset.layout.hex()}, expected part "
            f"{asked.part} of {asked.parts}, fingerprint "
            f"{line_text(request.expected_fingerprint.hex(), 40)} and layout "
            f"{line_text(asked.layout.hex(), 40) or 'any'}"
        )

    async def _send(self, pieces: Iterator[_Piece], lane: str, context: Any) -> None:
        ahead: asyncio.Future[bytes] | None = self._read(lane, next(pieces))
        try:
            while ahead is not None:
                rows = await ahead
                following = next(pieces, None)
                ahead = None if following is None else self._read(lane, following)
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


def _wanted(dataset: Dataset, request: pb.ReadRowsRequest) -> list[_Piece]:
    """What is asked for, checked: a piece of any length for each list of rows."""
    most = 2 * len(dataset.columns) + _MORE_LISTS
    if not 0 < len(request.rows) <= most:
        raise ValueError(f"found {len(request.rows)} lists of rows, expected 1 to {most}")
    return [_wanted_of(dataset, place, asked) for place, asked in enumerate(request.rows)]


def _wanted_of(dataset: Dataset, place: int, asked: pb.RowsOfColumn) -> _Piece:
    column = column_of(dataset, asked.column)
    if column.sharded is None:
        raise ValueError(f"column {quoted(asked.column)} is whole here, expected a part of one")
    if not asked.ids or len(asked.ids) % 8:
        raise ValueError(f"found {len(asked.ids)} bytes of ids, expected 8 for each")
    return _Piece(place, column, np.frombuffer(asked.ids, np.int64))


def _pieces(wanted: list[_Piece]) -> Iterator[_Piece]:
    """The same rows, in pieces of at most PIECE_BYTES or of one row."""
    for place, column, ids in wanted:
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
