"""Turns the `data` argument of adapters into a client."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

from graphzero.client.client import Client
from graphzero.client.connect import connect, reopen_client
from graphzero.client.dataset.files import is_directory
from graphzero.client.errors import StartFailed

ClientOrPlace: TypeAlias = Client | str | os.PathLike[str]
"""A client, the directory of a dataset (a daemon is started if need be), or an address."""


def client_of(data: Any) -> Client:
    """The client itself, or one that is connected to what `data` names."""
    if isinstance(data, Client):
        return data
    if isinstance(data, (str, os.PathLike)):
        return connect(data=data) if is_directory(data) else connect(_as_address(data))
    raise TypeError(
        f"data is {_kind(data)}, expected a graphzero client, the directory of a dataset or the "
        "address of a daemon; a graph of another library becomes a dataset with "
        "graphzero.import_pyg() and its like, arrays with write_graph() and write_features()"
    )


def _as_address(data: str | os.PathLike[str]) -> str:
    text = os.fspath(data)
    if not text.startswith("/") and ":" not in text and not Path(text).is_socket():
        raise StartFailed(
            f"data is {text!r}: no such directory or socket below {Path.cwd()}, and as another "
            "address it would be unix:/path, /path or host:port"
        )
    return text


class PortableClient:
    """A client that can be sent to another process, which connects when it first needs it.

    A client itself can be sent too, but connects while it is unpickled, where a failure ends a
    worker before it can say why.
    """

    def __init__(self, data: Any) -> None:
        self._client: Client | None = client_of(data)
        self.info = self._client.info()
        self._recipe = self._client._options

    @property
    def client(self) -> Client:
        if self._client is None:  # in a process that was spawned
            self._client = reopen_client(self._recipe, self.info.dataset.fingerprint)
        return self._client

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None}


def _kind(data: Any) -> str:
    return f"a {type(data).__module__}.{type(data).__qualname__}"
