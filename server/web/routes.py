"""What is served at which path. A path is looked up, never joined into a file's name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from graphzero.server.web.access import Access
from graphzero.server.web.numbers import NotAnswered, Numbers

_ASSETS = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/numbers.js": ("numbers.js", "text/javascript; charset=utf-8"),
    "/tables.js": ("tables.js", "text/javascript; charset=utf-8"),
    "/charts.js": ("charts.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/uplot.js": ("vendor/uplot/uPlot.iife.min.js", "text/javascript; charset=utf-8"),
    "/uplot.css": ("vendor/uplot/uPlot.min.css", "text/css; charset=utf-8"),
}
_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"
# Scripts and styles come from this port, none stand in the page itself, and nobody may frame it.
_SAFE = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    content_type: str = _TEXT
    headers: tuple[tuple[str, str], ...] = (("Cache-Control", "no-store"),)

    def all_headers(self) -> list[tuple[str, str]]:
        own = [("Content-Type", self.content_type), ("Content-Length", str(len(self.body)))]
        return [*own, *self.headers, *_SAFE]


def plain(status: int, text: str, *headers: tuple[str, str]) -> Answer:
    return Answer(status, f"{text}\n".encode(), headers=(("Cache-Control", "no-store"), *headers))


@dataclass(frozen=True)
class Routes:
    access: Access
    numbers: Numbers
    _assets: dict[str, tuple[Answer, str]] = field(default_factory=lambda: _read_assets())

    async def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        if method not in ("GET", "HEAD"):
            return plain(405, "only GET and HEAD", ("Allow", "GET, HEAD"))
        if not self.access.knows_host(headers):
            return plain(
                421,
                "this port is for this machine: ask for it as localhost or 127.0.0.1, or give the "
                "daemon a token (--token-file)",
            )
        path = target.partition("?")[0]
        if path in self._assets:
            return self._asset(path, headers)
        try:
            return await self._numbers(path, headers)
        except NotAnswered:
            return plain(503, "the daemon's event loop does not answer")

    async def _numbers(self, path: str, headers: Mapping[str, str]) -> Answer:
        if path == "/livez":
            await self.numbers.statistics()  # raises NotAnswered unless the event loop runs
            return plain(200, "alive")
        if path == "/readyz":
            stats = await self.numbers.statistics()
            return plain(503, "draining") if stats.draining else plain(200, "ready")
        if path not in ("/metrics", "/api/stats", "/api/datasets", "/api/history", "/api/login"):
            return plain(404, "nothing is here; see /, /metrics, /livez, /readyz")
        if not self.access.allows(headers):
            return plain(401, "a wrong token, or none", ("WWW-Authenticate", "Bearer"))
        if path == "/metrics":
            text, content_type = await self.numbers.prometheus(headers.get("accept", ""))
            return Answer(200, text, content_type)
        if path == "/api/stats":
            return Answer(200, await self.numbers.statistics_json(), _JSON)
        if path == "/api/datasets":
            return Answer(200, await self.numbers.datasets_json(), _JSON)
        if path == "/api/history":
            return Answer(200, await self.numbers.history_json(), _JSON)
        cookie = (self.access.cookie_header(),) if self.access.has_token(headers) else ()
        return Answer(204, b"", headers=(("Cache-Control", "no-store"), *cookie))

    def _asset(self, path: str, headers: Mapping[str, str]) -> Answer:
        answer, tag = self._assets[path]
        if headers.get("if-none-match") == tag:
            return Answer(304, b"", answer.content_type, answer.headers)
        return answer


def _read_assets() -> dict[str, tuple[Answer, str]]:
    """Reads the page's files, which are few and small, each with its entity tag."""
    folder = files("graphzero.server.web") / "page"
    found = {}
    for path, (name, content_type) in _ASSETS.items():
        body = folder.joinpath(name).read_bytes()
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        headers = (("Cache-Control", "no-cache"), ("ETag", tag))
        found[path] = Answer(200, body, content_type, headers), tag
    return found
