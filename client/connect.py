"""`connect`: a client of a daemon that runs already, or is started for it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from graphzero.base.numbers import seconds, whole_number
from graphzero.client.client import Client
from graphzero.client.client_calls import ClientCalls
from graphzero.client.connection.address import Address, absolute_address, find_address
from graphzero.client.connection.retry import Patience
from graphzero.client.connection.session import SessionOptions
from graphzero.client.daemon.launch import ensure_daemon, let_reload
from graphzero.client.dataset.info import DatasetInfo
from graphzero.client.errors import DatasetChanged, ServerUnavailable, StartFailed
from graphzero.client.memory import cuda
from graphzero.client.signatures import with_arguments_of
from graphzero.files.dataset import open_dataset

Transport: TypeAlias = Literal["shared_memory", "inline"]
C = TypeVar("C", bound=ClientCalls)

DEFAULT_TIMEOUT_S = 60.0
DEFAULT_WINDOW = 4

# A daemon found by connect(data=) may be leaving at that moment: how often to try, and the pause.
_LEAVING_DAEMONS = 3
_LEAVING_S = 0.1


@dataclass(frozen=True)
class ConnectOptions:
    """The arguments of connect(), whose docstring explains them. Each is checked by itself.

    The options can be pickled, and so can a client, which is opened from them wherever it arrives.
    """

    address: str | os.PathLike[str] | None = None
    """A relative path becomes an absolute one."""
    _: KW_ONLY
    data: str | os.PathLike[str] | None = None
    """Becomes an absolute path."""
    dataset: str | None = None
    timeout: float = DEFAULT_TIMEOUT_S
    retry: bool = False
    retry_timeout: float = DEFAULT_TIMEOUT_S
    transport: Transport | None = None
    window: int = DEFAULT_WINDOW
    upcast: bool = False
    pin: bool | None = None
    token: str | None = field(default=None, repr=False)
    root_certificate: str | os.PathLike[str] | None = None
    plaintext_token: bool = False
    server_uid: int | None = None

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
        if self.address is not None:
            object.__setattr__(self, "address", absolute_address(self.address))
        if self.data is not None:
            object.__setattr__(self, "data", os.fspath(Path(self.data).absolute()))

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
        """The options of the sessions for direct calls."""
        over_tcp = self.data is None and self.find().socket is None
        if over_tcp and self.transport == "shared_memory":
            raise ValueError('a daemon over TCP sends batches inline; transport must be "inline"')
        inline = over_tcp or self.transport == "inline"
        if self.pin:
            if inline:
                raise ValueError("pin=True is for shared memory; here batches are sent inline")
            cuda.require()
        return SessionOptions(self.dataset or "", inline=inline, window=self.window, pin=self.pin)

    def patience(self) -> Patience:
        return Patience(self.timeout, retry_timeout=self.retry_timeout if self.retry else None)


@with_arguments_of(ConnectOptions)
def connect(*args: Any, **kwargs: Any) -> Client:
    """Connects to a daemon; raises ServerUnavailable if there is none.

    address: "unix:/path", "host:port", or the path of a socket; else GRAPHZERO_ADDRESS, else this
    user's default socket.
    data: a directory, instead of an address: connects to a daemon that serves it, and starts one if
    need be, which leaves by itself a minute after its last client. A daemon that serves an older
    version of the directory reads it anew.
    dataset: the name of the dataset, if the daemon has several.
    timeout: seconds for connecting, and for each request unless it says otherwise.
    retry: when the daemon goes away, wait up to retry_timeout seconds for the next one and go on;
    batches are the same. Otherwise requests raise ServerUnavailable. A warning in the log
    ("graphzero.client") says that calls wait. This wait comes on top of a call's timeout, which is
    the time that a daemon has for the answer.
    transport: "shared_memory" (the default on a socket) or "inline" (the default for TCP), for
    containers that do not share /dev/shm with the daemon.
    window: direct calls get shared memory for this many batches in flight or in use at a time.
    upcast: give float16 and bfloat16 columns as float32. They are stored and sent as they are; this
    process makes the copy, and only of the columns of a batch that are looked at.
    pin: register the shared memory with CUDA, so that batch.to("cuda", non_blocking=True) copies at
    full speed in the background. None: as soon as this process uses CUDA. True: from the start,
    which initialises CUDA. False: never.
    token, root_certificate: for TCP; also from GRAPHZERO_TOKEN and GRAPHZERO_ROOT_CERTIFICATE. TLS
    is used beyond this machine, and on it if there is a certificate to check the daemon by.
    plaintext_token: send the token on this machine without TLS too, to whoever holds the port.
    server_uid: a user whose daemon is trusted beside one's own and root's; also from
    GRAPHZERO_SERVER_UID.
    """
    return open_client(Client, ConnectOptions(*args, **kwargs))


def open_client(kind: Callable[[ConnectOptions], C], options: ConnectOptions) -> C:
    """Opens a client of that kind."""
    client = _open_patiently(kind, options)
    if options.data is None:
        return client
    served = client.info()
    newer = _replaced_by(served.dataset)
    if newer is None:
        return client
    # Naming a directory means its present content, even if a daemon still serves an older one.
    client._close()
    if let_reload(options.find(), newer, timeout=options.timeout):
        return _open_patiently(kind, options)
    raise DatasetChanged(
        f"{served.dataset.path} was replaced: found fingerprint {newer}, but the daemon at "
        f"{served.address} serves {served.dataset.fingerprint}; send it SIGHUP, and see its log if "
        "that does not help"
    )


def _replaced_by(served: DatasetInfo) -> str | None:
    """The fingerprint of the files, if it is not that of the version which is served."""
    found = open_dataset(Path(served.path)).fingerprint.hex()
    return None if found == served.fingerprint else found


def _open_patiently(kind: Callable[[ConnectOptions], C], options: ConnectOptions) -> C:
    for _ in range(_LEAVING_DAEMONS if options.data is not None else 0):
        try:
            return kind(options)
        except StartFailed:
            raise
        except ServerUnavailable:
            time.sleep(_LEAVING_S)  # an idle daemon was leaving; the next attempt starts another
    return kind(options)


def reopen_client(options: ConnectOptions, fingerprint: str) -> Client:
    """Another client of the same version of the data: what a pickled client becomes."""
    client = open_client(Client, options)
    found = client.info().dataset
    if found.fingerprint != fingerprint:
        client.close()
        raise DatasetChanged(
            f"dataset {found.name!r} was replaced since this client was sent: found fingerprint "
            f"{found.fingerprint}, expected {fingerprint}; connect anew to use the new version"
        )
    return client
