"""Downloads and uploads, by a page and by a malicious client."""

from __future__ import annotations

import contextlib
import json
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from brazo.errors import BrazoError
from brazo.lab.server import transfers
from brazo.lab.server.transfers import KEPT_FOR, MAX_UPLOAD_BYTES, Downloads, Upload, safe_name


@pytest.fixture
def page(lab, line):
    with line(lab) as page:
        yield page


@pytest.fixture
def received(lab):
    found: list[Upload] = []
    lab.uploads.on("probe/load", found.append, (".yaml", ".urdf"), 1000)
    return found


def send(lab, key: str, first: object, *pieces: bytes) -> dict:
    """Upload a file and return the response to the page."""
    url = lab.url.replace("http", "ws") + f"/upload?page={key}"
    with connect(url, origin=f"http://127.0.0.1:{lab._server.port}") as ws:
        ws.send(json.dumps(first))
        try:
            for piece in pieces:
                ws.send(piece)
        except ConnectionClosed:
            pass
        return json.loads(ws.recv(timeout=10))


def test_a_file_arrives_whole(lab, page, received):
    content = bytes(range(256)) * 3
    reported = send(lab, page.key, ["probe/load", "arm.yaml", 768], content[:100], content[100:])
    page.send()
    assert reported == {"done": True}
    assert [(u.name, u.content) for u in received] == [("arm.yaml", content)]


@pytest.mark.parametrize(
    ("first", "pieces", "words"),
    [
        (["probe/load", "arm.exe", 1], [b"x"], "expected a file ending in .yaml, .urdf"),
        (["probe/load", "arm", 1], [b"x"], "expected a file"),
        (["probe/load", "arm.yaml", 300_000_000], [], "at most 0 MB"),
        (["probe/load", "arm.yaml", -1], [], "at most"),
        (["probe/load", "arm.yaml", 2], [b"longer than that"], "the received size differs"),
        (["nobody", "arm.yaml", 1], [b"x"], "no open panel accepts this file"),
        (["probe/load"], [], "file name or size is missing"),
        ("nonsense", [], "file name or size is missing"),
    ],
)
def test_unaccepted_upload_is_rejected_with_a_reason(lab, page, received, first, pieces, words):
    assert words in send(lab, page.key, first, *pieces)["error"]
    page.send()
    assert not received


def test_view_only_page_cannot_upload(lab, page, received, line):
    with line(lab) as watcher:
        for key in (watcher.key, "", "x" * 20):
            assert "request control" in send(lab, key, ["probe/load", "a.yaml", 1], b"x")["error"]
    assert not received


def test_panels_cannot_raise_the_size_limit(lab, page):
    lab.uploads.on("probe/big", lambda upload: None, (".bin",), 10 * MAX_UPLOAD_BYTES)
    reported = send(lab, page.key, ["probe/big", "a.bin", MAX_UPLOAD_BYTES + 1])
    assert "at most" in reported["error"]


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("arm.yaml", "arm.yaml"),
        ("../../etc/passwd.yaml", "passwd.yaml"),
        ("C:\\Users\\me\\arm.yaml", "arm.yaml"),
        ("<img src=x onerror=alert(1)>.yaml", "_img src_x onerror_alert(1)_.yaml"),
        ("..", "file"),
        ("\0\n.yaml", "__.yaml"),
    ],
)
def test_file_names_are_sanitised(name, safe):
    assert safe_name(name) == safe


def test_invalid_text_file_is_reported():
    assert Upload("a.yaml", b"\xef\xbb\xbfname: x").text() == "name: x"
    with pytest.raises(BrazoError, match=r"a\.yaml: not a text file \(byte 2"):
        Upload("a.yaml", b"x\xff").text()


def test_download_is_offered_once_to_the_requesting_page(lab, page, line, fetch):
    lab.channel.on("probe/save", lambda: lab._server.download("run <1>.csv", "a,b\n"))
    with line(lab) as other:
        page.send(["probe/save"])
        offer = page.reported["download"]
        other.send()
        assert "download" not in other.reported
    assert offer["name"] == "run _1_.csv"
    reply = fetch(lab, offer["address"])
    assert reply.status == 200 and reply.body == b"a,b\n"
    assert reply.headers["Content-Disposition"] == "attachment; filename*=UTF-8''run%20_1_.csv"
    assert reply.headers["Content-Type"] == "application/octet-stream"
    assert fetch(lab, offer["address"]).status == 404
    assert fetch(lab, "/file/guess").status == 404


def test_downloads_expire_and_are_limited_in_number(tmp_path):
    now = [0.0]
    downloads = Downloads(lambda: now[0])
    path = tmp_path / "run.bin"
    path.write_bytes(b"\0\1")
    first = downloads.offer("run.bin", path)["address"]
    now[0] = KEPT_FOR + 1
    assert downloads.fetch(first) is None
    addresses = [downloads.offer("a", b"x")["address"] for _ in range(100)]
    assert sum(downloads.fetch(a) is not None for a in addresses) == 32


def test_control_is_checked_when_the_upload_is_complete(lab, page, line, received):
    url = lab.url.replace("http", "ws") + f"/upload?page={page.key}"
    with line(lab) as other, connect(url, origin=f"http://127.0.0.1:{lab._server.port}") as ws:
        ws.send(json.dumps(["probe/load", "arm.yaml", 2]))
        ws.send(b"a")
        other.ws.send('["control/ask"]')
        other.until("control/asking", other.reported["me/number"])
        page.ws.send('["control/hand-over"]')
        other.until("control/driver", other.reported["me/number"])
        ws.send(b"b")
        assert "view only" in json.loads(ws.recv(timeout=10))["error"]
        other.send(["control/hand-over"])
    page.send()
    busy, allows = threading.Event(), lab.channel.allows
    lab.post(lambda: busy.wait(10))
    try:
        assert send(lab, page.key, ["probe/load", "arm.yaml", 1], b"x") == {"done": True}
        lab.channel.allows = lambda event: event != "probe/load"  # another cell is open now
        busy.set()
        page.send()
        assert "no open panel accepts this file" in page.reported["notice"]["text"]
        assert (
            "no open panel accepts this file"
            in send(lab, page.key, ["probe/load", "arm.yaml", 1], b"x")["error"]
        )
    finally:
        busy.set()
        lab.channel.allows = allows
    assert not received


def test_stalled_uploads_end_and_their_number_is_limited(lab, monkeypatch):
    url = lab.url.replace("http", "ws") + "/upload"
    origin = f"http://127.0.0.1:{lab._server.port}"
    with contextlib.ExitStack() as stack:
        mute = [
            stack.enter_context(connect(url, origin=origin)) for _ in range(transfers.MAX_UPLOADS)
        ]
        deadline = time.monotonic() + 10
        while lab.uploads._under_way < transfers.MAX_UPLOADS:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        with pytest.raises(ConnectionClosed) as closed:
            connect(url, origin=origin).recv(timeout=10)
        assert closed.value.rcvd.code == 1013 and "uploads" in closed.value.rcvd.reason
        for one in mute:
            one.close()
        while lab.uploads._under_way:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    monkeypatch.setattr(transfers, "PIECE_TIME", 0.1)
    with connect(url, origin=origin) as ws:
        assert "upload cancelled: no data for 0.1 s" in ws.recv(timeout=10)
