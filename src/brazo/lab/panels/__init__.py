"""The windows of the lab, one file each.

A panel is a tab whose HTML is made of the page's own elements, each tied to a name on the channel:

    <brazo-text name="tool/x"></brazo-text>          shows that value
    <brazo-slider name="joint/2" event="joint" …>    shows it and sends ["joint", 2, value]

so that its `html` is written once for a robot and its `values` are put on the channel whenever
something moved.  A panel may as well add viser's own widgets in `build`.  Texts that come from
files go through `escape`.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import viser

if TYPE_CHECKING:
    from brazo.lab.app import Lab

__all__ = ["Panel", "escape"]


class Panel:
    """One window; the lab calls it from its own thread only."""

    title: str
    icon: viser.IconName | None = None

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def build(self, gui: viser.GuiApi) -> None:
        """Add what the tab holds; called once, inside the tab."""
        self._html = gui.add_html("")

    def robot_changed(self) -> None:
        """Show another robot."""
        self._html.content = f'<div class="brazo-panel">{self.html()}</div>'

    def html(self) -> str:
        """The tab's content for the lab's robot."""
        return ""

    def values(self) -> dict[str, Any]:
        """What the channel is to show for the lab's present state."""
        return {}
