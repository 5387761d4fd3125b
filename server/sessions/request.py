"""One request of a session, from its first id to its answer.

    arriving -> queued -> drawing -> (waiting for shared memory ->) filling -> answered

Drawing may also be refused working memory: then the request waits in the WorkLine and draws again.
A request is answered exactly once. Whoever answers it early (its deadline, a cancel, the end of the
session) also tells the engine to stop; a result that comes all the same is thrown away.

Methods that begin with "_worker" run on a worker's thread, all others on the event loop's.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from graphzero import _engine
from graphzero._errors import CallStopped, InputError, NeedsMemory
from graphzero._text import size_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotPossible, OutOfMemory, UnreadableFile
from graphzero.server.compute import MOST_BRIEF_BYTES, Work, is_brief, is_in_memory, make_work

if TYPE_CHECKING:
    from graphzero.server.sessions.session import TrainerSession

# What a request costs beside its ids and what its message says.
_OVERHEAD_BYTES = 1024


class Request:
    """A request on its way to its answer."""

    def __init__(self, session: TrainerSession, message: pb.SessionRequest, number: int) -> None:
        self.id: int = message.request_id
        self.session_id = session.id
        self.number = number  # counts a session's requests
        self.ids = bytearray()
        self.complete = False  # all ids have come
        self.answered = False
        self.queued = False  # for a worker, or at one
        self.call = _engine.Call(session.share)
        self.timer: asyncio.TimerHandle | None = None
        self.deadline = 0.0
        self.arrived: float | None = None  # when its last id came, by the event loop's clock
        self.counted_bytes = 0  # of the IdBudget
        self._session = session
        self._message = message
        self._body_bytes: int = _OVERHEAD_BYTES + message.ByteSize()
        self._work: Work | None = None
        self._small = False  # little to do, wherever its data lie
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()

    @property
    def held_bytes(self) -> int:
        """What the daemon keeps of it while it is not answered."""
        return self._body_bytes + len(self.ids)

    def start(self) -> None:
        """All ids are there. Runs at once if that is quicker than waking a worker."""
        self.arrived = self._loop.time()
        session = self._session
        if (
            session.nobody_waits()
            and self._is_brief()
            and _engine.has_idle_thread()
            and session.memory.has_warm(MOST_BRIEF_BYTES)
        ):
            waits = _engine.disk_waits()
            self._run(self._worker_run)
            if _engine.disk_waits() != waits:
                session.dataset.residency.disappointed()
        else:
            self.submit()

    def submit(self, *, first: bool = False) -> None:
        if not self.queued and not self.answered:
            self.queued = True
            self._session.scheduler.submit(self._session.id, self.run, first=first)

    def run_again(self) -> None:
        """The WorkLine has set aside what it needs."""
        self.submit(first=True)

    def seconds_used(self) -> float:
        return self._session.share.seconds

    def drop_draw(self) -> bool:
        if self._work is None or self.queued:
            return False
        self._work = None
        self.call.let_go()
        return True

    def end(self) -> None:
        """It was answered: nothing of it is needed any more."""
        self.answered = True
        self.call.stop()
        if self.timer is not None:
            self.timer.cancel()
        if not self.queued:  # else the worker lets go of it
            self._work = None
            self.call.let_go()
        if len(self._session.line):  # it may have kept the others there waiting
            self._loop.call_soon(self._session.line.serve)

    def _is_brief(self) -> bool:
        """Whether it takes microseconds and reads nothing from a disk."""
        session = self._session
        dataset, recipes, message = session.dataset, session.recipes, self._message
        if not dataset.residency.possible:
            return False
        self._small = is_brief(dataset, recipes, message, len(self.ids) // 8)
        return self._small and dataset.residency.allows(
            lambda: is_in_memory(dataset, recipes, message, np.frombuffer(self.ids, np.int64))
        )

    # --- on a worker ---

    def run(self) -> None:
        """As far as memory allows."""
        residency = self._session.dataset.residency
        watched = self._small and not residency.trusted
        waits = _engine.disk_waits() if watched else 0
        with self.call:
            self._run(self._worker_run)
        if watched:
            residency.note(waited=_engine.disk_waits() != waits)

    def _run(self, step: Any) -> None:
        """Takes one step and tells the session what came of it."""
        outcome: tuple[Any, ...]
        try:
            outcome = step()
        except CallStopped:
            outcome = (self._stopped,)
        except NeedsMemory as error:
            outcome = (self._refused, error)
        except BaseException as error:
            outcome = (self._failed, error)
        self._tell(*outcome)
        # An error has this frame in its traceback: together they would keep what the other frames
        # hold, a block and its region for instance, until the garbage collector comes.
        del outcome

    def _worker_run(self) -> tuple[Any, ...]:
        session = self._session
        if self.answered:
            return (self._stopped,)
        # Behind another one that waits for shared memory: its turn comes when that is answered.
        if self.number > session.oldest_waiting:
            return (self._parked, False)
        self._worker_draw()
        block = self._worker_fill()
        return (self._parked, True) if block is None else (self._filled, block)

    def _worker_draw(self) -> None:
        session = self._session
        if session.memory_problem():
            raise NotPossible(session.memory_problem())
        if self._work is None:
            ids = np.frombuffer(self.ids, np.int64)
            limits = session.limits
            work = make_work(
                session.dataset, session.recipes, self._message, ids, limits.largest_sample
            )
            try:
                work.draw()
            except OSError as error:
                raise UnreadableFile(str(error)) from error
            self._check_size(work)
            self._work = work

    def _worker_fill(self) -> Any:
        """The filled block, or None if there is no memory for it now."""
        session = self._session
        assert self._work is not None
        try:
            block = session.memory.try_allocate(max(1, self._work.layout.byte_size))
        except InputError as error:  # beyond --shm-limit
            raise OutOfMemory(str(error)) from error
        except OSError as error:  # beyond /dev/shm
            raise OutOfMemory(str(error)) from error
        if block is not None:
            try:
                self._worker_write(self._work, block)
            except BaseException:
                self._tell(session.release, [block.id])
                raise
        return block

    def _worker_write(self, work: Work, block: Any) -> None:
        try:
            work.fill(block)
        except Exception as error:
            self._worker_check(block, error)
            if isinstance(error, OSError):
                raise UnreadableFile(str(error)) from error
            raise
        self._worker_check(block, None)

    def _worker_check(self, block: Any, failure: Exception | None) -> None:
        """Raises if the client has cut the region: then that is why writing failed, if it did."""
        damage = block.damage()
        if not damage and isinstance(failure, OSError) and failure.errno == errno.EFAULT:
            # The kernel, reading rows straight into the block, met what the guard would have met.
            damage = "the trainer's shared memory was cut while it was written; connect again"
        if damage:
            self._tell(self._session.memory_broke, damage)
            raise NotPossible(damage) from failure

    def _check_size(self, work: Work) -> None:
        most = self._session.limits.largest_result
        if work.layout.byte_size > most:
            raise ValueError(
                f"the result has {size_text(work.layout.byte_size)}, expected at most "
                f"{size_text(most)}: use fewer seeds, a smaller fanout or fewer columns"
            )

    def _tell(self, method: Any, *args: Any) -> None:
        if threading.get_ident() == self._loop_thread:
            method(*args)
        else:
            self._loop.call_soon_threadsafe(method, *args)

    # --- what came of it ---

    def _filled(self, block: Any) -> None:
        work = self._leave_worker()
        assert work is not None
        self._session.succeed(self, work, block)

    def _failed(self, error: BaseException) -> None:
        self._leave_worker()
        self._session.fail(self, error)

    def _stopped(self) -> None:
        self._leave_worker()

    def _refused(self, error: NeedsMemory) -> None:
        self._leave_worker()
        if self.answered:
            return
        if self.call.needed > self._session.line.largest:
            self._session.fail(self, OutOfMemory(str(error)))
        else:
            self._session.line.wait(self)

    def _parked(self, asked: bool) -> None:
        """There was no shared memory, or it was not asked for any because another one waits."""
        self.queued = False
        if self.answered:
            self._stopped()
            return
        self._session.wait_for_memory(self, asked)
        if self._work is not None:
            self._session.line.park(self)
        else:
            self.call.let_go()
        # What it drew, or what was set aside for that, is of use to others meanwhile.
        self._loop.call_soon(self._session.line.serve)

    def _leave_worker(self) -> Work | None:
        """Gives up what was drawn, and what was set aside for drawing it."""
        self.queued = False
        work, self._work = self._work, None
        self._session.line.unpark(self)
        self.call.let_go()
        # Later: an error and its frames may still hold memory that others wait for.
        self._loop.call_soon(self._session.line.serve)
        return work
