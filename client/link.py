"""A session that lasts: it is opened anew after the daemon's death and in a forked child.

A link has the requests that are not answered yet. With `retry` it opens another session when one
ends, makes sure that the data is the same, and sends them again: the seed of every request was
chosen before it was first sent, so the answers are the same bytes. Without, they fail, and the next
request opens a session.

Finalizers run on any thread and in the middle of anything, also of what is here. They may call
cancel() of a future and end() of a link, so these never wait, and take re-entrant locks only.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from graphzero.client.deadline import Deadline
from graphzero.client.errors import (
    ClientError,
    DatasetChanged,
    RequestCancelled,
    RequestTimeout,
    ResourceExhausted,
    ServerError,
    ServerUnavailable,
    SharedMemoryUnavailable,
    StartFailed,
)
from graphzero.client.session import Reply, Session, SessionOptions
from graphzero.client.stream import Stream
from graphzero.client.threads import callbacks, is_kept_from_users, members
from graphzero.proto.graphzero_pb2 import SessionRequest, Welcome

T = TypeVar("T")

# What a restarting daemon may answer before it is ready, or before it noticed that we were gone.
_TRANSIENT = (ServerUnavailable, ResourceExhausted)

_FIRST_DELAY_S = 0.02
_LONGEST_DELAY_S = 1.0

# The daemon answers at its deadline; only one that hangs makes the client give up by itself.
_GRACE_S = 5.0

# How a request ends that got no time or no memory before its deadline.
RAN_OUT = (RequestTimeout, ResourceExhausted)

# Sessions in a row that cannot open any shared memory, until that is taken for the way it is. A
# first one proves nothing: what it was told of may be gone because it was read too late.
_BLIND_SESSIONS = 2


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds."""

    timeout: float
    """For opening a session, and for a request unless it says otherwise."""
    retry_timeout: float | None
    """For a daemon that went away; None: do not wait for it."""


class RequestFuture(Future[T]):
    """The answer to a request. cancel() also gives the request up on the daemon.

    Callbacks never run on gRPC's thread, see threads.py. A future that has one lives until it is
    done, as does what it keeps: whoever waits to be called back need not hold on to anything.
    """

    def __init__(self, give_up: Callable[[], None], deadline: Deadline) -> None:
        super().__init__()
        self._give_up = give_up
        self.deadline = deadline
        self.keeps: object = None
        """What must live as long as this future: its client, which would else be closed."""
        self._has_callback = False

    def cancel(self) -> bool:
        if not super().cancel():
            return False
        self._give_up()
        return True

    def add_done_callback(self, fn: Callable[[Future[T]], object]) -> None:
        callbacks.begin()
        self._has_callback = True
        _to_be_called_back.add(self)
        super().add_done_callback(lambda future: callbacks.run(fn, future))
        super().add_done_callback(_to_be_called_back.discard)

    def holds_users_objects(self) -> object:
        """Of what this future holds, that whose end may run a user's code or close a client.

        Not the result: its block would not be free as soon as the user drops it.
        """
        return self if self._has_callback else self.keeps


@dataclass(frozen=True)
class _Pending:
    messages: Sequence[SessionRequest]
    build: Callable[[Reply], Any]
    future: RequestFuture[Any]
    answer_by: float
    """When the daemon answers at the latest, on the monotonic clock."""

    def resolve(self, answer: Reply | ClientError) -> None:
        result: Any = answer
        if isinstance(answer, Reply):
            try:
                result = self.build(answer)
            except Exception as error:
                result = ServerError(f"the daemon sent a result that cannot be used: {error!r}")
                result.__cause__ = error
        with suppress(InvalidStateError):  # cancelled at this moment
            if isinstance(result, ClientError):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)

    def ran_out_in_our_absence(self, answer: Reply | ClientError) -> bool:
        """Whether its time was over long before the answer could be read here.

        The process was stopped, or stood still in other code: the user has not waited that long.
        """
        late = time.monotonic() > self.answer_by + _GRACE_S
        return late and isinstance(answer, RAN_OUT)


class Link:
    """Requests to one daemon through one session at a time. Thread-safe."""

    # Made anew in a forked child; _lock guards those below it.
    _opening: threading.RLock
    _lock: threading.RLock
    _pending: dict[int, _Pending]
    _session: Session | None
    _candidates: list[Session]  # that wait for their welcome
    _reconnecting: bool
    _pause: SimpleQueue[None]  # gets an item when the link ends

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
        self._blind_sessions = 0
        self.generation = 0
        """Changes in a forked child: requests made before belong to the parent."""
        self._start_over()
        _links.add(self)

    def open(self) -> None:
        """Opens the first session."""
        self._require_session()

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
        deadline: Deadline | None = None,
    ) -> RequestFuture[T]:
        """Sends a request. `build` makes its result, on the stream's thread: no user's code.

        Without a deadline it has the time that connect() was told.
        """
        request_id = next(self._ids)
        deadline = deadline or self.deadline(None)
        wait_s = deadline.remaining()
        for message in messages:
            message.request_id = request_id
            message.timeout_ms = max(1, int(min(wait_s * 1000, 2**32 - 1)))
        future: RequestFuture[T] = RequestFuture(lambda: self._give_up(request_id), deadline)
        self._require_session()
        with self._lock:
            answer_by = time.monotonic() + wait_s
            self._pending[request_id] = _Pending(messages, build, future, answer_by)
            session, reconnecting = self._session, self._reconnecting
        if session is not None:
            session.send(messages)
            self._notice_end(session)
        elif not reconnecting:
            self._fail(request_id, self._gone())
        return future

    def deadline(self, timeout: float | None) -> Deadline:
        """Of a call that may take several requests: so many seconds, or what connect() was told."""
        return Deadline(self._patience.timeout if timeout is None else timeout)

    def wait(self, future: RequestFuture[T]) -> T:
        """The result, or its exception; RequestTimeout if the daemon does not answer at all."""
        if is_kept_from_users() and not future.done():
            future.cancel()
            raise RuntimeError(
                "a call to the daemon on a thread that its answer would come on, from the "
                "destructor of an object for instance; make it on another thread"
            )
        limit = future.deadline
        patience = Deadline(limit.remaining() + _GRACE_S + (self._patience.retry_timeout or 0.0))
        try:
            while not future.done():
                with suppress(FutureTimeout):
                    future.exception(patience.step())  # waits
                if not future.done() and not patience.remaining():
                    raise RequestTimeout(f"the daemon did not answer within {limit.seconds:g} s")
            error = future.exception()
            if error is not None:
                raise error
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def ask(self, messages: Sequence[SessionRequest], deadline: Deadline | None = None) -> Reply:
        """The reply to a request."""
        return self.wait(self.submit(messages, _itself, deadline))

    def end(self) -> list[Session]:
        """Begins to end the link and waits for nothing; the sessions that will end with it.

        What is not answered is cancelled. Harmless when called twice.
        """
        with self._lock:
            self._closed = True
            sessions = [*self._candidates, *([self._session] if self._session else [])]
            self._session = None
        self._pause.put(None)
        for session in sessions:
            session.end()
        self._fail_pending(RequestCancelled("the client was closed"))
        return sessions

    def close(self) -> None:
        """As end(), and waits for it."""
        for session in self.end():
            session.close()

    def _require_session(self) -> None:
        """Opens a session if there is none and nobody is about to."""
        with self._opening:
            with self._lock:
                if self._closed:
                    raise RequestCancelled("the client is closed")
                if self._session is not None or self._reconnecting:
                    return
            self._install(self._open_patiently())

    def _install(self, session: Session) -> None:
        """Makes it the link's session, and sends what is not answered yet."""
        with self._lock:
            self._reconnecting = False
            # A finalizer that made a request in the middle of this may have opened another one.
            wanted = not self._closed and self._session is None
            if wanted:
                self._session = session
                for pending in list(self._pending.values()):
                    session.send(pending.messages)
        if not wanted:
            session.end()
            if self._closed:
                raise RequestCancelled("the client is closed")
        self._notice_end(session)

    def _open(self) -> Session:
        session = Session(
            self._open_stream(),
            self._options,
            on_reply=_weakly(self._on_reply),
            on_end=_weakly(self._on_end),
        )
        with self._lock:
            self._candidates.append(session)
        try:
            if self._closed:  # asked after the session is among those that end() knows
                raise RequestCancelled("the client is closed")
            session.await_welcome(self._patience.timeout)
            _require_same_data(self._welcome, session.welcome)
        except BaseException:
            session.end()
            raise
        finally:
            with self._lock:
                self._candidates.remove(session)
        self._welcome = self._welcome or session.welcome
        return session

    def _on_reply(self, request_id: int, answer: Reply | ClientError) -> object:
        with self._lock:
            pending = self._pending.get(request_id)
            if pending is None:  # it was given up: dropping the reply releases its block
                return None
            if pending.ran_out_in_our_absence(answer) and self._session is not None:
                self._ask_again(request_id, pending, self._session)
                return None
            del self._pending[request_id]
        pending.resolve(answer)
        return pending.future.holds_users_objects()

    def _ask_again(self, request_id: int, pending: _Pending, session: Session) -> None:
        timeout_s = pending.messages[0].timeout_ms / 1000
        self._pending[request_id] = replace(pending, answer_by=time.monotonic() + timeout_s)
        session.send(pending.messages)

    def _on_end(self, session: Session, error: ClientError) -> None:
        with self._lock:
            if session is not self._session or self._closed:
                return
            self._session = None
            again = self._goes_on_after(session, error)
            self._reconnecting = again
        if again:
            self._reconnect()
        else:
            self._fail_pending(self._with_advice(error))

    def _goes_on_after(self, session: Session, error: ClientError) -> bool:
        if isinstance(error, SharedMemoryUnavailable):
            self._blind_sessions = 1 if session.saw_memory else self._blind_sessions + 1
            return self._blind_sessions < _BLIND_SESSIONS
        return self._patience.retry_timeout is not None and _is_transient(error)

    def _reconnect(self) -> None:
        try:
            self._install(self._open_patiently())
        except Exception as error:  # whatever it is: nobody may be left waiting
            self._reconnecting = False
            if not isinstance(error, ClientError):
                error = ServerUnavailable(f"cannot connect again: {error!r}")
            self._fail_pending(error)

    def _open_patiently(self) -> Session:
        """With retry, waits for a daemon that went away; one that was never there is an error."""
        wait_s = self._patience.retry_timeout if self._welcome is not None else None
        deadline = Deadline(wait_s or 0.0)
        delay = _FIRST_DELAY_S
        while True:
            try:
                return self._open()
            except ClientError as error:
                late = deadline.remaining() < delay
                if late or self._closed or not _is_transient(error):
                    raise self._with_advice(error) from None
            with suppress(Empty):  # whoever ends the link also ends the pause
                self._pause.get(timeout=delay)
            delay = min(2 * delay, _LONGEST_DELAY_S)

    def _notice_end(self, session: Session) -> None:
        """For a session that ended before it was known here, when on_end was not for us yet."""
        if session.ended is not None:
            self._on_end(session, session.ended)

    def _gone(self) -> ClientError:
        if self._closed:
            return RequestCancelled("the client was closed")
        return self._with_advice(ServerUnavailable("the daemon went away"))

    def _with_advice(self, error: ClientError) -> ClientError:
        """Of a daemon that was there and is not any more: what would have helped."""
        if self._welcome is None or self._closed or type(error) is not ServerUnavailable:
            return error
        if self._patience.retry_timeout is None:
            advice = "connect(retry=True) waits for the next one and goes on with the same batches"
        else:
            advice = f"no other one came within {self._patience.retry_timeout:g} s (retry_timeout)"
        return ServerUnavailable(f"{error}; {advice}")

    def _give_up(self, request_id: int) -> None:
        with self._lock:
            known = self._pending.pop(request_id, None)
            session = self._session
        if known is not None and session is not None:
            session.cancel(request_id)

    def _fail(self, request_id: int, error: ClientError) -> None:
        with self._lock:
            pending = self._pending.pop(request_id, None)
        if pending is not None:
            pending.resolve(error)

    def _fail_pending(self, error: ClientError) -> None:
        with self._lock:
            failed, self._pending = self._pending, {}
        for pending in failed.values():
            # One for each: to raise an exception changes it.
            pending.resolve(type(error)(*error.args))

    def _start_over(self) -> None:
        # Re-entrant: the collector may run while it is held, and cancel what an iterator left.
        self._lock = threading.RLock()
        self._opening = threading.RLock()
        self._pending = {}
        self._session = None
        self._candidates = []
        self._reconnecting = False
        self._pause = SimpleQueue()

    def _after_fork(self) -> None:
        # The parent's threads and connection do not exist here, and its gRPC objects must not even
        # be destroyed.
        _inherited.append((self._session, self._pending, self._candidates))
        self.generation += 1
        self._start_over()


def _itself(reply: Reply) -> Reply:
    return reply


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


def _weakly(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, without keeping its object alive: a session's threads outlive a dropped link."""
    reference = weakref.WeakMethod(method)

    def call(*arguments: Any) -> Any:
        found = reference()
        return None if found is None else found(*arguments)

    return call


_to_be_called_back: set[Future[Any]] = set()
_links: weakref.WeakSet[Link] = weakref.WeakSet()
_inherited: list[Any] = []


def _reset_links_in_child() -> None:
    _inherited.append(set(_to_be_called_back))
    _to_be_called_back.clear()
    for link in list(_links):
        link._after_fork()


def _end_links() -> None:
    """At the end of the program: ends what waits for a daemon. The sessions are closed after it."""
    for link in members(_links):
        link.end()


atexit.register(_end_links)
os.register_at_fork(after_in_child=_reset_links_in_child)
