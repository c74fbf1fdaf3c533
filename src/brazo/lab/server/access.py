"""Access control of the lab: checks of the Host, Origin, token and user of each request.

The lab listens on the user's machine, where any web page that the user visits can make the browser
send requests to it.  These rules reject such requests, both HTTP and websocket:

    Host    must name this machine (else 421), which defeats DNS rebinding
    Origin  must be the lab's own page (else 403); required for websockets (browsers send it)
    token   beyond the loopback, or if requested, the secret of the printed link must be sent once;
            it is then kept in an HttpOnly cookie, which scripts cannot read (else 401)
    user    without a token, the connection must belong to the user who runs the lab, or to root,
            if the system reports the owner (else 403)

The browser is not started with the token, because every user can read the command lines of
processes, but with a single-use code that expires after a minute and works only for the same user.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qs

from brazo.hosts import is_loopback, names_this_machine
from brazo.peers import REFUSAL, same_token

CODE_SECONDS = 60.0


class Headers(Protocol):
    def get_all(self, key: str) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response in place of the requested page; `headers` has target and cookie of a redirect."""

    status: HTTPStatus
    reason: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabAccess:
    """The access rules of a lab that listens on `host`; `token` is None if none is required."""

    host: str
    cookie: str = "brazo"
    token: str | None = None
    codes: dict[str, float] = field(default_factory=dict)  # code -> expiry (monotonic time, s)

    @classmethod
    def on(cls, host: str, port: int, token: bool = False) -> LabAccess:
        """Rules for a lab on this address; with a new token beyond the loopback, or if `token`."""
        made = None if is_loopback(host) and not token else secrets.token_urlsafe(24)
        # Cookies are shared by all ports of a host, so each lab needs its own cookie name.
        return cls(host, f"brazo-{port}", made)

    def code(self) -> str:
        """New single-use code for a browser of the same user, valid for `CODE_SECONDS`."""
        code = secrets.token_urlsafe(24)
        self.codes[code] = time.monotonic() + CODE_SECONDS
        return code

    def check(
        self,
        headers: Headers,
        target: str,
        websocket: bool,
        foreign: Callable[[], bool] = lambda: False,
    ) -> Refusal | None:
        """Check a request for `target`; None if it is allowed, otherwise the response to send.

        `foreign()` returns whether the connection belongs to another user.
        """
        hosts = headers.get_all("Host")
        if len(hosts) != 1 or not names_this_machine(hosts[0], self.host):
            return Refusal(HTTPStatus.MISDIRECTED_REQUEST, "this lab does not serve this host name")
        origins = headers.get_all("Origin")
        if origins != [f"http://{hosts[0]}"] and (websocket or origins):
            return Refusal(HTTPStatus.FORBIDDEN, "this lab accepts only requests of its own page")
        if self.token is None:
            return Refusal(HTTPStatus.FORBIDDEN, REFUSAL) if foreign() else None
        if self._has_cookie(headers):
            return None
        shown = parse_qs(target.partition("?")[2])
        if not websocket and (
            self._is_token(shown.get("token", [""])[-1])
            or ("code" in shown and not foreign() and self._is_code(shown["code"][-1]))
        ):
            cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax"
            return Refusal(HTTPStatus.SEE_OTHER, "welcome", {"Location": "/", "Set-Cookie": cookie})
        return Refusal(HTTPStatus.UNAUTHORIZED, "open the link with the token that the lab printed")

    def _has_cookie(self, headers: Headers) -> bool:
        pairs = [p.strip().partition("=") for h in headers.get_all("Cookie") for p in h.split(";")]
        return any(name == self.cookie and self._is_token(value) for name, _, value in pairs)

    def _is_code(self, candidate: str) -> bool:
        until = self.codes.pop(candidate, 0.0)
        return time.monotonic() < until

    def _is_token(self, candidate: str) -> bool:
        return self.token is not None and same_token(candidate, self.token)
