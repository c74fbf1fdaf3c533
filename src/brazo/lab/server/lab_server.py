"""`LabServer`: the listening socket, viser behind the access checks, and the shutdown.

The socket is opened here and not by viser, which listens on all interfaces by default and does not
report why a port is unavailable.  `LabServer.url` is the URL to open; it contains the token if one
is required.
"""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from brazo.errors import BrazoError
from brazo.hosts import check_name
from brazo.lab.server import hooks
from brazo.lab.server.access import LabAccess
from brazo.lab.server.channel import PageChannel
from brazo.lab.server.driving import Driving
from brazo.lab.server.requests import Requests
from brazo.lab.server.shell import CHANNEL_PATH, UPLOAD_PATH, Shell
from brazo.lab.server.transfers import Downloads, Uploads

PORTS_TO_TRY = 100


class LabServer:
    """Web server of the lab: viser with access checks, page, `PageChannel`, downloads, uploads.

    `note` states why the requested port is not used; it is empty if that port is used.
    """

    def __init__(self, host: str, port: int, requests: Requests, token: bool = False) -> None:
        sock, self.port, self.note = listen(host, port)
        self.host = host
        self.access = LabAccess.on(host, self.port, token)
        driving = Driving()
        self.channel = PageChannel(requests, driving)
        self.downloads = Downloads()
        self.uploads = Uploads(requests.put, driving, lambda event: self.channel.allows(event))
        shell = Shell(self.access, self.downloads)
        own = {CHANNEL_PATH: self.channel.serve, UPLOAD_PATH: self.uploads.serve}
        self.viser = hooks.start(sock, shell.answer, own, driving, self.channel.refuse)

    @property
    def url(self) -> str:
        """URL of the lab's page, with the token if one is required."""
        return self._address() + (f"/?token={self.access.token}" if self.access.token else "")

    def browser_url(self) -> str:
        """URL with which to start a browser; it contains a single-use code instead of the token.

        The token must not be in a command line, because every user of the machine can read it
        there.
        """
        return self._address() + (f"/?code={self.access.code()}" if self.access.token else "")

    def _address(self) -> str:
        host = own_address() if self.host in ("", "0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def download(self, name: str, content: bytes | str | Path) -> None:
        """Send a file to a page, whose browser saves it as `name`.

        The file is sent to the page whose event is being handled, or else to the page in control.
        """
        offer = self.downloads.offer(name, content)
        asked = self.channel.page
        for page in (asked,) if asked is not None else self.channel.pages:
            if asked is not None or self.channel.driving.drives(page.key):
                page.tell("download", offer)

    def stop(self) -> None:
        """Close all connections and release the port."""
        self.viser.stop()


def own_address() -> str:
    """IP address of this machine in the network; `localhost` if it is unknown."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # selects a route; no packet is sent
        except OSError:
            return "localhost"
        return probe.getsockname()[0]


def listen(host: str, port: int) -> tuple[socket.socket, int, str]:
    """Open a listening socket on `port` or the next free port; return socket, port and note.

    The note states why `port` is not used; it is empty if `port` is used.  Raise BrazoError if the
    first 100 ports from `port` on are not available.  If `port` is 0, the system chooses a free
    port.
    """
    if not 0 <= port <= 65535:
        raise BrazoError(f"port {port}: must be from 0 to 65535")
    check_name(host, host)
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise BrazoError(
            f"host {host!r} is unknown ({error.strerror}): "
            "use 127.0.0.1 or another address of this machine"
        ) from None
    last = port if port == 0 else min(port + PORTS_TO_TRY, 65536) - 1
    reason = ""  # why `port` is not available
    for candidate in range(port, last + 1):
        sock = socket.socket(family, kind, proto)
        try:
            if os.name == "nt":
                sock.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_EXCLUSIVEADDRUSE"), 1)  # noqa: B009
            else:  # allows the port of a lab that was closed a short time ago
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address[0], candidate, *address[2:]))
            sock.listen(64)
        except OSError as error:
            sock.close()
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                # On Windows, EACCES also means that another program uses the port.
                denied = error.errno == errno.EACCES and os.name != "nt"
                reason = reason or ("needs administrator rights" if denied else "is busy")
                continue
            raise BrazoError(
                f"cannot listen on {host!r} ({error.strerror}): "
                "use 127.0.0.1 or another address of this machine"
            ) from None
        used = sock.getsockname()[1]
        return sock, used, f"port {port} {reason}, using {used}" if reason else ""
    raise BrazoError(
        f"no free port from {port} to {last} on {host} (port {port} {reason}): "
        "choose another port, or 0 for any free port"
    )
