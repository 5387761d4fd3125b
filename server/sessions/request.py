"""One request of a session, from its first id to its answer.

    arriving -> queued -> drawing -> (waiting for memory for its result ->) filling -> answered

Drawing may also be refused working memory: then the request waits in the WorkingMemoryLine and
draws again. A request is answered exactly once. Whoever answers it early (its deadline, a cancel,
the end of the session) also tells the engine to stop; a result that comes all the same is thrown
away.

run() runs on a worker's thread, everything else on the event loop's. result_maker.py has what a
worker does, request_ids.py how ids come, request_record.py what is counted and logged at the end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from graphzero import _engine
from graphzero.base.errors import CallStopped, NeedsMemory
from graphzero.base.text import line_text, size_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import (
    OutOfMemory,
    PeerUnavailable,
    RequestTimedOut,
    code_for,
    number_of,
)
from graphzero.server.compute import MOST_BRIEF_BYTES, Computation, is_brief, is_in_memory
from graphzero.server.peers.running import RunningCall, entered
from graphzero.server.sessions.request_ids import RequestIds, take_first_ids
from graphzero.server.sessions.request_record import RequestRecord
from graphzero.server.sessions.resources import SessionResources
from graphzero.server.sessions.result_maker import ResultMaker

# Longest time for a request, however long its client wants to wait.
_MAX_TIMEOUT_S = 3600.0
# Where reads across this many bytes are worth it, a disk gives few of them a second.
_DEAR_GAP = 64 << 10
# A request is small beside one that asks for this many times as many ids.
_FEW_TIMES = 16
# Most characters of an error message, which may quote what the client sent.
_MAX_ERROR_TEXT = 2000


class Request:
    """A request on its way to its answer."""

    def __init__(
        self,
        resources: SessionResources,
        message: pb.SessionRequest,
        kind: str,
        number: int,
        on_answered: Callable[[Request], None],
    ) -> None:
        """`kind` is the field that the message has, `number` is the request's number within its
        session. `on_answered` is called once, at the end."""
        self.id: int = message.request_id
        self.kind = kind
        self.number = number
        self.session_id = resources.session_id
        self.call = _engine.Call(resources.share)
        self._running = RunningCall(self.call)
        self.answered = False
        self.queued = False
        """Whether it waits for a worker or runs on one."""
        self._resources = resources
        self._shared = resources.shared
        self._message = message
        self._on_answered = on_answered
        self._ids = RequestIds(resources, self.id)
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._waits_for_fills = False  # it is held back, and not for want of memory
        self._small = False  # whether it is brief if its data lie in memory
        self._maker = ResultMaker(resources, message, self._ids)
        self._record = RequestRecord(resources, kind, self.id, self._maker)
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()

    # --- arriving ---

    def begin(self, in_flight: int) -> None:
        """Takes the ids that came with the message, or refuses the request if there is no room.

        `in_flight` counts the session's open requests.
        """
        piece, last = take_first_ids(self._message, self.kind)
        try:
            self._ids.admit(self._message, self.kind, in_flight)
        except (OutOfMemory, ValueError) as error:
            self.fail(error)
            return
        usual_s = self._shared.limits.request_timeout_s
        seconds = self._message.timeout_ms / 1000 or usual_s
        now = self._loop.time()
        self._deadline = now + min(seconds, _MAX_TIMEOUT_S)
        # All ids must arrive within the usual time, also if the client's own timeout is longer.
        self._set_timer(min(self._deadline, now + usual_s))
        self.take_ids(piece, last=last)

    def take_ids(self, piece: bytes, *, last: bool) -> None:
        try:
            self._ids.add(piece, last=last)
        except (OutOfMemory, ValueError) as error:
            self.fail(error)
            return
        if last:
            self._set_timer(self._deadline)
            self._start()

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._expired)

    def _start(self) -> None:
        """All ids have come. Runs on the event loop if that is quicker than waking a worker."""
        self._record.arrived()
        self._resources.turns.begin(self)
        if (
            self._is_next()
            and self._is_brief()
            and _engine.has_idle_thread()
            and self._resources.memory.has_warm(MOST_BRIEF_BYTES)
        ):
            waits = _engine.disk_waits()
            self._tell(*self._outcome())
            if _engine.disk_waits() != waits:
                self._resources.dataset.residency.disappointed()
        else:
            self.submit()

    def _is_next(self) -> bool:
        """Whether no other request of the session is before this one."""
        queued = self._shared.scheduler.has_queued(self.session_id)
        return self._resources.turns.nobody_waits and not queued

    def _is_brief(self) -> bool:
        """Whether it takes microseconds and reads nothing from a disk."""
        dataset, recipes, message = self._resources.dataset, self._resources.recipes, self._message
        if not dataset.residency.possible:
            return False
        self._small = is_brief(dataset, recipes, message, len(self._ids))
        return self._small and dataset.residency.allows(
            lambda: is_in_memory(dataset, recipes, message, self._ids.array())
        )

    # --- at a worker ---

    def submit(self, *, first: bool = False) -> None:
        """Queues it for a worker; `first`: before other requests of its session."""
        if not self.queued and not self.answered:
            self.queued = True
            self._waits_for_fills = False
            self._maker.times.wait(for_memory=False)
            self._shared.scheduler.submit(self.session_id, self.run, first=first)

    def run_again(self) -> None:
        """The WorkingMemoryLine has reserved the working memory that the request needs."""
        self.submit(first=True)

    def seconds_used(self) -> float:
        return self._resources.share.seconds

    def run(self) -> None:
        """Draws and fills on a worker's thread, as far as memory allows."""
        residency = self._resources.dataset.residency
        self._maker.times.stop_waiting()
        watched = self._small and not residency.trusted
        waits = _engine.disk_waits() if watched else 0
        at_workers = self._resources.at_workers
        having = at_workers.having(self._running, self._record.arrived_at)
        with having, self.call, entered(self._running):
            outcome = self._outcome()
        if watched:
            residency.note(waited=_engine.disk_waits() != waits)
        # After the call was left: the event loop may give the request to another worker at once,
        # and a call belongs to one thread at a time.
        self._tell(*outcome)
        # The traceback of an error refers to this frame, and `outcome` to the error. That cycle
        # would keep what the other frames hold, a block and its region for instance, until the
        # garbage collector runs.
        del outcome

    def _outcome(self) -> tuple[Any, ...]:
        """Draws and fills; returns what the event loop is to do about it."""
        try:
            return self._make_result()
        except CallStopped:
            return (self._leave_worker,)
        except NeedsMemory as error:
            return (self._refused, error)
        except BaseException as error:
            return (self._failed, error)

    def _make_result(self) -> tuple[Any, ...]:
        if self.answered:
            return (self._leave_worker,)
        turns = self._resources.turns
        if self._draws_from_disk():
            if not self._may_draw(turns.older_than(self.number)):
                return (self._wait_to_draw,)
        # An older request waits for memory: this one has its turn when the older is answered.
        elif self.number > turns.oldest:
            return (self._no_memory, False)
        size = self._maker.draw()
        older = turns.older_than(self.number)
        if older and not self._resources.memory.has_room_for(size, older):
            return (self._hold_back, older)
        block = self._maker.allocate(size)
        if block is None:
            return (self._no_memory, True)
        if turns.has_memory(self.number, len(self._ids)):
            self._tell(turns.call_next, self.number)
        try:
            self._maker.fill(block, self._tell)
            answer = self._answer()
        except BaseException:
            self._tell(self._give_back, block)
            raise
        return (self._filled, block, answer)

    def _draws_from_disk(self) -> bool:
        return self._maker.drawn is None and not self._resources.dataset.residency.possible

    def _may_draw(self, older: int) -> bool:
        """Whether there is room for the result beside those of `older` requests, and no time at
        which it would read alone what others read together."""
        if older and not self._resources.memory.may_hold(older + 1):
            return False
        graph = self._resources.dataset.graph.disk
        if self.kind != "sample" or graph is None or graph.merge_gap < _DEAR_GAP:
            return True
        # A request for little does not wait for those that ask for much.
        most = self._resources.turns.most_filling()
        return not most or len(self._ids) * _FEW_TIMES < most

    def _answer(self) -> pb.SessionResponse:
        """Describes the result. Done on the worker, as a graph may have thousands of relations."""
        answer = pb.SessionResponse(request_id=self.id)
        assert self._maker.drawn is not None
        self._maker.drawn.layout.describe(answer.result)
        self._maker.drawn.describe(answer.result)
        return answer

    def _tell(self, method: Any, *args: Any) -> None:
        if threading.get_ident() == self._loop_thread:
            method(*args)
        else:
            self._loop.call_soon_threadsafe(method, *args)

    # --- what came of it ---

    def _give_back(self, block: Any) -> None:
        """The block could not be filled. The request may try again, and younger ones must see that
        before they can take the block."""
        if not self.answered:
            self._resources.turns.begin(self)
        self._resources.memory.give_back(block)
        if self.answered:  # maybe before its worker got the block: it counts as being filled since
            self._resources.turns.leave(self)

    def _filled(self, block: Any, answer: pb.SessionResponse) -> None:
        computation = self._leave_worker()
        assert computation is not None
        if not self._end():
            self._resources.memory.give_back(block)
            self._resources.turns.leave(self)  # see _give_back()
            return
        delivery = self._record.succeed(computation)
        self._resources.memory.hand_over(block, answer, self._resources.outbox, delivery)

    def _failed(self, error: BaseException) -> None:
        self._leave_worker()
        self.fail(error)

    def _refused(self, error: NeedsMemory) -> None:
        """There was not enough working memory to draw in."""
        self._leave_worker()
        if self.answered:
            return
        if self.call.needed > self._shared.line.largest:
            self.fail(OutOfMemory(str(error)))
        else:
            self._maker.times.wait(for_memory=True)
            self._shared.line.wait(self)

    def _no_memory(self, asked: bool) -> None:
        """There was no memory for the result, or none was `asked` for as an older request waits."""
        if self._stops_for_memory():
            self._resources.turns.wait(self, asked=asked)
            self._let_others_draw()

    def _wait_to_draw(self) -> None:
        """There is no room for this result beside those of older requests."""
        if not self._stops_for_memory():
            return
        self._let_others_draw()
        turns = self._resources.turns
        older = turns.older_than(self.number)
        if self._may_draw(older):  # memory was released meanwhile
            self.submit(first=True)
        else:
            self._waits_for_fills = not older or self._resources.memory.may_hold(older + 1)
            turns.hold_back(self, older)

    def _hold_back(self, older: int) -> None:
        """The session has no room for this result and those of `older` requests."""
        if self._stops_for_memory():
            self._resources.turns.hold_back(self, older)
            self._let_others_draw()

    def _stops_for_memory(self) -> bool:
        """Leaves the worker to wait for memory. False if it was answered meanwhile."""
        if self.answered:
            self._leave_worker()
            return False
        self.queued = False
        self._maker.times.wait(for_memory=True)
        return True

    def _let_others_draw(self) -> None:
        """Others can use the memory of its draw while it waits, or the memory reserved for one."""
        if self._maker.drawn is not None:
            self._shared.line.park(self)
        else:
            self.call.let_go()
        self._loop.call_soon(self._shared.line.serve)

    def _leave_worker(self) -> Computation | None:
        """Gives up the draw, which it returns, and the working memory reserved for it."""
        self.queued = False
        drawn = self._maker.forget()
        self._shared.line.unpark(self)
        self.call.let_go()
        # Not now, because an error and its frames may still hold memory that others wait for.
        self._loop.call_soon(self._shared.line.serve)
        return drawn

    def drop_draw(self) -> bool:
        """Gives up the draw of a waiting request, so that others can use its memory; False if there
        is no draw, or a worker may be using it."""
        if self._maker.drawn is None or self.queued:
            return False
        self._maker.forget()
        self.call.let_go()
        return True

    # --- answered ---

    def fail(self, error: BaseException) -> None:
        """Answers with an error, unless it was answered before."""
        if not self._end():
            return
        text = line_text(str(error), _MAX_ERROR_TEXT) or type(error).__name__
        self._record.fail(error, text)
        answer = pb.Error(code=number_of(code_for(error)), message=text)
        self._resources.outbox.put(pb.SessionResponse(request_id=self.id, error=answer))

    def drop(self) -> None:
        """Ends it without an answer: nobody is there any more to get one."""
        if self._end():
            self._record.cancel()

    def _expired(self) -> None:
        at_workers = self._resources.at_workers
        if peer := at_workers.peer_in_the_way(self._running, self._record.arrived_at):
            self.fail(PeerUnavailable(f"time ran out: {peer}"))
            return
        if self not in self._resources.turns or self._waits_for_fills:
            self.fail(RequestTimedOut("the request's time ran out before it was done"))
            return
        self.fail(
            OutOfMemory(
                self._resources.memory.holders_text()
                or "no memory for this result: other sessions hold what --shm-limit "
                f"({size_text(self._shared.limits.shm_limit)}) leaves to it; ask again when they "
                "have released batches, ask for less at a time, or raise --shm-limit"
            )
        )

    def _end(self) -> bool:
        """Gives up everything that it holds or waits for. False if it was answered before."""
        if self.answered:
            return False
        self.answered = True
        self._on_answered(self)
        self._ids.give_back()
        scheduler = self._shared.scheduler
        # Otherwise a client that keeps sending and cancelling requests would fill the queue.
        if scheduler.has_queued(self.session_id) and scheduler.withdraw(self.session_id, self.run):
            self.queued = False
        self._shared.line.unpark(self)
        self.call.stop()
        if self._timer is not None:
            self._timer.cancel()
        if not self.queued:  # else the worker gives up the draw
            self._maker.forget()
            self.call.let_go()
        if len(self._shared.line):  # this request may have kept others in the line waiting
            self._loop.call_soon(self._shared.line.serve)
        self._resources.turns.leave(self)
        return True
