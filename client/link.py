"""A session that lasts: it is opened anew after the daemon's death and in a forked child.

A link has the requests that are not answered yet. With `retry` it opens another session when one
ends, makes sure that the data is the same, and sends them again: the seed of every request was
chosen before it was first sent, so the answers are the same bytes. Without, they fail, and the next
request opens a session.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from graphzero.client.errors import (
    ClientError,
    DatasetChanged,
    RequestCancelled,
    RequestTimeout,
    ResourceExhausted,
    ServerUnavailable,
    StartFailed,
)
from graphzero.client.session import Reply, Session, SessionOptions
from graphzero.client.stream import Stream
from graphzero.proto.graphzero_pb2 import SessionRequest, Welcome

T = TypeVar("T")

# What a restarting daemon may answer before it is ready, or before it noticed that we were gone.
_TRANSIENT = (ServerUnavailable, ResourceExhausted)

_FIRST_DELAY_S = 0.02
_LONGEST_DELAY_S = 1.0

# The daemon answers at its deadline; only one that hangs makes the client give up by itself.
_GRACE_S = 5.0


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds."""

    timeout: float
    """For opening a session, and for a request unless it says otherwise."""
    retry_timeout: float | None
    """For a daemon that went away; None: do not wait for it."""


class RequestFuture(Future[T]):
    """The answer to a request. cancel() also gives the request up on the daemon."""

    def __init__(self, give_up: Callable[[], None]) -> None:
        super().__init__()
        self._give_up = give_up

    def cancel(self) -> bool:
        if not super().cancel():
            return False
        self._give_up()
        return True


@dataclass(frozen=True)
class _Pending:
    messages: Sequence[SessionRequest]
    build: Callable[[Reply], Any]
    future: RequestFuture[Any]

    def resolve(self, answer: Reply | ClientError) -> None:
        with suppress(InvalidStateError):  # cancelled at this moment
            if isinstance(answer, ClientError):
                self.future.set_exception(answer)
            else:
                self.future.set_result(self.build(answer))


class Link:
    """Requests to one daemon through one session at a time. Thread-safe."""

    # Made anew in a forked child; _lock guards the three below it.
    _opening: threading.Lock
    _lock: threading.RLock
    _pending: dict[int, _Pending]
    _session: Session | None
    _reconnecting: bool

    def __init__(
        self,
        open_stream: Callable[[], Stream],
        options: SessionOptions,
        patience: Patience,
        *,
        expected: Welcome | None = None,
    ) -> None:
        """`expected`, if given, is what another session of the same client was told."""
        self._open_stream = open_stream
        self._options = options
        self._patience = patience
        self._welcome = expected
        self._ids = itertools.count(1)
        self._closed = False
        self.generation = 0
        """Changes in a forked child: requests made before belong to the parent."""
        self._start_over()
        self._require_session()
        _links.add(self)

    @property
    def welcome(self) -> Welcome:
        """What the first session was told; later ones have the same data."""
        assert self._welcome is not None
        return self._welcome

    @property
    def window(self) -> int:
        return self._options.window

    def submit(
        self,
        messages: Sequence[SessionRequest],
        build: Callable[[Reply], T],
        *,
        timeout: float | None = None,
    ) -> RequestFuture[T]:
        """Sends a request. `build` makes its result, on the stream's thread."""
        request_id = next(self._ids)
        wait_s = self._patience.timeout if timeout is None else timeout
        for message in messages:
            message.request_id = request_id
            message.timeout_ms = max(1, min(int(wait_s * 1000), 2**32 - 1))
        future: RequestFuture[T] = RequestFuture(lambda: self._give_up(request_id))
        self._require_session()
        with self._lock:
            self._pending[request_id] = _Pending(messages, build, future)
            session, reconnecting = self._session, self._reconnecting
        if session is not None:
            session.send(messages)
            self._notice_end(session)
        elif not reconnecting:
            self._fail_pending(ServerUnavailable("the daemon went away"))
        return future

    def wait(self, future: Future[T], *, timeout: float | None = None) -> T:
        """The result, or its exception; RequestTimeout if the daemon does not answer at all."""
        wait_s = self._patience.timeout if timeout is None else timeout
        try:
            return future.result(wait_s + _GRACE_S + (self._patience.retry_timeout or 0.0))
        except FutureTimeout as error:
            if future.done():  # a RequestTimeout of the daemon is one of these too
                raise
            future.cancel()
            raise RequestTimeout(f"the daemon did not answer within {wait_s:g} s") from error
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Ends the session. What is not answered is cancelled. Harmless when called twice."""
        with self._lock:
            self._closed = True
            session, self._session = self._session, None
        if session is not None:
            session.close()
        self._fail_pending(RequestCancelled("the client was closed"))

    def _require_session(self) -> None:
        """Opens a session if there is none and nobody is about to."""
        with self._opening:
            with self._lock:
                if self._closed:
                    raise RequestCancelled("the client is closed")
                if self._session is not None or self._reconnecting:
                    return
            session = self._open_patiently()
            with self._lock:
                closed = self._closed
                if not closed:
                    self._session = session
            if closed:
                session.close()
                raise RequestCancelled("the client is closed")

    def _open(self) -> Session:
        session = Session(
            self._open_stream(),
            self._options,
            timeout=self._patience.timeout,
            on_reply=_weakly(self._on_reply),
            on_end=_weakly(self._on_end),
        )
        try:
            _require_same_data(self._welcome, session.welcome)
        except DatasetChanged:
            session.close()
            raise
        self._welcome = self._welcome or session.welcome
        return session

    def _on_reply(self, request_id: int, answer: Reply | ClientError) -> None:
        with self._lock:
            pending = self._pending.pop(request_id, None)
        if pending is not None:  # else it was given up: dropping the reply releases its block
            pending.resolve(answer)

    def _on_end(self, session: Session, error: ClientError) -> None:
        with self._lock:
            if session is not self._session or self._closed:
                return
            self._session = None
            again = self._patience.retry_timeout is not None and _is_transient(error)
            self._reconnecting = again
        if again:
            self._reconnect()
        else:
            self._fail_pending(error)

    def _reconnect(self) -> None:
        try:
            session = self._open_patiently()
        except ClientError as error:
            self._reconnecting = False
            self._fail_pending(error)
        else:
            self._resume(session)

    def _open_patiently(self) -> Session:
        """With retry, waits for a daemon that went away; one that was never there is an error."""
        wait_s = self._patience.retry_timeout if self._welcome is not None else None
        deadline = time.monotonic() + (wait_s or 0.0)
        delay = _FIRST_DELAY_S
        while True:
            try:
                return self._open()
            except ClientError as error:
                late = time.monotonic() + delay > deadline
                if late or self._closed or not _is_transient(error):
                    raise
            time.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY_S)

    def _resume(self, session: Session) -> None:
        with self._lock:
            self._session = session
            self._reconnecting = False
            for pending in list(self._pending.values()):
                session.send(pending.messages)
            closed = self._closed
        if closed:
            session.close()
        self._notice_end(session)

    def _notice_end(self, session: Session) -> None:
        """For a session that ended before it was known here, when on_end was not for us yet."""
        if session.end is not None:
            self._on_end(session, session.end)

    def _give_up(self, request_id: int) -> None:
        with self._lock:
            known = self._pending.pop(request_id, None)
            session = self._session
        if known is not None and session is not None:
            session.cancel(request_id)

    def _fail_pending(self, error: ClientError) -> None:
        with self._lock:
            failed, self._pending = self._pending, {}
        for pending in failed.values():
            pending.resolve(error)

    def _start_over(self) -> None:
        # Re-entrant: the collector may run while it is held, and cancel what an iterator left.
        self._lock = threading.RLock()
        self._opening = threading.Lock()
        self._pending = {}
        self._session = None
        self._reconnecting = False

    def _after_fork(self) -> None:
        # The parent's threads and connection do not exist here, and its gRPC objects must not even
        # be destroyed.
        _inherited.append((self._session, self._pending))
        self.generation += 1
        self._start_over()


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


def _weakly(method: Callable[..., None]) -> Callable[..., None]:
    """The method, without keeping its object alive: a session's threads outlive a dropped link."""
    reference = weakref.WeakMethod(method)

    def call(*arguments: Any) -> None:
        found = reference()
        if found is not None:
            found(*arguments)

    return call


_links: weakref.WeakSet[Link] = weakref.WeakSet()
_inherited: list[Any] = []


def _reset_links_in_child() -> None:
    for link in list(_links):
        link._after_fork()


os.register_at_fork(after_in_child=_reset_links_in_child)
