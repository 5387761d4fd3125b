"""Logs requests that were slow, and requests that failed although nothing was wrong with them.
With --log-level debug, logs all of them."""

from __future__ import annotations

import logging
from typing import Any

from graphzero.base.text import line_text, size_text
from graphzero.server.metrics.requests import CANCELLED, EndedRequest
from graphzero.server.process.log_lines import fields

log = logging.getLogger("graphzero.server")

_MOST_MESSAGE = 500
_STAGES = ("queue", "memory", "sampling", "gathering")
_WORDS = {
    "queue": "waiting for a worker",
    "memory": "waiting for memory",
    "sampling": "sampling",
    "gathering": "gathering",
}


def is_logged(seconds: float, slow_s: float) -> bool:
    """Whether log_ended() has a line for a request with a result; if not, it is not called."""
    return seconds >= slow_s or log.isEnabledFor(logging.DEBUG)


def log_ended(request: EndedRequest, request_id: int, slow_s: float) -> None:
    """To be called for requests that failed, and for results for which is_logged() is true."""
    seconds = request.seconds or 0.0
    if seconds >= slow_s and request.code != CANCELLED:
        log.warning("%s", _slow_text(request, request_id), extra=_fields(request, request_id))
    elif log.isEnabledFor(logging.DEBUG):
        log.debug(
            "%s: %s after %.6f s, %s",
            _who(request, request_id),
            request.code,
            seconds,
            size_text(request.result_bytes),
            extra=_fields(request, request_id),
        )


def log_failed(request: EndedRequest, request_id: int, bug: BaseException | None) -> None:
    """Logs a request that failed because of the daemon or the machine; `bug` is an exception that
    was not expected."""
    log.error(
        "%s failed with %s: %s",
        _who(request, request_id),
        request.code,
        request.message,
        exc_info=bug,
        extra=_fields(request, request_id),
    )


def _who(request: EndedRequest, request_id: int) -> str:
    return (
        f"session {request.session_id} of {request.client_name or 'an unnamed trainer'}, "
        f"request {request_id} "
        f"({request.kind} on {request.dataset})"
    )


def _slow_text(request: EndedRequest, request_id: int) -> str:
    """Names the stage that took longest first, then the others, then the error: that of a request
    which waited for the daemon of another part names it."""
    times = {stage: getattr(request.stages, stage) for stage in _STAGES}
    slowest = max(times, key=lambda stage: times[stage])
    others = ", ".join(f"{stage} {times[stage]:.3f}" for stage in _STAGES if stage != slowest)
    error = f": {line_text(request.message, _MOST_MESSAGE)}" if request.message else ""
    return (
        f"{_who(request, request_id)} took {request.seconds or 0.0:.3f} s, most of it "
        f"{_WORDS[slowest]}: {times[slowest]:.3f} s ({others}); ended with {request.code}{error}"
    )


def _fields(request: EndedRequest, request_id: int) -> dict[str, Any]:
    return fields(
        session=request.session_id,
        request=request_id,
        client=request.client_name,
        dataset=request.dataset,
        kind=request.kind,
        code=request.code,
        seconds=request.seconds,
        result_bytes=request.result_bytes,
        **{f"{stage}_seconds": getattr(request.stages, stage) for stage in _STAGES},
    )
