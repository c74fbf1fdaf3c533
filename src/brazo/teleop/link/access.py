"""Who may connect to a follower: Host, Origin, token, and encryption.

    Host    must name this machine: a name rebound to it by someone else's DNS is refused
    Origin  only browsers send one; it must be a page that was named when the link was opened
    token   asked for beyond the loopback, compared in constant time
    user    without a token the connection must belong to the user who runs the follower, or to
            root, where the system tells whose it is

A token travels in the first frame, so on a network that others can listen to it wants TLS.
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
class Access:
    """The rules of a link that listens on `host`; `token` None where none is asked for."""

    host: str
    token: str | None
    origins: tuple[str, ...] = ()

    @classmethod
    def on(cls, host: str, token: str | bool | None, origins: Iterable[str] = ()) -> Access:
        """The rules for an address: beyond the loopback there is always a token.

        `True` makes one up on the loopback, too.
        """
        if isinstance(token, str) and (len(token) < SHORTEST_TOKEN or len(token) > 256):
            raise BrazoError(
                f"a token of {len(token)} characters; wanted {SHORTEST_TOKEN} to 256, "
                "or none at all: then one is made up"
            )
        if not isinstance(token, str):
            token = secrets.token_urlsafe(24) if token or not is_loopback(host) else None
        return cls(host, token, tuple(origins))

    def refuses(self, hosts: Sequence[str], origins: Sequence[str]) -> str:
        """Why a request with these headers may not pass, "" when it may."""
        if len(hosts) != 1 or not names_this_machine(hosts[0], self.host):
            return "this follower does not answer to that host name"
        if origins and (len(origins) != 1 or origins[0] not in self.origins):
            return "pages of that origin may not drive this follower"
        return ""

    def knows(self, token: str) -> bool:
        """Whether a token is the right one, or none is asked for."""
        return self.token is None or same_token(token, self.token)


def server_tls(certificate: str | Path, key: str | Path) -> ssl.SSLContext:
    """Encryption for a follower, from PEM files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise BrazoError(f"{certificate}, {key}: no usable certificate: {error}") from None
    return context


def client_tls(authority: str | Path | None = None) -> ssl.SSLContext:
    """Encryption for a master; `authority` is a PEM file to trust instead of the system's."""
    try:
        return ssl.create_default_context(cafile=None if authority is None else str(authority))
    except (OSError, ssl.SSLError) as error:
        raise BrazoError(f"{authority}: no usable certificate: {error}") from None
