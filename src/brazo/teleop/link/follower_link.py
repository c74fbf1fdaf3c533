"""`FollowerLink`: the follower's side of the link, a websocket server in its own thread.

    with FollowerLink(port=9000) as link:
        while True:                      # the control loop, at any rate
            view = link.view()           # the newest valid command; never blocks
            link.publish(LinkReport(...))  # the newest report; never blocks

One master is in control at a time; other clients may watch.  A new connection is closed if it does
not send its `Hello` within `LinkRules.hello` seconds.  A master whose connection broke regains
control at once by sending its last session number.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import ssl
from collections import Counter, deque
from collections.abc import Iterable
from http import HTTPStatus

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from brazo.connections import ACCEPTS, ConnectionLimits, Gate, queue_connections
from brazo.errors import BrazoError
from brazo.socket_owner import REFUSAL, refuses_user
from brazo.teleop.link import wire_format
from brazo.teleop.link.access import LinkAccess
from brazo.teleop.link.background import Background, InBackground
from brazo.teleop.link.channel import QUIET, LinkChannel, LinkRules, count_closing, prepare
from brazo.teleop.link.views import LinkReport, LinkView
from brazo.teleop.link.wire_format import (
    MAX_BYTES,
    MAX_JOINTS,
    STATES,
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

PATH = "/teleop"
CLOSING = {"version": 4001, "token": 4003, "role": 4004, "busy": 4009, "full": 4010}
_STRANGERS = 32  # connections that have not sent their hello
_FLOODING = 2  # multiple of the processed frame rate, and of its burst
_SETTINGS = 32
_HOLD = STATES.index("HOLD")


class FollowerLink(InBackground):
    """Follower side of a link: a server on `host`:`port` from `start` to `close`.

    Port 0 selects a free port.  `token` and `origins` are as in `LinkAccess.on`.  `joints` is the
    required number of joint values in a command, 0 for any number.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str | bool | None = None,
        tls: ssl.SSLContext | None = None,
        origins: Iterable[str] = (),
        name: str = "follower",
        joints: int = 0,
        rules: LinkRules | None = None,
    ) -> None:
        if not 0 <= port <= 65535:
            raise BrazoError(f"port is {port}; it must be 0 to 65535")
        if not 0 <= joints <= MAX_JOINTS:
            raise BrazoError(
                f"joints is {joints}; it must be 1 to {MAX_JOINTS}, or 0 for any number of joints"
            )
        super().__init__("teleop-follower")
        self.access = LinkAccess.on(host, token, origins)
        self.host, self.port, self.name, self.joints = host, port, name[:64], joints
        self.rules = rules or LinkRules()
        self.counts: Counter[str] = Counter()
        self._tls = tls
        self._view = LinkView()
        self._report: LinkReport | None = None
        self._settings: deque[Setting] = deque(maxlen=_SETTINGS)
        self._channels: dict[int, LinkChannel] = {}
        self._master: LinkChannel | None = None
        self._master_name = ""
        limits = ConnectionLimits(
            _FLOODING * self.rules.rate,
            _FLOODING * (self.rules.rate + self.rules.burst),
            _STRANGERS,
            self.rules.hello,
        )
        self._gate = Gate(limits, self._drives, self.counts)
        self._reported = 0  # µs, time of the report
        self._sent_at = 0  # µs, time at which a report was last sent

    @property
    def token(self) -> str | None:
        """Token that a master must send; None if no token is required."""
        return self.access.token

    @property
    def url(self) -> str:
        """Address to which a master connects."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self._tls else 'ws'}://{name}:{self.port}{PATH}"

    @property
    def master(self) -> str:
        """Name of the master in control; "" if there is none."""
        return self._master_name

    @property
    def round_trip(self) -> float | None:
        """Min round-trip time to the master (s); None without a master or before a measurement."""
        channel = self._master
        return None if channel is None else channel.round_trip

    @property
    def heard(self) -> float | None:
        """Time (s) since the last valid frame of the master; None if there is no master."""
        channel = self._master
        return None if channel is None else channel.silent_for

    def view(self) -> LinkView:
        """Return the newest command and the state of the link."""
        return self._view

    def publish(self, report: LinkReport) -> None:
        """Send a report to all clients.

        The report is sent at once if its state changed.  Otherwise it is sent only if the last one
        was sent at least 1 / `LinkRules.status_rate` seconds ago.
        """
        before, self._report = self._report, report
        self._reported = now = now_us()
        changed = before is None or before.state != report.state
        if self._background is not None and (
            changed or now - self._sent_at >= 1e6 / self.rules.status_rate
        ):
            self._sent_at = now
            self._background.call(self._tell)

    def settings(self) -> list[Setting]:
        """Return the `Setting` requests received since the last call; call `answer` for each."""
        found = []
        while self._settings:
            found.append(self._settings.popleft())
        return found

    def answer(self, setting: Setting, done: bool, text: str = "") -> None:
        """Send the answer to a requested setting: `done` is whether it was applied."""
        self._call(self._answer, setting, done, text)

    async def _main(self, background: Background) -> None:
        try:
            server = await serve(
                self._welcome,
                self.host,
                self.port,
                ssl=self._tls,
                subprotocols=[Subprotocol(SUBPROTOCOL)],
                compression=None,
                process_request=self._check,
                server_header=None,
                open_timeout=self._gate.limits.handshake,
                create_connection=self._gate.connection,  # pyright: ignore[reportArgumentType]
                backlog=ACCEPTS,
                ping_interval=5.0,
                ping_timeout=20.0,
                close_timeout=0.2,
                max_size=MAX_BYTES,
                logger=QUIET,
            )
        except OSError as error:
            raise BrazoError(
                f"cannot listen on {self.host}:{self.port}: {error.strerror or error}"
            ) from None
        except UnicodeError:
            raise BrazoError(
                f"cannot listen on {self.host}:{self.port}: invalid host name"
            ) from None
        async with server:
            queue_connections(server.sockets)
            self.port = server.sockets[0].getsockname()[1]
            background.ready.set_result(None)
            repeat = asyncio.create_task(self._repeat())
            await background.stopped()
            repeat.cancel()

    def _drives(self, connection: ServerConnection) -> bool:
        return self._master is not None and self._master.connection is connection

    def _check(self, connection: ServerConnection, request: Request) -> Response | None:
        headers = request.headers
        why = self.access.refuses(headers.get_all("Host"), headers.get_all("Origin"))
        if why:
            self.counts["refused: host or origin"] += 1
            return connection.respond(HTTPStatus.FORBIDDEN, why + "\n")
        if self.access.token is None and refuses_user(connection.transport):
            self.counts["refused: user"] += 1
            return connection.respond(HTTPStatus.FORBIDDEN, REFUSAL + "\n")
        if request.path != PATH:
            return connection.respond(HTTPStatus.NOT_FOUND, f"not found; the link is at {PATH}\n")
        return None

    async def _welcome(self, connection: ServerConnection) -> None:
        try:
            prepare(connection)
            async with asyncio.timeout(self.rules.hello):
                hello = wire_format.read_from_master(await connection.recv())
            if not isinstance(hello, Hello):
                raise Malformed("the first frame is not a Hello")
            refused = await self._judge(hello)
        except TimeoutError:
            self.counts["no hello"] += 1
            return
        except Malformed:
            self.counts["malformed"] += 1
            await connection.close(1008, "expected a Hello of this version")
            return
        except ConnectionClosed as error:
            count_closing(error, self.counts)
            return
        finally:
            self._gate.identified(connection)
        if refused is not None:
            await self._refuse(connection, *refused)
            return
        with contextlib.suppress(ConnectionClosed):
            await self._converse(connection, hello)

    async def _judge(self, hello: Hello) -> tuple[str, str] | None:
        """Return the code and the text of a refusal, or None if the connection is accepted."""
        if hello.version != VERSION:
            return "version", f"this follower uses version {VERSION} of the protocol"
        if not self.access.knows(hello.token):
            # The delay slows down guessing; the number of open attempts is limited as well.
            await asyncio.sleep(0.2)
            return "token", "wrong token"
        if hello.role not in ("master", "watch"):
            return "role", "the role must be 'master' or 'watch'"
        watchers = len(self._channels) - (self._master is not None)
        if hello.role == "watch":
            if watchers < self.rules.watchers:
                return None
            return "full", f"the max number of watching clients, {watchers}, is already connected"
        if self._master is not None and hello.resume != self._master.session:
            return "busy", f"'{self._master_name}' controls this follower"
        return None

    async def _refuse(self, connection: ServerConnection, code: str, text: str) -> None:
        self.counts[f"refused: {code}"] += 1
        with contextlib.suppress(ConnectionClosed):
            await connection.send(wire_format.encode(Refused(code, text)))
            await connection.close(CLOSING[code], text)

    async def _converse(self, connection: ServerConnection, hello: Hello) -> None:
        session = secrets.randbelow(2**53 - 1) + 1
        channel = LinkChannel(connection, session, self.counts, self.rules, self.joints)
        drives = hello.role == "master"
        if drives:
            if self._master is not None:
                self.counts["resumed"] += 1
                self._leave(self._master)
            self._master, self._master_name = channel, hello.name
            self._view = LinkView(session)
        self._channels[session] = channel
        beat = asyncio.create_task(channel.beat())
        try:
            await connection.send(
                wire_format.encode(Welcome(VERSION, session, self.name, self.joints))
            )
            self._tell_one(channel)
            async for message in connection:
                await self._hear(channel, message, drives)
        except ConnectionClosed as error:
            count_closing(error, self.counts)
        finally:
            beat.cancel()
            self._leave(channel)

    def _leave(self, channel: LinkChannel) -> None:
        self._channels.pop(channel.session, None)
        if channel is self._master:
            self._master, self._master_name, self._view = None, "", LinkView()
        channel.connection.transport.abort()

    async def _hear(self, channel: LinkChannel, message: bytes | str, drives: bool) -> None:
        now = now_us()
        frame = channel.read(message, wire_format.read_from_master, now)
        if frame is None:
            return
        inbox = channel.inbox
        if isinstance(frame, (Ping, Pong)):
            await channel.heartbeat(frame, now)
        elif not drives:
            self.counts["not the master"] += 1
        elif isinstance(frame, Setting):
            self._settings.append(frame)
        elif isinstance(frame, Command):
            inbox.command(frame, now)
        if channel is self._master:
            self._view = LinkView(channel.session, inbox.latest, channel.clock.jumps, inbox.missing)

    async def _repeat(self) -> None:
        """Send the last report again at intervals while no new report is published."""
        while True:
            await asyncio.sleep(0.1)
            if now_us() - self._sent_at > 100_000:
                self._tell()

    def _tell(self) -> None:
        for channel in tuple(self._channels.values()):
            self._tell_one(channel)

    def _tell_one(self, channel: LinkChannel) -> None:
        report = self._report
        if report is None:
            return
        if channel.clogged:
            self.counts["status not sent"] += 1
            return
        since = 1e-6 * (now_us() - self._reported)
        state, cause, share = int(report.state), report.cause, float(report.share)
        if since > self.rules.stalled:
            # A robot does not move while its loop is stalled, whatever the last report was.
            state, share = _HOLD, 0.0
            cause = f"the follower loop has not run for {since:.1f} s"
        channel.post_soon(
            Status,
            state,
            cause[:200],
            share,
            report.engagement,
            int(1e6 * min(max(report.age + since, 0.0), 1e6)),
            report.q,
            report.pose,
            report.wrench,
            tuple(text[:200] for text in report.warnings[:4]),
            report.extra,
        )

    def _answer(self, setting: Setting, done: bool, text: str) -> None:
        channel = self._channels.get(setting.session)
        if channel is not None:
            channel.post_soon(Answer, setting.seq, done, text[:200])
