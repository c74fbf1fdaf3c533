"""Host names: parse `host:port`, and check whether a `Host` header names this machine.

A web page that the user visits can send requests to a server on the user's machine, through a host
name whose DNS entry points to this machine (DNS rebinding).  Therefore the `Host` header of a
request must be one of:

    any server                         the host on which it listens, localhost, a loopback address
    server not on a loopback address   also any IP address and the name of this machine
"""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import SplitResult, urlsplit

from brazo.errors import BrazoError

_HOST = re.compile(r"(\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<name>[\w.-]+))(:\d{1,5})?", re.ASCII)


def address(text: str) -> tuple[str, int]:
    """Parse `host:port` or `ws://host:port` into host and port; raise BrazoError if invalid."""
    parts = address_parts(text, "ws")
    assert parts.hostname is not None and parts.port is not None
    return parts.hostname, parts.port


def address_parts(text: str, *schemes: str) -> SplitResult:
    """Split an address such as `ws://host:port` into its parts; raise BrazoError if invalid.

    `schemes` are the allowed schemes.  An address without a scheme gets the first one.
    """
    whole = " or ".join(f"{scheme}://host:port" for scheme in schemes)
    wanted = f"expected host:port, such as 127.0.0.1:9000, or {whole}"
    try:
        parts = urlsplit(text if "://" in text else f"{schemes[0]}://{text}")
    except ValueError:
        raise BrazoError(f"address '{text}' is invalid; {wanted}") from None
    try:
        port = parts.port
    except ValueError:
        raise BrazoError(f"address '{text}': the port must be from 0 to 65535; {wanted}") from None
    if parts.scheme not in schemes or not parts.hostname or port is None:
        raise BrazoError(f"address '{text}' is invalid; {wanted}")
    check_name(parts.hostname, text)
    return parts


def check_name(host: str, address: str) -> None:
    """Raise an error if a host name is invalid; the message quotes the whole address."""
    try:
        host.encode("idna")
    except UnicodeError:
        raise BrazoError(
            f"address '{address}': invalid host name; the parts between dots must have 1 to 63 "
            "characters"
        ) from None


def is_loopback(host: str) -> bool:
    """Return whether a host is `localhost` or a loopback address."""
    return host.lower() == "localhost" or (
        _is_address(host) and ipaddress.ip_address(host).is_loopback
    )


def names_this_machine(header: str, host: str) -> bool:
    """Return whether a `Host` header names this machine, for a server listening on `host`.

    The port is not compared, because a tunnel may forward a different port.  An invalid header
    never names this machine.
    """
    found = _HOST.fullmatch(header)
    if found is None:
        return False
    name = (found["v6"] or found["name"]).lower()
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
