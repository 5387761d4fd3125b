"""Tells systemd about the daemon's state (sd_notify): one datagram, no library.

    READY=1       it can answer; also: a reload is over
    RELOADING=1   a reload has begun; `systemctl reload` returns with the READY=1 after it
    WATCHDOG=1    the event loop is alive; systemd restarts a service that does not say so in time
    STOPPING=1    it drains

Nothing is sent unless systemd asked for it, by variables of the environment.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Mapping

log = logging.getLogger("graphzero.server")

# The socket queues about ten datagrams, which systemd usually reads at once. If it does not, the
# event loop, which calls notify(), must not wait for longer than this.
_PATIENCE_S = 0.1


def notify(state: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.settimeout(_PATIENCE_S)
            channel.connect(address)
            channel.sendall(state.encode())
    except OSError as error:  # no reason to stop serving
        log.warning("cannot tell systemd %s: %s", state.partition("\n")[0], error)


def notify_reloading() -> None:
    """Sends the time too, by which systemd tells this reload from one that it asked for later."""
    now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    notify(f"RELOADING=1\nMONOTONIC_USEC={now_us}")


class Watchdog:
    """Fed by the event loop after its housekeeping, so that it starves when either hangs."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        asked_of = environment.get("WATCHDOG_PID", str(os.getpid()))
        limit = environment.get("WATCHDOG_USEC", "")
        is_asked = asked_of == str(os.getpid()) and limit.isdecimal() and int(limit) > 0
        self.every_s = int(limit) / 1e6 / 4 if is_asked else float("inf")
        """Seconds between feeds: a quarter of systemd's limit, so that one delay is harmless."""
        self._fed_at = 0.0

    def feed(self) -> None:
        now = time.monotonic()
        if now - self._fed_at >= self.every_s:
            self._fed_at = now
            notify("WATCHDOG=1")
