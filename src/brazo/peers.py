"""The user at the other end of a connection on this machine, and the comparison of tokens.

Any user of a machine can connect to its loopback.  Linux lists the sockets of a network namespace
with their owners in `/proc/net/tcp` and `/proc/net/tcp6`; the client's socket is the one whose two
ends are ours, exchanged.  Other systems do not tell.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import Any

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
UNKNOWN = -1  # no living process has the socket: it was closed before the answer

REFUSAL = (
    "this connection belongs to another user of this machine; "
    "start with --token to let in those who have the token"
)


def refuses_user(transport: Any) -> bool:
    """Whether a connection belongs to a user other than root and the one who runs this process.

    False where the system does not tell whose it is.
    """
    peer, own = (transport.get_extra_info(name) for name in ("peername", "sockname"))
    if not peer or not own or not hasattr(os, "geteuid"):
        return False
    owner = owner_of(peer[:2], own[:2])
    return owner is not None and owner not in (0, os.geteuid())


def owner_of(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """User id of the process that has the peer's end of a connection on this machine.

    `UNKNOWN` when the peer has closed its socket already, None where the system does not tell.
    """
    told = False
    for table in TABLES:
        try:
            content = table.read_bytes()
        except OSError:
            continue
        told = True
        for wide in (False, True):
            ends = _hex(peer, wide), _hex(own, wide)
            at = content.find(f": {ends[0]} {ends[1]} ".encode()) if all(ends) else -1
            if at < 0:
                continue
            # sl: local remote state queues timer retransmits uid timeout inode …
            fields = content[at + 2 : at + 512].split()
            # A closed socket that still has data to send is listed with user 0 and inode 0.
            return int(fields[6]) if int(fields[8]) else UNKNOWN
    return UNKNOWN if told else None


def same_token(shown: str, token: str) -> bool:
    """Whether two tokens are equal, compared in constant time; any text may be shown."""
    # Headers that are not ASCII arrive as lone surrogates.
    return hmac.compare_digest(*(text.encode("utf-8", "surrogatepass") for text in (shown, token)))


def _hex(end: tuple[str, int], wide: bool) -> str:
    """Address and port as the tables have them: words of the machine's byte order."""
    try:
        address = ipaddress.ip_address(end[0].partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if wide:  # an IPv4 connection of a socket for both families is listed as ::ffff:a.b.c.d
        text = f"::ffff:{address}" if address.version == 4 else str(address)
        packed = socket.inet_pton(socket.AF_INET6, text)
    elif address.version == 6:
        return ""
    else:
        packed = address.packed
    words = (packed[k : k + 4] for k in range(0, len(packed), 4))
    shown = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{shown}:{end[1]:04X}"
