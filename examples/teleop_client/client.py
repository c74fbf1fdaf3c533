"""A master in one file of plain Python: sockets, no packages, nothing of brazo.

It follows docs/teleop-protocol.md from the first byte on, so it is the proof that the page says
enough, and a beginning for masters in other languages.

    python client.py 127.0.0.1:9000 --joints 2 --seconds 2

A token is read from the environment variable BRAZO_TOKEN.

It connects, waits until the follower knows its clock, engages, swings all joints by a little with
100 commands a second, lets go, and prints what the follower told.  The exit code is 0 when the
follower followed.
"""

import argparse
import base64
import hashlib
import math
import os
import select
import socket
import struct
import sys
import time

HELLO, WELCOME, REFUSED, COMMAND, STATUS, PING, PONG = range(1, 8)
STATES = ("IDLE", "ENGAGED", "DEGRADED", "HOLD")
RUN = 1


# MessagePack, as much of it as frames need ------------------------------------------------------


def pack(value):
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        if 0 <= value < 128:
            return bytes([value])
        return (
            b"\xcf" + struct.pack(">Q", value) if value >= 0 else b"\xd3" + struct.pack(">q", value)
        )
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        return b"\xd9" + bytes([len(data)]) + data
    return b"\xdc" + struct.pack(">H", len(value)) + b"".join(map(pack, value))


def unpack(data, at=0):
    """The value that begins at a byte, and where the next one does."""
    kind = data[at]
    at += 1
    if kind < 0x80:
        return kind, at
    if kind >= 0xE0:
        return kind - 0x100, at
    if 0x90 <= kind < 0xA0:
        return unpack_array(data, at, kind & 0x0F)
    if 0xA0 <= kind < 0xC0:
        return data[at : at + (kind & 0x1F)].decode(), at + (kind & 0x1F)
    if kind in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[kind], at
    if kind in (0xD9, 0xDA):
        size = 1 if kind == 0xD9 else 2
        length = int.from_bytes(data[at : at + size], "big")
        return data[at + size : at + size + length].decode(), at + size + length
    if kind in (0xDC, 0xDD):
        size = 2 if kind == 0xDC else 4
        return unpack_array(data, at + size, int.from_bytes(data[at : at + size], "big"))
    code = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"} | {
        0xD0: ">b",
        0xD1: ">h",
        0xD2: ">i",
        0xD3: ">q",
    }
    form = code[kind]
    return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)


def unpack_array(data, at, length):
    items = []
    for _ in range(length):
        item, at = unpack(data, at)
        items.append(item)
    return items, at


# Websocket (RFC 6455) ---------------------------------------------------------------------------


class Websocket:
    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), timeout=5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            (
                "GET /teleop HTTP/1.1\r\n"
                f"Host: {host}:{port}\r\n"
                "Upgrade: websocket\r\n"
                "Connection: Upgrade\r\n"
                f"Sec-WebSocket-Key: {key}\r\n"
                "Sec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Protocol: brazo-teleop.1\r\n\r\n"
            ).encode()
        )
        self.held = b""
        while b"\r\n\r\n" not in self.held:
            self._read()
        head, self.held = self.held.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            sys.exit(f"refused: {head.decode(errors='replace')}")
        magic = key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        if base64.b64encode(hashlib.sha1(magic).digest()) not in head:
            sys.exit("the answer does not belong to the question")

    def send(self, payload, opcode=2):
        mask = os.urandom(4)
        size = len(payload)
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(head + mask + masked)

    def messages(self, wait):
        """Binary messages that arrive within `wait` seconds."""
        found = []
        while True:
            while (frame := self._frame()) is not None:
                opcode, payload = frame
                if opcode == 2:
                    found.append(payload)
                elif opcode == 9:  # ping
                    self.send(payload, 10)
                elif opcode == 8:
                    sys.exit(f"closed: {payload[2:].decode(errors='replace')}")
            if found or not select.select([self.socket], [], [], wait)[0]:
                return found
            self._read()

    def _read(self):
        data = self.socket.recv(65536)
        if not data:
            sys.exit("the follower hung up")
        self.held += data

    def _frame(self):
        """The next whole frame; a follower's are not masked."""
        held = self.held
        if len(held) < 2:
            return None
        size, at = held[1] & 0x7F, 2
        if size == 126:
            if len(held) < 4:
                return None
            size, at = struct.unpack_from(">H", held, 2)[0], 4
        if len(held) < at + size:
            return None
        self.held = held[at + size :]
        return held[0] & 0x0F, held[at : at + size]


# The protocol -----------------------------------------------------------------------------------


class Master:
    def __init__(self, host, port, token):
        self.websocket = Websocket(host, port)
        self.websocket.send(pack([HELLO, 1, "master", "plain client", token, 0]))
        answer = self._next(5.0)
        if answer[0] == REFUSED:
            sys.exit(f"refused ({answer[1]}): {answer[2]}")
        assert answer[0] == WELCOME, answer
        self.session, self.follower, self.joints = answer[2], answer[3], answer[4]
        self.seq = self.ack = 0
        self.status = None
        self.pongs = 0

    def command(self, q, run, engagement):
        self._send(COMMAND, 100_000, RUN if run else 0, engagement, q, None, None)

    def listen(self, wait):
        """Answer pings and keep the newest status."""
        end = time.monotonic() + wait
        while (left := end - time.monotonic()) > 0:
            for message in self.websocket.messages(left):
                frame = unpack(message)[0]
                kind, session, seq, sent = frame[:4]
                if kind < COMMAND or session != self.session or seq <= self.ack:
                    continue
                self.ack = seq
                if kind == PING:
                    self._send(PONG, sent, clock())
                    self.pongs += 1
                elif kind == STATUS:
                    self.status = frame

    def _send(self, kind, *fields):
        self.seq += 1
        self.websocket.send(pack([kind, self.session, self.seq, clock(), self.ack, *fields]))

    def _next(self, wait):
        end = time.monotonic() + wait
        while time.monotonic() < end:
            for message in self.websocket.messages(end - time.monotonic()):
                return unpack(message)[0]
        sys.exit("the follower does not answer")


def clock():
    return time.monotonic_ns() // 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--joints", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    host, _, port = given.address.rpartition(":")
    master = Master(host, int(port), os.environ.get("BRAZO_TOKEN", ""))
    n = master.joints or given.joints
    print(f"connected to '{master.follower}', session {master.session}, {n} joints")
    while master.pongs < 5:  # now the follower knows this clock
        master.listen(0.02)
    followed, first, furthest = 0, None, 0.0
    state, cause, share, age = 0, 0, 0.0, 0
    engagement = 0
    begin = time.monotonic()
    while (t := time.monotonic() - begin) < given.seconds:
        run = t > 0.1  # seen released first, then held
        if run and engagement == 0:
            engagement = 1
        master.command([0.2 * math.sin(2.0 * max(t - 0.1, 0.0))] * n, run, engagement)
        master.listen(0.01)
        if master.status is not None and master.status[10]:
            _, _, _, _, _, state, cause, share, _, age, q = master.status[:11]
            first = first or q
            furthest = max(furthest, max(abs(a - b) for a, b in zip(q, first, strict=True)))
            followed += STATES[state] in ("ENGAGED", "DEGRADED")
    master.command([0.0] * n, False, engagement)
    master.listen(0.1)
    print(
        f"state {STATES[state]} ({cause}), {100 * share:.0f} % speed, data {age / 1000:.1f} ms old"
    )
    print(f"followed in {followed} of the statuses seen, moved by {furthest:.3f}")
    return 0 if followed and furthest > 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
