"""Names of machines: `host:port` as a user writes it, and whether a name means this machine.

Whoever listens on the user's own machine can be knocked at by any web page the user visits, through
a name that somebody else's DNS leads here.  So the `Host` of a request has to name this machine:

    listening on the loopback    localhost, or an address of the loopback
    beyond                       also any address (which no DNS can rebind) and the machine's name
"""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import SplitResult, urlsplit

from brazo.errors import BrazoError

_HOST = re.compile(r"(\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<name>[\w.-]+))(:\d{1,5})?", re.ASCII)


def address(text: str) -> tuple[str, int]:
    """`host:port`, or an address that begins with ws://, as host and port."""
    parts = address_parts(text, "ws")
    assert parts.hostname is not None and parts.port is not None
    return parts.hostname, parts.port


def address_parts(text: str, *schemes: str) -> SplitResult:
    """An address in its parts, host and port among them; the first scheme where it names none."""
    whole = " or ".join(f"{scheme}://host:port" for scheme in schemes)
    wanted = f"wanted host:port, such as 127.0.0.1:9000, or {whole}"
    try:
        parts = urlsplit(text if "://" in text else f"{schemes[0]}://{text}")
    except ValueError:
        raise BrazoError(f"address '{text}'; {wanted}") from None
    try:
        port = parts.port
    except ValueError:
        raise BrazoError(
            f"address '{text}': the port is no number from 0 to 65535; {wanted}"
        ) from None
    if parts.scheme not in schemes or not parts.hostname or port is None:
        raise BrazoError(f"address '{text}'; {wanted}")
    check_name(parts.hostname, text)
    return parts


def check_name(host: str, address: str) -> None:
    """Refuse a name that the system could not even look for."""
    try:
        host.encode("idna")
    except UnicodeError:
        raise BrazoError(
            f"address '{address}': no host can have that name; its parts between the dots have "
            "1 to 63 characters"
        ) from None


def is_loopback(host: str) -> bool:
    """True for `localhost` and the addresses only this machine can reach."""
    return host.lower() == "localhost" or (
        _is_address(host) and ipaddress.ip_address(host).is_loopback
    )


def means_us(header: str, host: str) -> bool:
    """Whether a `Host` header names this machine, for one who listens on `host`.

    Any port: a tunnel may carry us to another one.
    """
    found = _HOST.fullmatch(header)
    name = "" if found is None else (found["v6"] or found["name"]).lower()
    if name == host.lower() or is_loopback(name):
        return True
    if is_loopback(host):
        return False
    own = socket.gethostname().lower()
    return _is_address(name) or name in (own, f"{own}.local")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
