"""Tells systemd about the daemon's state (sd_notify): one datagram, no library."""

import os
import socket


def notify(state: str) -> None:
    """Does nothing unless systemd asked for it."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.connect(address)
        channel.sendall(state.encode())
