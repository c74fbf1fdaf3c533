"""Access control of the lab: checks of the Host, Origin, token and user of each request.

The lab listens on the user's machine, where any web page that the user visits can make the browser
send requests to it.  These rules reject such requests, both HTTP and websocket:

    Host    must name this machine (else 421), which defeats DNS rebinding
    Origin  must be the lab's own page (else 403); required for websockets (browsers send it)
    token   required if the lab is reachable from other machines, or if requested: the secret in
            the printed link must be sent once (else 401); then it is kept in an HttpOnly cookie,
            which scripts cannot read
    user    if no token is required, the connection must belong to the user who runs the lab or to
            root (else 403); not checked if the system does not report the owner

The lab starts the browser with a single-use code instead of the token, because every user of the
machine can read the command lines of processes.  The code expires after a minute and works only for
the same user.
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
from brazo.socket_owner import REFUSAL, same_token

CODE_SECONDS = 60.0


class Headers(Protocol):
    def get_all(self, key: str) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """HTTP response that is sent instead of the requested page: an error or a redirect.

    For a redirect, `headers` contains its target and a cookie.
    """

    status: HTTPStatus
    reason: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabAccess:
    """Access rules of a lab that listens on `host`; `token` is None if no token is required."""

    host: str
    cookie: str = "brazo"
    token: str | None = None
    codes: dict[str, float] = field(default_factory=dict)  # code -> expiry (monotonic time, s)

    @classmethod
    def on(cls, host: str, port: int, token: bool = False) -> LabAccess:
        """Create the access rules of a lab at this address.

        A token is generated, and required, if other machines can reach the address or if `token` is
        true.
        """
        made = None if is_loopback(host) and not token else secrets.token_urlsafe(24)
        # Cookies are shared by all ports of a host, so each lab needs its own cookie name.
        return cls(host, f"brazo-{port}", made)

    def code(self) -> str:
        """Create a single-use code for a browser of the same user, valid for `CODE_SECONDS`."""
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
        """Check a request for `target`; return None if it is allowed, else the response to send.

        `websocket` is whether the request opens a websocket.  `foreign()` returns whether the
        connection belongs to another user of the machine.
        """
        hosts = headers.get_all("Host")
        if len(hosts) != 1 or not names_this_machine(hosts[0], self.host):
            return Refusal(
                HTTPStatus.MISDIRECTED_REQUEST,
                "this host name is not allowed: open the link that the lab printed",
            )
        origins = headers.get_all("Origin")
        if origins != [f"http://{hosts[0]}"] and (websocket or origins):
            return Refusal(HTTPStatus.FORBIDDEN, "requests from other web pages are not allowed")
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
        return Refusal(
            HTTPStatus.UNAUTHORIZED, "no valid access token: open the link that the lab printed"
        )

    def _has_cookie(self, headers: Headers) -> bool:
        pairs = [p.strip().partition("=") for h in headers.get_all("Cookie") for p in h.split(";")]
        return any(name == self.cookie and self._is_token(value) for name, _, value in pairs)

    def _is_code(self, candidate: str) -> bool:
        until = self.codes.pop(candidate, 0.0)
        return time.monotonic() < until

    def _is_token(self, candidate: str) -> bool:
        return self.token is not None and same_token(candidate, self.token)
