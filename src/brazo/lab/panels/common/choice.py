"""Which robot a panel is about: the one that is selected, to be changed where there are several."""

from __future__ import annotations

from collections.abc import Sequence

from brazo.lab.panels.common.html import row, select


def robot_choice(robots: Sequence[str]) -> str:
    """A row with the robots of the cell; shows the value `robot` and sends the event `robot`."""
    if len(robots) < 2:
        return ""
    chosen = row("Robot", select("robot", robots, label="Robot"))
    return f'<div class="brazo-choice">{chosen}</div>'
