"""What keeps a forked child away from its parent's gRPC and from its parent's connections.

gRPC cannot be used in a forked child of a process that has used it: its threads are gone and a new
channel never connects (measured, with and without GRPC_ENABLE_FORK_SUPPORT). Such a child goes
through a relay instead, see connection/relay.py.
"""

from __future__ import annotations

import gc
import os
import socket
import stat
import weakref
from collections.abc import Iterator
from pathlib import Path

# The process that gRPC runs in; its children must not touch it.
_grpc_pid: int | None = None
_inherited: list[object] = []


def note_grpc(daemon: Path | None) -> None:
    """Says that this process is about to use gRPC, on a daemon's socket unless it is TCP."""
    global _grpc_pid
    _grpc_pid = os.getpid()
    if daemon is not None:
        _connections.daemons.add(str(daemon))


def note_relay(relay: socket.socket) -> None:
    """Says that this process talks to a relay of its own through that socket."""
    _connections.relays.add(relay)


def is_forked_child() -> bool:
    """Whether gRPC was used by a parent of this process, so that this one cannot use it."""
    return _grpc_pid is not None and _grpc_pid != os.getpid()


def leave_to_parent(*objects: object) -> None:
    """For a forked child: keeps objects of its parent alive, as destroying them could crash it."""
    _inherited.append(objects)


class _CollectorDuringFork:
    """Keeps the garbage collector of a child from objects that its parent left to be collected.

    Destroying a gRPC object in a child can crash it. So nothing is collected during the fork, and
    the child's collector never looks at objects from before it, as the documentation of gc advises.
    """

    def __init__(self) -> None:
        self._was_enabled = False

    def before(self) -> None:
        self._was_enabled = _grpc_pid is not None and gc.isenabled()
        if self._was_enabled:
            gc.disable()

    def after_in_child(self) -> None:
        if self._was_enabled:
            gc.freeze()
            gc.enable()

    def after_in_parent(self) -> None:
        if self._was_enabled:
            gc.enable()


class _InheritedConnections:
    """Makes a forked child close its copies of its parent's connections.

    As long as one descriptor of a connection is open anywhere, the daemon cannot see that the
    trainer at its other end was killed, and keeps what the trainer held. The descriptors become
    /dev/null and stay in use, because gRPC's remains in the child still take them for theirs.
    """

    def __init__(self) -> None:
        self.daemons: set[str] = set()  # paths of sockets that gRPC has connected to
        self.relays: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def leave(self) -> None:
        if not self.daemons and not self.relays:
            return
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for descriptor in self._descriptors():
            os.dup2(null, descriptor, inheritable=False)
        os.close(null)
        self.relays.clear()

    def _descriptors(self) -> Iterator[int]:
        yield from [relay.fileno() for relay in self.relays if relay.fileno() >= 0]
        if not self.daemons:
            return
        for entry in list(Path("/proc/self/fd").iterdir()):
            if self._leads_to_a_daemon(int(entry.name)):
                yield int(entry.name)

    def _leads_to_a_daemon(self, descriptor: int) -> bool:
        try:
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                return False
            found = socket.socket(fileno=descriptor)
        except OSError:  # closed since it was listed, or of another kind
            return False
        try:
            return found.getpeername() in self.daemons
        except OSError:
            return False
        finally:
            found.detach()


_collector = _CollectorDuringFork()
_connections = _InheritedConnections()
os.register_at_fork(after_in_child=_connections.leave)
os.register_at_fork(
    before=_collector.before,
    after_in_child=_collector.after_in_child,
    after_in_parent=_collector.after_in_parent,
)
