"""What adapters get as their data, as a client."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

from graphzero.client.client import Client, connect

Source: TypeAlias = Client | str | os.PathLike[str]
"""A client, the directory of a dataset (a daemon is started if need be), or an address."""


def open_source(data: Any) -> Client:
    """The client itself, or one that is connected to what `data` names."""
    if isinstance(data, Client):
        return data
    if isinstance(data, (str, os.PathLike)):
        return connect(data=data) if Path(data).is_dir() else connect(data)
    raise TypeError(
        f"data is {_kind(data)}, expected a graphzero client, the directory of a dataset or the "
        "address of a daemon; a graph in memory becomes a dataset with graphzero.write_graph() and "
        "write_features()"
    )


class OpenedSource:
    """A client that can be sent to another process, which then connects for itself."""

    def __init__(self, data: Any) -> None:
        self._client: Client | None = open_source(data)
        self.info = self._client.info()

    @property
    def client(self) -> Client:
        if self._client is None:  # in a process that was spawned
            self._client = connect(self.info.address, dataset=self.info.dataset.name)
        return self._client

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None}


def _kind(data: Any) -> str:
    return f"a {type(data).__module__}.{type(data).__qualname__}"
