"""Opens the sessions of a connection: tries again if that may help, and checks that all have the
same data."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from graphzero.client.deadline import Deadline
from graphzero.client.errors import (
    ClientError,
    DatasetChanged,
    RequestCancelled,
    ResourceExhausted,
    ServerUnavailable,
    SharedMemoryUnavailable,
    StartFailed,
)
from graphzero.client.fork import leave_to_parent
from graphzero.client.session import OnEnd, OnReply, Session, SessionOptions
from graphzero.client.stream import Stream
from graphzero.proto.graphzero_pb2 import Welcome

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


class SessionOpener:
    """Opens sessions that all have the same data. Thread-safe."""

    # Made anew in a forked child.
    _lock: threading.RLock
    _candidates: list[Session]  # that wait for their welcome
    _pause: SimpleQueue[None]  # gets an item when the opener ends

    def __init__(
        self,
        open_stream: Callable[[], Stream],
        options: SessionOptions,
        patience: Patience,
        expected: Welcome | None,
    ) -> None:
        """`expected`, if given, is the Welcome of another session of the same client."""
        self._open_stream = open_stream
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
                return self._try(on_reply, on_end)
            except ClientError as error:
                late = deadline.remaining() < delay
                if late or self._closed or not _is_transient(error):
                    raise self.with_advice(error) from None
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
        """Adds to the error of a daemon that went away what would have helped."""
        if self._welcome is None or self._closed or type(error) is not ServerUnavailable:
            return error
        if self.patience.retry_timeout is None:
            advice = "connect(retry=True) waits for the next one and goes on with the same batches"
        else:
            advice = f"no other one came within {self.patience.retry_timeout:g} s (retry_timeout)"
        return ServerUnavailable(f"{error}; {advice}")

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
        session = Session(self._open_stream(), self.options, on_reply=on_reply, on_end=on_end)
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
