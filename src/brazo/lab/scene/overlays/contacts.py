"""Overlays of contact points with force arrows, and of hand-overs between two robots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.lab.scene.overlays.base import Overlay

if TYPE_CHECKING:
    from brazo.lab.scene.shown import Shown
    from brazo.lab.scene.snapshot import SceneSnapshot
    from brazo.world import Contacts

RED, ORANGE, WHITE = (224, 17, 26), (232, 104, 0), (255, 255, 255)
DOT, RING = 10.0, 15.0  # px, diameters on the screen
SHAFT, EDGE = 3.5, 6.5  # px, thickness of an arrow and of its white outline
SPECK = 0.001  # length of the line drawn as a dot, relative to the size of the cell
REACH = 0.15  # max length of an arrow, relative to the size of the cell
NEWTONS = 100.0  # N, force of an arrow of half that length
ROBOT_OBJECT, ROBOT_FIXTURE = 2, 3  # indices into `brazo.world.contacts.CLASSES`
MOST = 200  # max number of contacts drawn
GREEN, BRIGHT_RED = (40, 180, 80), (255, 32, 32)
# Drawn on top of the scene (viewer.js), in this order: (node, lines, color, thickness in px).
LAYERS = (
    ("1-edges", "arrows", WHITE, EDGE),
    ("2-arrows", "arrows", ORANGE, SHAFT),
    ("3-rings", "dots", WHITE, RING),
    ("4-dots", "dots", RED, DOT),
)


class ContactMarks(Overlay):
    """Overlay with red dots at the contact points of robots and arrows for the contact forces.

    An arrow shows the force on the second body of the contact.  Contact points lie between the
    touching bodies and would be hidden, so the marks are drawn on top of the scene.  Their
    thickness is constant on the screen.
    """

    id, title = "contacts", "Contact points"
    hint = "Red dots at the contact points of robots; arrows show the contact forces."
    first = True
    rate = 30.0

    def build(self, sim: Shown) -> None:
        scene = self.scene.server.scene
        root = f"{self.scene.root}/contacts"
        self._root = scene.add_frame(root, show_axes=False, visible=False)
        self._layers = [
            (
                which,
                scene.add_line_segments(
                    f"{root}/{name}",
                    np.zeros((1, 2, 3)),
                    color,
                    thickness=thickness,
                    thickness_units="screen",
                ),
            )
            for name, which, color, thickness in LAYERS
        ]
        self._drawn: np.ndarray | None = None
        self.handles.append(self._root)

    def update(self, snapshot: SceneSnapshot) -> None:
        dots, arrows = marks(snapshot.contacts, self.scene.size)
        if not len(dots):
            if self._drawn is not None:
                self._drawn, self._root.visible = None, False
            return
        points, before = np.concatenate([dots, arrows]), self._drawn
        if before is not None and before.shape == points.shape:
            moved = np.abs(points - before).max()
            if moved < 2e-4 * self.scene.size:
                return
        lines = {"dots": dots.astype(np.float32), "arrows": arrows.astype(np.float32)}
        for which, layer in self._layers:
            layer.points = lines[which]
        if before is None:
            self._root.visible = True
        self._drawn = points


def marks(contacts: Contacts, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Return line segments at the contacts of robots: dots (k, 2, 3) and arrows (3 k, 2, 3).

    k is the number of contacts, at most `MOST`.  A dot is one short segment, an arrow has three.
    The coordinates are in m.  The size of the marks is proportional to `size`, the size of the cell
    (m).
    """
    # Only contacts that involve a robot are marked, not those of bodies that rest on others.
    touching = np.flatnonzero((contacts.depth >= 0.0) & (contacts.kind <= ROBOT_FIXTURE))[:MOST]
    if not len(touching):
        return np.empty((0, 2, 3)), np.empty((0, 2, 3))
    at, force = contacts.point[touching], contacts.force[touching]
    half = np.full(3, 0.5 * SPECK * size / np.sqrt(3.0))  # diagonal: rarely the view direction
    dots = np.stack([at - half, at + half], axis=1)
    strength = np.linalg.norm(force, axis=1, keepdims=True)
    direction = force / np.maximum(strength, 1e-12)
    tips = at + REACH * size * strength / (strength + NEWTONS) * direction
    side = np.cross(direction, [0.0, 0.0, 1.0])
    flat = np.linalg.norm(side, axis=1, keepdims=True) < 0.1
    side = np.where(flat, np.cross(direction, [1.0, 0.0, 0.0]), side)
    head = 0.2 * (at - tips)
    wing = 0.5 * np.linalg.norm(head, axis=1, keepdims=True) * side
    arrows = np.concatenate(
        [
            np.stack(ends, axis=1)
            for ends in ((at, tips), (tips, tips + head + wing), (tips, tips + head - wing))
        ]
    )
    return dots, arrows


class HandOver(Overlay):
    """Overlay that highlights free bodies touched by two or more robots, and these robots.

    The free bodies (workpieces) are red.  The robots are green, except for their bases.
    """

    id, title = "hand-over", "Hand-over highlight"
    hint = "While two robots touch the same body: robots green (except their bases), body red."
    first = True
    rate = 20.0

    def build(self, sim: Shown) -> None:
        world = sim.world
        self._bodies = {one.name: i for i, one in enumerate(world.drawn) if one.kind == "object"}
        self._moving = {
            robot: [
                i
                for i, one in enumerate(world.drawn)
                if one.kind == "robot"
                and one.name.startswith(f"{robot}/")
                and i != int(world.robots[robot].drawn[0])
            ]
            for robot in world.robots
        }

    def update(self, snapshot: SceneSnapshot) -> None:
        found: dict[int, Any] = {}
        for body, robots in held_together(snapshot.contacts).items():
            found[self._bodies[body]] = BRIGHT_RED
            for robot in robots:
                found |= dict.fromkeys(self._moving[robot], GREEN)
        self.scene.colors.mark(found)

    def remove(self) -> None:
        self.scene.colors.mark({})


def held_together(contacts: Contacts) -> dict[str, set[str]]:
    """Free bodies that at least two robots touch: body name -> robot names."""
    mine = np.flatnonzero((contacts.depth >= 0.0) & (contacts.kind == ROBOT_OBJECT))
    touched: dict[str, set[str]] = {}
    names = contacts.names
    for first, second in zip(
        contacts.first[mine].tolist(), contacts.second[mine].tolist(), strict=True
    ):
        touched.setdefault(names[second], set()).add(names[first].partition("/")[0])
    return {body: robots for body, robots in touched.items() if len(robots) > 1}
