"""The two-way stream of a session, as bytes on their way: gRPC, or a relay after a fork.

gRPC cannot be used in a forked child of a process that has used it: its threads are gone and a new
channel never connects (measured, with and without GRPC_ENABLE_FORK_SUPPORT). A child that was
forked, such as a DataLoader worker, starts a small program of its own instead, relay.py, which
holds the gRPC stream and passes messages through a socket pair. When the child dies, however it
dies, the relay sees the end of that socket and ends the session.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from graphzero._grpc_setup import import_grpc, keepalive_options
from graphzero.client.address import Address
from graphzero.client.errors import ClientError, ServerUnavailable, exception_for
from graphzero.client.frames import END, MESSAGE, read_frame, send_frame, unpack_error
from graphzero.client.threads import callbacks, keep_from_users
from graphzero.client.unavailable import not_reached, went_away
from graphzero.proto.graphzero_pb2 import (
    ListDatasetsRequest,
    ListDatasetsResponse,
    SessionRequest,
    SessionResponse,
)

_SESSION_METHOD = "/graphzero.v1.SamplerService/Session"

# How long to wait for a relay that has nobody to serve any more, before it is killed.
_RELAY_END_S = 10.0

# The process that gRPC runs in; its children must not touch it.
_grpc_pid: int | None = None

Handle = Callable[[SessionResponse], object]
"""Takes a message. What it returns is disposed of by the thread in receive()."""


class Stream(Protocol):
    """Messages of one session. send() and close() may be called from any thread."""

    def send(self, request: SessionRequest) -> None:
        """Queues a message; never fails: the end of the stream shows in receive(). Never waits
        either, and may be called by a finalizer that interrupts another send()."""

    def receive(self, handle: Handle) -> None:
        """Calls `handle` with what the daemon sends, in order, on one thread at a time, until the
        end. A status raises its exception, as does `handle` its own."""

    def close(self) -> None:
        """Ends the stream. Harmless when it has ended."""


def open_stream(address: Address) -> Stream:
    """A stream to the daemon. Whether anyone listens shows with the first response."""
    address.require_trusted()
    return RelayStream(address) if _in_forked_child() else GrpcStream(address)


def list_datasets(address: Address, timeout: float) -> ListDatasetsResponse:
    """What the daemon serves; needs no session."""
    address.require_trusted()
    if _in_forked_child():
        with closing(_Relay(address, call="list", timeout=timeout)) as relay:
            payload = next(relay.payloads(), b"")
        found: ListDatasetsResponse = ListDatasetsResponse.FromString(payload)
        return found
    grpc = import_grpc()
    with open_channel(address) as channel:
        try:
            found = _stub(channel).ListDatasets(
                ListDatasetsRequest(), timeout=timeout, metadata=call_metadata(address)
            )
        except grpc.RpcError as error:
            raise exception_of(error, address) from None
    return found


class GrpcStream:
    """A gRPC call in this process.

    Messages are handled where gRPC deserializes them, on the thread that it watches the channel
    with: one thread less to wake for every answer (0.07 of 0.6 ms of a round trip, measured). The
    thread in receive() only asks for the next one, and disposes of what is left of the last.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._outbox: SimpleQueue[SessionRequest | None] = SimpleQueue()
        self._handle: Handle | None = None
        self._failure: Exception | None = None
        self._answered = False
        self._channel = open_channel(address)
        call = self._channel.stream_stream(
            _SESSION_METHOD,
            request_serializer=SessionRequest.SerializeToString,
            response_deserializer=self._deliver,
        )
        try:
            self._call = call(iter(self._outbox.get, None), metadata=call_metadata(address))
        except BaseException:  # no thread could be started
            self._channel.close()
            raise

    def send(self, request: SessionRequest) -> None:
        self._outbox.put(request)

    def receive(self, handle: Handle) -> None:
        grpc = import_grpc()
        self._handle = handle
        try:
            for left_over in self._call:
                callbacks.dispose(left_over)
                if self._failure is not None:
                    raise self._failure
        except grpc.RpcError as error:
            raise exception_of(error, self._address, answered=self._answered) from None
        finally:
            self._handle = None

    def _deliver(self, payload: bytes) -> list[object]:
        """On gRPC's thread. It would end the call with an error of its own if this raised.

        What the message leaves behind goes to the thread in receive(): its end may run a user's
        code, or close a client.
        """
        keep_from_users()
        self._answered = True
        try:
            assert self._handle is not None  # nothing is read before receive() asks for it
            return [self._handle(SessionResponse.FromString(payload))]
        except Exception as error:
            self._failure = error
            return []

    def close(self) -> None:
        self._outbox.put(None)
        self._call.cancel()
        self._channel.close()


class RelayStream:
    """A gRPC call in a program of its own."""

    def __init__(self, address: Address) -> None:
        self._relay = _Relay(address, call="session")
        self._outbox: SimpleQueue[SessionRequest | None] = SimpleQueue()
        # A thread writes: an interrupt from the keyboard would tear a message, and a lock could be
        # asked for twice, by send() and by a finalizer that interrupts it.
        self._sender = threading.Thread(target=self._send_all, name="graphzero-send", daemon=True)
        try:
            self._sender.start()
        except BaseException:
            self._relay.close()
            raise

    def send(self, request: SessionRequest) -> None:
        self._outbox.put(request)

    def receive(self, handle: Handle) -> None:
        for payload in self._relay.payloads():
            callbacks.dispose([handle(SessionResponse.FromString(payload))])

    def close(self) -> None:
        self._outbox.put(None)
        self._relay.close()
        self._sender.join()

    def _send_all(self) -> None:
        keep_from_users()
        with suppress(OSError):  # the relay is gone, which receive() tells
            for request in iter(self._outbox.get, None):
                send_frame(self._relay.socket, MESSAGE, request.SerializeToString())


class _Relay:
    """The program of relay.py and our end of the socket pair. It ends when that is closed."""

    def __init__(self, address: Address, *, call: str, timeout: float = 0.0) -> None:
        self.socket, other = socket.socketpair()
        _connections.relays.add(self)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "graphzero.client.relay", str(other.fileno())],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt from the keyboard is for the trainer
            )
        root = address.root_certificate
        order = asdict(address) | {
            "root_certificate": root and root.hex(),
            "call": call,
            "timeout": timeout,
        }
        try:
            send_frame(self.socket, MESSAGE, json.dumps(order).encode())
        except OSError as error:
            self.close()
            raise ServerUnavailable(
                f"the program that connects for a forked process ended with status "
                f"{self._process.returncode}: {sys.executable} -m graphzero.client.relay"
            ) from error

    def payloads(self) -> Iterator[bytes]:
        with self.socket.makefile("rb") as source:
            while (frame := read_frame(source)) is not None:
                kind, payload = frame
                if kind == END:
                    raise unpack_error(payload)
                yield payload

    def close(self) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        try:
            self._process.wait(_RELAY_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _in_forked_child() -> bool:
    return _grpc_pid is not None and _grpc_pid != os.getpid()


def open_channel(address: Address) -> Any:
    """A gRPC channel, which must not be used in a forked child."""
    global _grpc_pid
    grpc = import_grpc()
    _grpc_pid = os.getpid()
    if address.socket is not None:
        _connections.sockets.add(str(address.socket))
    # Without a pool of its own a channel waits for the back-off of one that failed before it.
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
    options += keepalive_options(is_socket=address.socket is not None)
    if address.secure:
        credentials = grpc.ssl_channel_credentials(address.root_certificate)
        return grpc.secure_channel(address.target, credentials, options)
    return grpc.insecure_channel(address.target, options)


def _stub(channel: Any) -> Any:
    from graphzero.proto.graphzero_pb2_grpc import SamplerServiceStub

    return SamplerServiceStub(channel)


def call_metadata(address: Address) -> list[tuple[str, str]]:
    """What goes with every call: the token, if the address has one."""
    return [("authorization", f"Bearer {address.token}")] if address.token else []


def exception_of(error: Any, address: Address, *, answered: bool = False) -> ClientError:
    """For an RpcError. Not to be raised from it: its many lines say nothing more.

    `answered`: the daemon had said something before.
    """
    details = str(error.details() or "")
    found = exception_for(int(error.code().value[0]), details)
    if isinstance(found, ServerUnavailable):
        return went_away(address, details) if answered else not_reached(address, details)
    return found


class _CollectorDuringFork:
    """Keeps the garbage collector of a child from objects that its parent left to be collected.

    To destroy a gRPC object in a child can crash it. So nothing is collected during the fork, and
    what exists then is not looked at in the child again, as the documentation of gc has it.
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
    """Makes a forked child let go of its parent's connections.

    As long as one descriptor of a connection is open anywhere, the daemon cannot see that the
    trainer at its other end was killed, and keeps what that one held. The numbers stay in use, by
    /dev/null: gRPC's remains in the child still believe that they are theirs.
    """

    def __init__(self) -> None:
        self.sockets: set[str] = set()  # paths that gRPC has connected to
        self.relays: weakref.WeakSet[_Relay] = weakref.WeakSet()

    def leave(self) -> None:
        if not self.sockets and not self.relays:
            return
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for descriptor in self._descriptors():
            os.dup2(null, descriptor, inheritable=False)
        os.close(null)
        self.relays.clear()

    def _descriptors(self) -> Iterator[int]:
        yield from [relay.socket.fileno() for relay in self.relays if relay.socket.fileno() >= 0]
        if not self.sockets:
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
            return found.getpeername() in self.sockets
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
