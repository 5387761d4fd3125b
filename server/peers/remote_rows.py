"""Fetches the rows of one batch that other parts have: one call to each part, all at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from graphzero import _engine
from graphzero.base.text import line_text
from graphzero.files.column_file import ColumnFile
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import PeerFailed
from graphzero.server.peers.directory import Peer, Peers, longest_row
from graphzero.server.peers.running import StopWatch, current
from graphzero.transport.grpc_setup import import_grpc

# Ids in one call: a message has at most 2 MiB.
_MOST_IDS = 200_000
_ID_BYTES = 8
# A piece of an answer has this many bytes, or one row (answers.py).
_PIECE_BYTES = 2 << 20
_RETRY_S = 0.05
# Codes of a peer that cannot answer now, for instance because it is stopping, or because one of the
# two daemons has read a new token before the other.
_TRANSIENT = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "UNKNOWN", "UNAUTHENTICATED")
# The code of a peer that has too many calls to answer, or no memory at the moment.
_BUSY = "RESOURCE_EXHAUSTED"
# gRPC's text, with the same code, for a message that will never fit.
_TOO_LONG = "message larger than max"
# Codes of a peer that has other data by now: the directory asks again who has the part.
_CHANGED = ("FAILED_PRECONDITION", "NOT_FOUND")


class WrongAnswer(Exception):
    """A peer has sent what was not asked for."""


@dataclass(frozen=True)
class _Planned:
    """One column of the batch."""

    key: str
    column: _engine.ShardedColumn
    plan: _engine.PlannedGather


@dataclass(frozen=True)
class _Slice:
    """Rows of one column in one call."""

    planned: _Planned
    first: int
    ids: bytes


class RemoteRows:
    """Used by one worker, for one batch: add() each column, then gather()."""

    def __init__(self, peers: Peers, watch: StopWatch, dataset: Dataset) -> None:
        self._peers = peers
        self._watch = watch
        self._dataset = dataset
        self._planned: list[_Planned] = []

    def add(self, key: str, column: ColumnFile, ids: Any, out: Any) -> None:
        """Writes the rows that the row cache has into the bytes `out`; gather() adds the others."""
        assert column.sharded is not None
        plan = column.sharded.plan(ids, out)
        self._planned.append(_Planned(key, column.sharded, plan))

    def gather(self, meanwhile: Callable[[], None]) -> None:
        """Fetches the missing rows; calls `meanwhile` while the answers are under way."""
        if not self._planned:
            meanwhile()
            return
        asked = [(part, slices) for part in self._other_parts() for slices in self._slices(part)]
        calls: list[tuple[Peer, Any]] = []
        try:
            # Takes the memory for a piece from --work-memory before the first row comes: once for
            # the message, and once for the bytes in it.
            piece = max(_PIECE_BYTES, longest_row(self._dataset))
            room = _engine.work_ids(2 * piece // _ID_BYTES) if asked else None
            calls += (self._start(part, slices) for part, slices in asked)
            meanwhile()
            for planned in self._planned:
                planned.column.gather_own(planned.plan)
            for (part, slices), call in zip(asked, calls, strict=True):
                self._receive(part, slices, call)
            del room
        finally:
            self._planned.clear()  # frees the plans' memory before the request is answered
            for _, call in calls:
                self._watch.forget(call)
                call.cancel()

    def _other_parts(self) -> list[int]:
        shard = self._dataset.shard
        assert shard is not None
        return [part for part in range(shard.parts) if part != shard.part]

    def _slices(self, part: int) -> Iterator[list[_Slice]]:
        """The rows to fetch from a part, by call. Each call fits into a message; usual batches need
        one."""
        slices: list[_Slice] = []
        count = 0
        for planned in self._planned:
            ids = planned.plan.missing_ids(part)
            first, rows = 0, len(ids) // _ID_BYTES
            while first < rows:
                taken = min(rows - first, _MOST_IDS - count)
                piece = ids[_ID_BYTES * first : _ID_BYTES * (first + taken)]
                slices.append(_Slice(planned, first, piece))
                first, count = first + taken, count + taken
                if count == _MOST_IDS:
                    yield slices
                    slices, count = [], 0
        if slices:
            yield slices

    def _start(self, part: int, slices: list[_Slice]) -> tuple[Peer, Any]:
        while True:
            peer = self._peers.wait_for(self._dataset, part)
            request = self._request(peer, part, slices)
            try:
                call = peer.stub.ReadRows(request, metadata=self._peers.metadata())
            except ValueError as error:  # the directory has just closed the channel
                _note_waiting(f"part {part} at {peer.address}: {line_text(str(error), 500)}")
                self._peers.failed(peer)
                _engine.check_stopped()
                continue
            try:
                self._watch.watch(call)
            except BaseException:
                call.cancel()
                raise
            return peer, call

    def _request(self, peer: Peer, part: int, slices: list[_Slice]) -> pb.ReadRowsRequest:
        shard = self._dataset.shard
        assert shard is not None
        return pb.ReadRowsRequest(
            dataset=peer.dataset,
            expected_fingerprint=self._dataset.fingerprint,
            shard=pb.Shard(part=part, parts=shard.parts, layout=self._dataset.layout),
            sampler_version=_engine.SAMPLER_VERSION,
            rows=[pb.RowsOfColumn(column=s.planned.key, ids=s.ids) for s in slices],
        )

    def _receive(self, part: int, slices: list[_Slice], started: tuple[Peer, Any]) -> None:
        """Receives all rows of a call; repeats a call that fails until the request ends."""
        grpc = import_grpc()
        peer, call = started
        while True:
            _note_waiting(f"part {part} at {peer.address} has not answered yet")
            try:
                self._take(part, slices, call)
                _note_waiting("")
                return
            except grpc.RpcError as error:
                _engine.check_stopped()  # raises if the request ended, which cancels the call
                self._judge(part, peer, error)
            except WrongAnswer as error:
                raise PeerFailed(
                    f"part {part} at {peer.address} sent a wrong answer: {error}"
                ) from None
            finally:
                self._watch.forget(call)
                call.cancel()
            time.sleep(_RETRY_S)
            peer, call = self._start(part, slices)

    def _judge(self, part: int, peer: Peer, error: Any) -> None:
        """Raises PeerFailed if it is of no use to repeat the call."""
        code, details = error.code().name, line_text(str(error.details()), 500)
        text = f"part {part} at {peer.address}: {code}: {details}"
        repeatable = code in (_BUSY, *_TRANSIENT, *_CHANGED)
        if not repeatable or _TOO_LONG in details:
            raise PeerFailed(text) from None
        _note_waiting(text)
        if code != _BUSY:
            self._peers.failed(peer)

    def _take(self, part: int, slices: list[_Slice], call: Any) -> None:
        """Puts rows in their places as they arrive. Checks every answer and trusts none."""
        done = [0] * len(slices)
        place = 0
        for answer in call:
            if not place <= answer.place < len(slices):
                raise WrongAnswer(f"rows of list {answer.place}, expected {place} or a later one")
            place = answer.place
            asked = slices[place]
            wanted = len(asked.ids) // _ID_BYTES
            count = _row_count(asked.planned, len(answer.rows))
            if done[place] + count > wanted or not count:
                raise WrongAnswer(f"{done[place] + count} rows of {wanted} that were asked for")
            rows = np.frombuffer(answer.rows, np.uint8)
            asked.planned.column.take(asked.planned.plan, part, asked.first + done[place], rows)
            done[place] += count
        missing = sum(len(s.ids) // _ID_BYTES for s in slices) - sum(done)
        if missing:
            raise WrongAnswer(f"an answer that ended {missing} rows too early")


def _row_count(planned: _Planned, byte_size: int) -> int:
    size = planned.column.stored_row_bytes
    if byte_size % size:
        raise WrongAnswer(f"{byte_size} bytes of rows of {size} bytes")
    return byte_size // size


def _note_waiting(text: str) -> None:
    running = current()
    if running is not None:
        running.waiting_for = text
