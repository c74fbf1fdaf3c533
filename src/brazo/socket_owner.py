"""Find the user who owns the peer of a local connection; compare access tokens.

Any user of a machine can connect to its loopback address.  Linux reports the user who owns a
socket with a given local and remote address.  The query uses netlink (sock_diag(7), about 13 µs).
If netlink is not available, the tables `/proc/net/tcp` and `/proc/net/tcp6` are read, which takes
milliseconds.  The local address of the client's socket is the remote address of the server's socket
and vice versa.  Other operating systems do not report the owner.
"""

from __future__ import annotations

import errno
import hmac
import ipaddress
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Any

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
SOCK_DIAG = 4  # the netlink family of sock_diag(7), which the socket module does not name
UNKNOWN = -1  # no process owns the socket, because it is already closed

REFUSAL = (
    "this connection belongs to another user of this machine; "
    "start with --token to admit users who have the token"
)


def refuses_user(transport: Any) -> bool:
    """Return whether a connection belongs to a user other than root and the owner of this process.

    The result is True if the peer has already closed its socket, and False if the system does not
    report the owner.
    """
    peer, own = (transport.get_extra_info(name) for name in ("peername", "sockname"))
    if not peer or not own or not hasattr(os, "geteuid"):
        return False
    owner = owner_of(peer[:2], own[:2])
    return owner is not None and owner not in (0, os.geteuid())


def owner_of(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """Return the id of the user who owns the peer of a local connection.

    `peer` and `own` are the addresses (host, port) of the peer's socket and of the socket of this
    process.  Return `UNKNOWN` if the peer has already closed its socket, and None if the system
    does not report the owner.
    """
    try:
        return _owner_from_netlink(peer, own)
    except (OSError, AttributeError, ValueError, struct.error):
        return _owner_from_tables(peer, own)


def _owner_from_netlink(peer: tuple[str, int], own: tuple[str, int]) -> int:
    """Return the user id reported by sock_diag(7), or `UNKNOWN` if the peer's socket is closed.

    Raise an error if netlink is not available.
    """
    for family in (socket.AF_INET, socket.AF_INET6):
        ends = [_packed(end, family) for end in (peer, own)]
        if not all(ends):
            continue
        # inet_diag_req_v2: family, protocol, extensions, padding, states; ports, addresses,
        # interface, cookie (none).
        request = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)
        request += struct.pack("!HH", peer[1], own[1])
        request += b"".join(end.ljust(16, b"\0") for end in ends)
        request += struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
        # nlmsghdr: length, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, sequence number, port
        header = struct.pack("=IHHII", 16 + len(request), 20, 1, 0, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as line:
            line.settimeout(1.0)
            line.send(header + request)
            reply = line.recv(8192)
        if struct.unpack_from("=H", reply, 4)[0] == 2:  # NLMSG_ERROR
            code = -struct.unpack_from("=i", reply, 16)[0]
            if code == errno.ENOENT:
                continue
            raise OSError(code, os.strerror(code))
        # inet_diag_msg: 4 bytes, the addresses (48), expiry, queues, owner, inode
        owner, inode = struct.unpack_from("=II", reply, 16 + 4 + 48 + 12)
        return owner if inode else UNKNOWN
    return UNKNOWN


def _packed(end: tuple[str, int], family: int) -> bytes:
    """Return the IP address of `end` (host, port) as bytes in network byte order.

    For AF_INET6, an IPv4 address is converted to an IPv4-mapped address.  For AF_INET, the result
    is empty if the address is IPv6 and not IPv4-mapped.
    """
    address = ipaddress.ip_address(end[0].partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if family == socket.AF_INET:
        return address.packed if address.version == 4 else b""
    text = f"::ffff:{address}" if address.version == 4 else str(address)
    return socket.inet_pton(socket.AF_INET6, text)


def _owner_from_tables(peer: tuple[str, int], own: tuple[str, int]) -> int | None:
    """Return the user id of the peer from the tables in /proc/net.

    Return `UNKNOWN` if the peer's socket is closed or not listed, and None if the tables cannot be
    read.
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
    """Return whether two tokens are equal, compared in constant time.

    `candidate` may be any text.
    """
    # Non-ASCII headers arrive as lone surrogates.
    pair = (text.encode("utf-8", "surrogatepass") for text in (candidate, token))
    return hmac.compare_digest(*pair)


def _hex(end: tuple[str, int], wide: bool) -> str:
    """Format `end` (host, port) as in /proc/net/tcp, or if `wide` as in /proc/net/tcp6.

    Addresses are written as 32-bit words in host byte order.  Return "" if the host is
    not an IP address, or if `wide` is False and the host is IPv6 and not IPv4-mapped.
    """
    try:
        packed = _packed(end, socket.AF_INET6 if wide else socket.AF_INET)
    except ValueError:
        return ""
    if not packed:
        return ""
    words = (packed[k : k + 4] for k in range(0, len(packed), 4))
    digits = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{digits}:{end[1]:04X}"
