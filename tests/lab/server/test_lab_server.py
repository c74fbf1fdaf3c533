"""The lab's port under attack: raw requests, raw websockets, raw messages."""

from __future__ import annotations

import contextlib
import errno
import http.client
import logging
import os
import re
import socket
import time

import msgspec
import numpy as np
import pytest
import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from brazo.errors import BrazoError
from brazo.lab.server import hooks
from brazo.lab.server.access import LabAccess
from brazo.lab.server.channel import MAX_PAGES
from brazo.lab.server.lab_server import listen

PROTOCOL = {"Sec_WebSocket_Protocol": hooks.SUBPROTOCOL}


def own(lab):
    return {"Origin": f"http://127.0.0.1:{lab._server.port}"}


def viser_socket(lab, key=""):
    return connect(
        lab.url.replace("http", "ws") + f"/?page={key}",
        origin=own(lab)["Origin"],
        subprotocols=[hooks.SUBPROTOCOL],
        max_size=None,
    )


def settled(lab, handle) -> None:
    """Return once viser has handled everything sent before: a valid change is processed last."""
    deadline = time.monotonic() + 10
    while handle.value != "done":
        assert time.monotonic() < deadline
        time.sleep(0.005)


# ---- requests ------------------------------------------------------------------------------------


def test_page_may_fetch_from_the_lab_only(lab, fetch):
    reply = fetch(lab)
    assert reply.status == 200
    text = reply.body.decode()
    assert "<title>brazo</title>" in text and "<title>Viser" not in text
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe-eval'" not in policy.replace("wasm-unsafe-eval'", "")
    allowed = re.findall(r"\b(?:https?|wss?)://\S+", policy)
    assert allowed == [f"ws://127.0.0.1:{lab._server.port}"]


def test_every_asset_of_the_page_is_served(lab, fetch):
    text = fetch(lab).body.decode()
    names = re.findall(r'(?:href|src)="(/lab/[^"]+)"', text)
    assert len(names) >= 4
    for name in names:
        reply = fetch(lab, name, Accept_Encoding="gzip")
        assert reply.status == 200 and reply.headers["Content-Encoding"] == "gzip"
    assert fetch(lab, "/lab/server/page/arm.svg").headers["Content-Type"] == "image/svg+xml"


@pytest.mark.parametrize(
    "path", ["/nothing", "/lab/../app.py", "/lab/%2e%2e/app.py", "//etc/passwd", "/lab/"]
)
def test_other_paths_are_not_served(lab, path, fetch):
    assert fetch(lab, path).status == 404


def test_a_foreign_host_is_misdirected(lab, fetch, upgrade):
    assert fetch(lab, host="evil.example").status == 421
    assert upgrade(lab, host="evil.example", Origin="http://evil.example", **PROTOCOL) == 421
    assert upgrade(lab, "/channel", host="evil.example", Origin="http://evil.example") == 421


def test_a_foreign_origin_is_forbidden(lab, fetch, upgrade):
    assert fetch(lab, Origin="https://evil.example").status == 403
    for path in ("/", "/channel"):
        assert upgrade(lab, path, Origin="https://evil.example", **PROTOCOL) == 403
        assert upgrade(lab, path, **PROTOCOL) == 403


def test_the_lab_opens_its_websockets_to_its_own_page(lab, upgrade):
    assert upgrade(lab, **own(lab), **PROTOCOL) == 101
    assert upgrade(lab, "/channel", **own(lab)) == 101
    assert upgrade(lab, "/upload", **own(lab)) == 101
    assert upgrade(lab, "/other", **own(lab), **PROTOCOL) == 400
    assert upgrade(lab, **own(lab), Sec_WebSocket_Protocol="viser-v0.0.1") == 400


def test_other_interfaces_require_the_printed_link(fetch, upgrade, running):
    with running(host="0.0.0.0") as lab:
        token = lab.url.partition("?token=")[2]
        assert len(token) >= 32
        assert fetch(lab).status == 401
        assert fetch(lab, "/lab/server/page/shell.js").status == 401
        assert upgrade(lab, "/channel", **own(lab)) == 401
        welcome = fetch(lab, f"/?token={token}")
        assert welcome.status == 303
        cookie = welcome.headers["Set-Cookie"].partition(";")[0]
        assert fetch(lab, Cookie=cookie).status == 200
        assert upgrade(lab, "/channel", Cookie=cookie, **own(lab)) == 101
        assert upgrade(lab, Cookie=cookie, **own(lab), **PROTOCOL) == 101


# ---- messages to viser ---------------------------------------------------------------------------


@pytest.fixture
def widgets(lab):
    """Widgets as a panel may have them, and a text that shows when all before it was handled."""
    gui = lab._server.viser.gui
    handles = {
        "button": gui.add_button("button"),
        "slider": gui.add_slider("slider", 0.0, 1.0, 0.1, 0.5),
        "number": gui.add_number("number", 3),
        "menu": gui.add_dropdown("menu", ("a", "b")),
        "vector": gui.add_vector2("vector", (0.0, 0.0)),
        "text": gui.add_text("text", "kept"),
        "off": gui.add_text("off", "kept", disabled=True),
        "last": gui.add_text("last", ""),
    }
    yield handles
    for handle in handles.values():
        handle.remove()


@pytest.fixture
def driver(lab, line):
    """The page that drives, without a browser."""
    with line(lab) as page:
        assert lab.channel.driving.drives(page.key)
        yield page


@pytest.fixture
def exchange(lab, driver, widgets):
    """`exchange(message, …)`: send messages, then a legal one, and wait until it is applied."""
    return lambda *messages: _exchange(lab, driver.key, widgets, *messages)


def _exchange(lab, key, widgets, *messages: dict) -> None:
    last = {"uuid": widgets["last"]._impl.uuid, "updates": {"value": "done"}}
    with viser_socket(lab, key) as ws:
        for message in (*messages, {"type": "GuiUpdateMessage", **last}):
            ws.send(msgspec.msgpack.encode(message))
        settled(lab, widgets["last"])


def update(handle, **updates):
    return {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": updates}


def test_client_can_set_only_the_value_of_a_widget(lab, widgets, exchange):
    button, slider = widgets["button"], widgets["slider"]
    button.on_click(lambda _: None)
    exchange(
        update(button, update_cb=[]),
        update(button, removed=True),
        update(slider, value=0.9, update_cb=[]),
        update(slider, props={"min": -9}),
        update(widgets["number"], value=7),
    )
    assert len(button._impl.update_cb) == 1 and not button._impl.removed
    assert slider.value == 0.5 and slider.min == 0.0
    assert widgets["number"].value == 7  # valid user actions are accepted


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slider", 1.5),
        ("slider", -1e9),
        ("slider", float("nan")),
        ("slider", "0.7"),
        ("slider", True),
        ("number", float("inf")),
        ("number", None),
        ("menu", "c"),
        ("menu", ["a"]),
        ("vector", [1.0]),
        ("vector", [1.0, "x"]),
        ("vector", "ab"),
        ("off", "changed"),
        ("text", "x" * 100_000),
        ("text", {"a": 1}),
    ],
)
def test_invalid_widget_value_is_dropped(lab, widgets, exchange, name, value):
    before = widgets[name].value
    exchange(update(widgets[name], value=value))
    assert widgets[name].value == before


def test_messages_only_a_server_sends_are_dropped(lab, widgets, exchange, caplog):
    buffer = lab._server.viser._websock_server._broadcast_buffer
    kept = set(buffer.message_from_id)
    with caplog.at_level(logging.DEBUG):
        exchange(
            {"type": "ShareUrlRequest"},
            {"type": "ShareUrlDisconnect"},
            {"type": "RunJavascriptMessage", "source": "alert(1)"},
            {"type": "SceneNodeUpdateMessage", "name": "/floor", "updates": {}, "owner": ""},
            {"type": "GuiFormDirtyMessage", "uuid": "no such form"},
            {"type": "GuiUpdateMessage", "uuid": "no such widget", "updates": {"value": 1}},
        )
    assert lab._server.viser._share_tunnel is None
    new = [type(m).__name__ for i, m in buffer.message_from_id.items() if i not in kept]
    assert new in ([], ["GuiUpdateMessage"])  # the valid one, sent to other pages
    assert "Error" not in caplog.text


def test_messages_of_a_wrong_shape_are_dropped(lab, widgets, exchange, caplog):
    button = widgets["button"]._impl.uuid
    exchange(
        {"type": "GuiButtonHoldMessage", "uuid": button, "frequency": [20.0]},
        {"type": "GuiButtonHoldMessage", "uuid": {}, "frequency": 20.0},
        {"type": "GuiUpdateMessage", "uuid": [button], "updates": {"value": True}},
        {"type": "GuiUpdateMessage", "uuid": button, "updates": "value"},
        {"type": "CommandTriggerMessage", "uuid": ["x"]},
        {"type": "ViewerCameraMessage", "wxyz": "abcd"},
        {"type": "SceneNodeClickMessage", "name": 5},
    )
    assert caplog.text == ""


def test_every_kind_of_message_the_guard_knows_exists():
    assert hooks._MESSAGES.keys() >= hooks._FROM_PAGES


def test_the_share_tunnel_has_no_handler(lab):
    handlers = lab._server.viser._websock_server._incoming_handlers
    assert not [kind for kind in handlers if kind.__name__.startswith("ShareUrl")]


def test_an_upload_needs_a_button_for_it_and_an_end(lab, widgets, exchange):
    gui = lab._server.viser.gui
    upload = gui.add_upload_button("upload")

    def start(handle, **fields):
        return {
            "type": "FileTransferStartUpload",
            "source_component_uuid": handle._impl.uuid,
            "transfer_uuid": "t",
            "filename": "robot.yaml",
            "mime_type": "text/plain",
            "part_count": 1,
            "size_bytes": 4,
        } | fields

    part = {"type": "FileTransferPart", "source_component_uuid": upload._impl.uuid}
    part |= {"transfer_uuid": "t", "part_index": 0}
    exchange(
        start(widgets["slider"]),
        start(upload, filename="../../etc/passwd"),
        start(upload, size_bytes=hooks.MAX_UPLOAD_BYTES + 1),
        start(upload),
        part | {"content": b"x" * 5},
    )
    assert upload.value.content == b""
    widgets["last"].value = ""
    exchange(start(upload), part | {"content": b"arm:"})
    deadline = time.monotonic() + 10
    while upload.value.content != b"arm:":
        assert time.monotonic() < deadline
        time.sleep(0.005)
    upload.remove()


def test_viser_messages_of_view_only_pages_are_dropped(lab, widgets, driver, line, exchange):
    calls = []
    widgets["button"].on_click(calls.append)
    gizmo = lab._server.viser.scene.add_transform_controls("/gizmo")
    still = tuple(gizmo.position)
    drag = {
        "type": "TransformControlsUpdateMessage",
        "name": "/gizmo",
        "wxyz": (1.0, 0.0, 0.0, 0.0),
        "position": (1.0, 2.0, 3.0),
        "owner": "",
    }
    acts = [update(widgets["number"], value=9), update(widgets["button"], value=True), drag]
    with line(lab) as watcher, viser_socket(lab, watcher.key) as ws, viser_socket(lab) as no_one:
        for message in acts:
            ws.send(msgspec.msgpack.encode(message))
            no_one.send(msgspec.msgpack.encode(message))
        watcher.send()
        watcher.until("me/refused", len(acts))
        exchange()
        assert widgets["number"].value == 3 and not calls
        assert tuple(gizmo.position) == still
        widgets["last"].value = ""
        exchange(*acts)
        assert widgets["number"].value == 9
        assert tuple(gizmo.position) == (1.0, 2.0, 3.0)
    gizmo.remove()


def test_invalid_data_ends_only_its_own_connection(lab, widgets, driver):
    with viser_socket(lab, driver.key) as good:
        for garbage in (b"\xc1\xc1", "text", b"\x93\x01\x02\x03"):
            with viser_socket(lab) as bad:
                bad.send(garbage)
                with pytest.raises(ConnectionClosed):
                    while True:
                        bad.recv(timeout=10)
        good.send(msgspec.msgpack.encode(update(widgets["last"], value="done")))
        settled(lab, widgets["last"])


def test_a_message_beyond_the_limit_ends_the_connection(lab):
    with viser_socket(lab) as ws:
        with pytest.raises(ConnectionClosed) as closed:
            ws.send(b"\0" * (hooks.MAX_MESSAGE_BYTES + 1))
            while True:
                ws.recv(timeout=10)
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009


# ---- the port --------------------------------------------------------------------------------


def test_next_free_port_is_used_and_reported(fetch, running):
    with running() as first, running(port=first._server.port) as second:
        port = first._server.port
        assert second._server.port > port
        assert second.note == f"port {port} is busy, using {second._server.port}"
        assert not first.note
        assert fetch(first).status == fetch(second).status == 200


@pytest.mark.skipif(os.name == "nt", reason="a missing permission looks like a busy port")
def test_missing_permission_for_a_port_is_reported(monkeypatch):
    class Unprivileged(socket.socket):
        def bind(self, address):
            if address[1] < 1024:
                raise PermissionError(errno.EACCES, "Permission denied")
            super().bind(address)

    monkeypatch.setattr(socket, "socket", Unprivileged)
    sock, used, note = listen("127.0.0.1", 1000)
    sock.close()
    assert used >= 1024 and note == f"port 1000 needs administrator rights, using {used}"
    with pytest.raises(BrazoError, match=r"to 179 .*\(port 80 needs administrator rights\)"):
        listen("127.0.0.1", 80)


def test_stopping_releases_the_port_and_its_connections(running):
    with running() as lab:
        port = lab._server.port
        with viser_socket(lab) as ws:
            lab.stop()
            with pytest.raises(ConnectionClosed):
                while True:
                    ws.recv(timeout=10)
        with pytest.raises(ConnectionRefusedError):
            http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
        sock, again, note = listen("127.0.0.1", port)
        sock.close()
        assert (again, note) == (port, "")


def test_only_loopback_is_listening(lab):
    assert lab._server.access == LabAccess("127.0.0.1", f"brazo-{lab._server.port}", None)
    mine = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in mine - {"127.0.0.1", "127.0.1.1", "::1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, lab._server.port), timeout=2)


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("127.0.0.1", 70_000, "0 to 65535"),
        ("no such host", 0, "no such host"),
        ("a..b", 0, "invalid host name"),
        ("203.0.113.1", 0, "another address of this machine"),
    ],
)
def test_invalid_address_is_reported(host, port, words):
    with pytest.raises(BrazoError, match=words):
        listen(host, port)


# ---- fast updates of poses -------------------------------------------------------------------


def test_moved_nodes_are_sent_to_later_pages(lab):
    server = lab._server.viser
    server.scene.add_frame("/probe")
    hooks.move(server, [("/probe", (1.0, 2.0, 3.0), (0.0, 1.0, 0.0, 0.0))])
    kept = server._websock_server._broadcast_buffer.message_from_id.values()
    poses = [m for m in kept if getattr(m, "name", "") == "/probe" and hasattr(m, "position")]
    assert poses[-1].position == (1.0, 2.0, 3.0)
    server.scene.remove_by_name("/probe")


def test_installed_viser_is_the_supported_release():
    assert viser.__version__ == "1.1.1"
    assert np.all([hasattr(viser.ViserServer, name) for name in ("atomic", "flush", "stop")])


# ---- floods ----------------------------------------------------------------------------------


def test_there_is_a_maximum_of_views_and_the_driver_has_one(lab, driver):
    with contextlib.ExitStack() as stack:
        for _ in range(MAX_PAGES):
            stack.enter_context(viser_socket(lab))
        with viser_socket(lab) as refused, pytest.raises(ConnectionClosed) as closed:
            refused.recv(timeout=10)
        assert closed.value.rcvd.code == 1013 and "3D views" in closed.value.rcvd.reason
        with viser_socket(lab, driver.key) as own_view:
            assert own_view.recv(timeout=10)


def test_a_flood_of_camera_poses_is_closed_with_a_reason(lab, driver):
    with viser_socket(lab) as ws:
        pose = b"\x81\xa4type\xb3ViewerCameraMessage"  # without its fields, which is dropped
        frame = bytes([0x82, 0x80 | len(pose), 0, 0, 0, 0]) + pose
        with contextlib.suppress(OSError):
            ws.socket.sendall(frame * 20_000)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                ws.recv(timeout=10)
        assert closed.value.rcvd.code == 1008 and "flooding" in closed.value.rcvd.reason


def test_connections_without_a_request_do_not_block_a_page(lab, fetch):
    sockets = []
    try:
        for _ in range(150):
            sockets.append(socket.create_connection(("127.0.0.1", lab._server.port), timeout=10))
            sockets[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert fetch(lab).status == 200
        sockets[0].settimeout(10)
        with contextlib.suppress(ConnectionResetError):
            assert sockets[0].recv(1) == b""
    finally:
        for one in sockets:
            one.close()
