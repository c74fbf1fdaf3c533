"""Who may talk to the lab: the Host, the Origin and the token of a request.

The lab listens on the user's own machine, where any web page the user visits can make the browser
knock.  Three rules keep such pages out, for the page as well as for its websockets:

    Host    must name this machine (else 421); a rebound DNS name is a foreign Host
    Origin  must be the lab's own page (else 403); a websocket must send one, a browser always does
    token   beyond the loopback everyone on the network could knock, so a secret from the printed
            link must be shown once; it then lives in a cookie no script can read (else 401)
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from brazo.hosts import is_loopback, means_us


class Headers(Protocol):
    def get_all(self, key: str) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is not the page: why, and (for a redirect) where to and with which cookie."""

    status: HTTPStatus
    reason: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Access:
    """The rules for a lab listening on `host`; `token` None where none is asked for."""

    host: str
    cookie: str = "brazo"
    token: str | None = None

    @classmethod
    def on(cls, host: str, port: int) -> Access:
        """The rules a lab on this address must have: a fresh token unless it is the loopback."""
        token = None if is_loopback(host) else secrets.token_urlsafe(24)
        # Cookies know no ports: two labs on one machine would overwrite each other's.
        return cls(host, f"brazo-{port}", token)

    def check(self, headers: Headers, target: str, websocket: bool) -> Refusal | None:
        """None when the request may pass."""
        hosts = headers.get_all("Host")
        if len(hosts) != 1 or not means_us(hosts[0], self.host):
            return Refusal(
                HTTPStatus.MISDIRECTED_REQUEST, "this lab does not answer to that host name"
            )
        origins = headers.get_all("Origin")
        if origins != [f"http://{hosts[0]}"] and (websocket or origins):
            return Refusal(HTTPStatus.FORBIDDEN, "this lab only answers to its own page")
        if self.token is None or self._has_cookie(headers):
            return None
        shown = parse_qs(urlsplit(target).query).get("token", [""])[-1]
        if not websocket and self._is_token(shown):
            cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax"
            return Refusal(HTTPStatus.SEE_OTHER, "welcome", {"Location": "/", "Set-Cookie": cookie})
        return Refusal(HTTPStatus.UNAUTHORIZED, "open the link with the token that the lab printed")

    def _has_cookie(self, headers: Headers) -> bool:
        pairs = [p.strip().partition("=") for h in headers.get_all("Cookie") for p in h.split(";")]
        return any(name == self.cookie and self._is_token(value) for name, _, value in pairs)

    def _is_token(self, candidate: str) -> bool:
        return hmac.compare_digest(candidate.encode(), (self.token or "").encode())
