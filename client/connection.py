"""How a client reaches its daemon: what `connect` was told, in one value.

It can be pickled, and so can a client, which is opened from it anew wherever it arrives.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from graphzero._numbers import seconds, whole_number
from graphzero.client.address import Address, find_address
from graphzero.client.launch import ensure_daemon
from graphzero.client.link import Patience
from graphzero.client.session import SessionOptions

Transport: TypeAlias = Literal["shared_memory", "inline"]

DEFAULT_TIMEOUT_S = 60.0
DEFAULT_WINDOW = 4


@dataclass(frozen=True)
class ConnectOptions:
    """The arguments of connect(), which says what they mean. Checked as far as they stand alone."""

    address: str | None
    data: str | None
    """An absolute path."""
    dataset: str | None
    timeout: float
    retry: bool
    retry_timeout: float
    transport: Transport | None
    window: int
    upcast: bool
    token: str | None = field(repr=False)
    root_certificate: str | os.PathLike[str] | None
    plaintext_token: bool
    server_uid: int | None

    def __post_init__(self) -> None:
        if self.transport not in (None, "shared_memory", "inline"):
            raise ValueError(
                f'transport is {self.transport!r}, expected "shared_memory" or "inline"'
            )
        whole_number(self.window, "window", least=1)
        seconds(self.timeout, "timeout")
        seconds(self.retry_timeout, "retry_timeout")
        if self.data is not None and self.address is not None:
            raise ValueError("address and data exclude each other: data finds or starts the daemon")

    def find(self) -> Address:
        """Where the daemon is at this moment; starts one for `data` if need be."""
        if self.data is not None:
            return ensure_daemon(self.data, timeout=self.timeout)
        return find_address(
            self.address,
            token=self.token,
            root_certificate=self.root_certificate,
            plaintext_token=self.plaintext_token,
            server_uid=self.server_uid,
        )

    def session(self) -> SessionOptions:
        """What the sessions for direct calls ask for."""
        over_tcp = self.data is None and self.find().socket is None
        if over_tcp and self.transport == "shared_memory":
            raise ValueError('a daemon over TCP sends batches inline; transport must be "inline"')
        inline = over_tcp or self.transport == "inline"
        return SessionOptions(self.dataset or "", inline=inline, window=self.window)

    def patience(self) -> Patience:
        return Patience(self.timeout, retry_timeout=self.retry_timeout if self.retry else None)
