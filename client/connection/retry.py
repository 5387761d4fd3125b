"""Opens the sessions of a connection: waits for a daemon that went away (`retry`), and checks that
all sessions have the same data. connection.py then sends the unanswered requests again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from graphzero.client.connection.address import Address
from graphzero.client.connection.session import OnEnd, OnReply, Session, SessionOptions
from graphzero.client.connection.stream import Stream, open_stream
from graphzero.client.errors import (
    ClientError,
    DatasetChanged,
    RequestCancelled,
    ResourceExhausted,
    ServerUnavailable,
    SharedMemoryUnavailable,
    StartFailed,
)
from graphzero.client.process.deadline import Deadline
from graphzero.client.process.fork import leave_to_parent
from graphzero.proto.graphzero_pb2 import Welcome

log = logging.getLogger("graphzero.client")

# Errors of a restarting daemon that is not ready, or has not noticed yet that a session ended.
_TRANSIENT = (ServerUnavailable, ResourceExhausted)

_FIRST_DELAY_S = 0.02
_LONGEST_DELAY_S = 1.0

# After this many sessions in a row that could not open any shared memory, no other is opened. A
# first one proves nothing: its region may be gone because the client read the offer too late.
_BLIND_SESSIONS = 2


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds."""

    timeout: float
    """To open a session, and for the answer to a request that does not say otherwise."""
    retry_timeout: float | None
    """For a daemon that went away to come back; None: not at all."""


class Daemon:
    """The daemon of a client: all its connections open their streams here, and one of them tells
    the user that it went away."""

    def __init__(self, find: Callable[[], Address]) -> None:
        """`find` is asked for the daemon's address whenever a stream is opened."""
        self._find = find
        self._told = False
        self.address: Address | None = None
        """Where the latest stream was opened."""

    def open_stream(self) -> Stream:
        self.address = self._find()
        return open_stream(self.address)

    def went_away(self, wait_s: float) -> None:
        """Warns that calls wait for it, once until it has come back. Not locked: two threads at the
        same moment would warn twice."""
        if not self._told:
            self._told = True
            log.warning(
                "the daemon at %s went away; waiting up to %g s for it to come back "
                "(retry_timeout)",
                self.address,
                wait_s,
            )

    def came_back(self) -> None:
        self._told = False


class SessionOpener:
    """Opens sessions that all have the same data. Thread-safe."""

    # Made anew in a forked child.
    _lock: threading.RLock
    _candidates: list[Session]  # that wait for their welcome
    _pause: SimpleQueue[None]  # gets an item when the opener ends

    def __init__(
        self,
        daemon: Daemon,
        options: SessionOptions,
        patience: Patience,
        expected: Welcome | None,
    ) -> None:
        """`expected`, if given, is the Welcome of another session of the same client."""
        self._daemon = daemon
        self.options = options
        self.patience = patience
        self._welcome = expected
        self._closed = False
        self._blind_sessions = 0
        self._start_over()

    @property
    def welcome(self) -> Welcome:
        """The Welcome of the first session; later sessions have the same data."""
        assert self._welcome is not None
        return self._welcome

    def open(self, on_reply: OnReply, on_end: OnEnd) -> Session:
        """With retry, waits for a daemon that went away; one that was never there is an error."""
        wait_s = self.patience.retry_timeout if self._welcome is not None else None
        deadline = Deadline(wait_s or 0.0)
        delay = _FIRST_DELAY_S
        while True:
            try:
                session = self._try(on_reply, on_end)
            except ClientError as error:
                late = deadline.remaining() < delay
                if late or self._closed or not _is_transient(error):
                    raise self.with_advice(error) from None
                if wait_s is not None and isinstance(error, ServerUnavailable):
                    self._daemon.went_away(wait_s)
            else:
                self._daemon.came_back()
                return session
            with suppress(Empty):  # end() ends the pause too
                self._pause.get(timeout=delay)
            delay = min(2 * delay, _LONGEST_DELAY_S)

    def is_worth_another(self, session: Session, error: ClientError) -> bool:
        """Whether to open another session after one that ended with `error`."""
        if isinstance(error, SharedMemoryUnavailable):
            self._blind_sessions = 1 if session.saw_memory else self._blind_sessions + 1
            return self._blind_sessions < _BLIND_SESSIONS
        return self.patience.retry_timeout is not None and _is_transient(error)

    def with_advice(self, error: ClientError) -> ClientError:
        """Says, for a daemon that went away, what would have helped or that retry was in vain."""
        if self._welcome is None or self._closed or type(error) is not ServerUnavailable:
            return error
        if self.patience.retry_timeout is None:
            return ServerUnavailable(
                f"{error}; connect(retry=True) waits for the next one and goes on with the same "
                "batches"
            )
        return ServerUnavailable(
            f"the daemon at {self._daemon.address} did not come back within "
            f"{self.patience.retry_timeout:g} s (retry_timeout); start it with: graphzero-server "
            "--data DIR"
        )

    def end(self) -> list[Session]:
        """Ends attempts to open a session, without waiting; returns their sessions, to be ended."""
        with self._lock:
            self._closed = True
            sessions = list(self._candidates)
        self._pause.put(None)
        return sessions

    def after_fork(self) -> None:
        leave_to_parent(self._candidates)
        self._start_over()

    def _start_over(self) -> None:
        self._lock = threading.RLock()
        self._candidates = []
        self._pause = SimpleQueue()

    def _try(self, on_reply: OnReply, on_end: OnEnd) -> Session:
        session = Session(
            self._daemon.open_stream(), self.options, on_reply=on_reply, on_end=on_end
        )
        with self._lock:
            self._candidates.append(session)
        try:
            if self._closed:  # checked after the session is among those that end() returns
                raise RequestCancelled("the client is closed")
            session.await_welcome(self.patience.timeout)
            _require_same_data(self._welcome, session.welcome)
        except BaseException:
            session.end()
            raise
        finally:
            with self._lock:
                self._candidates.remove(session)
        self._welcome = self._welcome or session.welcome
        return session


def _is_transient(error: ClientError) -> bool:
    return isinstance(error, _TRANSIENT) and not isinstance(error, StartFailed)


def _require_same_data(expected: Welcome | None, found: Welcome) -> None:
    if expected is None:
        return
    if found.dataset.fingerprint != expected.dataset.fingerprint:
        raise DatasetChanged(
            f"dataset {expected.dataset.name!r} was replaced: found fingerprint "
            f"{found.dataset.fingerprint.hex()}, expected {expected.dataset.fingerprint.hex()}; "
            "connect anew to use the new version"
        )
    if found.sampler_version != expected.sampler_version:
        raise DatasetChanged(
            f"the daemon draws differently: found sampler version {found.sampler_version}, "
            f"expected {expected.sampler_version}; connect anew to use it"
        )
