"""One trainer's session: handles its messages, and its end. request.py has a request's life.

Everything here runs on the event loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from graphzero.base.text import counted_text, line_text, size_text
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import ProtocolViolation, RequestCancelled
from graphzero.server.memory.results import ResultMemory
from graphzero.server.metrics.requests import SessionCounts
from graphzero.server.process.log_lines import fields
from graphzero.server.sessions.request import Request
from graphzero.server.sessions.resources import SessionResources, Shared

log = logging.getLogger("graphzero.server")

# Block ids that one message may release: a longer list would keep the event loop from others.
_MAX_RELEASES = 1 << 14
_DRAIN_STEP_S = 0.01


class TrainerSession:
    def __init__(
        self,
        session_id: int,
        client_name: str,
        dataset: Dataset,
        memory: ResultMemory,
        shared: Shared,
    ) -> None:
        self.id = session_id
        self.client_name = client_name
        self.dataset = dataset
        self._started = time.monotonic()
        self._resources = SessionResources(session_id, client_name, dataset, memory, shared)
        self._open: dict[int, Request] = {}
        self._draining = False
        self._closed = False
        self._last_heard = self._started
        self._told_to_end: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    # --- what the client says ---

    def handle(self, message: pb.SessionRequest) -> None:
        if self._closed:
            return  # it was ended while the message was on its way
        self._last_heard = time.monotonic()
        if message.released_block_ids:
            self._release(message.released_block_ids)
        if message.waited_us:
            self._resources.shared.metrics.waited(message.waited_us, self.counts, self.age_s)
        body = message.WhichOneof("body")
        if body == "release":
            self._release(message.release.block_ids)
        elif body in ("sample", "walk", "gather", "find_nodes"):
            self._begin(message, body)
        elif body == "ids":
            request = self._open.get(message.request_id)
            if request is not None:  # else it was answered before all of its ids arrived
                request.take_ids(message.ids.ids, last=message.ids.last)
        elif body == "cancel":
            request = self._open.get(message.request_id)
            if request is not None:
                request.fail(RequestCancelled("cancelled by the client"))
        elif body == "region_mapped":
            self._region_mapped(message.region_mapped)
        else:
            raise ProtocolViolation(f"found {body or 'an unknown message'} inside a session")

    def _release(self, block_ids: Sequence[int]) -> None:
        if len(block_ids) > _MAX_RELEASES:
            raise ProtocolViolation(
                f"found {len(block_ids)} blocks to release in one message, expected at most "
                f"{_MAX_RELEASES}"
            )
        self._resources.memory.release(block_ids)
        self._resources.turns.call_all_held_back()

    def _begin(self, message: pb.SessionRequest, kind: str) -> None:
        if self._draining:
            return  # unanswered: the stream ends soon, and the client may ask the next daemon
        if message.request_id == 0 or message.request_id in self._open:
            raise ProtocolViolation(f"request id {message.request_id} is 0 or in use")
        self._resources.shared.metrics.begin(self.counts)
        request = Request(self._resources, message, kind, self.counts.requests, self._forget)
        self._open[request.id] = request
        request.begin(in_flight=len(self._open))

    def _forget(self, request: Request) -> None:
        del self._open[request.id]
        self._last_heard = time.monotonic()  # the trainer was waiting for this answer, not idle

    def _region_mapped(self, message: pb.RegionMapped) -> None:
        self._resources.memory.region_mapped(message.region_id)
        if message.error:
            self._resources.memory_broke(
                f"the client cannot map shared memory ({line_text(message.error)}): share /dev/shm "
                'with the daemon, or connect with transport="inline"'
            )

    # --- what the client is told ---

    async def room_for_answers(self) -> None:
        """Returns when the client has read enough of its answers to be asked for more."""
        await self._resources.outbox.room()

    async def write_to(self, context: Any) -> None:
        """Sends answers, in order, until it is cancelled or the client is gone."""
        await self._resources.outbox.write_to(context)

    @property
    def counts(self) -> SessionCounts:
        return self._resources.counts

    @property
    def waiting_for_memory(self) -> int:
        """Requests that wait for memory for their results."""
        return self._resources.turns.waiting

    @property
    def waiting_for_peer(self) -> int:
        """Requests that wait for rows from the daemon of another part."""
        return self._resources.at_workers.waiting_for_peer

    def held_by_age(self) -> Sequence[int]:
        return self._resources.memory.held_by_age()

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._started

    def stats(self) -> pb.SessionStats:
        stats = pb.SessionStats(
            session_id=self.id,
            client_name=self.client_name,
            dataset=self.dataset.name,
            age_ms=int(1000 * self.age_s),
            requests=self.counts.requests,
            failed_requests=self.counts.failed,
            result_byte_size=self.counts.result_bytes,
            waited_us=self.counts.waited_us,
            in_flight=len(self._open),
            request_latency=self._resources.latency.entries,
            idle_ms=int(1000 * self.idle_seconds()),
        )
        self._resources.memory.describe(stats)
        return stats

    def idle_seconds(self) -> float:
        """Time since the trainer's last message or last answer; 0 while a request is open."""
        return 0.0 if self._open else time.monotonic() - self._last_heard

    # --- its end ---

    def end(self, why: str) -> None:
        """Ends the session for somebody other than its trainer, which is told `why`."""
        if not self._told_to_end.done():
            self._told_to_end.set_result(why)

    async def over(self, reader: asyncio.Task[None]) -> str | None:
        """Returns when `reader`, which handles the trainer's messages, is done (None), or when
        end() was called (why). Raises what `reader` raised."""
        ends: set[asyncio.Future[Any]] = {reader, self._told_to_end}
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._told_to_end.done():
                return self._told_to_end.result()
            await reader
            return None
        finally:
            reader.cancel()

    async def drained(self) -> None:
        """Takes no more requests. Returns when all open ones are answered and their answers on
        their way, or when the session is closed."""
        self._draining = True
        while not self._closed and (self._open or not self._resources.outbox.is_empty):
            await asyncio.sleep(_DRAIN_STEP_S)

    def close(self) -> None:
        """Frees everything at once; results of work that still runs are thrown away."""
        resources, shared = self._resources, self._resources.shared
        self._closed = True
        resources.outbox.close()
        resources.turns.clear()
        for request in list(self._open.values()):
            request.drop()
        shared.scheduler.forget(self.id)
        resources.memory.close()
        shared.line.serve()


def log_closed(session: TrainerSession) -> None:
    """Logs the end of a session, with its totals."""
    counts, seconds, waited_s = session.counts, session.age_s, session.counts.waited_us / 1e6
    log.info(
        "session %d closed after %s of %s: %d failed, %s in %.1f s, of which the trainer waited "
        "%.1f s",
        session.id,
        counted_text(counts.requests, "request"),
        session.client_name or "an unnamed trainer",
        counts.failed,
        size_text(counts.result_bytes),
        seconds,
        waited_s,
        extra=fields(
            session=session.id,
            client=session.client_name,
            dataset=session.dataset.name,
            requests=counts.requests,
            failed=counts.failed,
            result_bytes=counts.result_bytes,
            seconds=round(seconds, 3),
            waited_seconds=round(waited_s, 3),
        ),
    )
