"""One session: a stream, the results that come down it, and the blocks on their way back.

Results are turned into arrays (memory/results.py) and reported to whoever opened the session, on
the thread that the stream calls back on. The session has two threads of its own. One asks the
stream for the next message. The other waits for blocks that no tensor views any more and sends
their ids within milliseconds, unless a request takes them along before that: if releases only rode
on requests, a loader that waits for memory and a daemon that waits for releases could wait for each
other. The second thread also closes the stream, because a session may be ended by a finalizer,
which runs on any thread and in the middle of anything.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graphzero import _engine
from graphzero.base.fail_points import fail_point
from graphzero.client.connection.stream import Stream
from graphzero.client.errors import (
    ClientError,
    RequestCancelled,
    RequestTimeout,
    ServerError,
    ServerUnavailable,
    exception_for,
)
from graphzero.client.memory.pinned import PinnedMemory
from graphzero.client.memory.results import Reply, ResultReader
from graphzero.client.memory.tensors import has_torch
from graphzero.client.process.deadline import STEP_S, Deadline, awake
from graphzero.client.process.threads import is_kept_from_users, keep_from_users, members
from graphzero.client.requests.waits import WaitLog
from graphzero.proto.graphzero_pb2 import (
    TRANSPORT_INLINE,
    TRANSPORT_SHARED_MEMORY,
    Cancel,
    Hello,
    Release,
    SessionRequest,
    SessionResponse,
    Welcome,
)

PROTOCOL_VERSION = 1

# How long a release waits for a request that takes it along.
_LINGER_S = 0.004
# Block ids in one message; the daemon takes no more.
_MOST_RELEASES = 1 << 14
# How long close() waits for threads that are about to end; only a bug makes it wait in vain.
_JOIN_S = 10.0


@dataclass(frozen=True)
class SessionOptions:
    """What a session asks for in its Hello."""

    dataset: str
    inline: bool
    window: int
    pin: bool | None = None

    def hello(self) -> Hello:
        return Hello(
            protocol_version=PROTOCOL_VERSION,
            dataset=self.dataset,
            transport=TRANSPORT_INLINE if self.inline else TRANSPORT_SHARED_MEMORY,
            window=self.window,
            client_name=f"{Path(sys.argv[0]).name or 'python'}[{os.getpid()}]",
        )


OnReply = Callable[[int, "Reply | ClientError"], object]
"""Its return value is not destroyed on the thread that called it: that may run a user's code."""
OnEnd = Callable[["Session", ClientError], None]


class Session:
    """A session that has begun. Thread-safe. on_reply is called on the stream's thread, on_end on a
    thread of the session; neither may wait for an answer or for the end of a session."""

    def __init__(
        self, stream: Stream, options: SessionOptions, *, on_reply: OnReply, on_end: OnEnd
    ) -> None:
        self._stream = stream
        self._on_reply = on_reply
        self._on_end = on_end
        self._releases = _engine.ReleaseQueue()
        # None if no GPU reads the results' memory: results come in messages, the user does not want
        # pinned memory, or there is no torch.
        self._pinned = (
            PinnedMemory(options.pin, partial(_send_release, stream))
            if not options.inline and options.pin is not False and has_torch()
            else None
        )
        self._results = ResultReader(stream.send, self._releases, self._pinned)
        self.waits = WaitLog()
        """Waits that messages report to the daemon. The connection sets this."""
        self._answered = threading.Event()
        self._welcome: Welcome | None = None
        self.ended: ClientError | None = None
        """Why the session is over, once it is."""
        self._ending = False
        self._receiver = threading.Thread(
            target=self._receive, name="graphzero-receive", daemon=True
        )
        self._releaser = threading.Thread(
            target=self._send_releases, name="graphzero-release", daemon=True
        )
        self._begin(options)

    def _begin(self, options: SessionOptions) -> None:
        _sessions.add(self)
        try:
            if _program_ends:  # checked after _close_sessions() can find the session
                raise RequestCancelled("the program is ending: no session can be opened any more")
            self._stream.send(SessionRequest(hello=options.hello()))
            self._releaser.start()
        except BaseException:
            self._stream.close()
            raise
        try:
            self._receiver.start()
        except BaseException:
            self.end()
            raise

    def await_welcome(self, timeout: float) -> None:
        """Returns when the daemon has accepted the session; else ends it and raises."""
        deadline = Deadline(timeout)
        try:
            while not self._answered.wait(deadline.step()) and deadline.remaining():
                pass
        except BaseException:
            self.end()
            raise
        if self._welcome is None:
            answered = self._answered.is_set()
            self.close()
            raise (
                self.ended
                if answered and self.ended
                else ServerUnavailable(f"the daemon did not answer within {timeout:g} s")
            )

    @property
    def welcome(self) -> Welcome:
        assert self._welcome is not None  # await_welcome() returned
        return self._welcome

    @property
    def saw_memory(self) -> bool:
        """Whether it could open any of the daemon's shared memory."""
        return self._results.saw_memory

    def send(self, messages: Sequence[SessionRequest]) -> None:
        """Sends a request's messages, and with them the releases and waits there are."""
        block_ids = self._free_now(self._releases.take())
        _send_release(self._stream, block_ids[_MOST_RELEASES:])
        block_ids = block_ids[:_MOST_RELEASES]
        waited_us = self.waits.take_us()
        for message in messages:
            if block_ids or waited_us:
                # A copy: a retry sends the messages again, and releases belong to this session.
                news = SessionRequest(released_block_ids=block_ids, waited_us=waited_us)
                news.MergeFrom(message)
                message, block_ids, waited_us = news, [], 0
            self._stream.send(message)

    def cancel(self, request_id: int) -> None:
        self._stream.send(SessionRequest(request_id=request_id, cancel=Cancel()))

    def end(self) -> None:
        """Begins to end the session and waits for nothing, so that finalizers can call it."""
        self._ending = True
        self._releases.close()

    def close(self) -> None:
        """Ends the session; the daemon frees what it holds. Tensors in hand stay valid."""
        self.end()
        if is_kept_from_users():
            return  # this thread could be one of those to wait for
        for thread in (self._releaser, self._receiver):
            if thread.is_alive():
                thread.join(_JOIN_S)
        if self._pinned is not None:
            self._pinned.join(_JOIN_S)

    def _receive(self) -> None:
        keep_from_users()
        end: ClientError = ServerUnavailable("the daemon ended the session")
        try:
            self._stream.receive(self._handle)
        except ClientError as error:
            end = error
        except Exception as error:  # a bug here must not leave anyone waiting
            end = ServerError(f"cannot read the daemon's messages: {error!r}")
        self._finish(end)

    def _finish(self, end: ClientError) -> None:
        if self._ending:
            end = RequestCancelled("the client was closed")
        elif self._welcome is None:
            if isinstance(end, RequestTimeout):  # this process stood still before its hello
                end = ServerUnavailable(f"the session could not be opened: {end}")
        elif isinstance(end, (RequestCancelled, RequestTimeout, ServerError)):
            # However gRPC words it: the daemon or the connection to it went away.
            end = ServerUnavailable(f"the session ended: {end}")
        self.ended = end.with_traceback(None)  # the frames of this thread mean nothing to users
        self.end()
        self._results.end()
        self._answered.set()
        if self._welcome is not None:
            self._on_end(self, self.ended)

    def _handle(self, response: SessionResponse) -> object:
        kind = response.WhichOneof("body")
        request_id = response.request_id
        if kind == "result":
            return self._on_reply(request_id, self._results.read(request_id, response.result))
        if kind == "error":
            self._results.give_up(request_id)
            error = response.error
            return self._on_reply(request_id, exception_for(error.code, error.message))
        if kind == "chunk":
            self._results.add_chunk(request_id, response.chunk.data)
        elif kind == "region_offer":
            self._results.map_region(response.region_offer)
        elif kind == "region_drop":
            self._results.drop_region(response.region_drop.region_id)
        elif kind == "welcome":
            self._welcome = response.welcome
            self._answered.set()
        return None

    def _send_releases(self) -> None:
        keep_from_users()
        while not self._ending:
            awake.now()  # this thread is one of those that look at the clock every second
            # Sleeps while there are no releases; a release wakes it at once.
            left_over = self._releases.take_left_over(STEP_S, _LINGER_S)
            _send_release(self._stream, self._free_now(left_over))
        self._stream.close()

    def _free_now(self, block_ids: list[int]) -> list[int]:
        """The blocks without those that a GPU may still be reading from."""
        if block_ids:
            fail_point("client.releasing")
        return self._pinned.free_now(block_ids) if self._pinned is not None else block_ids


def _send_release(stream: Stream, block_ids: list[int]) -> None:
    for first in range(0, len(block_ids), _MOST_RELEASES):
        piece = block_ids[first : first + _MOST_RELEASES]
        stream.send(SessionRequest(release=Release(block_ids=piece)))


# Open sessions, and ended ones whose threads may still run.
_sessions: weakref.WeakSet[Session] = weakref.WeakSet()
_program_ends = False


def _close_sessions() -> None:
    """At the end of the program: tells the daemon, and lets no thread of a session outlive
    Python."""
    global _program_ends
    _program_ends = True
    sessions = members(_sessions)
    for session in sessions:
        session.end()
    for session in sessions:
        session.close()


atexit.register(_close_sessions)
os.register_at_fork(after_in_child=_sessions.clear)
