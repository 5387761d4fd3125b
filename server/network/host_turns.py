"""Divides the turns of a costly rpc among the machines that call it.

Each machine has at most `per_host` of the turns, so that one that reads its answers slowly cannot
keep the others waiting. Its other calls wait in the order of their arrival, up to a limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from graphzero.server.codes import TooManyCalls


@dataclass
class _Host:
    turns: asyncio.Semaphore
    calls: int = 0
    """Calls that have a turn or wait for one."""


class HostTurns:
    """Belongs to the event loop's thread."""

    def __init__(self, at_a_time: int, per_host: int, most_waiting: int | None = None) -> None:
        """`most_waiting`: calls of one machine that may wait; None for any number."""
        self._all = asyncio.Semaphore(at_a_time)
        self._per_host = per_host
        self._most_waiting = most_waiting
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """A context in which the call has a turn. Raises TooManyCalls if too many wait."""
        own = self._hosts.setdefault(host, _Host(asyncio.Semaphore(self._per_host)))
        if self._most_waiting is not None and own.calls >= self._per_host + self._most_waiting:
            raise TooManyCalls(
                f"{self._per_host} calls of this machine are being answered and "
                f"{self._most_waiting} wait; call again later"
            )
        own.calls += 1
        try:
            async with own.turns, self._all:
                yield
        finally:
            own.calls -= 1
            if not own.calls:
                del self._hosts[host]


def host_of(peer: str) -> str:
    """ "ipv4:10.0.0.2:41822" -> "ipv4:10.0.0.2": connections of one machine count together. All
    processes on the Unix socket are one machine, "unix"."""
    return peer.rpartition(":")[0]
