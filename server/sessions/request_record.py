"""What is counted and logged of a request at its end."""

from __future__ import annotations

import math
import time
from typing import Any

from graphzero.server.codes import code_for, is_of_the_machine
from graphzero.server.compute import Computation
from graphzero.server.metrics.requests import CANCELLED, OK, EndedRequest, KindTimes
from graphzero.server.sessions.request_log import is_logged, log_ended, log_failed
from graphzero.server.sessions.resources import SessionResources
from graphzero.server.sessions.result_maker import ResultMaker
from grpc import StatusCode


class Delivery:
    """Called when an answer is sent: counts how long that took. Does not keep the request alive."""

    __slots__ = ("_ready_at", "_times")

    def __init__(self, times: KindTimes, ready_at: float) -> None:
        self._times = times
        self._ready_at = ready_at

    def __call__(self) -> None:
        self._times.delivery.add(time.monotonic() - self._ready_at)


class RequestRecord:
    def __init__(
        self, resources: SessionResources, kind: str, request_id: int, maker: ResultMaker
    ) -> None:
        self._resources = resources
        self._metrics = resources.shared.metrics
        self._kind = kind
        self._request_id = request_id
        self._maker = maker
        self._arrived: float | None = None

    @property
    def arrived_at(self) -> float:
        """By time.monotonic(); the future if ids are still to come."""
        return math.inf if self._arrived is None else self._arrived

    def arrived(self) -> None:
        """Its last id has come."""
        self._arrived = time.monotonic()

    def succeed(self, computation: Computation) -> Delivery:
        """Returns what is to be called when the answer was sent."""
        assert self._arrived is not None
        seconds = time.monotonic() - self._arrived
        self._resources.latency.add(seconds)
        if is_logged(seconds, self._metrics.slow_s):
            size = computation.layout.byte_size
            ended = self._ended(OK, seconds, stages=self._maker.times, result_bytes=size)
            self._metrics.note_if_slow(ended)
            log_ended(ended, self._request_id, self._metrics.slow_s)
        times = self._metrics.succeed(
            self._kind, self._maker.times, seconds, computation, self._resources.counts
        )
        return Delivery(times, self._maker.ready_at)

    def fail(self, error: BaseException, message: str) -> None:
        code = code_for(error)
        ended = self._count_failure(code.name, message)
        if code is StatusCode.INTERNAL:
            log_failed(ended, self._request_id, error)
        elif is_of_the_machine(error):
            log_failed(ended, self._request_id, None)

    def cancel(self) -> None:
        self._count_failure(CANCELLED)

    def _count_failure(self, code: str, message: str = "") -> EndedRequest:
        seconds = None  # if it was refused before all of its ids had come
        if self._arrived is not None:
            seconds = time.monotonic() - self._arrived
            if code != CANCELLED:
                self._resources.latency.add(seconds)
        # A copy: its worker may go on for a while, and count what nobody waits for any more.
        stages = self._maker.times.so_far()
        ended = self._ended(code, seconds, stages=stages, message=message)
        self._metrics.fail(ended, self._resources.counts)
        log_ended(ended, self._request_id, self._metrics.slow_s)
        return ended

    def _ended(self, code: str, seconds: float | None, **rest: Any) -> EndedRequest:
        return EndedRequest(
            session_id=self._resources.session_id,
            client_name=self._resources.client_name,
            dataset=self._resources.dataset.name,
            kind=self._kind,
            code=code,
            seconds=seconds,
            **rest,
        )
