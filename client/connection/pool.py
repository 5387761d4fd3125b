"""The connections of a client: one for each user of shared-memory credit, all with the same
data."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from graphzero.client.connection.address import Address
from graphzero.client.connection.connection import Connection
from graphzero.client.connection.retry import Daemon, Patience
from graphzero.client.connection.session import Session, SessionOptions
from graphzero.client.errors import RequestCancelled
from graphzero.client.requests.request import Call
from graphzero.proto.graphzero_pb2 import Welcome

T = TypeVar("T")


class ConnectionPool:
    """Connections to one daemon. The first is opened at once and tells what is served.

    Thread-safe.
    """

    def __init__(
        self, find: Callable[[], Address], options: SessionOptions, patience: Patience
    ) -> None:
        """`find` is asked for the daemon's address whenever a session is opened."""
        self._daemon = Daemon(find)
        self._options = options
        self._patience = patience
        # Re-entrant: an object that the garbage collector finalizes may need a connection too.
        self._lock = threading.RLock()
        self._closed = False
        self._direct: Connection | None = None
        self._connections: list[Connection] = []
        first = self._new_connection(options, None)
        self.welcome: Welcome = first.welcome
        self._idle = [first]
        _pools.add(self)

    @property
    def address(self) -> Address:
        """Where the latest session was opened."""
        assert self._daemon.address is not None  # the first session was opened
        return self._daemon.address

    @property
    def inline(self) -> bool:
        """Whether results come in messages, not in shared memory."""
        return self._options.inline

    def direct(self) -> Connection:
        """The connection that all direct calls share."""
        # Without the lock, which take() holds while it opens a session: it is never replaced.
        if self._direct is not None:
            return self._direct
        with self._lock:
            if self._direct is None:
                connection = self._take(self._options.window)
                if self._direct is None:
                    self._direct = connection
                else:  # a finalizer was quicker
                    self.give_back(connection)
            return self._direct

    def take(self, window: int) -> Connection:
        """A connection for one user of credit: an idle one with enough of it, or a new one."""
        with self._lock:
            return self._take(window)

    def give_back(self, connection: Connection) -> None:
        # Called by finalizers, on any thread and in the middle of anything: takes no lock.
        self._idle.append(connection)

    def run_aside(self, call: Call[T]) -> T:
        """Runs a call on a connection that is free again afterwards, for a later loader."""
        connection = self.take(1)
        try:
            return connection.run(call)
        finally:
            self.give_back(connection)

    def end(self) -> None:
        """Begins to end all sessions; for finalizers too: takes no lock and waits for nothing."""
        self._end()

    def close(self) -> None:
        """As end(), and waits for it, but not for a session that is just being opened."""
        for session in self._end():
            session.close()

    def _end(self) -> list[Session]:
        self._closed = True
        return [session for connection in list(self._connections) for session in connection.end()]

    def _take(self, window: int) -> Connection:
        if self._closed:
            raise RequestCancelled("the client is closed")
        for connection in list(self._idle):
            if connection.window >= window:
                self._idle.remove(connection)
                connection.forget_end()
                return connection
        return self._new_connection(replace(self._options, window=window), self.welcome)

    def _new_connection(self, options: SessionOptions, expected: Welcome | None) -> Connection:
        connection = Connection(self._daemon, options, self._patience, expected=expected)
        self._connections.append(connection)
        try:
            if self._closed:  # checked after the connection is among those that _end() ends
                connection.end()
            connection.open()
        except BaseException:
            self._connections.remove(connection)
            raise
        return connection

    def _after_fork(self) -> None:
        self._lock = threading.RLock()


_pools: weakref.WeakSet[ConnectionPool] = weakref.WeakSet()


def _reset_pools_in_child() -> None:
    for pool in list(_pools):
        pool._after_fork()


os.register_at_fork(after_in_child=_reset_pools_in_child)
