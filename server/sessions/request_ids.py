"""The ids of a request, as they come in one message or several."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from graphzero.base.text import size_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.codes import OutOfMemory, ProtocolViolation
from graphzero.server.sessions.resources import SessionResources

# Memory that a request takes beside its ids and its message.
_OVERHEAD_BYTES = 1024
# Memory that a text takes beyond its size on the wire.
_TEXT_BYTES = 64
# Largest message without ids and texts: longer lists of columns or hops are mistakes or attacks.
_MAX_BODY_BYTES = 64 << 10
# By kind: the field with the first ids of a request, and the field that says whether more follow.
_FIELDS = {"sample": ("seeds", "more_seeds"), "walk": ("starts", "more_starts")}


class RequestIds:
    """Also counts what a request takes of the IdBudget until its answer. Errors are OutOfMemory or
    ValueError, for which the request is refused."""

    def __init__(self, resources: SessionResources, request_id: int) -> None:
        self.bytes = bytearray()
        self._resources = resources
        self._shared = resources.shared
        self._request_id = request_id
        self._complete = False
        self._counted_bytes = 0

    def __len__(self) -> int:
        return len(self.bytes) // 8

    def array(self) -> npt.NDArray[np.int64]:
        return np.frombuffer(self.bytes, np.int64)

    def admit(self, message: pb.SessionRequest, kind: str, in_flight: int) -> None:
        """Raises an error if the request is refused before its ids are read. `in_flight` counts the
        session's open requests."""
        most = self._shared.limits.max_in_flight
        if in_flight > most:
            raise OutOfMemory(
                f"found more than {most} requests in flight: wait for answers, use a smaller "
                "prefetch, or raise --max-in-flight"
            )
        texts = len(message.find_nodes.texts) if kind == "find_nodes" else 0
        size = message.ByteSize()
        if not texts and size > _MAX_BODY_BYTES:
            raise ValueError(
                f"found a request of {size_text(size)} beside its ids, expected at most "
                f"{size_text(_MAX_BODY_BYTES)}: name fewer columns and hops"
            )
        self._count(_OVERHEAD_BYTES + size + _TEXT_BYTES * texts)

    def add(self, piece: bytes, *, last: bool) -> None:
        """Takes the ids of one message. Raises also ProtocolViolation, which ends the session."""
        if self._complete:
            raise ProtocolViolation(f"more ids for request {self._request_id} after its last")
        self._complete = last
        if len(piece) % 8:
            raise ValueError(f"found {len(piece)} bytes of ids, expected 8 for each")
        most = self._shared.limits.max_ids
        if len(self.bytes) + len(piece) > 8 * most:
            raise ValueError(f"found more than {most} ids in one request (--max-ids)")
        self._count(len(piece))
        self.bytes += piece

    def give_back(self) -> None:
        """Ends the count, at the answer."""
        self._resources.held_bytes -= self._counted_bytes
        self._shared.ids.give(self._counted_bytes)
        self._counted_bytes = 0

    def _count(self, more: int) -> None:
        budget, held = self._shared.ids, self._resources.held_bytes
        if not budget.take(more, held=held):
            raise OutOfMemory(
                f"this session's requests hold {size_text(held)} of ids and texts, all requests "
                f"{size_text(budget.used)} of {size_text(budget.limit)}, and {size_text(more)} "
                "more came: send fewer ids at a time, or raise --work-memory"
            )
        self._resources.held_bytes += more
        self._counted_bytes += more


def take_first_ids(message: pb.SessionRequest, kind: str) -> tuple[bytes, bool]:
    """Takes the ids out of a request's first message, so that requests which differ only in their
    ids have equal messages. Returns them, and whether they are all."""
    body = getattr(message, kind)
    first, more = _FIELDS.get(kind, ("ids", "more_ids"))
    piece = getattr(body, first)
    body.ClearField(first)
    return piece, not getattr(body, more)
