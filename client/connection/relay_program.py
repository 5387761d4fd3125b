"""A gRPC stream on behalf of a forked child, which runs it as a program:

    python -m graphzero.client.connection.relay_program FD

FD is one end of a socket pair; see relay.py for why. The first frame says where the daemon is and
what to call. The other frames are the messages themselves. The program ends when either side does.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from contextlib import suppress
from typing import BinaryIO

from graphzero.client.connection.address import Address
from graphzero.client.connection.relay import END, MESSAGE, pack_error, read_frame, send_frame
from graphzero.client.connection.stream import GrpcStream, list_datasets
from graphzero.client.errors import ClientError
from graphzero.proto.graphzero_pb2 import SessionRequest


def main() -> None:
    child = socket.socket(fileno=int(sys.argv[1]))
    frames = child.makefile("rb")
    first = read_frame(frames)
    if first is None:
        return
    order = json.loads(first[1])
    address = Address(
        target=order["target"],
        token=order["token"],
        root_certificate=order["root_certificate"] and bytes.fromhex(order["root_certificate"]),
        server_uid=order["server_uid"],
    )
    with suppress(ConnectionError):  # the child is gone
        try:
            if order["call"] == "list":
                found = list_datasets(address, order["timeout"])
                send_frame(child, MESSAGE, found.SerializeToString())
            else:
                _relay_session(address, child, frames)
        except ClientError as error:
            send_frame(child, END, pack_error(error))


def _relay_session(address: Address, child: socket.socket, frames: BinaryIO) -> None:
    stream = GrpcStream(address)
    try:
        threading.Thread(target=_relay_requests, args=(stream, frames), daemon=True).start()
        stream.receive(lambda response: send_frame(child, MESSAGE, response.SerializeToString()))
    finally:
        stream.close()


def _relay_requests(stream: GrpcStream, frames: BinaryIO) -> None:
    """Passes requests on until the child is gone. Then always closes the stream: otherwise the
    session would outlive its child."""
    try:
        while (frame := read_frame(frames)) is not None:
            stream.send(SessionRequest.FromString(frame[1]))
    finally:
        stream.close()


if __name__ == "__main__":
    main()
