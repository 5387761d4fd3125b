"""The gRPC service: opens sessions, answers questions about datasets and statistics."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from graphzero import _engine
from graphzero.base.errors import GraphZeroError, InputError
from graphzero.base.fail_points import fail_point
from graphzero.base.text import line_text, quoted, size_text
from graphzero.files.dataset import Dataset
from graphzero.proto import graphzero_pb2 as pb
from graphzero.proto.graphzero_pb2_grpc import SamplerServiceServicer
from graphzero.server.codes import ProtocolViolation, code_for
from graphzero.server.datasets.catalog import Catalog
from graphzero.server.datasets.describe import describe_dataset, describe_datasets
from graphzero.server.datasets.read_plan import ReadPlan, reads_files, suggested_prefetch
from graphzero.server.eviction import Eviction
from graphzero.server.memory.gate import MemoryGate
from graphzero.server.memory.id_budget import IdBudget
from graphzero.server.memory.inline import InlineBudget
from graphzero.server.memory.results import ResultMemory, SharedMemory
from graphzero.server.memory.working_line import WorkingMemoryLine
from graphzero.server.metrics.history import History
from graphzero.server.metrics.requests import RequestMetrics
from graphzero.server.metrics.statistics import Sources, Statistics
from graphzero.server.network.foreign_text import foreign_text
from graphzero.server.network.loop_time import LoopTime
from graphzero.server.peers.access import PeerAccess
from graphzero.server.peers.answers import AT_A_TIME, PeerAnswers
from graphzero.server.process.lock import SocketLock
from graphzero.server.process.log_lines import fields
from graphzero.server.sessions.resources import Shared
from graphzero.server.sessions.scheduler import Scheduler
from graphzero.server.sessions.session import TrainerSession, log_closed
from graphzero.server.settings.config import LimitConfig
from graphzero.server.transfers import Transfers
from grpc import StatusCode

log = logging.getLogger("graphzero.server")

PROTOCOL_VERSION = 1
# Requests and fields of requests that came after the first version of the contract.
FEATURES = ("candidates", "disjoint", "find_nodes", "labor", "links", "subgraph", "times", "types")
HELLO_TIMEOUT_S = 10.0
MAX_HELLO_BYTES = 64 << 10
# Blocks that were free for this long give their memory back.
IDLE_MEMORY = timedelta(seconds=10)
# A session's guarantee forgets the size of a result after one to two such periods, if not sooner.
RECENT_RESULTS = timedelta(minutes=5)
# A new session that finds no memory waits up to this many steps of this length for memory that
# departed trainers still have mapped.
_ROOM_STEP_S = 0.02
_ROOM_STEPS = 50


class _Refusal(Exception):
    """Why a session cannot be opened."""

    def __init__(self, code: StatusCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class Service(SamplerServiceServicer):
    def __init__(
        self,
        catalog: Catalog,
        plan: ReadPlan,
        limits: LimitConfig,
        budget: _engine.MemoryBudget,
        lock: SocketLock,
        peers: PeerAccess,
    ) -> None:
        self._catalog = catalog
        self._plan = plan
        self._limits = limits
        self._budget = budget
        self._gate = MemoryGate(budget)
        self._inline_budget = InlineBudget(budget)
        self._instance_id = lock.instance_id
        reading = reads_files(catalog.all())
        self._shared = Shared(
            limits=limits,
            scheduler=Scheduler(
                limits.workers if reading else limits.threads,
                most=_most_workers(limits),
            ),
            line=WorkingMemoryLine(limits.work_memory),
            ids=IdBudget(limits.id_memory),
            metrics=RequestMetrics(),
            peers=peers,
        )
        self._statistics = Statistics(
            Sources(lock.instance_id, catalog, plan, self._shared, budget)
        )
        self.history = History()
        self._sessions: dict[int, TrainerSession] = {}
        self._eviction = Eviction(self._sessions, self._close, lock.admin_key)
        self._answers = PeerAnswers(
            catalog,
            self._shared.scheduler,
            lambda: (session.dataset for session in self._sessions.values()),
        )
        self._transfers = Transfers(catalog, lambda: len(self._sessions))
        self._next_session = 1
        self._last_busy = time.monotonic()
        self._draining = False
        self.tcp_token: bytes | None = None

    # --- rpcs ---

    async def Session(self, requests: AsyncIterator[pb.SessionRequest], context: Any) -> None:
        await self._check_token(context)
        refused = None
        try:
            session, request_id = await self._open(requests)
        except _Refusal as refusal:
            refused = refusal.code, str(refusal)
        if refused is not None:  # outside of `except`, where a traceback would keep the message
            _log_refusal(*refused)
            await context.abort(*refused)
        writer, ended = None, None
        try:
            fail_point("session.opened")
            welcome = pb.SessionResponse(request_id=request_id, welcome=self._welcome(session))
            await context.write(welcome)
            writer = asyncio.create_task(session.write_to(context))
            reader = asyncio.create_task(self._read(session, requests, writer))
            ended = await session.over(reader)
        except ProtocolViolation as error:
            await context.abort(code_for(error), f"protocol violation: {error}")
        finally:
            if writer is not None:
                writer.cancel()
            self._close(session)
        # abort() comes last, when the session holds nothing: it waits for a trainer that does not
        # read.
        if ended is not None:
            await context.abort(StatusCode.ABORTED, ended)
        if self._draining:
            await context.abort(StatusCode.UNAVAILABLE, "the daemon is shutting down")

    async def ListDatasets(
        self, request: pb.ListDatasetsRequest, context: Any
    ) -> pb.ListDatasetsResponse:
        await self._check_token(context)
        return self.datasets()

    def datasets(self) -> pb.ListDatasetsResponse:
        datasets = describe_datasets(self._catalog.all())
        return pb.ListDatasetsResponse(datasets=datasets, sampler_version=_engine.SAMPLER_VERSION)

    async def GetStats(self, request: pb.GetStatsRequest, context: Any) -> pb.GetStatsResponse:
        await self._check_token(context)
        return self.statistics()

    def statistics(self) -> pb.GetStatsResponse:
        """The current statistics. To be called on the event loop's thread."""
        return self._statistics.take(self._sessions.values(), draining=self._draining)

    def remember(self) -> None:
        """Adds the current numbers to the history. To be called once a second."""
        self.history.add(self._shared.metrics, self._budget.used)

    async def EndSession(
        self, request: pb.EndSessionRequest, context: Any
    ) -> pb.EndSessionResponse:
        return await self._eviction.end_one(request, context)

    async def ListFiles(self, request: pb.ListFilesRequest, context: Any) -> pb.ListFilesResponse:
        await self._check_token(context)
        return await self._transfers.list_files(request, context)

    async def ReadRows(self, request: pb.ReadRowsRequest, context: Any) -> None:
        await self._check_token(context)
        try:
            await self._answers.read_rows(request, context)
        finally:
            self._last_busy = time.monotonic()

    async def ReadFile(self, request: pb.ReadFileRequest, context: Any) -> None:
        await self._check_token(context)
        try:
            await self._transfers.read_file(request, context)
        finally:
            self._last_busy = time.monotonic()

    # --- sessions ---

    async def _open(self, requests: AsyncIterator[pb.SessionRequest]) -> tuple[TrainerSession, int]:
        """The session that the first message asks for, and the id of that request."""
        try:
            first = await asyncio.wait_for(anext(aiter(requests)), HELLO_TIMEOUT_S)
        except StopAsyncIteration:
            raise _Refusal(StatusCode.INVALID_ARGUMENT, "no hello came") from None
        except asyncio.TimeoutError:
            text = f"no hello came within {HELLO_TIMEOUT_S:g} s"
            raise _Refusal(StatusCode.DEADLINE_EXCEEDED, text) from None
        _check_hello(first)
        hello = first.hello
        if hello.transport != pb.TRANSPORT_INLINE:
            await self._room_for_a_session()
        if self._draining:
            raise _Refusal(StatusCode.UNAVAILABLE, "the daemon is shutting down")
        if len(self._sessions) >= self._limits.max_sessions:
            raise _Refusal(
                StatusCode.RESOURCE_EXHAUSTED,
                f"all {self._limits.max_sessions} sessions are in use; raise --max-sessions",
            )
        return self._new_session(hello, self._find(hello)), first.request_id

    async def _room_for_a_session(self) -> None:
        """Gives trainers that have just left a moment to unmap what the next one needs."""
        for _ in range(_ROOM_STEPS):
            if not self._budget.room_may_come:
                return
            await asyncio.sleep(_ROOM_STEP_S)

    def _find(self, hello: pb.Hello) -> Dataset:
        try:
            dataset = self._catalog.find(hello.dataset)
        except GraphZeroError as error:
            raise _Refusal(code_for(error), str(error)) from error
        if hello.expected_fingerprint and hello.expected_fingerprint != dataset.fingerprint:
            raise _Refusal(
                StatusCode.FAILED_PRECONDITION,
                f"dataset {quoted(dataset.name)} has changed: found fingerprint "
                f"{dataset.fingerprint.hex()}, expected "
                f"{line_text(hello.expected_fingerprint.hex(), 40)}",
            )
        return dataset

    def _new_session(self, hello: pb.Hello, dataset: Dataset) -> TrainerSession:
        session = TrainerSession(
            session_id=self._next_session,
            client_name=foreign_text(hello.client_name),
            dataset=dataset,
            memory=self._new_memory(hello),
            shared=self._shared,
        )
        self._next_session += 1
        self._shared.metrics.sessions_opened += 1
        self._sessions[session.id] = session
        self._shared.line.sessions = len(self._sessions)
        log.info(
            "session %d opened by %s on %s",
            session.id,
            session.client_name,
            quoted(dataset.name),
            extra=fields(session=session.id, client=session.client_name, dataset=dataset.name),
        )
        return session

    def _new_memory(self, hello: pb.Hello) -> ResultMemory:
        if hello.transport == pb.TRANSPORT_INLINE:
            return self._inline_budget.open_session()
        window = min(max(2, hello.window), self._limits.max_in_flight)
        try:
            return SharedMemory(self._budget.open_session(window), self._gate)
        except InputError as error:
            raise _Refusal(StatusCode.RESOURCE_EXHAUSTED, str(error)) from error

    async def _read(
        self,
        session: TrainerSession,
        requests: AsyncIterator[pb.SessionRequest],
        writer: asyncio.Task[None],
    ) -> None:
        """Handles messages until the client is gone, the daemon ends, or nothing can be written."""
        time_spent = LoopTime()
        async for message in requests:
            with time_spent:
                session.handle(message)
            del message  # a large message would be kept until the next one comes
            await time_spent.pay(len(self._sessions))
            await session.room_for_answers()
            if writer.done():
                return

    def _welcome(self, session: TrainerSession) -> pb.Welcome:
        return pb.Welcome(
            protocol_version=PROTOCOL_VERSION,
            features=FEATURES,
            dataset=describe_dataset(session.dataset),
            session_id=session.id,
            instance_id=self._instance_id,
            sampler_version=_engine.SAMPLER_VERSION,
            max_request_edges=self._limits.largest_sample,
            max_result_byte_size=self._limits.largest_result,
            max_in_flight=min(self._limits.max_in_flight, 2**32 - 1),
            suggested_prefetch=suggested_prefetch(session.dataset),
        )

    def _close(self, session: TrainerSession) -> None:
        if self._sessions.pop(session.id, None) is None:
            return  # it was closed before, by Eviction for instance
        session.close()
        self._shared.line.sessions = len(self._sessions)
        self._last_busy = time.monotonic()
        log_closed(session)

    async def _check_token(self, context: Any) -> None:
        """Aborts a call without the token. The Unix socket needs none: permissions protect it."""
        if self.tcp_token is None or context.peer().startswith("unix:"):
            return
        metadata = dict(context.invocation_metadata() or ())
        sent = str(metadata.get("authorization", "")).encode()
        if not hmac.compare_digest(sent, b"Bearer " + self.tcp_token):
            log.warning("refused %s: a wrong token, or none", context.peer())
            await context.abort(StatusCode.UNAUTHENTICATED, "a wrong token, or none")

    # --- life ---

    def set_limits(self, limits: LimitConfig) -> None:
        """Changes the limits from now on; open sessions and requests stay."""
        self._limits = self._shared.limits = limits
        self._shared.scheduler.set_most(_most_workers(limits))

    def set_slow_request(self, seconds: float) -> None:
        self._shared.metrics.slow_s = seconds

    def watch_memory(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on, requests that wait for shared memory try again when some is free."""
        loop.add_reader(self._budget.ready_descriptor, self._call_ready)

    def _call_ready(self) -> None:
        self._gate.call_ready()
        self._inline_budget.gate.call_ready()  # freed regions leave room for inline results too

    def end_idle_sessions(self, most_s: float) -> None:
        """Ends sessions that hold shared memory and have said nothing for over `most_s` seconds."""
        self._eviction.end_idle(most_s)

    def idle_seconds(self) -> float:
        """How long there has been no session, nobody who copied a dataset, and no peer that asked
        for rows."""
        busy = self._sessions or self._transfers.open or self._answers.open
        return 0.0 if busy else time.monotonic() - self._last_busy

    async def trim_memory(self) -> None:
        """Gives idle memory back; on another thread, because it is slow."""
        await asyncio.to_thread(self._budget.trim, idle=IDLE_MEMORY, forget=RECENT_RESULTS)
        self._shared.line.serve()  # a worker may have freed working memory without calling this

    async def drain(self, timeout_s: float) -> None:
        """Takes no more sessions; returns when all requests are answered, or time is up."""
        self._draining = True
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(
                asyncio.gather(*(session.drained() for session in self._sessions.values())),
                timeout_s,
            )

    def shutdown(self, timeout_s: float) -> bool:
        """False if work is still running that cannot be interrupted."""
        for session in list(self._sessions.values()):
            self._close(session)
        looked = self._statistics.close(timeout_s)
        return self._shared.scheduler.shutdown(timeout_s) and looked


def _most_workers(limits: LimitConfig) -> int:
    """Adds one worker for each session and one for each answer to a peer: while all requests here
    wait for peers, those peers may wait for answers from this daemon."""
    return limits.workers + limits.max_sessions + AT_A_TIME


def _log_refusal(code: StatusCode, text: str) -> None:
    """Logs a refusal as a warning if the daemon or its data are to blame for it."""
    level = logging.WARNING if code in (StatusCode.DATA_LOSS, StatusCode.INTERNAL) else logging.INFO
    log.log(level, "refused a session: %s: %s", code.name, text, extra=fields(code=code.name))


def _check_hello(first: pb.SessionRequest) -> None:
    """Raises _Refusal unless a session can begin with this first message of a stream."""
    if first.WhichOneof("body") != "hello":
        raise _Refusal(StatusCode.INVALID_ARGUMENT, "the first message must be hello")
    hello = first.hello
    if hello.protocol_version != PROTOCOL_VERSION:
        raise _Refusal(
            StatusCode.FAILED_PRECONDITION,
            f"found protocol version {hello.protocol_version}, expected {PROTOCOL_VERSION}: "
            "install the same release of graphzero-server for trainers and daemon",
        )
    if hello.ByteSize() > MAX_HELLO_BYTES:
        raise _Refusal(
            StatusCode.INVALID_ARGUMENT,
            f"found a hello of {size_text(hello.ByteSize())}, expected at most "
            f"{size_text(MAX_HELLO_BYTES)}",
        )
