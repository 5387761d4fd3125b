"""One trainer's session: its requests, its shared memory, and what is still to be told to it.

Everything here runs on the event loop's thread. request.py has the life of a request.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from graphzero import _engine
from graphzero._dataset import Dataset
from graphzero._text import line_text, size_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import (
    OutOfMemory,
    RequestCancelled,
    RequestTimedOut,
    code_for,
    is_of_the_machine,
    number_of,
)
from graphzero.server.compute import Recipes, Work
from graphzero.server.memory.gate import MemoryGate
from graphzero.server.memory.id_budget import IdBudget
from graphzero.server.memory.inline import InlineBlock, InlineMemory
from graphzero.server.memory.working_line import WorkLine
from graphzero.server.sessions.metrics import Counters, LatencyCounts
from graphzero.server.sessions.request import Request
from graphzero.server.sessions.scheduler import Scheduler
from graphzero.server.settings.config import LimitConfig

log = logging.getLogger("graphzero.server")

CHUNK_BYTES = 1 << 20
# Answers that wait to be read. With more, nothing is read from the client until it reads some.
MAX_OUTGOING = 256
# Characters of an error, which may quote what the client sent.
MAX_ERROR_TEXT = 2000
MAX_OUTGOING_BYTES = 1 << 20
# Of a request without its ids and texts: longer lists of columns or hops are mistakes, or worse.
_MAX_BODY_BYTES = 64 << 10
# However long a client says that it will wait.
_MAX_TIMEOUT_S = 3600.0
# Block ids that one message may release: a longer list would keep the event loop from others.
_MAX_RELEASES = 1 << 14
# A text takes so much more in the daemon than on the wire.
_TEXT_BYTES = 64
_NOBODY = 1 << 63
_FIRST_IDS = {"sample": ("seeds", "more_seeds"), "walk": ("starts", "more_starts")}


class ProtocolViolation(Exception):
    """The client broke the contract: the stream ends."""


class TrainerSession:
    def __init__(
        self,
        session_id: int,
        client_name: str,
        dataset: Dataset,
        memory: Any,  # _engine.SessionMemory or InlineMemory
        limits: LimitConfig,
        scheduler: Scheduler,
        gate: MemoryGate,
        line: WorkLine,
        ids: IdBudget,
        counters: Counters,
    ) -> None:
        self.id = session_id
        self.client_name = client_name
        self.dataset = dataset
        self.recipes = Recipes(dataset)
        self.memory = memory
        self.limits = limits
        self.counters = counters
        self.started = time.monotonic()
        self.requests = 0
        self.latency = LatencyCounts()
        self.open: dict[int, Request] = {}
        self.gate = gate
        self.line = line
        self.scheduler = scheduler
        self.share = _engine.Share()
        self._waiting: dict[int, Request] = {}  # for shared memory, by number
        self.oldest_waiting = _NOBODY  # its number, also read by workers
        self._ids = ids
        self._held_bytes = 0  # of requests under way
        self._told: set[int] = set()  # blocks that are the client's until it releases them
        self._closed = False
        self._outgoing: asyncio.Queue[pb.SessionResponse | InlineBlock] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()
        self._outgoing_bytes = 0
        self._draining = False
        self._broken_memory = ""

    # --- what the client says ---

    def handle(self, message: pb.SessionRequest) -> None:
        if message.released_block_ids:
            self._release_told(message.released_block_ids)
        body = message.WhichOneof("body")
        if body == "release":
            self._release_told(message.release.block_ids)
        elif body in ("sample", "walk", "gather", "find_nodes"):
            self._begin(message, body)
        elif body == "ids":
            self._add_ids(message)
        elif body == "cancel":
            request = self.open.get(message.request_id)
            if request is not None:
                self.fail(request, RequestCancelled("cancelled by the client"))
        elif body == "region_mapped":
            self._region_mapped(message.region_mapped)
        else:
            raise ProtocolViolation(f"found {body or 'an unknown message'} inside a session")

    def _release_told(self, block_ids: Sequence[int]) -> None:
        """Only blocks that the client was told of: a worker still writes to the others."""
        if len(block_ids) > _MAX_RELEASES:
            raise ProtocolViolation(
                f"found {len(block_ids)} blocks to release in one message, expected at most "
                f"{_MAX_RELEASES}"
            )
        known = self._told.intersection(block_ids)
        if known:
            self._told -= known
            self.release(list(known))

    async def room_for_answers(self) -> None:
        """Returns when the client has read enough of its answers to be asked for more."""
        await self._room.wait()

    def _begin(self, message: pb.SessionRequest, kind: str) -> None:
        if self._draining:
            return  # ends with the stream, and may be asked again of the next daemon
        if message.request_id == 0 or message.request_id in self.open:
            raise ProtocolViolation(f"request id {message.request_id} is 0 or in use")
        self.requests += 1
        self.counters.requests += 1
        body = getattr(message, kind)
        first, more = _FIRST_IDS.get(kind, ("ids", "more_ids"))
        piece = getattr(body, first)
        body.ClearField(first)  # what is left is equal for requests that differ in their ids only
        request = Request(self, message, number=self.requests)
        self.open[request.id] = request
        try:
            self._admit(request, message, kind)
        except (OutOfMemory, ValueError) as error:
            self.fail(request, error)
            return
        seconds = message.timeout_ms / 1000 or self.limits.request_timeout_s
        now = asyncio.get_running_loop().time()
        request.deadline = now + min(seconds, _MAX_TIMEOUT_S)
        # A client that takes its time with the ids has no longer than is usual.
        self._set_timer(request, min(request.deadline, now + self.limits.request_timeout_s))
        self._take_ids(request, piece, last=not getattr(body, more))

    def _admit(self, request: Request, message: pb.SessionRequest, kind: str) -> None:
        """Raises what the request is refused with before anything of it is read."""
        if len(self.open) > self.limits.max_in_flight:
            most = self.limits.max_in_flight
            raise OutOfMemory(
                f"found more than {most} requests in flight: wait for answers, use a smaller "
                "prefetch, or raise --max-in-flight"
            )
        texts = len(message.find_nodes.texts) if kind == "find_nodes" else 0
        if not texts and message.ByteSize() > _MAX_BODY_BYTES:
            raise ValueError(
                f"found a request of {size_text(message.ByteSize())} beside its ids, expected at "
                f"most {size_text(_MAX_BODY_BYTES)}: name fewer columns and hops"
            )
        self._hold(request.held_bytes + _TEXT_BYTES * texts, request)

    def _hold(self, more: int, request: Request) -> None:
        """Counts bytes of a request that is kept; raises OutOfMemory if they are too many."""
        if not self._ids.take(more, held=self._held_bytes):
            raise OutOfMemory(
                f"this session's requests hold {size_text(self._held_bytes)} of ids and texts, all "
                f"requests {size_text(self._ids.used)} of {size_text(self._ids.limit)}, and "
                f"{size_text(more)} more came: send fewer ids at a time, or raise --work-memory"
            )
        self._held_bytes += more
        request.counted_bytes += more

    def _set_timer(self, request: Request, when: float) -> None:
        if request.timer is not None:
            request.timer.cancel()
        request.timer = asyncio.get_running_loop().call_at(when, self._expired, request)

    def _add_ids(self, message: pb.SessionRequest) -> None:
        request = self.open.get(message.request_id)
        # Unknown: it was answered before all of it arrived.
        if request is not None:
            self._take_ids(request, message.ids.ids, last=message.ids.last)

    def _take_ids(self, request: Request, piece: bytes, *, last: bool) -> None:
        if request.complete:
            raise ProtocolViolation(f"more ids for request {request.id} after its last")
        request.complete = last
        try:
            if len(piece) % 8:
                raise ValueError(f"found {len(piece)} bytes of ids, expected 8 for each")
            if len(request.ids) + len(piece) > 8 * self.limits.max_ids:
                most = self.limits.max_ids
                raise ValueError(f"found more than {most} ids in one request (--max-ids)")
            self._hold(len(piece), request)
        except (OutOfMemory, ValueError) as error:
            self.fail(request, error)
            return
        request.ids += piece
        if last:
            self._set_timer(request, request.deadline)
            request.start()

    def nobody_waits(self) -> bool:
        """Whether a request that comes now is the next to be run."""
        return self.oldest_waiting == _NOBODY and not self.scheduler.has_queued(self.id)

    def _region_mapped(self, message: pb.RegionMapped) -> None:
        if not isinstance(self.memory, InlineMemory):
            self.memory.mapped(message.region_id)
        if message.error:
            self.memory_broke(
                f"the client cannot map shared memory ({line_text(message.error)}): share /dev/shm "
                'with the daemon, or connect with transport="inline"'
            )

    # --- what becomes of a request ---

    def _expired(self, request: Request) -> None:
        if request.number in self._waiting:
            self.fail(request, OutOfMemory(self._held_text()))
        else:
            self.fail(request, RequestTimedOut("the request's time ran out before it was done"))

    def _held_text(self) -> str:
        if isinstance(self.memory, InlineMemory):
            held, blocks = self.memory.held()
            if not blocks:
                return self._held_by_others_text()
            return (
                f"no room for another result: {size_text(held)} in {blocks} results wait until the "
                "client has read them"
            )
        usage = self.memory.usage()
        if not usage.blocks:
            return self._held_by_others_text()
        return (
            "no shared memory for another batch: this session holds "
            f"{size_text(usage.block_bytes)} in {usage.blocks} blocks, the oldest for "
            f"{usage.oldest_block_ms / 1000:.1f} s, and is guaranteed "
            f"{size_text(usage.guarantee_bytes)}; drop batches you no longer need (or .clone() "
            "what you keep), use a smaller prefetch, or raise --shm-limit"
        )

    def _held_by_others_text(self) -> str:
        return (
            "no memory for this result: other sessions hold what --shm-limit "
            f"({size_text(self.limits.shm_limit)}) leaves to it; ask again when they have released "
            "batches, ask for less at a time, or raise --shm-limit"
        )

    def memory_broke(self, problem: str) -> None:
        """No further result can lie in shared memory: every request fails with `problem`."""
        if not self._broken_memory:
            self._broken_memory = problem
            log.warning("session %d: %s", self.id, problem)

    def memory_problem(self) -> str:
        return self._broken_memory

    def fail(self, request: Request, error: BaseException) -> None:
        """Answers with an error."""
        if not self._finish(request):
            return
        # What a trainer gives up, a batch fetched ahead for instance, is no failure.
        if not isinstance(error, RequestCancelled):
            self.counters.failed += 1
            self._count_latency(request)
        code = code_for(error)
        text = line_text(str(error), MAX_ERROR_TEXT) or type(error).__name__
        if code.name == "INTERNAL":
            log.error("session %d, request %d failed", self.id, request.id, exc_info=error)
        elif is_of_the_machine(error):
            log.error("session %d, request %d failed: %s", self.id, request.id, text)
        self._say(
            pb.SessionResponse(
                request_id=request.id, error=pb.Error(code=number_of(code), message=text)
            )
        )

    def succeed(self, request: Request, work: Work, block: Any) -> None:
        """Answers with a filled block; takes it back if nobody waits for it any more."""
        if not self._finish(request):
            self.release([block.id])
            return
        self._count_latency(request)
        self.counters.result_bytes += work.layout.byte_size
        answer = pb.SessionResponse(request_id=request.id)
        result = answer.result
        work.layout.describe(result)
        work.describe(result)
        if isinstance(block, InlineBlock):
            block.request_id = request.id
            self._say(block)
        else:
            self._tell_news()
            self._told.add(block.id)
            where = result.block
            where.block_id = block.id
            where.region_id = block.region_id
            where.offset = block.offset
            where.byte_size = block.size
        self._say(answer)

    def _count_latency(self, request: Request) -> None:
        if request.arrived is not None:  # else it was refused before all of it had come
            self.latency.add(asyncio.get_running_loop().time() - request.arrived)

    def wait_for_memory(self, request: Request, asked: bool) -> None:
        """It asked in vain, or did not ask because an older one was waiting.

        Requests get memory in the order in which they came: a trainer waits for the oldest, and
        would wait for ever if a younger one took the last block.
        """
        self._waiting[request.number] = request
        self.oldest_waiting = min(self._waiting)
        if self.oldest_waiting != request.number:
            return
        if asked:
            self.gate.wait(self.memory.number, self._retry_oldest)
        else:  # that one was answered meanwhile
            self._retry_oldest()

    def _retry_oldest(self) -> None:
        request = self._waiting.get(self.oldest_waiting)
        if request is not None:
            request.submit(first=True)

    def _wait_no_more(self, request: Request) -> None:
        if self._waiting.pop(request.number, None) is not None:
            self.oldest_waiting = min(self._waiting, default=_NOBODY)
            # The next one asks by itself, and the gate calls again if that is in vain.
            self.gate.leave(self.memory.number)
            self._retry_oldest()

    def release(self, block_ids: list[int]) -> None:
        self.memory.release(block_ids)

    def _finish(self, request: Request) -> bool:
        """False if the request was answered before."""
        if self.open.pop(request.id, None) is None:
            return False
        self._held_bytes -= request.counted_bytes
        self._ids.give(request.counted_bytes)
        # Else one who asks and cancels without end would fill the queue.
        if self.scheduler.has_queued(self.id) and self.scheduler.withdraw(self.id, request.run):
            request.queued = False
        self.line.unpark(request)
        request.end()
        self._wait_no_more(request)
        return True

    def _tell_news(self) -> None:
        news = self.memory.take_news()
        for offer in news.offers:
            self._say(
                pb.SessionResponse(
                    region_offer=pb.RegionOffer(
                        region_id=offer.region_id, name=offer.name, byte_size=offer.size
                    )
                )
            )
        for region_id in news.drops:
            self._say(pb.SessionResponse(region_drop=pb.RegionDrop(region_id=region_id)))

    # --- what the client is told ---

    def _say(self, message: pb.SessionResponse | InlineBlock) -> None:
        self._outgoing.put_nowait(message)
        if not isinstance(message, InlineBlock):  # which counts as memory of the session
            self._outgoing_bytes += message.ByteSize()
        if self._outgoing.qsize() >= MAX_OUTGOING or self._outgoing_bytes >= MAX_OUTGOING_BYTES:
            self._room.clear()

    async def write_to(self, context: Any) -> None:
        """Sends what is queued, in order, until it is cancelled or the client is gone."""
        try:
            await self._write_all(context)
        finally:
            self._room.set()

    async def _write_all(self, context: Any) -> None:
        while True:
            message = await self._outgoing.get()
            if not isinstance(message, InlineBlock):
                self._outgoing_bytes -= message.ByteSize()
            if (
                self._outgoing.qsize() < MAX_OUTGOING // 2
                and self._outgoing_bytes < MAX_OUTGOING_BYTES // 2
            ):
                self._room.set()
            if not isinstance(message, InlineBlock):
                await context.write(message)
                continue
            for at in range(0, message.size, CHUNK_BYTES):
                data = message.bytes[at : at + CHUNK_BYTES].tobytes()
                await context.write(
                    pb.SessionResponse(
                        request_id=message.request_id, chunk=pb.InlineChunk(data=data)
                    )
                )
            self.release([message.id])

    async def drained(self) -> None:
        """Takes no more requests. Returns when all are answered and the answers on their way, or
        nobody is there any more to get them."""
        self._draining = True
        while not self._closed and (self.open or not self._outgoing.empty()):
            await asyncio.sleep(0.01)

    def close(self) -> None:
        """Frees everything at once; work that runs ends into nothing."""
        self._closed = True
        self._room.set()
        self._waiting.clear()
        for request in list(self.open.values()):
            self._finish(request)
        self.scheduler.forget(self.id)
        self.memory.close()
        self.gate.forget(self.memory.number)
        self.line.serve()
