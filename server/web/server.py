"""The web server: a thread with an event loop of its own, so that slow, hostile or numerous HTTP
clients keep no trainer waiting."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Sequence

from graphzero.server.network.credentials import TlsConfig
from graphzero.server.web.connection import MAX_HEAD_BYTES, Connection
from graphzero.server.web.routes import Routes

log = logging.getLogger("graphzero.server")

# Most connections at a time. One more closes the oldest that waits for a request, so that clients
# that open connections and say nothing keep nobody out.
MAX_CONNECTIONS = 32
_HANDSHAKE_S = 5.0
_BACKLOG = 64


class WebServer:
    """start() and stop() are for the daemon's thread; everything else runs on the server's own."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        make_routes: Callable[[], Routes],
        tls: ssl.SSLContext | None,
    ) -> None:
        """`sockets` are bound. `make_routes` is called on the server's thread."""
        self._sockets = sockets
        self._make_routes = make_routes
        self._tls = tls
        self._thread = threading.Thread(target=self._run, name="graphzero-http", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._accepting: list[asyncio.Task[None]] = []  # the loop itself does not keep its tasks
        self._connections: dict[asyncio.Task[None], Connection | None] = {}

    def start(self) -> None:
        for each in self._sockets:
            each.listen(_BACKLOG)
            each.setblocking(False)
        self._thread.start()

    def replace_tls(self, tls: ssl.SSLContext) -> None:
        """New connections are shown this certificate from now on."""
        self._tls = tls

    def stop(self, timeout_s: float) -> bool:
        """Ends the thread and waits for it; True if it has ended."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        routes = self._make_routes()
        for each in self._sockets:
            self._accepting.append(self._loop.create_task(self._accept(each, routes)))
        try:
            self._loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            for each in self._sockets:
                each.close()
            self._loop.close()

    async def _accept(self, listening: socket.socket, routes: Routes) -> None:
        while True:
            try:
                accepted, _ = await self._loop.sock_accept(listening)
            except OSError as error:  # file descriptors have run out, for instance
                log.warning("--http: cannot accept a connection: %s", error.strerror)
                await asyncio.sleep(1.0)
                continue
            if len(self._connections) >= MAX_CONNECTIONS:
                self._close_one()
            task = self._loop.create_task(self._serve(accepted, routes))
            self._connections[task] = None
            task.add_done_callback(lambda done: self._connections.pop(done, None))
            # sock_accept() does not give others a turn while connections are queued. Without this
            # turn, none would be served or closed until the queue is empty.
            await asyncio.sleep(0)

    def _close_one(self) -> None:
        """Closes the oldest connection that waits for a request or for its handshake; if none does,
        the oldest of all."""
        waiting = (task for task, c in self._connections.items() if c is None or c.waits)
        oldest = next(waiting, None) or next(iter(self._connections))
        connection = self._connections.pop(oldest)
        if connection is not None:
            connection.close()
        oldest.cancel()

    async def _serve(self, accepted: socket.socket, routes: Routes) -> None:
        reader = asyncio.StreamReader(limit=MAX_HEAD_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        handshake_s = None if self._tls is None else _HANDSHAKE_S
        try:
            transport, _ = await self._loop.connect_accepted_socket(
                lambda: protocol, accepted, ssl=self._tls, ssl_handshake_timeout=handshake_s
            )
        except (OSError, asyncio.TimeoutError):
            return  # the client does not speak TLS, for instance
        writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
        connection = Connection(reader, writer, routes)
        task = asyncio.current_task()
        if task in self._connections:
            self._connections[task] = connection
        try:
            await connection.serve()
        except Exception:
            log.exception("--http: a request failed")
        finally:
            connection.close()


def tls_context(tls: TlsConfig) -> ssl.SSLContext:
    """A context with the files of --tls-certificate and --tls-key. Raises OSError for files that
    do not go together."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(tls.certificate, tls.key)
    return context
