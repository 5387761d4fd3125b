"""One request of a session: draws, finds memory, fills it, and reports to its session."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from graphzero._errors import InputError
from graphzero._text import size_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotPossible, OutOfMemory, UnreadableFile
from graphzero.server.work import Work, is_brief, make_work

if TYPE_CHECKING:
    from graphzero.server.session import TrainerSession


class Request:
    """A request on its way to its answer. run() may be called on any thread."""

    def __init__(self, session: TrainerSession, message: pb.SessionRequest, number: int) -> None:
        self.id: int = message.request_id
        self.number = number  # counts a session's requests
        self.retrying = False
        self.ids = bytearray()
        self.answered = False
        self.complete = False  # all ids have come
        self.timer: asyncio.TimerHandle | None = None
        self._session = session
        self._message = message
        self._work: Work | None = None
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()

    def is_brief(self) -> bool:
        """Whether it takes microseconds and reads nothing from a disk."""
        session = self._session
        return session.dataset.in_memory.is_set() and is_brief(
            session.dataset, session.recipes, self._message, len(self.ids) // 8
        )

    def run(self) -> None:
        """As far as memory allows."""
        if self.answered:
            return
        session = self._session
        try:
            self._draw()
            turn = session.gate.turn
            # Behind another one: it is tried again as soon as that one is answered.
            in_turn = self.number <= session.oldest_waiting
            block = self._try_to_fill() if in_turn else None
        except BaseException as error:
            self._tell(session.fail, self, error)
            return
        if block is None:
            self._tell(session.wait_for_memory, self, turn if in_turn else -1)
        else:
            self._tell(session.succeed, self, self._work, block)

    def _draw(self) -> None:
        session = self._session
        if session.memory_problem():
            raise NotPossible(
                f"the client cannot map shared memory ({session.memory_problem()}): share /dev/shm "
                'with the daemon, or connect with transport="inline"'
            )
        if self._work is None:
            ids = np.frombuffer(self.ids, np.int64)
            work = make_work(
                session.dataset, session.recipes, self._message, ids, session.limits.max_edges
            )
            try:
                work.draw()
            except OSError as error:
                raise UnreadableFile(str(error)) from error
            self._check_size(work)
            self._work = work

    def _try_to_fill(self) -> Any:
        """The filled block, or None if there is no memory for it now."""
        session = self._session
        assert self._work is not None
        try:
            block = session.memory.try_allocate(max(1, self._work.layout.byte_size))
        except InputError as error:  # beyond --shm-limit
            raise OutOfMemory(str(error)) from error
        except OSError as error:  # beyond /dev/shm
            self._tell(session.gate.released)  # what was set aside for it is free again
            raise OutOfMemory(str(error)) from error
        if block is not None:
            if block.in_new_region:
                self._tell(session.gate.released)
            try:
                self._work.fill(block)
            except BaseException as error:
                self._tell(session.release, [block.id])
                if isinstance(error, OSError):
                    raise UnreadableFile(str(error)) from error
                raise
        return block

    def _check_size(self, work: Work) -> None:
        most = self._session.limits.max_result or self._session.limits.shm_limit
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
