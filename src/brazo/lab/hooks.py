"""Every undocumented part of viser the lab leans on, gathered here so that an upgrade has one file
to check (its page-side twin is `page/viewer.js`).  viser is pinned to the release this was
written for.

- `start` runs viser on a socket of ours, with our page, our checks and our line beside its own.
- `Guard` reads every message before viser does: viser sets any attribute of a widget that a client
  names, buffers any upload and opens a public tunnel on request.
- `move` sends poses without viser's handles, whose comparison of old and new costs ten times more.
- `sweep` drops the word of every node that went, which viser keeps until a page connects.
"""

from __future__ import annotations

import logging
import socket
import sys
import threading
import types
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import viser
import viser._messages as messages
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosedError
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from brazo.connections import ACCEPTS, ConnectionLimits, Gate, queue_connections
from brazo.lab.channel import MAX_PAGES, full, key_of
from brazo.lab.driving import Driving

SUBPROTOCOL = f"viser-v{viser.__version__}"  # a client of another release is turned away
MAX_MESSAGE_BYTES = 2 << 20  # a page uploads in pieces of half of that
# A page sends an event for each of the display's frames at most, on each of its connections.
LIMITS = ConnectionLimits(frames=500.0, burst=500.0)
MAX_UPLOAD_BYTES = 64 << 20


Pose = tuple[str, tuple[float, float, float], tuple[float, float, float, float]]
Answer = Callable[[ServerConnection, Request], Response | None]
Conversation = Callable[[ServerConnection], Awaitable[None]]

_start_lock = threading.Lock()


def page() -> str:
    """viser's client: one HTML file that needs nothing else."""
    return (Path(viser.__file__).parent / "client/build/index.html").read_text(encoding="utf-8")


def start(
    sock: socket.socket,
    answer: Answer,
    own: Mapping[str, Conversation],
    driving: Driving,
    refused: Callable[[str], None],
) -> Any:
    """Run viser on a listening socket; `answer` sees every request first, `own` talks at its paths.

    `refused(key)` is called when a page that only watches wanted to act.  A page that floods is
    closed, unless it is in control.

    Returns the `viser.ViserServer`.  viser starts its websocket server by name and prints by
    `rich`; both names are exchanged for the moment it starts, under a lock.
    """
    guard = Guard(driving, refused)
    gate = Gate(LIMITS, lambda connection: driving.drives(key_of(connection)))
    log = logging.getLogger("brazo.lab.websocket")
    log.addHandler(logging.NullHandler())
    log.propagate = False  # a client that breaks off is no news
    real_serve = websockets.asyncio.server.serve

    def serve(handler: Conversation, host: str, port: int, **options: Any) -> Any:
        async def talk(connection: ServerConnection) -> None:
            gate.introduced(connection)
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

    silent = types.ModuleType("rich")
    with _start_lock:
        import rich

        silent.__dict__.update(rich.__dict__, print=lambda *args, **kwargs: None)
        websockets.asyncio.server.serve = serve  # pyright: ignore[reportAttributeAccessIssue]
        sys.modules["rich"] = silent
        try:
            server = viser.ViserServer(*sock.getsockname()[:2], verbose=False)
        finally:
            sys.modules["rich"] = rich
            websockets.asyncio.server.serve = real_serve
    queue_connections([sock])
    guard.server = server
    for request in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(request)
    return server


def move(server: viser.ViserServer, poses: Iterable[Pose]) -> None:
    """Set positions and orientations (name, xyz, wxyz) of scene nodes, shown in one frame."""
    send = server.scene._queue_scene_message
    with server.atomic():
        for name, position, wxyz in poses:
            send(messages.SetPositionMessage(name, position))
            send(messages.SetOrientationMessage(name, wxyz))
    server.flush()  # at 60 Hz viser would otherwise merge every other frame away


def sweep(server: viser.ViserServer) -> None:
    """Forget the nodes that were removed, as far as every page has been told of it."""
    server._run_garbage_collector()


class Guard:
    """Lets a message pass only if the page itself could have sent it for what it shows.

    A page that only watches may say where its camera is, and nothing that changes anything.
    """

    def __init__(self, driving: Driving, refused: Callable[[str], None]) -> None:
        self.server: viser.ViserServer | None = None  # set once viser runs; then messages pass
        self.views = 0  # connections that are open
        self._driving = driving
        self._refused = refused

    def watch(self, connection: ServerConnection) -> None:
        """Make the connection deliver only messages that pass; one that is garbage ends it."""
        receive, key = connection.recv, key_of(connection)

        async def recv(*args: Any, **kwargs: Any) -> Any:
            while True:
                raw = await receive(*args, **kwargs)
                try:
                    message = msgspec.msgpack.decode(raw if isinstance(raw, bytes) else b"")
                    passes = self.admits(connection, key, message)
                except (msgspec.DecodeError, ValueError, TypeError, KeyError, AttributeError):
                    await connection.close(1008, "not a message of the lab's page")
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
            handle = self._widget(connection, message["uuid"])
            return list(message["updates"]) == ["value"] and _fits(
                handle, message["updates"]["value"]
            )
        if kind in ("GuiFormSubmitMessage", "GuiFormDirtyMessage"):
            return message["uuid"] in self.server.gui._container_handle_from_uuid
        if kind == "FileTransferStartUpload":
            handle = self._widget(connection, message["source_component_uuid"])
            return (
                isinstance(handle, viser.GuiUploadButtonHandle)
                and 0 <= message["size_bytes"] <= MAX_UPLOAD_BYTES
                and 0 <= message["part_count"] <= message["size_bytes"]
                and not set(message["filename"]) & set("/\\\0")
            )
        if kind == "FileTransferPart":
            uploads = self.server.gui._current_file_upload_states.get(message["transfer_uuid"])
            return uploads is not None and (
                uploads["transferred_bytes"] + len(message["content"]) <= uploads["total_bytes"]
            )
        return True  # about the page itself, or a gesture: viser looks up what it aims at

    def _widget(self, connection: ServerConnection, uuid: str) -> Any:
        assert self.server is not None
        widgets = self.server.gui._gui_input_handle_from_uuid
        if uuid in widgets:
            return widgets[uuid]
        for number, live in tuple(self.server._websock_server._live_connections.items()):
            client = self.server._connected_clients.get(number)
            if live is connection and client is not None:
                return client.gui._gui_input_handle_from_uuid.get(uuid)
        return None


# All that viser's page ever sends, but for the wish to be shared with the whole web.
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
_MESSAGES = messages.Message._subclass_from_type_string()


def _fits(handle: Any, value: Any) -> bool:
    """True if a user could give the widget this value: its type, its range, one of its options."""
    if handle is None or handle._impl.removed:
        return False
    props, now = handle._impl.props, handle._impl.value
    if not props.visible or getattr(props, "disabled", False):
        return False
    if hasattr(props, "options"):
        return value in props.options
    low, high = getattr(props, "min", None), getattr(props, "max", None)
    if isinstance(now, tuple):
        n = len(now)
        lows, highs = (b if isinstance(b, tuple) else (b,) * n for b in (low, high))
        return (
            isinstance(value, list)
            and len(value) == n
            and all(map(_alike, now, value, lows, highs))
        )
    return _alike(now, value, low, high)


def _alike(now: Any, value: Any, low: Any, high: Any) -> bool:
    if isinstance(now, bool):
        return isinstance(value, bool)
    if isinstance(now, int | float):
        low, high = -1e300 if low is None else low, 1e300 if high is None else high
        return type(value) in (int, float) and low <= value <= high
    return isinstance(now, str) and isinstance(value, str) and len(value) <= 10_000
