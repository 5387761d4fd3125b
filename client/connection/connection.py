"""A connection to the daemon that lasts: after the daemon's death, and in a forked child, its
session is opened anew.

It keeps the requests that are not answered yet, and sends no more of them at a time than the daemon
takes (Welcome.max_in_flight); the others wait for their turn. With `retry` it opens another session
when one ends, makes sure that the data is the same, and sends these requests again: the seed of
every request was chosen before it was first sent, so the answers are the same bytes. Without
`retry` the requests fail, and the next one opens a session.

Finalizers run on any thread and in the middle of any code, also of this module's. They may call
cancel() of a future and end() of a connection, so these never wait, and take re-entrant locks only.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from graphzero.client.connection.retry import Daemon, Patience, SessionOpener
from graphzero.client.connection.session import Session, SessionOptions
from graphzero.client.errors import (
    ClientError,
    RequestCancelled,
    ServerUnavailable,
    SessionEnded,
)
from graphzero.client.memory.results import Reply
from graphzero.client.process.deadline import Deadline
from graphzero.client.process.fork import leave_to_parent
from graphzero.client.process.threads import is_kept_from_users, keep_from_users, members
from graphzero.client.requests.request import Call, PendingRequest, Request, RequestFuture
from graphzero.client.requests.waits import WaitLog
from graphzero.proto.graphzero_pb2 import Welcome

T = TypeVar("T")

# Requests that a session may have under way if the daemon does not say how many. That is right
# unless the daemon has another --max-in-flight.
_USUAL_IN_FLIGHT = 64


class _Unsent(NamedTuple):
    request: Request[Any]
    future: RequestFuture[Any]
    time_s: float
    """Seconds that the daemon gets for it, however long there is no daemon to send it to."""


class Connection:
    """Requests to one daemon through one session at a time. Thread-safe."""

    # Made anew in a forked child; _lock guards those below it.
    _opening: threading.RLock
    _lock: threading.RLock
    _unsent: OrderedDict[int, _Unsent]  # by request id, the oldest first
    _pending: dict[int, PendingRequest]  # sent and not answered
    _session: Session | None
    _most_in_flight: int
    _waits: WaitLog
    _reconnecting: bool
    _untold: SessionEnded | None  # why the session was ended, if no request was there to fail

    def __init__(
        self,
        daemon: Daemon,
        options: SessionOptions,
        patience: Patience,
        *,
        expected: Welcome | None = None,
    ) -> None:
        """`expected`, if given, is the Welcome of another session of the same client."""
        self._opener = SessionOpener(daemon, options, patience, expected)
        self._ids = itertools.count(1)
        self._closed = False
        self.generation = 0
        """Changes in a forked child: requests made before belong to the parent."""
        self._start_over()
        _connections.add(self)

    @property
    def welcome(self) -> Welcome:
        """The Welcome of the first session; later sessions have the same data."""
        return self._opener.welcome

    @property
    def window(self) -> int:
        return self._opener.options.window

    @property
    def timeout(self) -> float:
        """Seconds for a request that does not say otherwise."""
        return self._opener.patience.timeout

    def deadline(self, timeout: float | None) -> Deadline:
        """The deadline of a call that may take several requests: `timeout` seconds, or those of
        connect()."""
        return Deadline(self.timeout if timeout is None else timeout)

    def open(self) -> None:
        """Opens a session if there is none and none is being opened."""
        with self._opening:
            with self._lock:
                self._require_usable()
                if self._session is not None or self._reconnecting:
                    return
            self._install(self._open_session())

    def run(self, call: Call[T]) -> T:
        """Sends the requests of a call, waits for their answers, and returns the call's result."""
        answer: Any = None
        while True:
            try:
                request = call.send(answer)
            except StopIteration as done:
                result: T = done.value
                return result
            answer = self.submit(request).wait()

    def submit(self, request: Request[T]) -> RequestFuture[T]:
        """Sends a request. If a session must be opened for it, waits for that."""
        self.open()
        return self._send(request)

    def submit_soon(self, request: Request[T]) -> RequestFuture[T]:
        """Sends a request without waiting: if there is no session, a thread opens one."""
        with self._lock:
            self._require_usable()
            opens = self._session is None and not self._reconnecting
            self._reconnecting = self._reconnecting or opens
        try:
            future = self._send(request)
        finally:  # also after an error: other requests may rely on the session
            if opens:
                self._open_in_background()
        return future

    def end(self) -> list[Session]:
        """Begins to end the connection without waiting; returns the sessions that end with it.

        Requests that are not answered are cancelled. Harmless when called twice.
        """
        with self._lock:
            self._closed = True
            sessions = [self._session] if self._session else []
            self._session = None
        sessions += self._opener.end()
        for session in sessions:
            session.end()
        self._fail_pending(RequestCancelled("the client was closed"))
        return sessions

    def forget_end(self) -> None:
        """For a new user of the connection, who need not hear how the last user's session ended."""
        self._untold = None

    def _require_usable(self) -> None:
        self._require_not_closed()
        if self._untold is not None:
            untold, self._untold = self._untold, None
            raise untold

    def _require_not_closed(self) -> None:
        if self._closed:
            raise RequestCancelled("the client is closed")

    def _send(self, request: Request[T]) -> RequestFuture[T]:
        request_id = next(self._ids)
        future: RequestFuture[T] = RequestFuture(
            lambda: self._give_up(request_id),
            request.deadline,
            self._waits,
            self._opener.patience.retry_timeout or 0.0,
        )
        # Not under the lock: the clock has one of its own.
        unsent = _Unsent(request, future, request.deadline.remaining())
        with self._lock:
            self._unsent[request_id] = unsent
            self._send_next()
            session, reconnecting = self._session, self._reconnecting
        if session is not None:
            self._notice_end(session)
        elif not reconnecting:
            self._fail(request_id, self._gone())
        return future

    def _send_next(self) -> None:
        """Sends unsent requests as far as the session has room. Called with the lock held."""
        while (session := self._session) is not None and len(self._pending) < self._most_in_flight:
            try:  # a finalizer may give up the last unsent request at any moment
                request_id, (request, future, time_s) = self._unsent.popitem(last=False)
            except KeyError:
                return
            for message in request.messages:
                message.request_id = request_id
                message.timeout_ms = max(1, int(min(time_s * 1000, 2**32 - 1)))
            answer_by = time.monotonic() + time_s
            self._pending[request_id] = PendingRequest(request, future, answer_by)
            session.send(request.messages)

    def _install(self, session: Session) -> None:
        """Makes it the connection's session, and sends the requests that are not answered yet."""
        with self._lock:
            self._reconnecting = False
            # A finalizer that made a request in the middle of this may have opened another one.
            wanted = not self._closed and self._session is None
            if wanted:
                self._session = session
                session.waits = self._waits
                self._most_in_flight = session.welcome.max_in_flight or _USUAL_IN_FLIGHT
                self._take_back_what_is_too_much()
                for pending in list(self._pending.values()):
                    session.send(pending.request.messages)
                self._send_next()
        if not wanted:
            session.end()
            self._require_not_closed()
        self._notice_end(session)

    def _take_back_what_is_too_much(self) -> None:
        """Makes requests unsent again that are too many for the session: another daemon may take
        fewer at a time than the last one. Called with the lock held."""
        for request_id in reversed(list(self._pending)[self._most_in_flight :]):
            pending = self._pending.pop(request_id, None)
            if pending is not None:
                time_s = pending.request.messages[0].timeout_ms / 1000
                self._unsent[request_id] = _Unsent(pending.request, pending.future, time_s)
                self._unsent.move_to_end(request_id, last=False)

    def _open_session(self) -> Session:
        return self._opener.open(_weakly(self._on_reply), _weakly(self._on_end))

    def _open_in_background(self) -> None:
        def work() -> None:
            keep_from_users()
            self._open_for_pending()

        try:
            threading.Thread(target=work, name="graphzero-open", daemon=True).start()
        except BaseException:
            self._fail_pending(ServerUnavailable("cannot start a thread to connect on"))
            raise

    def _open_for_pending(self) -> None:
        """Opens a session for the requests that wait for one, or fails them."""
        try:
            self._install(self._open_session())
        except Exception as error:  # whatever it is: nobody may be left waiting
            if not isinstance(error, ClientError):
                error = ServerUnavailable(f"cannot connect again: {error!r}")
            self._fail_pending(error)

    def _on_reply(self, request_id: int, answer: Reply | ClientError) -> object:
        with self._lock:
            pending = self._pending.get(request_id)
            if pending is None:  # it was given up: dropping the reply releases its block
                return None
            patience = self._opener.patience
            again = pending.ran_out_in_our_absence(answer) or pending.waits_for_a_peer(
                answer, patience.retry_timeout
            )
            if again and self._session is not None:
                self._ask_again(request_id, pending, self._session)
                return None
            del self._pending[request_id]
        pending.resolve(answer)  # first, so that no error with other requests prevents it
        if self._unsent:
            with self._lock:
                self._send_next()
        return pending.future.holds_users_objects()

    def _ask_again(self, request_id: int, pending: PendingRequest, session: Session) -> None:
        timeout_s = pending.request.messages[0].timeout_ms / 1000
        self._pending[request_id] = replace(pending, answer_by=time.monotonic() + timeout_s)
        session.send(pending.request.messages)

    def _on_end(self, session: Session, error: ClientError) -> None:
        with self._lock:
            if session is not self._session or self._closed:
                return
            self._session = None
            self._reconnecting = self._opener.is_worth_another(session, error)
            reconnects = self._reconnecting
            if isinstance(error, SessionEnded) and not (self._pending or self._unsent):
                # A copy without the frames of the error, which may hold the last batch.
                self._untold = SessionEnded(*error.args)
        if not reconnects:
            self._fail_pending(self._opener.with_advice(error))
        elif is_kept_from_users():  # the session's own thread, which has nothing else to do
            self._open_for_pending()
        else:
            self._open_in_background()

    def _notice_end(self, session: Session) -> None:
        """Handles a session that ended before it was installed, when _on_end() ignored its end."""
        if session.ended is not None:
            self._on_end(session, session.ended)

    def _gone(self) -> ClientError:
        if self._closed:
            return RequestCancelled("the client was closed")
        return self._opener.with_advice(ServerUnavailable("the daemon went away"))

    def _give_up(self, request_id: int) -> None:
        with self._lock:
            self._unsent.pop(request_id, None)
            was_sent = self._pending.pop(request_id, None) is not None
            if was_sent and self._session is not None:
                self._session.cancel(request_id)
                self._send_next()

    def _fail(self, request_id: int, error: ClientError) -> None:
        """Fails a request for which there is no session."""
        with self._lock:
            unsent = self._unsent.pop(request_id, None)
        if unsent is not None:
            unsent.future.fail(error)

    def _fail_pending(self, error: ClientError) -> None:
        """Fails all unanswered requests, when there is no session and none will be opened."""
        with self._lock:
            self._reconnecting = False
            futures = [pending.future for pending in self._pending.values()]
            futures += [unsent.future for unsent in self._unsent.values()]
            self._pending, self._unsent = {}, OrderedDict()
        for future in futures:
            # Each gets an exception of its own, because raising an exception changes it.
            future.fail(type(error)(*error.args))

    def _start_over(self) -> None:
        # Re-entrant: the garbage collector may run while it is held, and cancel requests of an
        # iterator that was dropped.
        self._lock = threading.RLock()
        self._opening = threading.RLock()
        self._unsent = OrderedDict()
        self._pending = {}
        self._waits = WaitLog()
        self._session = None
        self._most_in_flight = _USUAL_IN_FLIGHT
        self._reconnecting = False
        self._untold = None

    def _after_fork(self) -> None:
        # The parent's threads and connection do not exist here.
        leave_to_parent(self._session, self._pending, self._unsent)
        self._opener.after_fork()
        self.generation += 1
        self._start_over()


def _weakly(method: Callable[..., Any]) -> Callable[..., Any]:
    """Calls the method without keeping its object alive: a session's threads may outlive a
    connection that was dropped."""
    reference = weakref.WeakMethod(method)

    def call(*arguments: Any) -> Any:
        found = reference()
        return None if found is None else found(*arguments)

    return call


_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


def _reset_connections_in_child() -> None:
    for connection in list(_connections):
        connection._after_fork()


def _end_connections() -> None:
    """At the end of the program: ends requests that wait for a daemon. The sessions are closed
    afterwards."""
    for connection in members(_connections):
        connection.end()


atexit.register(_end_connections)
os.register_at_fork(after_in_child=_reset_connections_in_child)
