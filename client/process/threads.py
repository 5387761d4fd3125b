"""Threads that no user's code may run on, and the one that callbacks run on instead.

gRPC reads all answers of a channel on one thread of its own. Whoever waited there for another
answer, or closed the channel there, would wait for ever. Closing a session waits for the session's
own threads, so the same holds for those. A callback of a future that is answered on such a thread
is handed to a thread that does nothing else; on any other thread callbacks run at once, as those of
concurrent.futures do.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

log = logging.getLogger("graphzero.client")

# How long the end of the program waits for a callback that is under way.
_LAST_CALL_S = 5.0


class _Thread(threading.local):
    serves_client = False


_current = _Thread()


def keep_from_users() -> None:
    """Says that the calling thread is gRPC's or a session's."""
    _current.serves_client = True


def is_kept_from_users() -> bool:
    """Whether the calling thread must neither wait for an answer nor for the end of a session."""
    return _current.serves_client


def members(found: weakref.WeakSet[T]) -> list[T]:
    """The members of a set that other threads may add to at this moment."""
    while True:
        try:
            return list(found)
        except RuntimeError:  # it has grown while it was read
            continue


class CallbackThread:
    """Runs callbacks, one after the other. Its thread starts when a future first gets one."""

    # Made anew in a forked child.
    _beginning: threading.Lock
    _calls: SimpleQueue[tuple[Callable[..., object], object] | None]
    _thread: threading.Thread | None

    def __init__(self) -> None:
        self._start_over()

    def begin(self) -> None:
        """Starts the thread. Called on a user's thread, because a thread cannot be started from
        just anywhere."""
        with self._beginning:
            if self._thread is None:
                thread = threading.Thread(
                    target=self._work, args=(self._calls,), name="graphzero-callback", daemon=True
                )
                thread.start()
                self._thread = thread

    def run(self, callback: Callable[[T], object], argument: T) -> None:
        """Runs the callback now, or on the callback thread if this thread is kept from users."""
        if is_kept_from_users():
            self._calls.put((callback, argument))
        else:
            callback(argument)

    def dispose(self, objects: list[object]) -> None:
        """Empties a list that may hold the last references to its objects, on the callback thread.

        If there was never a callback, that may happen on this thread: at worst it ends a client.
        """
        if self._thread is not None and any(found is not None for found in objects):
            self._calls.put((list.clear, objects))
        else:
            objects.clear()

    def end(self) -> None:
        """Waits for the callbacks that were handed over, but not for one that does not end."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._calls.put(None)
            thread.join(_LAST_CALL_S)

    def _work(self, calls: SimpleQueue[tuple[Callable[..., object], object] | None]) -> None:
        while (call := calls.get()) is not None:
            callback, argument = call
            try:
                callback(argument)
            except BaseException:  # a callback must not end the thread of all others
                log.exception("exception calling callback for %r", argument)
            del call, callback, argument  # freed now, not when the next callback comes

    def _start_over(self) -> None:
        self._beginning = threading.Lock()
        self._calls = SimpleQueue()
        self._thread = None


callbacks = CallbackThread()
atexit.register(callbacks.end)
# The parent's thread and its queue do not exist in a forked child.
os.register_at_fork(after_in_child=callbacks._start_over)
os.register_at_fork(after_in_child=lambda: setattr(_current, "serves_client", False))
