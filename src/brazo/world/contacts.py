"""Who touches whom, where and how hard: the engine's contacts as arrays, read in one go.

Of the two solids of a contact the first is a robot's rather than an object's, an object rather than
a fixture (between two robots the one that comes first in the cell), the normal points from the
first to the second, and the force is the one on the second.  For a point contact with local forces
f = (normal, two tangents, spin, two rolls) in the axes E (rows) of the contact frame

    F = Eᵀ f[:3]        N = Eᵀ f[3:]        on the second;  −F, −N on the first.

`depth` is positive inside, negative in the warning zone before touching, where nothing pushes yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from brazo.model.description import Array
from brazo.world.assembly import Label

ContactClass = Literal[
    "robot-robot", "self", "robot-object", "robot-fixture", "object-object", "object-fixture"
]
CLASSES: tuple[ContactClass, ...] = (
    "robot-robot", "self", "robot-object", "robot-fixture", "object-object", "object-fixture",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Contact:
    """One contact point."""

    first: str  # `robot/part`, or the name of a body or fixture
    second: str
    kind: ContactClass
    point: Array  # (3,) m, world
    normal: Array  # (3,) from the first to the second
    depth: float  # m; negative while not touching yet
    force: Array  # (3,) N on the second, world axes

    @property
    def touching(self) -> bool:
        return self.depth >= 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Contacts:
    """All contact points of one moment, as arrays with one row each."""

    time: float
    names: tuple[str, ...]  # what `first` and `second` count
    first: Array  # (k,) int
    second: Array  # (k,) int
    kind: Array  # (k,) int, into CLASSES
    point: Array  # (k, 3)
    normal: Array  # (k, 3)
    depth: Array  # (k,)
    force: Array  # (k, 3) on the second
    moment: Array  # (k, 3) on the second, about the point (spin and rolling friction)
    geoms: Array  # (k, 2) int: the engine's solids, first and second

    def __len__(self) -> int:
        return len(self.depth)

    def __iter__(self) -> Iterator[Contact]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Contact:
        return Contact(
            self.names[self.first[i]],
            self.names[self.second[i]],
            CLASSES[self.kind[i]],
            self.point[i],
            self.normal[i],
            float(self.depth[i]),
            self.force[i],
        )

    @property
    def touching(self) -> Array:
        """(k,) bool: those that touch, rather than being only near."""
        return self.depth >= 0.0

    def of(self, name: str) -> list[Contact]:
        """The contacts of a robot, body, fixture or part."""
        mine = [n == name or n.startswith(f"{name}/") for n in self.names]
        return [self[i] for i in range(len(self)) if mine[self.first[i]] or mine[self.second[i]]]


class ContactReader:
    """Knows whose every solid is, and reads the engine's contacts accordingly."""

    def __init__(self, labels: tuple[Label, ...], robots: tuple[str, ...], warning: float) -> None:
        self._warning = warning
        names: dict[str, int] = {}
        self.part = np.array([names.setdefault(label.name, len(names)) for label in labels], int)
        self.names = tuple(names)
        # Robots 0, 1, ..., then objects, then fixtures: the lower comes first in a contact.
        objects = len(robots)
        rank = {"object": objects, "fixture": objects + 1}
        self.rank = np.array(
            [robots.index(x.owner) if x.kind == "robot" else rank[x.kind] for x in labels], int
        )
        self.kinds = np.zeros((objects + 2, objects + 2), int)
        for a in range(objects + 2):
            for b in range(a, objects + 2):
                self.kinds[a, b] = _class_of(a, b, objects)

    def read(self, data: Any, time: float) -> Contacts:
        """The contacts the engine holds at this moment."""
        if not data.ncon:
            return self._none(time)
        contact = data.contact
        # Two robots add up their warning zones.
        near = np.flatnonzero(contact.dist <= self._warning)
        k = len(near)
        geoms, frame = contact.geom[near], contact.frame[near].reshape(k, 3, 3)
        swap = self.rank[geoms[:, 0]] > self.rank[geoms[:, 1]]
        geoms = np.where(swap[:, None], geoms[:, ::-1], geoms)
        sign = np.where(swap, -1.0, 1.0)[:, None]
        local = np.zeros((k, 6))
        address = contact.efc_address[near]
        rows = np.flatnonzero(address >= 0)
        if len(rows):
            reach = address[rows, None] + np.arange(6)
            inside = np.arange(6) < contact.dim[near[rows], None]
            force = data.efc_force
            local[rows] = np.where(inside, force[np.minimum(reach, len(force) - 1)], 0.0)
        return Contacts(
            time,
            self.names,
            self.part[geoms[:, 0]],
            self.part[geoms[:, 1]],
            self.kinds[self.rank[geoms[:, 0]], self.rank[geoms[:, 1]]],
            contact.pos[near],
            sign * frame[:, 0],
            -contact.dist[near],
            sign * np.einsum("kij,ki->kj", frame, local[:, :3]),
            sign * np.einsum("kij,ki->kj", frame, local[:, 3:]),
            geoms,
        )

    def _none(self, time: float) -> Contacts:
        whole, row, vector = np.zeros(0, int), np.zeros(0), np.zeros((0, 3))
        return Contacts(
            time, self.names, whole, whole, whole, vector, vector, row, vector, vector,
            np.zeros((0, 2), int),
        )  # fmt: skip


def _class_of(a: int, b: int, objects: int) -> int:
    if b < objects:
        name = "self" if a == b else "robot-robot"
    elif a < objects:
        name = "robot-object" if b == objects else "robot-fixture"
    else:
        name = "object-object" if a == b == objects else "object-fixture"
    return CLASSES.index(name)  # type: ignore[arg-type]
