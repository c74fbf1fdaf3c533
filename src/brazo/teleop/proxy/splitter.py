"""Splitter of the bytes of a websocket connection into HTTP header and frames (RFC 6455).

Format of a frame:

byte 0   FIN, reserved bits, opcode (8 and above are control frames)
byte 1   MASK bit and length; for 126 the length is in the next 2 bytes, for 127 in the next 8
then     4 bytes of mask if MASK is set, and the payload
"""

from __future__ import annotations

from dataclasses import dataclass

from brazo.errors import BrazoError

LONGEST = 1 << 20
_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """The HTTP header or one websocket frame, as unchanged bytes."""

    data: bytes
    message: bool  # a whole message, which can be duplicated or reordered


class Splitter:
    """Splitter of the byte stream of one direction of one connection."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._in_head = True

    def feed(self, data: bytes) -> list[Piece]:
        """Add received bytes and return the pieces that are now complete."""
        self._held += data
        found = []
        while (size := self._size()) is not None and len(self._held) >= size:
            piece = bytes(self._held[:size])
            del self._held[:size]
            # FIN and a data opcode: the message consists of this frame only.
            message = not self._in_head and piece[0] & 0x80 != 0 and 0 < piece[0] & 0x0F < 8
            self._in_head = False
            found.append(Piece(piece, message))
        if len(self._held) > LONGEST:
            raise BrazoError(
                f"received more than {LONGEST >> 20} MiB without a complete websocket frame"
            )
        return found

    def rest(self) -> bytes:
        """Return the bytes of the last, incomplete piece; used when the connection ends."""
        return bytes(self._held)

    def _size(self) -> int | None:
        """Return the size (bytes) of the next piece, or None while it is unknown."""
        held = self._held
        if self._in_head:
            end = held.find(_END)
            return None if end < 0 else end + len(_END)
        if len(held) < 2:
            return None
        length, mask = held[1] & 0x7F, 4 if held[1] & 0x80 else 0
        more = {126: 2, 127: 8}.get(length, 0)
        if len(held) < 2 + more:
            return None
        if more:
            length = int.from_bytes(held[2 : 2 + more], "big")
        if length > LONGEST:
            raise BrazoError(f"a websocket frame has {length} bytes; at most {LONGEST} are allowed")
        return 2 + more + mask + length
