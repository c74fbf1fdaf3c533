"""Events of the gamepad element: its deflections as they arrive from a page."""

from __future__ import annotations

from typing import Any

SCRIPT = "panels/common/gamepad.js"
MAX_AXES = 64
STOP = {"key": "stop", "label": "STOP", "button": 8, "event": "/stop"}


def read_deflections(given: list[Any]) -> tuple[float, ...] | None:
    """Deflections by axis, clipped to -1 to 1; None if they are malformed."""
    if len(given) > MAX_AXES or not all(type(x) in (int, float) for x in given):
        return None
    return tuple(min(max(x, -1.0), 1.0) for x in map(float, given))
