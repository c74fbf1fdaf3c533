"""Access rules of a follower: Host, Origin, token, user, and encryption.

    Host    must name this machine, so that DNS rebinding is refused
    Origin  sent only by browsers; must be a page that was named when the link was opened
    token   required beyond the loopback interface, compared in constant time
    user    without a token the connection must belong to the user who runs the follower, or to
            root, if the operating system reports the owner

A token is sent in the first frame, so use TLS on a network where others can listen.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from brazo.errors import BrazoError
from brazo.hosts import is_loopback, names_this_machine
from brazo.peers import same_token

SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class LinkAccess:
    """Access rules of a link that listens on `host`; `token` is None if none is required."""

    host: str
    token: str | None
    origins: tuple[str, ...] = ()

    @classmethod
    def on(cls, host: str, token: str | bool | None, origins: Iterable[str] = ()) -> LinkAccess:
        """Return the rules for an address; a token is required beyond the loopback interface.

        `True` generates a token on the loopback interface, too.
        """
        if isinstance(token, str) and (len(token) < SHORTEST_TOKEN or len(token) > 256):
            raise BrazoError(
                f"the token has {len(token)} characters; it must have {SHORTEST_TOKEN} to 256, "
                "or be omitted, so that one is generated"
            )
        if not isinstance(token, str):
            token = secrets.token_urlsafe(24) if token or not is_loopback(host) else None
        return cls(host, token, tuple(origins))

    def refuses(self, hosts: Sequence[str], origins: Sequence[str]) -> str:
        """Return why a request with these headers is refused, or "" if it is accepted."""
        if len(hosts) != 1 or not names_this_machine(hosts[0], self.host):
            return "this follower does not answer to that host name"
        if origins and (len(origins) != 1 or origins[0] not in self.origins):
            return "pages of that origin may not drive this follower"
        return ""

    def knows(self, token: str) -> bool:
        """Return whether a token is correct or none is required."""
        return self.token is None or same_token(token, self.token)


def server_tls(certificate: str | Path, key: str | Path) -> ssl.SSLContext:
    """Return the TLS context of a follower, from PEM files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise BrazoError(f"{certificate}, {key}: no usable certificate: {error}") from None
    return context


def client_tls(authority: str | Path | None = None) -> ssl.SSLContext:
    """Return the TLS context of a master; `authority` is a PEM file that replaces the system's."""
    try:
        return ssl.create_default_context(cafile=None if authority is None else str(authority))
    except (OSError, ssl.SSLError) as error:
        raise BrazoError(f"{authority}: no usable certificate: {error}") from None
