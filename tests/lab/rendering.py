"""Labs whose pages render few frames.

Chromium renders without a graphics card in the tests: the frames of a page would take more
processor time than all that is tested.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

from brazo.lab.app import display
from brazo.lab.server.shell import ASSETS
from brazo.simulation import player

SCRIPT = "/lab/server/page/pictures.js"
# Constants of the script: the rest after a frame, relative to its duration and at most (ms).
CHANGED = (("const REST = 0.5;", "const REST = 1e9;"), ("_REST = 300; // ms", "_REST = 500;"))


def update_rarely(set_attribute: Callable[[Any, str, Any], None] = setattr) -> None:
    """Let labs update their scenes once a second while something moves, and step every 10 ms."""
    set_attribute(display, "SOFTWARE_EVERY", 1.0)
    set_attribute(player, "TICK", 0.01)


def render_rarely(
    folder: Path, set_item: Callable[[Any, Any, Any], None] = operator.setitem
) -> None:
    """Let pages render at most two frames a second; `folder` is for their changed script."""
    script = ASSETS[SCRIPT].read_text(encoding="utf-8")
    for old, new in CHANGED:
        assert script.count(old) == 1
        script = script.replace(old, new)
    changed = folder / "pictures.js"
    changed.write_text(script, encoding="utf-8")
    set_item(ASSETS, SCRIPT, changed)
