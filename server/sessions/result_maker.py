"""Draws what a request asks for, and writes it into a block: the part on a worker's thread."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from graphzero.base.errors import InputError
from graphzero.base.text import size_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import NotPossible, OutOfMemory, UnreadableFile
from graphzero.server.compute import Computation, make_computation
from graphzero.server.memory.results import ResultBlock
from graphzero.server.metrics.requests import StageTimes
from graphzero.server.sessions.request_ids import RequestIds
from graphzero.server.sessions.resources import SessionResources

# Calls a function with arguments on the event loop.
Tell: TypeAlias = Callable[..., None]


class ResultMaker:
    """Used by one thread at a time. The draw stays until forget(), so that a request which finds no
    memory for its result need not draw again."""

    def __init__(
        self,
        resources: SessionResources,
        message: pb.SessionRequest,
        ids: RequestIds,
    ) -> None:
        """`ids` are complete before the first draw()."""
        self._resources = resources
        self._message = message
        self._ids = ids
        self.drawn: Computation | None = None
        self.times = StageTimes()
        self.ready_at = 0.0
        """When the block was filled, by time.monotonic()."""

    def forget(self) -> Computation | None:
        """Gives up the draw, and returns it."""
        drawn, self.drawn = self.drawn, None
        return drawn

    def draw(self) -> int:
        """Draws, unless that was done before; returns the bytes that the result needs."""
        if self._resources.memory_problem:
            raise NotPossible(self._resources.memory_problem)
        if self.drawn is None:
            with self.times.work(sampling=True):
                self.drawn = self._draw()
        return max(1, self.drawn.layout.byte_size)

    def allocate(self, size: int) -> Any:
        """A ResultBlock, or None if there is no memory for it now."""
        try:
            return self._resources.memory.try_allocate(size)
        except (InputError, OSError) as error:  # beyond --shm-limit, or beyond /dev/shm
            raise OutOfMemory(str(error)) from error

    def fill(self, block: ResultBlock, tell: Tell) -> None:
        """Writes what was drawn to the block."""
        assert self.drawn is not None
        self._fill(self.drawn, block, tell)

    def _draw(self) -> Computation:
        resources = self._resources
        limits = resources.shared.limits
        computation = make_computation(
            resources.dataset,
            resources.recipes,
            self._message,
            self._ids.array(),
            limits.largest_sample,
            resources.shared.peers,
        )
        try:
            computation.draw()
        except OSError as error:
            raise UnreadableFile(str(error)) from error
        size, most = computation.layout.byte_size, limits.largest_result
        if size > most:
            raise ValueError(
                f"the result has {size_text(size)}, expected at most {size_text(most)}: use fewer "
                "seeds, a smaller fanout or fewer columns"
            )
        return computation

    def _fill(self, computation: Computation, block: ResultBlock, tell: Tell) -> None:
        try:
            with self.times.work(sampling=computation.fills_by_sampling):
                computation.fill(block)
            self.ready_at = time.monotonic()
        except Exception as error:
            self._check_for_damage(block, error, tell)
            if isinstance(error, OSError):
                raise UnreadableFile(str(error)) from error
            raise
        self._check_for_damage(block, None, tell)

    def _check_for_damage(self, block: ResultBlock, failure: Exception | None, tell: Tell) -> None:
        """Raises NotPossible if the client has truncated the region, which is then the cause of
        `failure`, if there is one."""
        damage = block.damage()
        if not damage and isinstance(failure, OSError) and failure.errno == errno.EFAULT:
            # The kernel, which reads rows straight into the block, hit the missing pages before the
            # guard could.
            damage = "the trainer's shared memory was cut while it was written; connect again"
        if damage:
            tell(self._resources.memory_broke, damage)
            raise NotPossible(damage) from failure
