"""Messages between a forked child and its relay: a kind, a length, that many bytes."""

from __future__ import annotations

import json
import socket
import struct
from typing import BinaryIO

from graphzero.client import errors
from graphzero.client.errors import ClientError

MESSAGE = 0
END = 1
"""The last frame: the exception that ended the stream."""

_HEADER = struct.Struct("<BI")


def send_frame(peer: socket.socket, kind: int, payload: bytes) -> None:
    """Sends one frame. Callers on several threads take turns."""
    peer.sendall(_HEADER.pack(kind, len(payload)) + payload)


def read_frame(source: BinaryIO) -> tuple[int, bytes] | None:
    """The next frame, or None when the other side is gone."""
    try:
        header = source.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        kind, size = _HEADER.unpack(header)
        payload = source.read(size)
    except ConnectionError:  # it left without reading all that it was sent
        return None
    return (kind, payload) if len(payload) == size else None


def pack_error(error: ClientError) -> bytes:
    return json.dumps([type(error).__name__, str(error)]).encode()


def unpack_error(payload: bytes) -> ClientError:
    name, message = json.loads(payload)
    kind: type[ClientError] = getattr(errors, name, ClientError)
    return kind(message)
