"""What the messages of one stream cost the event loop, which all trainers share.

The loop takes turns message by message. A stream whose messages take long to decode or to handle,
lists of a million entries for instance, would get nearly all of the loop's time. So a stream pays
for a message that took long: its next message is read only after a pause in which every other
stream could have used the loop for as long.
"""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

# A message that takes less costs no pause. Those of trainers do, even with a megabyte of ids.
_FREE_S = 0.001
# Bounded, because a client that has left is noticed only when its stream is read again.
_LONGEST_PAUSE_S = 1.0


class LoopTime:
    """A context in which the loop works for the stream, without waiting for anything."""

    def __init__(self) -> None:
        self._owed_s = 0.0
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = time.thread_time()  # without the time in which other threads ran

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        spent_s = time.thread_time() - self._began
        if spent_s > _FREE_S:
            self._owed_s += spent_s

    async def pay(self, streams: int) -> None:
        """To be awaited before the next message is read, with the number of streams there are."""
        if self._owed_s:
            pause_s, self._owed_s = min(self._owed_s * streams, _LONGEST_PAUSE_S), 0.0
            await asyncio.sleep(pause_s)
