"""Run viser with the lab's page, and check every message before viser receives it.

- `start` runs viser on a given socket, together with the lab's page, access checks and websockets.
- `MessageGuard` filters the messages of clients.  Without it, a client could set any attribute of a
  widget, upload files of any size and open a public tunnel.

Undocumented parts of viser are used only in `brazo.internals.viser` and, for the client, in
`server/page/viewer.js`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosedError
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from brazo.connections import ACCEPTS, ConnectionLimits, Gate, queue_connections
from brazo.internals import viser as internals
from brazo.internals.viser import SUBPROTOCOL, Pose, move, page, sweep
from brazo.lab.server.channel import MAX_PAGES, full, key_of
from brazo.lab.server.driving import Driving

__all__ = [
    "LIMITS",
    "MAX_MESSAGE_BYTES",
    "MAX_UPLOAD_BYTES",
    "SUBPROTOCOL",
    "MessageGuard",
    "Pose",
    "move",
    "page",
    "start",
    "sweep",
]

MAX_MESSAGE_BYTES = 2 << 20  # the page uploads in pieces of half this size
# A page sends at most one event per display frame on each of its connections.
LIMITS = ConnectionLimits(frames=300.0, burst=200.0)
VIEW_SPACING = 0.03  # s between the starts of two views
MAX_UPLOAD_BYTES = 64 << 20


Answer = Callable[[ServerConnection, Request], Response | None]
Conversation = Callable[[ServerConnection], Awaitable[None]]


def start(
    sock: socket.socket,
    answer: Answer,
    own: Mapping[str, Conversation],
    driving: Driving,
    refused: Callable[[str], None],
) -> Any:
    """Run viser on a listening socket, and return the `viser.ViserServer`.

    `answer` is called for every HTTP request.  It returns the response, or None to accept a
    websocket.  `own` maps paths to the handlers of the lab's own websockets.  `refused(key)` is
    called when a message of a view-only page is refused.  Connections that exceed `LIMITS` are
    closed, unless their page is in control.
    """
    guard = MessageGuard(driving, refused)
    gate = Gate(LIMITS, lambda connection: driving.drives(key_of(connection)))
    log = logging.getLogger("brazo.lab.websocket")
    log.addHandler(logging.NullHandler())
    log.propagate = False  # aborted connections are normal and need no log output
    real_serve = websockets.asyncio.server.serve

    next_view = 0.0  # s, time of the event loop

    async def spaced() -> None:
        """Wait until the next 3D view may start.

        Sending the scene to many views at once would delay STOP.
        """
        nonlocal next_view
        now = asyncio.get_running_loop().time()
        begin, next_view = max(now, next_view), max(now, next_view) + VIEW_SPACING
        await asyncio.sleep(begin - now)

    def serve(handler: Conversation, host: str, port: int, **options: Any) -> Any:
        async def talk(connection: ServerConnection) -> None:
            gate.identified(connection)
            request = connection.request
            path = "" if request is None else request.path.partition("?")[0]
            if path in own:
                await own[path](connection)
            elif guard.views >= MAX_PAGES and not driving.holds(key_of(connection)):
                await connection.close(CloseCode.TRY_AGAIN_LATER, full("3D views"))
            else:
                guard.watch(connection)
                guard.views += 1
                try:
                    await spaced()
                    await handler(connection)
                finally:
                    guard.views -= 1

        options |= {
            "process_request": answer,
            "max_size": MAX_MESSAGE_BYTES,
            "logger": log,
            "create_connection": gate.connection,
            "open_timeout": gate.limits.handshake,
            "backlog": ACCEPTS,
        }
        return real_serve(talk, sock=sock, server_header=None, **options)

    server = internals.start(sock, serve)
    queue_connections([sock])
    guard.server = server
    return server


class MessageGuard:
    """Filter that passes only messages that viser's client can send for its widgets and nodes.

    A view-only page may send its camera pose and answers to queries, but nothing that changes the
    state.
    """

    def __init__(self, driving: Driving, refused: Callable[[str], None]) -> None:
        self.server: viser.ViserServer | None = None  # set by `start`; no message passes before
        self.views = 0  # number of open viser connections
        self._driving = driving
        self._refused = refused

    def watch(self, connection: ServerConnection) -> None:
        """Filter the messages of a connection; close the connection on a malformed message."""
        receive, key = connection.recv, key_of(connection)

        async def recv(*args: Any, **kwargs: Any) -> Any:
            while True:
                raw = await receive(*args, **kwargs)
                try:
                    message = msgspec.msgpack.decode(raw if isinstance(raw, bytes) else b"")
                    passes = self.admits(connection, key, message)
                except (msgspec.DecodeError, ValueError, TypeError, KeyError, AttributeError):
                    await connection.close(1008, "malformed message: reload the page")
                    raise ConnectionClosedError(None, None) from None
                if passes:
                    return raw

        connection.recv = recv

    def admits(self, connection: ServerConnection, key: str, message: dict[str, Any]) -> bool:
        kind = message.pop("type")
        if self.server is None or kind not in _FROM_PAGES:
            return False
        if kind not in _FROM_WATCHERS and not self._driving.drives(key):
            self._refused(key)
            return False
        try:
            msgspec.convert(message, _MESSAGES[kind])
        except msgspec.ValidationError:
            return False
        if kind == "GuiUpdateMessage":
            handle = internals.widget(self.server, connection, message["uuid"])
            return list(message["updates"]) == ["value"] and internals.accepts(
                handle, message["updates"]["value"]
            )
        if kind in ("GuiFormSubmitMessage", "GuiFormDirtyMessage"):
            return internals.has_container(self.server, message["uuid"])
        if kind == "FileTransferStartUpload":
            handle = internals.widget(self.server, connection, message["source_component_uuid"])
            return (
                isinstance(handle, viser.GuiUploadButtonHandle)
                and 0 <= message["size_bytes"] <= MAX_UPLOAD_BYTES
                and 0 <= message["part_count"] <= message["size_bytes"]
                and not set(message["filename"]) & set("/\\\0")
            )
        if kind == "FileTransferPart":
            return internals.fits_upload(
                self.server, message["transfer_uuid"], len(message["content"])
            )
        return True  # state of the page, or a gesture: viser looks up its target


# All messages that viser's client sends, except requests to share the scene publicly.
_FROM_PAGES = {
    "ViewerCameraMessage",
    "GuiUpdateMessage",
    "GuiButtonHoldMessage",
    "GuiFormSubmitMessage",
    "GuiFormDirtyMessage",
    "CommandTriggerMessage",
    "ScenePointerMessage",
    "SceneNodeClickMessage",
    "SceneNodeDragMessage",
    "TransformControlsUpdateMessage",
    "TransformControlsDragStartMessage",
    "TransformControlsDragEndMessage",
    "FileTransferStartUpload",
    "FileTransferPart",
    "GetRenderResponseMessage",
    "LocalStorageGetItemResponseMessage",
}
_FROM_WATCHERS = {
    "ViewerCameraMessage",
    "GetRenderResponseMessage",
    "LocalStorageGetItemResponseMessage",
}
_MESSAGES = internals.message_types()
