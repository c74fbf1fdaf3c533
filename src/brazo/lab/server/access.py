"""Who may talk to the lab: the Host, the Origin and the token of a request.

The lab listens on the user's own machine, where any web page the user visits can make the browser
knock.  Three rules keep such pages out, for the page as well as for its websockets:

    Host    must name this machine (else 421); a rebound DNS name is a foreign Host
    Origin  must be the lab's own page (else 403); a websocket must send one, a browser always does
    token   beyond the loopback, or where one was asked for, a secret from the printed link must be
            shown once; it then lives in a cookie no script can read (else 401)
    user    without a token the connection must belong to the user who runs the lab, or to root,
            where the system tells whose it is (else 403)

The browser is not started with the token, which every user could read in the list of processes,
but with a code that is good once, for a minute, and only for the same user.
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
    codes: dict[str, float] = field(default_factory=dict)  # and until when each is good

    @classmethod
    def on(cls, host: str, port: int, token: bool = False) -> Access:
        """The rules of a lab on this address: a new token beyond the loopback, or if `token`."""
        made = None if is_loopback(host) and not token else secrets.token_urlsafe(24)
        # Cookies know no ports: two labs on one machine would overwrite each other's.
        return cls(host, f"brazo-{port}", made)

    def code(self) -> str:
        """A code that lets one browser of the same user in, within a minute."""
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
        """None when the request may pass; `foreign()` says if it is another user's."""
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
