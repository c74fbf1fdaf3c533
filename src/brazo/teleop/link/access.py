"""Access rules of a follower: Host, Origin, token, user, and encryption.

    Host    must be a name of this machine, as a protection against DNS rebinding
    Origin  sent only by browsers; must be one of the origins allowed when the link was created
    token   required, except on the loopback interface if no token was requested; compared in
            constant time
    user    without a token, the owner of the connection must be the user who runs the follower or
            root; checked only if the operating system reports the owner

The token is sent in the first frame.  Use TLS on a network where others can listen.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from brazo.errors import BrazoError
from brazo.hosts import is_loopback, names_this_machine
from brazo.socket_owner import same_token

SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class LinkAccess:
    """Access rules of a link that listens on `host`.

    `token` is None if no token is required; `origins` are the allowed origins of web pages.
    """

    host: str
    token: str | None
    origins: tuple[str, ...] = ()

    @classmethod
    def on(cls, host: str, token: str | bool | None, origins: Iterable[str] = ()) -> LinkAccess:
        """Return the rules for a link that listens on `host`.

        A string `token` is the required token.  Otherwise a token is generated if `host` is not the
        loopback interface, or if `token` is True.
        """
        if isinstance(token, str) and (len(token) < SHORTEST_TOKEN or len(token) > 256):
            raise BrazoError(
                f"the token has {len(token)} characters; it must have {SHORTEST_TOKEN} to 256 "
                "characters"
            )
        if not isinstance(token, str):
            token = secrets.token_urlsafe(24) if token or not is_loopback(host) else None
        return cls(host, token, tuple(origins))

    def refuses(self, hosts: Sequence[str], origins: Sequence[str]) -> str:
        """Return why a request is refused, or "" if it is accepted.

        `hosts` and `origins` are the values of its Host and Origin headers.
        """
        if len(hosts) != 1 or not names_this_machine(hosts[0], self.host):
            return "this follower does not accept this host name"
        if origins and (len(origins) != 1 or origins[0] not in self.origins):
            return "web pages of this origin may not control this follower"
        return ""

    def knows(self, token: str) -> bool:
        """Return True if the token is correct or no token is required."""
        return self.token is None or same_token(token, self.token)


def server_tls(certificate: str | Path, key: str | Path) -> ssl.SSLContext:
    """Return the TLS context of a follower; certificate and key are PEM files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise BrazoError(f"{certificate}, {key}: no usable certificate and key: {error}") from None
    return context


def client_tls(authority: str | Path | None = None) -> ssl.SSLContext:
    """Return the TLS context of a master.

    `authority` is a PEM file with the trusted certificates; by default, those of the system.
    """
    try:
        return ssl.create_default_context(cafile=None if authority is None else str(authority))
    except (OSError, ssl.SSLError) as error:
        raise BrazoError(f"{authority}: no usable certificates: {error}") from None
