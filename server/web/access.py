"""Who may see the numbers over HTTP.

Without a token, everyone who reaches the port may see them: it is on loopback then. A web site that
the user visits must not. Its scripts cannot read answers of another origin, unless its own name is
made to stand for 127.0.0.1 ("DNS rebinding"), so the Host that a browser asks for must be one of
this machine. With a token, every request for numbers carries the token as `Authorization: Bearer`,
or a cookie. The page gets the cookie by sending the token once in that header, so the token is in
no address, no log and no history.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from graphzero.transport.host_port import HostPort


class Access:
    """Used by the web server's thread; any thread may call replace_token()."""

    def __init__(self, address: HostPort, token: bytes | None, *, secure: bool) -> None:
        self._hosts = None
        if address.is_loopback and token is None:
            self._hosts = {"localhost", "127.0.0.1", "[::1]", address.host, f"[{address.host}]"}
        self._secure = secure
        self.replace_token(token)

    def replace_token(self, token: bytes | None) -> None:
        self._token = token
        # The cookie is not the token: whoever can read the browser's cookies can look at the page,
        # and nothing else. It is made from the token, so it outlives a restart of the daemon and
        # ends with the token.
        proof = hmac.digest(token or b"", b"graphzero page", "sha256").hex()
        # Cookies are shared by all ports of a host: daemons with other tokens use other names.
        name = "graphzero_" + hashlib.sha256(proof.encode()).hexdigest()[:8]
        self._cookie = name, proof

    @property
    def needs_token(self) -> bool:
        return self._token is not None

    def knows_host(self, headers: Mapping[str, str]) -> bool:
        if self._hosts is None:
            return True
        host = headers.get("host", "").lower()
        name, colon, port = host.rpartition(":")
        return (name if colon and port.isdecimal() else host) in self._hosts

    def allows(self, headers: Mapping[str, str]) -> bool:
        return self._token is None or self.has_token(headers) or self._has_cookie(headers)

    def has_token(self, headers: Mapping[str, str]) -> bool:
        sent = headers.get("authorization", "").encode()
        return self._token is not None and hmac.compare_digest(sent, b"Bearer " + self._token)

    def _has_cookie(self, headers: Mapping[str, str]) -> bool:
        """Browsers send the cookies of all ports of a host. http.cookies gives up at the first one
        that it does not like, so the list is taken apart here."""
        wanted = "=".join(self._cookie).encode()
        sent = headers.get("cookie", "").split(";")
        return any(hmac.compare_digest(cookie.strip().encode(), wanted) for cookie in sent)

    def cookie_header(self) -> tuple[str, str]:
        """Sets the cookie, for a client that has sent the token."""
        secure = "; Secure" if self._secure else ""
        name, proof = self._cookie
        return "Set-Cookie", f"{name}={proof}; Path=/; HttpOnly; SameSite=Strict{secure}"
