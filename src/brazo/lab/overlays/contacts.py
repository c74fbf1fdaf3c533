"""Where things touch: crosses with force arrows, and colours while two robots hold one body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.lab.overlays.base import Overlay

if TYPE_CHECKING:
    from brazo.lab.moment import Moment
    from brazo.simulation import Simulation
    from brazo.world import Contacts

RED, ORANGE = (240, 40, 40), (255, 146, 43)
CROSS = 0.008  # half length of a cross's lines, over the size of the cell
REACH = 0.15  # length of the longest arrow, over the size of the cell
NEWTONS = 100.0  # force of an arrow of half that length
ROBOT_OBJECT, ROBOT_FIXTURE = 2, 3  # among the classes of contacts
MOST = 200  # contacts drawn
GREEN, BRIGHT_RED = (40, 180, 80), (255, 32, 32)


class ContactMarks(Overlay):
    """A red cross at every contact point, and an arrow for the force on the second body."""

    id, title = "contacts", "Contact points"
    hint = "Red crosses where robots touch something, arrows for the forces."
    first = True
    rate = 30.0

    def build(self, sim: Simulation) -> None:
        scene = self.scene.server.scene
        nothing = np.zeros((1, 2, 3))
        self._lines = scene.add_line_segments(
            f"{self.scene.root}/contacts",
            nothing,
            np.zeros((1, 2, 3)),
            thickness=2.5,
            thickness_units="screen",
            visible=False,
        )
        self._drawn: np.ndarray | None = None
        self.handles.append(self._lines)

    def update(self, moment: Moment) -> None:
        points, colors = marks(moment.contacts, self.scene.size)
        if not len(points):
            if self._drawn is not None:
                self._drawn, self._lines.visible = None, False
            return
        before = self._drawn
        if before is not None and before.shape == points.shape:
            moved = np.abs(points - before).max()
            if moved < 2e-4 * self.scene.size:
                return
        new = self._drawn is None or len(self._drawn) != len(points)
        self._drawn = points
        self._lines.points = points.astype(np.float32)
        if new:
            self._lines.colors = colors
            self._lines.visible = True


def marks(contacts: Contacts, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Lines (m, 2, 3) and their colours: three crossing ones and an arrow for every touch."""
    # What merely lies on something else is at peace: only touches of robots are marked.
    touching = np.flatnonzero((contacts.depth >= 0.0) & (contacts.kind <= ROBOT_FIXTURE))[:MOST]
    if not len(touching):
        return np.empty((0, 2, 3)), np.empty((0, 2, 3), np.uint8)
    at, force = contacts.point[touching], contacts.force[touching]
    half = (
        CROSS * size * np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1]], float) / np.sqrt(3.0)
    )  # none of the lines lies in a face of something level
    crosses = np.stack([at[:, None] - half, at[:, None] + half], axis=2).reshape(-1, 2, 3)
    strength = np.linalg.norm(force, axis=1, keepdims=True)
    way = force / np.maximum(strength, 1e-12)
    tips = at + REACH * size * strength / (strength + NEWTONS) * way
    side = np.cross(way, [0.0, 0.0, 1.0])
    flat = np.linalg.norm(side, axis=1, keepdims=True) < 0.1
    side = np.where(flat, np.cross(way, [1.0, 0.0, 0.0]), side)
    head = 0.2 * (at - tips)
    wing = 0.5 * np.linalg.norm(head, axis=1, keepdims=True) * side
    arrows = np.concatenate(
        [
            np.stack(ends, axis=1)
            for ends in ((at, tips), (tips, tips + head + wing), (tips, tips + head - wing))
        ]
    )
    colors = np.empty((len(crosses) + len(arrows), 2, 3), np.uint8)
    colors[: len(crosses)] = RED
    colors[len(crosses) :] = ORANGE
    return np.concatenate([crosses, arrows]), colors


class HandOver(Overlay):
    """Robots green and the body red while two robots touch one body; their bases keep theirs."""

    id, title = "hand-over", "Colours at a hand-over"
    hint = "While two robots touch the same body: the robots green (not their bases), the body red."
    first = True
    rate = 20.0

    def build(self, sim: Simulation) -> None:
        world = sim.world
        self._bodies = {one.name: i for i, one in enumerate(world.drawn) if one.kind == "object"}
        self._moving = {
            robot: [
                i
                for i, one in enumerate(world.drawn)
                if one.kind == "robot"
                and one.name.startswith(f"{robot}/")
                and i != int(world.drawn_of(robot)[0])
            ]
            for robot in world.robots
        }

    def update(self, moment: Moment) -> None:
        found: dict[int, Any] = {}
        for body, robots in held_together(moment.contacts).items():
            found[self._bodies[body]] = BRIGHT_RED
            for robot in robots:
                found |= dict.fromkeys(self._moving[robot], GREEN)
        self.scene.looks.mark(found)

    def remove(self) -> None:
        self.scene.looks.mark({})


def held_together(contacts: Contacts) -> dict[str, set[str]]:
    """Bodies that two robots or more touch, with these robots."""
    mine = np.flatnonzero((contacts.depth >= 0.0) & (contacts.kind == ROBOT_OBJECT))
    touched: dict[str, set[str]] = {}
    names = contacts.names
    for first, second in zip(
        contacts.first[mine].tolist(), contacts.second[mine].tolist(), strict=True
    ):
        touched.setdefault(names[second], set()).add(names[first].partition("/")[0])
    return {body: robots for body, robots in touched.items() if len(robots) > 1}
