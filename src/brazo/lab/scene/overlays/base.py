"""`Overlay`: something drawn over the cell that can be switched on and off.

An overlay has nodes in the scene only while it is on: `build` makes them for the present cell,
`update` is told every moment shown, `remove` takes them away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from brazo.lab.scene.scene import Scene
    from brazo.lab.scene.shown import Shown
    from brazo.lab.scene.snapshot import Snapshot


class Overlay:
    """One thing the View panel can show."""

    id: ClassVar[str]
    title: ClassVar[str]
    hint: ClassVar[str] = ""
    first: ClassVar[bool] = False  # whether it is on when the lab opens
    rate: ClassVar[float] = 60.0  # Hz, how often `update` is called at most

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.handles: list[Any] = []

    def build(self, sim: Shown) -> None:
        """Draw it; keep what is to be removed in `handles`."""

    def update(self, snapshot: Snapshot) -> None:
        """Follow the simulation."""

    def remove(self) -> None:
        """Take away what was drawn."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def forget(self) -> None:
        """The whole cell was taken away, and this with it."""
        self.handles.clear()
