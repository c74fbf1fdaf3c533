"""`Overlay`: base class of the overlays that the user switches on and off in the 3D scene.

An overlay has scene nodes only while it is on: `build` creates them for the current cell, `update`
is called with new snapshots, and `remove` deletes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from brazo.lab.scene.scene import Scene
    from brazo.lab.scene.shown import Shown
    from brazo.lab.scene.snapshot import SceneSnapshot


class Overlay:
    """An overlay of the 3D scene that the user switches on and off in the View panel."""

    id: ClassVar[str]
    title: ClassVar[str]
    hint: ClassVar[str] = ""
    first: ClassVar[bool] = False  # whether it is on when the lab opens
    rate: ClassVar[float] = 60.0  # Hz, max rate of `update`

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.handles: list[Any] = []

    def build(self, sim: Shown) -> None:
        """Create the scene nodes; append to `handles` the handles that `remove` must delete."""

    def update(self, snapshot: SceneSnapshot) -> None:
        """Update the drawing for a new snapshot."""

    def remove(self) -> None:
        """Delete the scene nodes."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def forget(self) -> None:
        """Drop the handles; the scene nodes were already deleted together with the cell."""
        self.handles.clear()
