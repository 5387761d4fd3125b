"""A forked child's way to the daemon: a small program of its own that speaks gRPC for it.

A child that was forked, such as a DataLoader worker, cannot use gRPC, see process/fork.py. It
starts relay_program.py, which holds the gRPC stream and passes messages through a socket pair, as
frames: a kind, a length, that many bytes. When the child dies, however it dies, the relay sees the
end of that socket and ends the session.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from queue import SimpleQueue
from typing import TYPE_CHECKING, BinaryIO

from graphzero.client import errors
from graphzero.client.connection.address import Address
from graphzero.client.errors import ClientError, ServerUnavailable
from graphzero.client.process.fork import note_relay
from graphzero.client.process.threads import callbacks, keep_from_users
from graphzero.proto.graphzero_pb2 import SessionRequest, SessionResponse

if TYPE_CHECKING:
    from graphzero.client.connection.stream import Handle

_PROGRAM = "graphzero.client.connection.relay_program"

# How long to wait for a relay that has nobody to serve any more, before it is killed.
_RELAY_END_S = 10.0

MESSAGE = 0
END = 1
"""The last frame: the exception that ended the stream."""

_HEADER = struct.Struct("<BI")


class RelayStream:
    """A gRPC call in a program of its own."""

    def __init__(self, address: Address) -> None:
        self._relay = Relay(address, call="session")
        self._outbox: SimpleQueue[SessionRequest | None] = SimpleQueue()
        # A thread of its own writes. On the caller's thread a keyboard interrupt would tear a
        # message, and a finalizer that interrupts send() would wait for the lock that send() holds.
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
        with suppress(OSError):  # the relay is gone, which receive() reports
            for request in iter(self._outbox.get, None):
                send_frame(self._relay.socket, MESSAGE, request.SerializeToString())


class Relay:
    """A process of relay_program.py, and this process's socket to it. Closing that ends it."""

    def __init__(self, address: Address, *, call: str, timeout: float = 0.0) -> None:
        self.socket, other = socket.socketpair()
        note_relay(self.socket)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _PROGRAM, str(other.fileno())],
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
                f"{self._process.returncode}: {sys.executable} -m {_PROGRAM}"
            ) from error

    def payloads(self) -> Iterator[bytes]:
        with self.socket.makefile("rb") as frames:
            while (frame := read_frame(frames)) is not None:
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


def send_frame(peer: socket.socket, kind: int, payload: bytes) -> None:
    """Sends one frame. Callers on several threads must take turns."""
    peer.sendall(_HEADER.pack(kind, len(payload)) + payload)


def read_frame(frames: BinaryIO) -> tuple[int, bytes] | None:
    """The next frame, or None when the other side is gone."""
    try:
        header = frames.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        kind, size = _HEADER.unpack(header)
        payload = frames.read(size)
    except ConnectionError:  # the other side left without reading all that it was sent
        return None
    return (kind, payload) if len(payload) == size else None


def pack_error(error: ClientError) -> bytes:
    return json.dumps([type(error).__name__, str(error)]).encode()


def unpack_error(payload: bytes) -> ClientError:
    name, message = json.loads(payload)
    kind: type[ClientError] = getattr(errors, name, ClientError)
    return kind(message)
