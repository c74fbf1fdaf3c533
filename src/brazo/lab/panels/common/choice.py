"""Robot selector for panels that show the selected robot."""

from __future__ import annotations

from collections.abc import Sequence

from brazo.lab.panels.common.html import row, select


def robot_choice(robots: Sequence[str]) -> str:
    """HTML of a row with a drop-down list of robot names; empty for fewer than two robots.

    The list shows the page value `robot` and sends the event `robot`.
    """
    if len(robots) < 2:
        return ""
    chosen = row("Robot", select("robot", robots, label="Robot"))
    return f'<div class="brazo-choice">{chosen}</div>'
