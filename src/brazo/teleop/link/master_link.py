"""`MasterLink`: the master's side of the link, a websocket client in its own thread.

    with MasterLink("127.0.0.1:9000") as link:
        link.wait()                                  # until the follower answers
        link.engage()
        while True:                                  # the control loop, at any rate
            link.send(q, run=True)                   # never blocks; only the newest command is sent
            link.status()                            # the newest status, or None

A broken connection is opened again, with increasing pauses between the attempts.  Nothing is queued
while there is no connection: an unsent command is replaced by the next one, and `set` raises an
error.  If the connection breaks before a setting is sent, `answers` returns a failure.  No commands
are sent while the follower's acknowledgement of an earlier command is overdue.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from brazo.errors import BrazoError
from brazo.hosts import address_parts
from brazo.teleop.link import wire_format
from brazo.teleop.link.background import Background, InBackground
from brazo.teleop.link.channel import QUIET, LinkChannel, LinkRules, count_closing
from brazo.teleop.link.follower_link import PATH
from brazo.teleop.link.unreachable import in_words
from brazo.teleop.link.wire_format import (
    CLUTCH,
    MAX_BYTES,
    MAX_JOINTS,
    RUN,
    SUBPROTOCOL,
    VERSION,
    Answer,
    Command,
    Hello,
    Malformed,
    Ping,
    Pong,
    Refused,
    Setting,
    Status,
    Welcome,
    now_us,
)

VALID = 0.1  # s
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # s between two attempts to connect
_UNCONFIRMED = 0.25  # s, max age of unacknowledged commands beyond two round trips
_NOT_SENT = "'{}' was not sent to the follower: {}; set it again when the link is open"
_FINAL = ("version", "token", "role")  # refusals for which a retry is useless


@dataclass(frozen=True, slots=True, eq=False)
class ReceivedStatus:
    """A received status with its times of arrival and sending (s) on the local clock."""

    status: Status
    received: float
    sent: float


@dataclass(frozen=True, slots=True)
class _Pending:
    stamp: int
    flags: int
    engagement: int
    valid: int
    q: tuple[float, ...]
    pose: wire_format.Pose | None
    grip: float | None
    extra: tuple[float, ...]


class MasterLink(InBackground):
    """Master side of a link: a client that connects to a follower from `start` to `close`.

    `address` is `host:port` or a `ws://` or `wss://` URL.  With `watch=True` the client only
    receives the status of the follower.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        name: str = "master",
        watch: bool = False,
        rules: LinkRules | None = None,
    ) -> None:
        super().__init__("teleop-master")
        self.url = _url(address, tls)
        self.rules = rules or LinkRules()
        self.counts: Counter[str] = Counter()
        self.name, self.role = name[:64], "watch" if watch else "master"
        self.follower = ""  # name of the follower
        self.joints = 0  # number of joints that it requires, 0 for any
        self.refusal = ""  # reason why there is no connection
        self._refused_because = ""  # last refusal by the follower itself
        self._token, self._tls = token or "", tls
        self._connected = threading.Event()
        self._over = False  # refused permanently
        self._wake: asyncio.Event | None = None
        self._pending: _Pending | None = None
        self._asked: deque[tuple[str, Any]] = deque(maxlen=32)
        self._engagement = 0
        self._received: ReceivedStatus | None = None
        self._answers: deque[Answer] = deque(maxlen=32)
        self._channel: LinkChannel | None = None
        self._session = 0
        self._flying: deque[tuple[int, int]] = deque()  # seq and time of unacknowledged commands

    @property
    def connected(self) -> bool:
        """Whether a connection is open and the follower has accepted it."""
        return self._connected.is_set()

    @property
    def ever_connected(self) -> bool:
        """Whether there has been a connection since the link was created."""
        return self._session != 0

    @property
    def trouble(self) -> str:
        """Reason why there is no connection and whether a retry follows; "" if unknown."""
        more = "not retrying" if self._over else "retrying"
        return f"{self.refusal}; {more}" if self.refusal else ""

    @property
    def turned_away(self) -> bool:
        """Whether the follower can be reached but refuses the connection."""
        return bool(self.refusal) and self.refusal == self._refused_because

    @property
    def session(self) -> int:
        """Session number of the current connection; 0 if there is none."""
        channel = self._channel
        return 0 if channel is None else channel.session

    @property
    def round_trip(self) -> float | None:
        """Min round-trip time to the follower (s); None without a connection or a measurement."""
        channel = self._channel
        return None if channel is None else channel.round_trip

    @property
    def offset(self) -> float | None:
        """Follower's clock minus local clock (s); None without a connection or a measurement."""
        channel = self._channel
        estimate = None if channel is None else channel.clock.estimate
        return None if estimate is None else 1e-6 * estimate.offset

    @property
    def heard(self) -> float | None:
        """Time (s) since the last valid frame of the follower; None if not connected."""
        channel = self._channel
        return None if channel is None else channel.silent_for

    def wait(self, timeout: float = 10.0) -> None:
        """Wait until the link is connected.

        Raise BrazoError after `timeout` seconds, or at once if the connection is refused for good.
        Do not call this in a control loop.
        """
        end = time.monotonic() + timeout
        while not self._connected.wait(min(0.05, max(end - time.monotonic(), 0.0))):
            if self._over:
                raise BrazoError(f"{self.url}: {self.refusal}")
            if time.monotonic() >= end:
                why = self.refusal or "no answer"
                raise BrazoError(f"{self.url}: not connected after {timeout:g} s: {why}")

    def engage(self) -> int:
        """Request engagement; return the number of the request, which the next command contains."""
        self._engagement += 1
        return self._engagement

    def send(
        self,
        q: Sequence[float] = (),
        pose: Sequence[float] | None = None,
        *,
        run: bool = False,
        clutch: bool = False,
        grip: float | None = None,
        extra: Sequence[float] = (),
        valid: float = VALID,
    ) -> None:
        """Send the master position and the state of its buttons; never blocks.

        The position is `q` (joint values) or `pose` (x, y, z in m and the quaternion w, x, y, z of
        the handle), or both.  `run` is True while the enable switch is held.  `clutch` is True
        while the master moves and the follower must not.  `grip` is from 0 (open) to 1 (closed).
        `extra` are numbers for a bilateral scheme.  The command expires after `valid` seconds.
        """
        if len(q) > MAX_JOINTS:
            raise BrazoError(f"got {len(q)} joint values; at most {MAX_JOINTS} are allowed")
        if pose is not None and len(pose) != 7:
            raise BrazoError(
                f"the pose has {len(pose)} numbers; expected 7: position x, y, z and quaternion "
                "w, x, y, z"
            )
        self._pending = _Pending(
            now_us(),
            (RUN if run else 0) | (CLUTCH if clutch else 0),
            self._engagement,
            int(1e6 * valid),
            tuple(map(float, q)),
            None if pose is None else tuple(map(float, pose)),  # type: ignore[arg-type]
            None if grip is None else min(max(float(grip), 0.0), 1.0),
            tuple(map(float, extra)),
        )
        self._poke()

    def set(self, name: str, value: Any) -> None:
        """Request a change of a setting of the follower; `answers` returns the result.

        Raise BrazoError if there is no connection.  The request is not queued, because the setting
        would change unexpectedly when a connection is opened later.
        """
        if not self.connected:
            raise BrazoError(_NOT_SENT.format(name, "no link"))
        self._asked.append((name, value))
        self._poke()

    def status(self) -> ReceivedStatus | None:
        """Return the newest status of the current or last connection; None without a status."""
        return self._received

    def answers(self) -> list[Answer]:
        """Return the answers to requested settings that were received since the last call.

        A setting that could not be sent is answered with a failure.
        """
        found = []
        while self._answers:
            found.append(self._answers.popleft())
        return found

    def _poke(self) -> None:
        if self._wake is not None:
            self._call(self._wake.set)

    async def _main(self, background: Background) -> None:
        self._wake = asyncio.Event()
        background.ready.set_result(None)
        work = asyncio.create_task(self._keep_connected())
        await background.stopped()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    async def _keep_connected(self) -> None:
        pause = FIRST_PAUSE
        while not self._over:
            connection = None
            try:
                async with connect(
                    self.url,
                    ssl=self._tls,
                    subprotocols=[Subprotocol(SUBPROTOCOL)],
                    compression=None,
                    user_agent_header=None,
                    proxy=None,
                    open_timeout=self.rules.hello,
                    ping_interval=5.0,
                    ping_timeout=20.0,
                    close_timeout=0.2,
                    max_size=MAX_BYTES,
                    logger=QUIET,
                ) as connection:
                    if await self._introduce(connection):
                        pause = FIRST_PAUSE
                        await self._converse(connection)
            except InvalidStatus as error:
                # The server answered and refuses the connection; a retry would be refused as well.
                body = (error.response.body or b"").decode(errors="replace").strip()
                self.refusal = f"{body or 'refused'} ({error.response.status_code})"
                self._over = 400 <= error.response.status_code < 500
            except ssl.SSLCertVerificationError as error:
                self.refusal, self._over = (
                    f"invalid certificate of the follower: {error.verify_message}",
                    True,
                )
            except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed, EOFError) as error:
                self.refusal = in_words(error, urlsplit(self.url).netloc)
            except Malformed as error:
                self.refusal = f"unknown protocol: {error}"
            except Exception as error:  # no code awaits this task: keep the error
                self.refusal, self._over = in_words(error, urlsplit(self.url).netloc), True
            finally:
                # A task that is cancelled while closing would leave the connection open.
                if connection is not None:
                    connection.transport.abort()
            self.counts["attempts"] += 1
            if not self._over:
                # Random pauses, so that many clients do not reconnect simultaneously.
                await asyncio.sleep(pause * random.uniform(0.75, 1.25))
                pause = min(2.0 * pause, LONGEST_PAUSE)

    async def _introduce(self, connection: ClientConnection) -> bool:
        """Send `Hello` and return whether the follower accepts the connection."""
        hello = Hello(VERSION, self.role, self.name, self._token, self._session)
        await connection.send(wire_format.encode(hello))
        async with asyncio.timeout(self.rules.hello):
            answer = wire_format.read_from_follower(await connection.recv())
        if isinstance(answer, Refused):
            self.refusal = self._refused_because = answer.text
            self._over = answer.code in _FINAL
            self.counts[f"refused: {answer.code}"] += 1
            return False
        if not isinstance(answer, Welcome):
            raise Malformed("the first frame is not a Welcome")
        self.follower, self.joints, self.refusal = answer.name, answer.joints, ""
        self._session = answer.session
        return True

    async def _converse(self, connection: ClientConnection) -> None:
        channel = LinkChannel(connection, self._session, self.counts, self.rules)
        self._received = self._pending = None
        self._flying.clear()
        self._give_back()
        self._channel = channel
        self.counts["connections"] += 1
        self._connected.set()
        tasks = [asyncio.create_task(channel.beat()), asyncio.create_task(self._pour(channel))]
        try:
            async for message in connection:
                await self._hear(channel, message)
        except ConnectionClosed as error:
            count_closing(error, self.counts)
        finally:
            self._connected.clear()
            self._channel = None
            for task in tasks:
                task.cancel()
            self._give_back()

    def _give_back(self) -> None:
        """Add a failure to `answers` for each requested setting that was not sent."""
        while self._asked:
            text = _NOT_SENT.format(self._asked.popleft()[0], "the link was lost")
            self._answers.append(Answer(self._session, 0, now_us(), 0, 0, False, text))

    async def _pour(self, channel: LinkChannel) -> None:
        """Send pending settings and commands until the task is cancelled."""
        assert self._wake is not None
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._asked and not channel.clogged:
                name, value = self._asked.popleft()
                await channel.post(Setting, name, value)
            pending, self._pending = self._pending, None
            if pending is None:
                continue
            if channel.clogged or self._unconfirmed(channel):
                self.counts["held back"] += 1
                continue
            await channel.post(
                Command,
                pending.valid,
                pending.flags,
                pending.engagement,
                pending.q,
                pending.pose,
                pending.grip,
                pending.extra,
                sent=pending.stamp,
            )
            self.counts["commands"] += 1
            self._flying.append((channel.seq, pending.stamp))

    def _unconfirmed(self, channel: LinkChannel) -> bool:
        """Return whether the follower's acknowledgement of a sent command is overdue."""
        estimate = channel.clock.estimate
        patience = 1e6 * _UNCONFIRMED + (0 if estimate is None else 2 * estimate.round_trip)
        return bool(self._flying) and now_us() - self._flying[0][1] > patience

    async def _hear(self, channel: LinkChannel, message: bytes | str) -> None:
        now = now_us()
        frame = channel.read(message, wire_format.read_from_follower, now)
        if frame is None:
            return
        while self._flying and self._flying[0][0] <= frame.ack:
            self._flying.popleft()
        if isinstance(frame, (Ping, Pong)):
            await channel.heartbeat(frame, now)
        elif isinstance(frame, Status):
            clock = channel.clock.estimate
            sent = now if clock is None else min(clock.to_local(frame.sent), now)
            self._received = ReceivedStatus(frame, 1e-6 * now, 1e-6 * sent)
        elif isinstance(frame, Answer):
            self._answers.append(frame)


def _url(address: str, tls: ssl.SSLContext | None) -> str:
    """Return the websocket URL for `host:port` or a URL; raise an error if it is invalid."""
    parts = address_parts(address, *(("wss", "ws") if tls else ("ws", "wss")))
    if (parts.scheme == "wss") != (tls is not None):
        raise BrazoError(
            f"address '{address}': pass a TLS context for a wss:// address, and none for ws://"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path if parts.path not in ('', '/') else PATH}"
