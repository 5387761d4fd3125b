"""Exceptions of the client, and the one table from gRPC's codes to them.

GraphZeroError
└── ClientError                 whatever goes wrong between a trainer and its daemon
    ├── ServerUnavailable       no daemon, or it went away               (also a ConnectionError)
    │   └── StartFailed         connect(data=DIR) could not start one
    ├── AccessDenied            a socket, daemon or token not trusted    (also a PermissionError)
    ├── NotFound                no such dataset or column                (also a LookupError)
    ├── InvalidRequest          an argument that cannot be served        (also a ValueError)
    ├── DatasetChanged          the files are not those of this session or state_dict any more
    ├── ResourceExhausted       too many sessions, or no shared memory left for this one
    ├── SharedMemoryUnavailable the daemon's shared memory cannot be opened here
    ├── SessionEnded            an operator, or the daemon's limit for idle sessions, ended it
    ├── RequestTimeout          no answer in time                        (also a TimeoutError)
    ├── RequestCancelled        given up before it was answered
    └── ServerError             the daemon failed at it: a damaged file, or a bug

Every message says what, where, found, expected and what to do, as far as that is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphzero.base.errors import GraphZeroError


class ClientError(GraphZeroError):
    """Base of everything that goes wrong between a trainer and its daemon."""


class ServerUnavailable(ClientError, ConnectionError):
    """No daemon at the address, or it went away. Tensors in hand stay valid."""


class StartFailed(ServerUnavailable):
    """No daemon could be started for a directory; the message quotes its output."""


class AccessDenied(ClientError, PermissionError):
    """A socket of another user, or a token that the daemon does not accept."""


class NotFound(ClientError, LookupError):
    """No dataset or column of that name."""


class InvalidRequest(ClientError, ValueError):
    """The daemon cannot serve such a request; the message has the value. The session lives on."""


class DatasetChanged(ClientError):
    """The data is not that which this client, loader or state was made with."""


class ResourceExhausted(ClientError):
    """No session or no shared memory left; the message has the numbers."""


class SharedMemoryUnavailable(ClientError):
    """The daemon's shared memory is not visible to this process."""


class SessionEnded(ClientError):
    """An operator ended the session, or it was idle for longer than the daemon allows. Tensors in
    hand stay valid. Raised once, also with retry; the next call opens another session."""


class RequestTimeout(ClientError, TimeoutError):
    """No answer before the request's deadline."""


class RequestCancelled(ClientError):
    """The request was given up, by the caller or by the end of its session."""


class ServerError(ClientError):
    """The daemon could not do it although the request was right."""


# Tracebacks show them, and pickle finds them, where users import them from.
for _public in (
    ClientError, ServerUnavailable, StartFailed, AccessDenied, NotFound, InvalidRequest,
    DatasetChanged, ResourceExhausted, SharedMemoryUnavailable, SessionEnded, RequestTimeout,
    RequestCancelled, ServerError,
):  # fmt: skip
    _public.__module__ = "graphzero"
del _public

# By gRPC's code numbers, for errors of requests and for statuses that end a session. 0 is success.
EXCEPTIONS: dict[int, type[ClientError]] = {
    1: RequestCancelled,  # CANCELLED
    2: ServerError,  # UNKNOWN
    3: InvalidRequest,  # INVALID_ARGUMENT
    4: RequestTimeout,  # DEADLINE_EXCEEDED
    5: NotFound,  # NOT_FOUND
    6: DatasetChanged,  # ALREADY_EXISTS: peers of the daemon have another version already
    7: AccessDenied,  # PERMISSION_DENIED
    8: ResourceExhausted,  # RESOURCE_EXHAUSTED
    9: InvalidRequest,  # FAILED_PRECONDITION
    10: SessionEnded,  # ABORTED
    11: InvalidRequest,  # OUT_OF_RANGE
    12: ServerError,  # UNIMPLEMENTED
    13: ServerError,  # INTERNAL
    14: ServerUnavailable,  # UNAVAILABLE
    15: ServerError,  # DATA_LOSS
    16: AccessDenied,  # UNAUTHENTICATED
}


@contextmanager
def as_invalid_request() -> Iterator[None]:
    """Turns a ValueError into InvalidRequest, so that a wrong request raises the same error whether
    the client or the daemon finds it."""
    try:
        yield
    except ClientError:
        raise
    except ValueError as error:
        raise InvalidRequest(str(error)) from None


def exception_for(code: int, message: str) -> ClientError:
    """The exception for a code; ServerError for one that is not known."""
    return EXCEPTIONS.get(code, ServerError)(message)
