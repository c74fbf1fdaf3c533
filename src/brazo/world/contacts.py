"""Contact points, normals and forces of the engine's contacts, as arrays.

The two geoms of a contact are ordered: robots come before free bodies ("objects"), and free bodies
before fixtures.  Two robots are in the order of the cell.  The normal points from the first to the
second geom, and the force acts on the second geom.  Let f be the six components of the contact
force in the contact frame: one normal and two tangential forces, one torsional and two rolling
moments.  The rows of E are the axes of the contact frame.  Then

    force F = Eᵀ f[:3],     moment M = Eᵀ f[3:]

act on the second geom, and −F and −M act on the first.

`depth` is positive for penetration.  It is negative in the warning zone, where the geoms are close
to each other but no force acts.
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
        """Whether the parts touch; if not, they are within the warning distance."""
        return self.depth >= 0.0


@dataclass(frozen=True, eq=False)
class Contacts:
    """All contact points at one time, as arrays with one row per contact point.

    Forces, normals and part indices are computed on first access.
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
        """The reader that created these contacts."""
        return self._reader

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parts; `first` and `second` are indices into this tuple."""
        return self._reader.names

    @property
    def first(self) -> Array:
        """Index into `names` of the first part of each contact (k,), int."""
        return self._parts[:, 0]

    @property
    def second(self) -> Array:
        """Index into `names` of the second part of each contact (k,), int."""
        return self._parts[:, 1]

    @cached_property
    def kind(self) -> Array:
        """Index into `CLASSES` of the class of each contact (k,), int."""
        rank = self._reader.rank[self.geoms]
        return self._reader.kinds[rank[:, 0], rank[:, 1]]

    @cached_property
    def normal(self) -> Array:
        """Unit normals (k, 3), pointing from the first to the second part, in world axes."""
        return self._sign * self._frame[:, :3]

    @cached_property
    def pressure(self) -> Array:
        """Normal force (k,) of each contact in N; never negative."""
        return self._forces[self._address]

    @cached_property
    def force(self) -> Array:
        """Force (k, 3) on the second part in N, world axes."""
        return self._turn(self._local[:, None, :3])

    @cached_property
    def moment(self) -> Array:
        """Moment (k, 3) on the second part about the contact point, in N m, world axes.

        It is caused by torsional and rolling friction.
        """
        return self._turn(self._local[:, None, 3:])

    @cached_property
    def rows(self) -> list[tuple[int, int, int, float, float]]:
        """Contacts as tuples (first geom, first part, second part, depth, normal force).

        Iterating over these tuples is faster than over the arrays.
        """
        columns = (self.geoms[:, 0], self.first, self.second, self.depth, self.pressure)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    @property
    def touching(self) -> Array:
        """Mask (k,): True if the parts of a contact touch, False if it is in the warning zone."""
        return self.depth >= 0.0

    def of(self, name: str) -> list[Contact]:
        """Return the contacts of the robot, body, fixture or part with this name."""
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
        """Contact forces (N) and moments (N m) in the axes of the contact frames, (k, 6)."""
        used = np.arange(6) < np.where(self._address < 0, 0, self._dimension)[:, None]
        return np.where(used, self._forces[self._address[:, None] + np.arange(6)], 0.0)

    def _turn(self, local: Array) -> Array:
        return self._sign * (local @ self._frame.reshape(-1, 3, 3))[:, 0]


class ContactReader:
    """Converter of the engine's contacts to `Contacts`; it maps each geom to its part."""

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
        """Return the class of a contact between two geoms, given by their ids.

        The two geoms must be ordered as described in the module docstring.
        """
        return CLASSES[self.kinds[self.rank[first], self.rank[second]]]

    def read(self, data: Any, time: float) -> Contacts:
        """Return the contacts in the `MjData` `data`; `time` (s) is the time of these contacts."""
        return self.read_kept(data.contact, data.efc_force, time)

    def read_kept(self, contact: Any, forces: Array, time: float) -> Contacts:
        """Return the contacts in `contact`, the engine's contact array or a copy of it.

        `forces` are the constraint forces (`efc_force`), and `time` (s) is the time of the
        contacts.
        """
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
    """A copy of the engine's contacts at one time, to be read later by `read_kept`."""

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
