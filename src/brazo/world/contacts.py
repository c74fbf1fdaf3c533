"""Contact points, normals and forces: the engine's contacts as arrays.

The two geoms of a contact are ordered: a robot first, then an object, then a fixture; of two
robots, the one listed first in the cell comes first.  The normal points from the first to the
second, and the force acts on the second.  For a point contact with local forces
f = (normal, two tangential, torsional, two rolling) in the axes E (rows) of the contact frame

    force F = Eᵀ f[:3]      moment M = Eᵀ f[3:]      on the second;  −F, −M on the first.

`depth` is positive for penetration.  It is negative within the detection margin, where the geoms
are close to each other and no force acts yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from brazo.model.description import Array
from brazo.world.assembly import Label

_ZEROS = np.zeros(6)  # appended to the forces: read for address -1 and for short contacts

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
    normal: Array  # (3,) unit vector from the first to the second
    depth: float  # m; negative in the warning zone
    force: Array  # (3,) N on the second, world axes

    @property
    def touching(self) -> bool:
        """Whether the bodies touch; otherwise they are close to each other."""
        return self.depth >= 0.0


@dataclass(frozen=True, eq=False)
class Contacts:
    """All contact points at one time, as arrays with one row per contact.

    The engine's arrays are copied only for steps whose contacts are read; derived quantities are
    computed on first access.
    """

    time: float
    depth: Array  # (k,) m
    point: Array  # (k, 3) m
    geoms: Array  # (k, 2) int: geom ids of the first and second
    _reader: ContactReader
    _turned: Array  # (k,) bool: the engine has the two geoms in the opposite order
    _frame: Array  # (k, 9)
    _forces: Array  # forces of all constraints, followed by zeros
    _address: Array  # (k,) index of the first force of a contact; -1 for none
    _dimension: Array  # (k,) number of forces of a contact

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
        """Return the reader, which knows the owner of each geom."""
        return self._reader

    @property
    def names(self) -> tuple[str, ...]:
        """Return the part names that `first` and `second` index."""
        return self._reader.names

    @property
    def first(self) -> Array:
        """Index of the first part (k,) int, into `names`."""
        return self._parts[:, 0]

    @property
    def second(self) -> Array:
        """Index of the second part (k,) int, into `names`."""
        return self._parts[:, 1]

    @cached_property
    def kind(self) -> Array:
        """Contact class (k,) int, index into `CLASSES`."""
        rank = self._reader.rank[self.geoms]
        return self._reader.kinds[rank[:, 0], rank[:, 1]]

    @cached_property
    def normal(self) -> Array:
        """Unit normals (k, 3) from the first to the second."""
        return self._sign * self._frame[:, :3]

    @cached_property
    def pressure(self) -> Array:
        """Normal force (k,) in N, never negative."""
        return self._forces[self._address]

    @cached_property
    def force(self) -> Array:
        """Force on the second (k, 3) in N, world axes."""
        return self._turn(self._local[:, None, :3])

    @cached_property
    def moment(self) -> Array:
        """Moment on the second about the point (k, 3) in N m: torsional and rolling friction."""
        return self._turn(self._local[:, None, 3:])

    @cached_property
    def rows(self) -> list[tuple[int, int, int, float, float]]:
        """Tuples (first geom, first, second, depth, pressure); faster to iterate than arrays."""
        columns = (self.geoms[:, 0], self.first, self.second, self.depth, self.pressure)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    @property
    def touching(self) -> Array:
        """Mask (k,) bool of the contacts that touch, as opposed to being in the warning zone."""
        return self.depth >= 0.0

    def of(self, name: str) -> list[Contact]:
        """Return the contacts of a robot, body, fixture or part."""
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
        """Return the contact forces (k, 6) in the axes of the contact frame."""
        used = np.arange(6) < np.where(self._address < 0, 0, self._dimension)[:, None]
        return np.where(used, self._forces[self._address[:, None] + np.arange(6)], 0.0)

    def _turn(self, local: Array) -> Array:
        return self._sign * (local @ self._frame.reshape(-1, 3, 3))[:, 0]


class ContactReader:
    """Reader of the engine's contacts; knows the owner of each geom."""

    def __init__(self, labels: tuple[Label, ...], robots: tuple[str, ...], warning: float) -> None:
        self.warning = warning
        names: dict[str, int] = {}
        self.part = np.array([names.setdefault(label.name, len(names)) for label in labels], int)
        self.names = tuple(names)
        # Robots 0, 1, ..., then objects, then fixtures: in a contact the lower rank comes first.
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
        """Return the class of a contact between two geoms, given in the order of a contact."""
        return CLASSES[self.kinds[self.rank[first], self.rank[second]]]

    def read(self, data: Any, time: float) -> Contacts:
        """Return the engine's current contacts; `time` (s) is the time they belong to."""
        return self.read_kept(data.contact, data.efc_force, time)

    def read_kept(self, contact: Any, forces: Array, time: float) -> Contacts:
        """Return the contacts, given the engine's contact array or a copy of it, and the forces."""
        # The engine adds up the warning zones of two robots, so it lists contacts beyond `warning`.
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
    """A copy of the engine's contacts at one time, for reading them later."""

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
