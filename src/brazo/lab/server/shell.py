"""`Shell`: answers HTTP requests with viser's client, extended by the lab's scripts and styles.

Scripts and styles of the page are in `server/page/`; those of a panel are in the panel's folder.
Their URLs are their paths relative to `brazo/lab`, with the prefix `/lab/`.

The content security policy allows the page to load resources only from the lab.  `script-src` must
allow inline code, which viser's client contains, but does not allow `eval`.
"""

from __future__ import annotations

import gzip
import html
import re
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from brazo.lab.server import hooks
from brazo.lab.server.access import LabAccess, Refusal
from brazo.lab.server.transfers import Downloads, disposition
from brazo.socket_owner import refuses_user

LAB = Path(__file__).parents[1]
CHANNEL_PATH = "/channel"
UPLOAD_PATH = "/upload"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
ASSETS = {
    f"/lab/{path.relative_to(LAB).as_posix()}": path
    for path in sorted(LAB.rglob("*"), key=lambda path: path.name)
    if path.suffix in MEDIA_TYPES
}
STYLES = [address for address in ASSETS if address.endswith(".css")]
HEAD = """<title>brazo</title>
<link rel="icon" type="image/svg+xml" href="/lab/server/page/arm.svg">
<meta name="color-scheme" content="light dark">
<meta name="description" content="brazo, a robotics lab">
{styles}
<script src="/lab/server/page/viewer.js"></script>
<script type="module" src="/lab/server/page/shell.js"></script>
""".replace(
    "{styles}", "\n".join(f'<link rel="stylesheet" href="{address}">' for address in STYLES)
)


@dataclass(frozen=True, slots=True)
class _File:
    media_type: str
    packed: bytes


class Shell:
    """Answers the HTTP requests that arrive at the lab's port."""

    def __init__(self, access: LabAccess, downloads: Downloads) -> None:
        self._access = access
        self._downloads = downloads
        self._files = {"/": _pack(".html", dress(hooks.page()).encode())}
        for address, path in ASSETS.items():
            self._files[address] = _pack(path.suffix, path.read_bytes())

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Response to an HTTP request; None if the request may open a websocket."""
        headers = request.headers
        websocket = any("websocket" in v.lower() for v in headers.get_all("Upgrade"))
        refusal = self._access.check(
            headers, request.path, websocket, lambda: refuses_user(connection.transport)
        )
        if refusal is not None:
            return _refuse(refusal)
        path = request.path.partition("?")[0]
        if websocket:
            protocols = {
                p.strip() for v in headers.get_all("Sec-WebSocket-Protocol") for p in v.split(",")
            }
            if path in (CHANNEL_PATH, UPLOAD_PATH) or (
                path == "/" and hooks.SUBPROTOCOL in protocols
            ):
                return None
            return _refuse(Refusal(HTTPStatus.BAD_REQUEST, "the lab was updated: reload the page"))
        if path.startswith("/file/"):
            return self._hand_out(path)
        if path not in self._files:
            return _refuse(Refusal(HTTPStatus.NOT_FOUND, "no such page"))
        file = self._files[path]
        packed = any("gzip" in v for v in headers.get_all("Accept-Encoding"))
        body = file.packed if packed else gzip.decompress(file.packed)
        extra = {"Content-Encoding": "gzip"} if packed else {}
        return _respond(HTTPStatus.OK, file.media_type, body, headers["Host"], extra)

    def _hand_out(self, path: str) -> Response:
        offer = self._downloads.fetch(path)
        if offer is None:
            return _refuse(
                Refusal(HTTPStatus.NOT_FOUND, "this download has expired: request the file again")
            )
        extra = {"Content-Disposition": disposition(offer.name)}
        return _respond(HTTPStatus.OK, "application/octet-stream", offer.content, "", extra)


def dress(page: str) -> str:
    """Return viser's client page with the lab's title, icon, metadata, scripts and styles."""
    page = re.sub(r"<link\s+rel=\"icon\".*?/>", "", page, count=1, flags=re.DOTALL)
    page = re.sub(r"<meta name=\"(theme-color|description)\"[^>]*>", "", page)
    dressed = re.sub(r"<title>.*?</title>", lambda _: HEAD, page, count=1, flags=re.DOTALL)
    assert HEAD in dressed, "viser's client page has no title to replace"
    return dressed


@lru_cache(maxsize=256)
def _pack(suffix: str, content: bytes) -> _File:
    return _File(MEDIA_TYPES[suffix], gzip.compress(content, mtime=0))


def _refuse(refusal: Refusal) -> Response:
    text = (
        "<!doctype html><title>brazo</title><body style='font:16px system-ui;margin:3em'>"
        f"<h1>brazo</h1><p>{html.escape(refusal.reason)}</p>"
    )
    return _respond(refusal.status, MEDIA_TYPES[".html"], text.encode(), "", refusal.headers)


def _respond(
    status: HTTPStatus, media_type: str, body: bytes, host: str, extra: dict[str, str]
) -> Response:
    policy = (
        "default-src 'none'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob: data:; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src data:; "
        f"connect-src 'self' ws://{host} data: blob:; worker-src blob: data:; media-src blob:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
    headers = Headers(
        {
            "Content-Type": media_type,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "Connection": "close",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            **extra,
        }
    )
    return Response(status.value, status.phrase, headers, body)
