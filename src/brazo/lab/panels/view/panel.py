"""View panel: overlays, camera, look of the scene, immersive views, size of bars and panels.

Look and size are settings of each browser (`server/page/appearance.js`), not of the lab.  The
immersive views, for a headset or as a stereo pair, are implemented in `immersive.js`.
"""

from __future__ import annotations

from brazo.lab.app.panel import Panel
from brazo.lab.panels.common.html import section, toggle
from brazo.lab.scene.overlays import OVERLAYS


class ViewPanel(Panel):
    """Panel with switches for overlays, and controls for camera, look and size."""

    id, title, icon, side, order = "view", "View", "eye", "right", 20
    used_for = ("cell", "replay")
    needs_robot = False
    scripts = ("panels/view/immersive.js",)

    def html(self) -> str:
        switches = [
            toggle(f"/view/{one.id}", one.title, event="/view/show", args=[one.id], title=one.hint)
            for one in OVERLAYS
        ]
        floor = toggle("/view/floor", "Floor grid", event="/view/show", args=["floor"])
        return (
            section("Show", *switches, floor)
            + section("Camera", "<brazo-camera></brazo-camera>")
            + section("Look", '<brazo-appearance part="look"></brazo-appearance>')
            + section("Immersive", "<brazo-immersive></brazo-immersive>")
            + section("Page", '<brazo-appearance part="page"></brazo-appearance>')
        )
