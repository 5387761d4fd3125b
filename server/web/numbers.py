"""The daemon's numbers, as its event loop gives them, in the forms in which HTTP clients get them.

All statistics are made of one message (server/metrics/statistics.py). However many clients ask, the
event loop is asked for it at most ten times a second.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from graphzero.commands.messages import message_fields
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.web import prometheus

T = TypeVar("T")

_LEAST_PAUSE_S = 0.1
# If the event loop does not answer within this time, /livez and /readyz answer 503.
ANSWER_S = 5.0


class NotAnswered(Exception):
    """The daemon's event loop is busy with something else."""


class Numbers:
    """Belongs to the web server's event loop. `statistics`, `datasets` and `history` are called on
    the daemon's event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        statistics: Callable[[], pb.GetStatsResponse],
        datasets: Callable[[], pb.ListDatasetsResponse],
        history: Callable[[], list[dict[str, Any]]],
    ) -> None:
        self._loop = loop
        self._statistics = statistics
        self._datasets = datasets
        self._history = history
        self._asked: asyncio.Task[pb.GetStatsResponse] | None = None
        self._taken = float("-inf")

    async def statistics(self) -> pb.GetStatsResponse:
        """All that call while a question is under way share its answer, and its end after
        ANSWER_S."""
        old = self._asked is not None and time.monotonic() - self._taken >= _LEAST_PAUSE_S
        if self._asked is None or (self._asked.done() and old):
            self._asked = asyncio.ensure_future(self._ask(self._statistics))
            self._asked.add_done_callback(self._note_time)
        return await asyncio.shield(self._asked)

    def _note_time(self, asked: asyncio.Task[pb.GetStatsResponse]) -> None:
        self._taken = time.monotonic()
        if not asked.cancelled():
            asked.exception()  # those who asked may all be gone by now

    async def statistics_json(self) -> bytes:
        return _json(message_fields(await self.statistics()))

    async def datasets_json(self) -> bytes:
        return _json(message_fields(await self._ask(self._datasets)))

    async def history_json(self) -> bytes:
        return _json({"points": await self._ask(self._history)})

    async def prometheus(self, accept: str) -> tuple[bytes, str]:
        """The text and its content type."""
        return prometheus.render(await self.statistics(), accept)

    async def _ask(self, question: Callable[[], T]) -> T:
        """Calls `question` on the daemon's event loop. Raises NotAnswered after ANSWER_S."""

        async def answer() -> T:
            return question()

        asked = asyncio.run_coroutine_threadsafe(answer(), self._loop)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(asked), ANSWER_S)
        except asyncio.TimeoutError:
            raise NotAnswered from None


def _json(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
