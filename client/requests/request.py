"""A request on its way: what is sent, and the future that its answer resolves."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from graphzero.client.errors import (
    ClientError,
    RequestTimeout,
    ResourceExhausted,
    ServerError,
    ServerUnavailable,
)
from graphzero.client.memory.results import Reply
from graphzero.client.process.deadline import Deadline
from graphzero.client.process.fork import leave_to_parent
from graphzero.client.process.threads import callbacks, is_kept_from_users
from graphzero.client.requests.waits import WaitLog
from graphzero.proto.graphzero_pb2 import SessionRequest

T = TypeVar("T")

# Errors of a request that got no time or no memory before its deadline.
RAN_OUT = (RequestTimeout, ResourceExhausted)

# The daemon answers a request at its deadline at the latest. If it hangs, the client gives up this
# long afterwards.
_GRACE_S = 5.0


def the_reply(reply: Reply) -> Reply:
    """For a request whose result is the reply itself."""
    return reply


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request to the daemon."""

    messages: Sequence[SessionRequest]
    build: Callable[[Reply], T]
    """Makes the result, on the stream's thread: it must not run a user's code."""
    deadline: Deadline


Call: TypeAlias = Generator[Request[Any], Any, T]
"""What a user asks for, as the requests that it takes, one after the other. It yields each request,
is sent the result of it, and returns what the user gets. Connection.run() waits for the answers,
AsyncClient awaits them: a call is written once for both."""


class RequestFuture(Future[T]):
    """The answer to a request. cancel() also gives the request up on the daemon.

    Callbacks never run on gRPC's thread, see process/threads.py. A future with a callback lives
    until it is done, and so does the object that it `keeps`: a caller need not hold a reference
    meanwhile.
    """

    def __init__(
        self,
        give_up: Callable[[], None],
        deadline: Deadline,
        waits: WaitLog,
        reconnect_s: float = 0.0,
    ) -> None:
        """`waits` records how long users waited for the answer; `reconnect_s` is how long the
        connection may wait for another daemon meanwhile."""
        super().__init__()
        self.waits = waits
        self._give_up = give_up
        self._deadline = deadline
        self._reconnect_s = reconnect_s
        self.keeps: object = None
        """An object that must live as long as this future: its client, which would otherwise be
        closed."""
        self._has_callback = False

    def cancel(self) -> bool:
        if not super().cancel():
            return False
        self._give_up()
        return True

    def fail(self, error: ClientError) -> None:
        with suppress(InvalidStateError):  # cancelled at this moment
            self.set_exception(error)

    def add_done_callback(self, fn: Callable[[Future[T]], object]) -> None:
        callbacks.begin()
        self._has_callback = True
        _to_be_called_back.add(self)
        super().add_done_callback(lambda future: callbacks.run(fn, future))
        super().add_done_callback(_to_be_called_back.discard)

    def when_done(self, wake: Callable[[], None]) -> None:
        """Calls `wake` once this is done, on any thread: it must not wait nor run a user's code."""
        super().add_done_callback(lambda _: wake())

    def patience(self) -> Deadline:
        """How long to wait for the answer, counted from now."""
        return Deadline(self._deadline.remaining() + _GRACE_S + self._reconnect_s)

    def not_answered(self) -> RequestTimeout:
        """The error to raise when patience() is over."""
        return RequestTimeout(f"the daemon did not answer within {self._deadline.seconds:g} s")

    def wait(self) -> T:
        """The result, or its exception; RequestTimeout if the daemon does not answer at all."""
        if is_kept_from_users() and not self.done():
            self.cancel()
            raise RuntimeError(
                "a call to the daemon on a thread that its answer would come on, from the "
                "destructor of an object for instance; make it on another thread"
            )
        patience = self.patience()
        try:
            if not self.done():
                with self.waits.waiting():
                    self._wait_until_done(patience)
            return self.result()
        except BaseException:
            self.cancel()
            raise
        finally:
            del self  # or an exception, whose traceback has this frame, would be in a cycle with it

    def _wait_until_done(self, patience: Deadline) -> None:
        while not self.done():
            with suppress(FutureTimeout):
                self.exception(patience.step())  # waits
            if not self.done() and not patience.remaining():
                raise self.not_answered()

    def holds_users_objects(self) -> object:
        """The object whose destruction may run a user's code or close a client, or None.

        Never the result: its block would not be free as soon as the user drops it.
        """
        return self if self._has_callback else self.keeps


@dataclass(frozen=True)
class PendingRequest:
    """A request that was not answered yet."""

    request: Request[Any]
    future: RequestFuture[Any]
    answer_by: float
    """When the daemon answers at the latest, on the monotonic clock."""
    first_asked: float = field(default_factory=time.monotonic)

    def resolve(self, answer: Reply | ClientError) -> None:
        if isinstance(answer, ClientError):
            self.future.fail(answer)
            return
        try:
            result = self.request.build(answer)
        except Exception as error:
            unusable = ServerError(f"the daemon sent a result that cannot be used: {error!r}")
            unusable.__cause__ = error
            self.future.fail(unusable)
            return
        with suppress(InvalidStateError):  # cancelled at this moment
            self.future.set_result(result)

    def ran_out_in_our_absence(self, answer: Reply | ClientError) -> bool:
        """Whether its time was over long before the answer could be read here.

        Then the process was stopped, or stood still in other code: the user has not waited that
        long.
        """
        late = time.monotonic() > self.answer_by + _GRACE_S
        return late and isinstance(answer, RAN_OUT)

    def waits_for_a_peer(self, answer: Reply | ClientError, retry_timeout: float | None) -> bool:
        """Whether the daemon waited in vain for the daemon of another part, which may come back:
        with retry, the client waits for it as for its own daemon."""
        if retry_timeout is None or type(answer) is not ServerUnavailable:
            return False
        timeout_s = self.request.messages[0].timeout_ms / 1000
        return time.monotonic() < self.first_asked + timeout_s + retry_timeout


_to_be_called_back: set[Future[Any]] = set()


def _forget_in_child() -> None:
    leave_to_parent(set(_to_be_called_back))
    _to_be_called_back.clear()


os.register_at_fork(after_in_child=_forget_in_child)
