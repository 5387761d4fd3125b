"""Ends sessions for others than their trainers: for an operator, or by the idle timeout.

The trainer's stream ends with ABORTED and a text that says who ended it and why. The session's
memory is free at once, except for what the trainer still has mapped: tensors in hand stay valid.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Mapping
from typing import Any

from graphzero.base.text import size_text
from graphzero.proto import graphzero_pb2 as pb
from graphzero.server.network.foreign_text import foreign_text
from graphzero.server.sessions.session import TrainerSession
from graphzero.transport.admin_key import METADATA_NAME
from grpc import StatusCode

log = logging.getLogger("graphzero.server")

_AND_NOW = "tensors in hand stay valid, and the next call opens another session"


class Eviction:
    """Belongs to the event loop's thread."""

    def __init__(
        self,
        sessions: Mapping[int, TrainerSession],
        close: Callable[[TrainerSession], None],
        admin_key: str,
    ) -> None:
        """`sessions` always has the open sessions, by id; `close` removes one of them, and does
        nothing if it is gone already."""
        self._sessions = sessions
        self._close = close
        self._admin_key = admin_key.encode()

    async def end_one(self, request: pb.EndSessionRequest, context: Any) -> pb.EndSessionResponse:
        """The rpc EndSession."""
        await self._require_operator(context)
        session = self._sessions.get(request.session_id)
        if session is None:
            await context.abort(
                StatusCode.NOT_FOUND,
                f"there is no session {request.session_id}; see: graphzero sessions",
            )
            raise AssertionError("abort() raises")
        stats = session.stats()
        reason = foreign_text(request.reason)
        log.warning(
            "session %d of %s is ended by an operator%s",
            session.id,
            session.client_name,
            reason and f": {reason}",
        )
        given = reason and f" ({reason})"
        self._end(session, f"an operator of the daemon ended this session{given}; {_AND_NOW}")
        return pb.EndSessionResponse(
            client_name=stats.client_name,
            dataset=stats.dataset,
            block_byte_size=stats.block_byte_size,
        )

    def end_idle(self, most_s: float) -> None:
        """Ends sessions that hold shared memory and have said nothing for over `most_s` seconds."""
        for session in list(self._sessions.values()):
            if session.idle_seconds() <= most_s:
                continue
            stats = session.stats()
            if not stats.region_byte_size:
                continue  # it holds no memory that another session could use
            idle_s, held = stats.idle_ms / 1000, size_text(stats.region_byte_size)
            log.warning(
                "session %d of %s is ended: it said nothing for %.0f s and held %s of shared "
                "memory, %d blocks of it in use",
                session.id,
                session.client_name,
                idle_s,
                held,
                stats.blocks,
            )
            self._end(
                session,
                f"the daemon ended this session, which said nothing for {idle_s:.0f} s and held "
                f"{held} of shared memory (--session-idle-timeout {most_s:g}); {_AND_NOW}",
            )

    def _end(self, session: TrainerSession, why: str) -> None:
        session.end(why)
        self._close(session)  # at once, not only when its stream notices the end

    async def _require_operator(self, context: Any) -> None:
        """See transport/admin_key.py."""
        metadata = dict(context.invocation_metadata() or ())
        sent = str(metadata.get(METADATA_NAME, "")).encode()
        is_local = context.peer().startswith("unix:")
        if not is_local or not hmac.compare_digest(sent, self._admin_key):
            log.warning("refused %s, who wanted to end a session", context.peer())
            await context.abort(
                StatusCode.PERMISSION_DENIED,
                "only the daemon's own user and root may end sessions, and only at its Unix socket",
            )
