"""`connect`: a client of a daemon that runs already, or is started for it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from graphzero._dataset import open_dataset
from graphzero.client.client import Client
from graphzero.client.connection import (
    DEFAULT_TIMEOUT_S,
    DEFAULT_WINDOW,
    ConnectOptions,
    Transport,
)
from graphzero.client.errors import DatasetChanged, ServerUnavailable, StartFailed
from graphzero.client.info import DatasetInfo
from graphzero.client.launch import let_reload

# A daemon found by connect(data=) may be leaving at that moment: how often to try, and the pause.
_LEAVING_DAEMONS = 3
_LEAVING_S = 0.1


def connect(
    address: str | os.PathLike[str] | None = None,
    *,
    data: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    timeout: float = DEFAULT_TIMEOUT_S,
    retry: bool = False,
    retry_timeout: float = DEFAULT_TIMEOUT_S,
    transport: Transport | None = None,
    window: int = DEFAULT_WINDOW,
    upcast: bool = False,
    token: str | None = None,
    root_certificate: str | os.PathLike[str] | None = None,
    plaintext_token: bool = False,
    server_uid: int | None = None,
) -> Client:
    """Connects to a daemon; raises ServerUnavailable if there is none.

    address: "unix:/path", "/path" or "host:port"; else GRAPHZERO_ADDRESS, else this user's default
    socket.
    data: a directory, instead of an address: a daemon that serves it, started if need be; that one
    leaves by itself a minute after its last client. One that serves an older version of it reads it
    anew.
    dataset: which one, where the daemon has several.
    timeout: seconds for connecting, and for each request unless it says otherwise.
    retry: when the daemon goes away, wait up to retry_timeout seconds for the next one and go on;
    batches are the same. Otherwise requests raise ServerUnavailable.
    transport: "shared_memory" (the default on a socket) or "inline" (the default for TCP), for
    containers that do not share /dev/shm with the daemon.
    window: batches in flight or in use at a time that direct calls get shared memory for.
    upcast: give float16 and bfloat16 columns as float32. They are stored and sent as they are; the
    copy is made here, of those columns of a batch that are looked at.
    token, root_certificate: for TCP; also from GRAPHZERO_TOKEN and GRAPHZERO_ROOT_CERTIFICATE. TLS
    is used beyond this machine, and on it if there is a certificate to check the daemon by.
    plaintext_token: send the token on this machine without TLS too, to whoever holds the port.
    server_uid: a user whose daemon is trusted beside one's own and root's.
    """
    return open_client(
        ConnectOptions(
            address=None if address is None else os.fspath(address),
            data=None if data is None else os.fspath(Path(data).absolute()),
            dataset=dataset,
            timeout=timeout,
            retry=retry,
            retry_timeout=retry_timeout,
            transport=transport,
            window=window,
            upcast=upcast,
            token=token,
            root_certificate=root_certificate,
            plaintext_token=plaintext_token,
            server_uid=server_uid,
        )
    )


def open_client(options: ConnectOptions) -> Client:
    client = _open_patiently(options)
    if options.data is None:
        return client
    served = client.info()
    newer = _replaced_by(served.dataset)
    if newer is None:
        return client
    # Whoever names a directory means what is in it now, also while a daemon for it still runs.
    client.close()
    if let_reload(options.find(), newer, timeout=options.timeout):
        return _open_patiently(options)
    raise DatasetChanged(
        f"{served.dataset.path} was replaced: found fingerprint {newer}, but the daemon at "
        f"{served.address} serves {served.dataset.fingerprint}; send it SIGHUP, and see its log if "
        "that does not help"
    )


def _replaced_by(served: DatasetInfo) -> str | None:
    """The fingerprint of the files, if it is not that of what is served."""
    found = open_dataset(Path(served.path)).fingerprint.hex()
    return None if found == served.fingerprint else found


def _open_patiently(options: ConnectOptions) -> Client:
    for _ in range(_LEAVING_DAEMONS if options.data is not None else 0):
        try:
            return Client(options)
        except StartFailed:
            raise
        except ServerUnavailable:
            time.sleep(_LEAVING_S)  # it was about to leave, idle; the next attempt starts another
    return Client(options)


def reopen_client(options: ConnectOptions, fingerprint: str) -> Client:
    """Another client of the same version of the data: what a pickled client becomes."""
    client = open_client(options)
    found = client.info().dataset
    if found.fingerprint != fingerprint:
        client.close()
        raise DatasetChanged(
            f"dataset {found.name!r} was replaced since this client was sent: found fingerprint "
            f"{found.fingerprint}, expected {fingerprint}; connect anew to use the new version"
        )
    return client
