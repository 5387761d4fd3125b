"""The one table from exceptions to gRPC codes."""

from __future__ import annotations

from graphzero.base.errors import FormatError, InputError
from graphzero.server.datasets.catalog import UnknownDataset, UnusableDataset
from grpc import StatusCode


class ProtocolViolation(Exception):
    """The client broke the contract: the stream ends."""


class RequestCancelled(Exception):
    """The client gave the request up."""


class RequestTimedOut(Exception):
    """The request's time ran out."""


class OutOfMemory(Exception):
    """The session may not have that much shared memory."""


class TooManyCalls(Exception):
    """So many calls of one machine wait for their turn that no other one may."""


class NotFound(Exception):
    """A name that the dataset does not have."""


class NotPossible(Exception):
    """The request is sound, but this dataset or session cannot serve it."""


class DatasetReplaced(Exception):
    """The daemons of other parts have another version of the dataset than the session by now."""


class UnreadableFile(Exception):
    """A file of the dataset cannot be read, or was truncated; the message names the file and the
    place."""


class PeerUnavailable(Exception):
    """Time ran out while the request waited for rows from the daemon of another part; the message
    names that daemon."""


class PeerFailed(Exception):
    """The daemon of another part refuses to send rows, or sends others than were requested; the
    message names that daemon."""


# The first row that fits counts, so a subclass stands before its base.
CODES: list[tuple[type[BaseException], StatusCode]] = [
    (ProtocolViolation, StatusCode.INVALID_ARGUMENT),
    (RequestCancelled, StatusCode.CANCELLED),
    (RequestTimedOut, StatusCode.DEADLINE_EXCEEDED),
    (OutOfMemory, StatusCode.RESOURCE_EXHAUSTED),
    (TooManyCalls, StatusCode.RESOURCE_EXHAUSTED),
    (NotPossible, StatusCode.FAILED_PRECONDITION),
    # As much as: another version exists already. No other error has this code, and clients raise
    # DatasetChanged.
    (DatasetReplaced, StatusCode.ALREADY_EXISTS),
    (PeerUnavailable, StatusCode.UNAVAILABLE),
    (PeerFailed, StatusCode.DATA_LOSS),
    (NotFound, StatusCode.NOT_FOUND),
    (UnknownDataset, StatusCode.NOT_FOUND),
    (UnusableDataset, StatusCode.DATA_LOSS),
    (FormatError, StatusCode.DATA_LOSS),
    (UnreadableFile, StatusCode.DATA_LOSS),
    (InputError, StatusCode.INVALID_ARGUMENT),
    (IndexError, StatusCode.INVALID_ARGUMENT),
    (ValueError, StatusCode.INVALID_ARGUMENT),
    (TypeError, StatusCode.INVALID_ARGUMENT),
    (MemoryError, StatusCode.RESOURCE_EXHAUSTED),
    (OSError, StatusCode.UNAVAILABLE),
]


def code_for(error: BaseException) -> StatusCode:
    for kind, code in CODES:
        if isinstance(error, kind):
            return code
    return StatusCode.INTERNAL


def is_of_the_machine(error: BaseException) -> bool:
    """Whether a disk, a file or the memory of this machine failed, or the daemon of another part,
    and not the request: then the daemon's operator must learn of it."""
    machine = (UnreadableFile, FormatError, OSError, MemoryError, PeerFailed)
    return isinstance(error, machine) or isinstance(error.__cause__, machine)


def number_of(code: StatusCode) -> int:
    """gRPC's number of a code, as it travels in Error."""
    number: int = code.value[0]
    return number
