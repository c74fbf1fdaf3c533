"""`View`: the overlays, the floor's grid, and the highlight of the selected link or element."""

from __future__ import annotations

import time

from brazo.errors import BrazoError
from brazo.lab.scene.overlays import OVERLAYS, Overlay
from brazo.lab.scene.scene import Scene
from brazo.lab.scene.shown import Shown
from brazo.lab.scene.snapshot import SceneSnapshot
from brazo.lab.server.channel import PageChannel


class View:
    """The overlays, floor grid and highlights of a lab's scene.  Use only on the lab's thread."""

    def __init__(self, scene: Scene, channel: PageChannel) -> None:
        self._scene, self._channel = scene, channel
        self._sim: Shown | None = None  # the simulation or replay drawn
        self.overlays: dict[str, Overlay] = {make.id: make(scene) for make in OVERLAYS}
        self.on = {make.id: make.first for make in OVERLAYS}
        self.floor = True
        self._built: set[str] = set()
        self._due = dict.fromkeys(self.overlays, 0.0)
        channel.on("view/show", self.show, str, bool)
        self._tell()

    def show(self, which: str, on: bool) -> None:
        """Switch the overlay `which`, or the floor's grid (`floor`), on or off."""
        if which == "floor":
            self.floor = on
            self._scene.floor_visible = on
        elif which in self.overlays:
            self.on[which] = on
            self._fit(which)
        else:
            known = ", ".join((*self.overlays, "floor"))
            raise BrazoError(f"no overlay '{which}'; overlays: {known}")
        self._tell()

    def rebuilt(self, sim: Shown) -> None:
        """Build the active overlays for `sim`; called after the scene was drawn again."""
        self._sim = sim
        for overlay in self.overlays.values():
            overlay.forget()
        self._built.clear()
        for which in self.overlays:
            self._fit(which)
        if not self.floor:
            self._scene.floor_visible = False

    def update(self, snapshot: SceneSnapshot) -> None:
        """Update the active overlays.  The rate of updates is limited by `Overlay.rate`."""
        now = time.monotonic()
        for which in self._built:
            if now >= self._due[which]:
                overlay = self.overlays[which]
                self._due[which] = now + 0.9 / overlay.rate
                overlay.update(snapshot)

    def highlight(self, sim: Shown, robot: str, joint: int | None, element: str = "") -> None:
        """Highlight the link that the joint with index `joint` moves.

        If `joint` is None, the body or fixture named `element` is highlighted instead.
        """
        drawn = enumerate(sim.world.drawn)
        bodies = {i for i, one in drawn if one.name == element and one.kind != "robot"}
        if joint is not None and robot in sim.robots:
            own = sim.world.robots[robot].drawn
            joints = sim.robots[robot].arm.model.body_joints
            bodies = {int(i) for i, j in zip(own, joints, strict=True) if j == joint}
        self._scene.colors.select(frozenset(bodies))

    def link_of(self, sim: Shown, drawn: int) -> tuple[str, int | None]:
        """Return the name of the robot of a link, and the index of the joint that moves the link.

        `drawn` is the index of the link in `world.drawn`.  The joint is None for a link that is not
        moved by a single joint, such as the base.  Gripper fingers count as the last link.
        """
        robot = sim.world.drawn[drawn].name.partition("/")[0]
        own = sim.world.robots[robot].drawn.tolist()
        joints = sim.robots[robot].arm.model.body_joints
        # Fingers of the gripper count as the last link.
        return robot, joints[own.index(drawn)] if drawn in own else joints[-1]

    def _fit(self, which: str) -> None:
        overlay = self.overlays[which]
        if self._sim is not None and self.on[which] and which not in self._built:
            overlay.build(self._sim)
            self._built.add(which)
            self._due[which] = 0.0
        elif not self.on[which] and which in self._built:
            self._built.discard(which)
            overlay.remove()

    def _tell(self) -> None:
        shown = {f"view/{which}": on for which, on in self.on.items()}
        self._channel.put(shown | {"view/floor": self.floor})
