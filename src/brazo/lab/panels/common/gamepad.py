"""Axis deflections that the gamepad element of a page sends."""

from __future__ import annotations

from typing import Any

SCRIPT = "panels/common/gamepad.js"
MAX_AXES = 64
STOP = {"key": "stop", "label": "STOP", "button": 8, "event": "/stop"}


def read_deflections(given: list[Any]) -> tuple[float, ...] | None:
    """Convert the axis deflections that a page sent to floats, limited to [-1, 1].

    None if an item is not a number or there are more than `MAX_AXES` items.
    """
    if len(given) > MAX_AXES or not all(type(x) in (int, float) for x in given):
        return None
    return tuple(min(max(x, -1.0), 1.0) for x in map(float, given))
