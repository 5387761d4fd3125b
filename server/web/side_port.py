"""The port of --http: takes the address, starts and stops the web server, replaces its secrets."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from graphzero.server.network.credentials import TlsConfig
from graphzero.server.network.listen import TcpConfig, bind_http
from graphzero.server.web.access import Access
from graphzero.server.web.numbers import Numbers
from graphzero.server.web.routes import Routes
from graphzero.server.web.server import WebServer, tls_context

if TYPE_CHECKING:
    from graphzero.server.service import Service


class SidePort:
    """Belongs to the daemon's event loop. The constructor takes the address, which answers after
    start()."""

    def __init__(self, config: TcpConfig, token: bytes | None, service: Service) -> None:
        """Raises InputError if the address cannot be bound. The TLS files have been checked."""
        self._service = service
        self._tls = None if config.tls is None else tls_context(config.tls)
        self._access = Access(config.address, token, secure=config.tls is not None)
        self._sockets, self.doors = bind_http(config)
        self._server: WebServer | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        service, access = self._service, self._access

        def make_routes() -> Routes:
            numbers = Numbers(loop, service.statistics, service.datasets, service.history.points)
            return Routes(access, numbers)

        self._server = WebServer(self._sockets, make_routes, self._tls)
        self._server.start()

    def read_tls(self, tls: TlsConfig | None) -> ssl.SSLContext | None:
        """What replace_secrets() takes. It is a context of its own, because one whose new files do
        not go together could not serve any more. Any thread may call this; raises OSError."""
        return None if self._tls is None or tls is None else tls_context(tls)

    def replace_secrets(self, token: bytes | None, tls: ssl.SSLContext | None) -> None:
        """After a reload."""
        self._access.replace_token(token)
        if tls is not None:
            self._tls = tls
            if self._server is not None:
                self._server.replace_tls(tls)

    def stop(self, timeout_s: float) -> bool:
        """Stops the web server; True if its thread has ended."""
        return self._server is None or self._server.stop(timeout_s)
