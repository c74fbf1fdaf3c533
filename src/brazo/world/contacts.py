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
from functools import cached_property
from typing import Any, Literal

import numpy as np

from brazo.model.description import Array
from brazo.world.assembly import Label

_ZEROS = np.zeros(6)  # behind the forces: where address -1 and short contacts lead

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


@dataclass(frozen=True, eq=False)
class Contacts:
    """All contact points of one moment, as arrays with one row each.

    Made every step somebody looks at, so only copied then; what is not asked for is not computed.
    """

    time: float
    depth: Array  # (k,) m
    point: Array  # (k, 3) m
    geoms: Array  # (k, 2) int: the engine's solids, first and second
    _reader: ContactReader
    _turned: Array  # (k,) bool: the engine has them the other way round
    _frame: Array  # (k, 9)
    _forces: Array  # of all constraints, and zeros behind them
    _address: Array  # (k,) where a contact's forces begin; -1 without
    _dimension: Array  # (k,) how many there are

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
    def reader(self) -> ContactReader:
        """Who read them, and knows whose the solids are."""
        return self._reader

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers in `first` and `second` mean."""
        return self._reader.names

    @property
    def first(self) -> Array:
        """(k,) int: which part comes first, into `names`."""
        return self._parts[:, 0]

    @property
    def second(self) -> Array:
        """(k,) int: which part comes second."""
        return self._parts[:, 1]

    @cached_property
    def kind(self) -> Array:
        """(k,) int, into `CLASSES`."""
        rank = self._reader.rank[self.geoms]
        return self._reader.kinds[rank[:, 0], rank[:, 1]]

    @cached_property
    def normal(self) -> Array:
        """(k, 3) unit vectors from the first to the second."""
        return self._sign * self._frame[:, :3]

    @cached_property
    def pressure(self) -> Array:
        """(k,) N: the normal force, never negative."""
        return self._forces[self._address]

    @cached_property
    def force(self) -> Array:
        """(k, 3) N on the second, world axes."""
        return self._turn(self._local[:, None, :3])

    @cached_property
    def moment(self) -> Array:
        """(k, 3) N m on the second about the point: spin and rolling friction."""
        return self._turn(self._local[:, None, 3:])

    @cached_property
    def rows(self) -> list[tuple[int, int, int, float, float]]:
        """Solid of the first, first, second, depth, pressure: quicker to walk than arrays."""
        columns = (self.geoms[:, 0], self.first, self.second, self.depth, self.pressure)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    @property
    def touching(self) -> Array:
        """(k,) bool: those that touch, rather than being only near."""
        return self.depth >= 0.0

    def of(self, name: str) -> list[Contact]:
        """The contacts of a robot, body, fixture or part."""
        mine = [n == name or n.startswith(f"{name}/") for n in self.names]
        return [self[i] for i in range(len(self)) if mine[self.first[i]] or mine[self.second[i]]]

    @cached_property
    def _parts(self) -> Array:
        return self._reader.part[self.geoms]

    @cached_property
    def _sign(self) -> Array:
        return np.where(self._turned, -1.0, 1.0)[:, None]

    @cached_property
    def _local(self) -> Array:
        """(k, 6) forces in the contact's own axes."""
        used = np.arange(6) < np.where(self._address < 0, 0, self._dimension)[:, None]
        return np.where(used, self._forces[self._address[:, None] + np.arange(6)], 0.0)

    def _turn(self, local: Array) -> Array:
        return self._sign * (local @ self._frame.reshape(-1, 3, 3))[:, 0]


class ContactReader:
    """Knows whose every solid is, and reads the engine's contacts accordingly."""

    def __init__(self, labels: tuple[Label, ...], robots: tuple[str, ...], warning: float) -> None:
        self.warning = warning
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

    def class_of(self, first: int, second: int) -> ContactClass:
        """The class of a contact of two solids, the one that comes first given first."""
        return CLASSES[self.kinds[self.rank[first], self.rank[second]]]

    def read(self, data: Any, time: float) -> Contacts:
        """The contacts the engine holds at this moment."""
        return self.read_kept(data.contact, data.efc_force, time)

    def read_kept(self, contact: Any, forces: Array, time: float) -> Contacts:
        """The same from the engine's contacts, or from a copy of them, and their forces."""
        # Two robots add up their warning zones.
        near = np.flatnonzero(contact.dist <= self.warning)
        geoms = contact.geom[near]
        rank = self.rank[geoms]
        turned = rank[:, 0] > rank[:, 1]
        return Contacts(
            time,
            -contact.dist[near],
            contact.pos[near],
            np.where(turned[:, None], geoms[:, ::-1], geoms),
            self,
            turned,
            contact.frame[near],
            np.concatenate([forces, _ZEROS]),
            contact.efc_address[near],
            contact.dim[near],
        )


class KeptContacts:
    """A copy of the engine's contacts of one moment, to be read should somebody ask for them."""

    __slots__ = ("dim", "dist", "efc_address", "forces", "frame", "geom", "pos", "time")

    def __init__(self, contact: Any, forces: Array, time: float) -> None:
        self.time = time
        self.dist, self.pos, self.frame = (
            contact.dist.copy(),
            contact.pos.copy(),
            contact.frame.copy(),
        )
        self.geom, self.dim = contact.geom.copy(), contact.dim.copy()
        self.efc_address, self.forces = contact.efc_address.copy(), forces.copy()


def _class_of(a: int, b: int, objects: int) -> int:
    if b < objects:
        name = "self" if a == b else "robot-robot"
    elif a < objects:
        name = "robot-object" if b == objects else "robot-fixture"
    else:
        name = "object-object" if a == b == objects else "object-fixture"
    return CLASSES.index(name)  # type: ignore[arg-type]
