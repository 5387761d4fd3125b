"""What a session still has to tell its trainer, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from graphzero.proto import graphzero_pb2 as pb

# With this many answers, or bytes of answers, unread, the session reads nothing from its client
# until half of them are sent: a client that never reads must not fill the daemon's memory.
MAX_MESSAGES = 256
MAX_BYTES = 1 << 20


def _nothing() -> None:
    pass


class _Entry(NamedTuple):
    messages: Iterable[pb.SessionResponse]
    byte_size: int  # that counts against MAX_BYTES
    when_sent: Callable[[], None]


class Outbox:
    """Belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._entries: asyncio.Queue[_Entry] = asyncio.Queue()
        self._byte_size = 0
        self._room = asyncio.Event()
        self._room.set()

    def put(self, message: pb.SessionResponse, when_sent: Callable[[], None] = _nothing) -> None:
        self._put(_Entry((message,), message.ByteSize(), when_sent))

    def put_stream(
        self, messages: Iterable[pb.SessionResponse], when_sent: Callable[[], None]
    ) -> None:
        """Messages that are made as they are sent. Their bytes are not counted here: they lie in
        memory of the session, which `when_sent` gives back."""
        self._put(_Entry(messages, 0, when_sent))

    def _put(self, entry: _Entry) -> None:
        self._entries.put_nowait(entry)
        self._byte_size += entry.byte_size
        if self._entries.qsize() >= MAX_MESSAGES or self._byte_size >= MAX_BYTES:
            self._room.clear()

    @property
    def is_empty(self) -> bool:
        return self._entries.empty()

    async def room(self) -> None:
        """Returns when the client has read enough of its answers to be asked for more."""
        await self._room.wait()

    def close(self) -> None:
        """Nothing more is sent: whoever waits for room goes on."""
        self._room.set()

    async def write_to(self, context: Any) -> None:
        """Sends everything, until it is cancelled or the client is gone."""
        try:
            while True:
                entry = await self._entries.get()
                self._byte_size -= entry.byte_size
                few = self._entries.qsize() < MAX_MESSAGES // 2
                if few and self._byte_size < MAX_BYTES // 2:
                    self._room.set()
                for message in entry.messages:
                    await context.write(message)
                entry.when_sent()
                del entry  # a large answer would stay until the next comes
        finally:
            self._room.set()
