"""Owner of a local connection's peer, and token comparison.

Any user of a machine can connect to its loopback address.  Linux lists the sockets of a network
namespace with their owners in `/proc/net/tcp` and `/proc/net/tcp6`; the client's socket is the one
with local and remote address exchanged.  Other systems do not provide this.
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
UNKNOWN = -1  # no process owns the socket, because it is already closed

REFUSAL = (
    "this connection belongs to another user of this machine; "
    "start with --token to admit users who have the token"
)


def refuses_user(transport: Any) -> bool:
    """Whether a connection belongs to a user other than root and the owner of this process.

    False if the system does not report the owner.
    """
    peer, own = (transport.get_extra_info(name) for name in ("peername", "sockname"))
    if not peer or not own or not hasattr(os, "geteuid"):
        return False
    owner = owner_of(peer[:2], own[:2])
    return owner is not None and owner not in (0, os.geteuid())


def owner_of(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """Return the user id that owns the peer's socket of a local connection.

    `UNKNOWN` if the peer has already closed its socket, None if the system does not report it.
    """
    readable = False
    for table in TABLES:
        try:
            content = table.read_bytes()
        except OSError:
            continue
        readable = True
        for wide in (False, True):
            ends = _hex(peer, wide), _hex(own, wide)
            at = content.find(f": {ends[0]} {ends[1]} ".encode()) if all(ends) else -1
            if at < 0:
                continue
            # sl: local remote state queues timer retransmits uid timeout inode …
            fields = content[at + 2 : at + 512].split()
            # A closed socket that still has data to send is listed with user 0 and inode 0.
            return int(fields[6]) if int(fields[8]) else UNKNOWN
    return UNKNOWN if readable else None


def same_token(candidate: str, token: str) -> bool:
    """Whether two tokens are equal, compared in constant time; `candidate` may be any text."""
    # Non-ASCII headers arrive as lone surrogates.
    pair = (text.encode("utf-8", "surrogatepass") for text in (candidate, token))
    return hmac.compare_digest(*pair)


def _hex(end: tuple[str, int], wide: bool) -> str:
    """Format address and port as in /proc/net/tcp: 32-bit words in host byte order."""
    try:
        address = ipaddress.ip_address(end[0].partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if wide:  # IPv4 connections of a dual-stack socket are listed as ::ffff:a.b.c.d
        text = f"::ffff:{address}" if address.version == 4 else str(address)
        packed = socket.inet_pton(socket.AF_INET6, text)
    elif address.version == 6:
        return ""
    else:
        packed = address.packed
    words = (packed[k : k + 4] for k in range(0, len(packed), 4))
    digits = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{digits}:{end[1]:04X}"
