"""One HTTP connection: requests one after the other, each within its time and size.

h11 reads and writes HTTP/1.1 and handles attacks on it. This module adds what h11 leaves open:
limits of time and size.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from graphzero.server.web.routes import Answer, Routes, plain

# Most bytes of the first line and the headers of a request.
MAX_HEAD_BYTES = 16 << 10
# Limits of the time between two requests, for a request to arrive, and for an answer to be read.
IDLE_S = 75.0
REQUEST_S = 10.0
ANSWER_S = 20.0
_BODY_HEADERS = (b"content-length", b"transfer-encoding")
# States of a client whose request is complete: MUST_CLOSE if it has "Connection: close",
# MIGHT_SWITCH_PROTOCOL if it offers to speak another protocol, which nobody has to accept.
_COMPLETE = (
    h11.DONE,
    h11.MUST_CLOSE,
    h11.MIGHT_SWITCH_PROTOCOL,  # type: ignore[attr-defined]  # documented, but not in __all__
)


class Connection:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, routes: Routes
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._routes = routes
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self.waits = True
        """Whether it has no request to answer: then it may be closed if there are too many."""

    async def serve(self) -> None:
        """Answers requests until the client leaves, is too slow, or sends what is no HTTP."""
        try:
            while await self._serve_one():
                self._http.start_next_cycle()
        except (ConnectionError, h11.LocalProtocolError):
            pass
        finally:
            self.close()

    def close(self) -> None:
        # Not the transport's close(), which would wait for a client that does not read.
        self._writer.transport.abort()
        self._within(None)

    def _within(self, seconds: float | None) -> None:
        """Closes the connection unless called again within `seconds`; None: no limit."""
        if self._timer is not None:
            self._timer.cancel()
        timer = None if seconds is None else self._loop.call_later(seconds, self.close)
        self._timer = timer

    async def _serve_one(self) -> bool:
        """Answers one request; False if the connection is to end."""
        try:
            request = await self._next_request()
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint
            await self._send(plain(status, f"this is no request that can be answered: {error}"), "")
            return False
        if request is None:
            return False
        method = request.method.decode("ascii", "replace")
        headers = {name.decode("latin-1"): text.decode("latin-1") for name, text in request.headers}
        if self._http.their_state not in _COMPLETE:
            await self._send(plain(413, "a request here has no body"), method)
            return False
        self.waits = False
        answer = await self._routes.answer(method, request.target.decode("latin-1"), headers)
        await self._send(answer, method)
        self.waits = True
        return self._http.our_state is h11.DONE

    async def _next_request(self) -> h11.Request | None:
        """The head of the next request; None at the end of the connection."""
        event = await self._next_event()
        if not isinstance(event, h11.Request):
            return None
        # A body is not read. Some clients that send none say that its length is 0.
        bodies = [value for name, value in event.headers if name in _BODY_HEADERS]
        if all(value == b"0" for value in bodies):
            self._http.next_event()  # EndOfMessage
        return event

    async def _next_event(self) -> Any:
        self._within(IDLE_S)
        begun = False
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(MAX_HEAD_BYTES))
            if not begun:  # a head that has begun to arrive must be complete soon
                begun = True
                self._within(REQUEST_S)
        self._within(None)
        return event

    async def _send(self, answer: Answer, method: str) -> None:
        send = self._http.send
        response = h11.Response(status_code=answer.status, headers=answer.all_headers())
        data = send(response) or b""
        if method != "HEAD" and answer.status not in (204, 304):
            data += send(h11.Data(data=answer.body)) or b""
        data += send(h11.EndOfMessage()) or b""
        self._within(ANSWER_S)
        self._writer.write(data)
        await self._writer.drain()
        if self._http.our_state is not h11.DONE:  # the last answer: wait until it is sent
            self._writer.close()
            await self._writer.wait_closed()
        self._within(None)
