"""Undocumented parts of viser that the lab uses.

- `start` runs viser on a given socket with the lab's websocket server; viser supports neither.
- `page` is viser's client, which the lab serves inside its own page.
- `move` sends poses without viser's handles, which take ten times longer because they compare each
  pose with the previous one.
- `viser_windows` sends the scene to a new page without blocking the event loop.
- `sweep` drops messages about removed nodes, which viser keeps until a page connects.
- `widget`, `accepts` and the other functions read viser's data about its widgets, so that a message
  can be checked before viser acts on it.

The lab must check every message of a client, because viser sets any attribute of a widget that a
client names.  This check is not possible without these parts of viser.  If one of them is missing,
the lab does not start; `brazo run --headless` and HTML replays work without viser.  The page's
scripts also depend on the HTML of viser's client, which cannot be checked in Python.  Therefore
viser is pinned to one release.
"""

from __future__ import annotations

import socket
import sys
import threading
import types
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import viser
import viser._messages as messages
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection

from brazo.errors import BrazoError
from brazo.internals import Checked, viser_windows

CHECKED = (Checked("viser", "1.1.1", "1.1.1"),)

SUBPROTOCOL = f"viser-v{viser.__version__}"  # a client of another release is turned away
MAX_TEXT = 10_000  # characters of a text field

Pose = tuple[str, tuple[float, float, float], tuple[float, float, float, float]]

_start_lock = threading.Lock()


@lru_cache(maxsize=1)
def unusable() -> str | None:
    """Return the reason why the lab cannot use the installed viser; None if it can."""
    wanted = CHECKED[0].newest
    if viser.__version__ != wanted:
        return f"viser is {viser.__version__}, the lab needs {wanted}"
    parts = (
        (viser.ViserServer, ("_run_garbage_collector", "atomic", "flush", "stop")),
        (viser.SceneApi, ("_queue_scene_message",)),
        (messages, ("SetPositionMessage", "SetOrientationMessage")),
        (messages, ("ShareUrlRequest", "ShareUrlDisconnect")),
        (messages.Message, ("_subclass_from_type_string",)),
        (viser_windows.AsyncMessageBuffer, ("window_generator",)),
    )
    for owner, names in parts:
        if missing := [name for name in names if not hasattr(owner, name)]:
            return f"viser's {owner.__name__} has no {', '.join(missing)}"
    return None if _client().is_file() else f"viser has no page at {_client()}"


def _client() -> Path:
    return Path(viser.__file__).parent / "client/build/index.html"


def page() -> str:
    """Return viser's client: one self-contained HTML file."""
    return _client().read_text(encoding="utf-8")


def start(sock: socket.socket, serve: Callable[..., Any]) -> viser.ViserServer:
    """Start a viser server that uses `serve` instead of the `serve` of the package websockets.

    `sock` is the listening socket.  viser receives only the address of the socket, so `serve` must
    listen on `sock`.  viser has no arguments to choose the function `serve` or to suppress output.
    Therefore `serve` and the `print` of the package rich are replaced during the start, under a
    lock.  Raises BrazoError if the installed viser cannot be used.
    """
    if (reason := unusable()) is not None:
        raise BrazoError(f"the lab cannot start: {reason}; run: pip install {_PINNED}")
    real_serve = websockets.asyncio.server.serve
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
    viser_windows.install(server)
    for request in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(request)
    return server


_PINNED = f"viser=={CHECKED[0].newest}"


def move(server: viser.ViserServer, poses: Iterable[Pose]) -> None:
    """Set the poses (name, xyz in m, wxyz) of scene nodes in one atomic update; send them now."""
    send = server.scene._queue_scene_message
    with server.atomic():
        for name, position, wxyz in poses:
            send(messages.SetPositionMessage(name, position))
            send(messages.SetOrientationMessage(name, wxyz))
    server.flush()  # at 60 Hz viser would otherwise merge every other frame away


def sweep(server: viser.ViserServer) -> None:
    """Make viser delete its stored messages about removed scene nodes."""
    server._run_garbage_collector()


def message_types() -> dict[str, Any]:
    """Return viser's message classes by the name in their `type` field."""
    return messages.Message._subclass_from_type_string()


def widget(server: viser.ViserServer, connection: ServerConnection, uuid: str) -> Any:
    """Return the widget with this id if the page of `connection` may change it, else None.

    A page may change the widgets that all pages share and its own widgets.
    """
    widgets = server.gui._gui_input_handle_from_uuid
    if uuid in widgets:
        return widgets[uuid]
    for number, live in tuple(server._websock_server._live_connections.items()):
        client = server._connected_clients.get(number)
        if live is connection and client is not None:
            return client.gui._gui_input_handle_from_uuid.get(uuid)
    return None


def has_container(server: viser.ViserServer, uuid: str) -> bool:
    """Return whether a folder, tab or form with this id exists."""
    return uuid in server.gui._container_handle_from_uuid


def fits_upload(server: viser.ViserServer, uuid: str, size: int) -> bool:
    """Return whether the upload `uuid` is in progress and has room for `size` more bytes."""
    upload = server.gui._current_file_upload_states.get(uuid)
    return upload is not None and upload["transferred_bytes"] + size <= upload["total_bytes"]


def accepts(handle: Any, value: Any) -> bool:
    """Return whether a user could set the widget `handle` to `value` on the page.

    The widget must exist, be visible and be enabled.  `value` must be one of the options of the
    widget.  If the widget has no options, `value` must have the type of the current value and be
    within the range of the widget.  int and float are equivalent.  If the current value is a tuple,
    `value` must be a list of the same length.  A text may have at most `MAX_TEXT` characters.
    """
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
    return isinstance(now, str) and isinstance(value, str) and len(value) <= MAX_TEXT
