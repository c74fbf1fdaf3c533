"""The MuJoCo model of a cell under construction: bodies, collision solids and who owns them.

`Assembly` wraps an `MjSpec` and remembers what the compiled model cannot say: which part a geom
belongs to, the exact inertia of every body, what is drawn where.  Its `compile` writes the exact
inertias into the model afterwards, even those MuJoCo's compiler refuses (no mass, no triangle
inequality): its engine can compute with them, only the shortcuts for nice bodies are switched off.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import caught_warnings, engine
from brazo.formats.mjcf.inertias import PLACEHOLDER, mujoco_accepts
from brazo.formats.mjcf.quaternion import quat_of
from brazo.model.description import Array, Inertia, Part
from brazo.model.inertia import principal
from brazo.world.cell import ContactSettings, Friction
from brazo.world.collision import Primitive, primitives

Kind = Literal["robot", "object", "fixture"]
LIMIT = 1e9  # MuJoCo wants finite ranges
MAX_HULL = 64  # corners of a hull
# The compiler lays the mass matrix out by what it sees, and keeps no room for the couplings of a
# body whose centre lies in its frame's origin.
_OFF_CENTRE = replace(PLACEHOLDER, com=np.full(3, 0.1))


@dataclass(frozen=True, slots=True)
class Label:
    """Whose a solid is: `owner` is a robot's, body's or fixture's name, `part` one of its parts."""

    kind: Kind
    owner: str
    part: str = ""

    @property
    def name(self) -> str:
        """`robot/part`, or the owner's name where it is of one piece."""
        return f"{self.owner}/{self.part}" if self.part else self.owner


@dataclass(frozen=True, slots=True)
class Surface:
    """How a solid touches: friction, contact dimension, and whose values count (the higher)."""

    friction: Friction
    priority: int = 0
    dimension: int = 3
    gap: float = 0.0
    solref: tuple[float, float] | None = None  # of its own


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A body as a viewer draws it: its parts, in the frame that `World.poses` gives."""

    name: str  # `robot/body`, or the name of a body or fixture
    kind: Kind
    parts: tuple[Part, ...]
    body: Any  # of the spec; None stands still at `pose`
    pose: Array | None = None
    shift: tuple[Any, float] | None = None  # further along y of this body (rods of a Delta)
    of_clamp: bool = False  # a finger, which the robot's model does not count among its bodies


@dataclass
class Assembly:
    """One model under construction."""

    contact: ContactSettings
    spec: Any = field(default_factory=lambda: engine().MjSpec())
    geoms: list[tuple[Any, Label]] = field(default_factory=list)
    inertias: list[tuple[Any, Inertia]] = field(default_factory=list)
    drawn: list[Drawn] = field(default_factory=list)
    _hulls: dict[int, str] = field(default_factory=dict)

    @property
    def world(self) -> Any:
        return self.spec.worldbody

    def body(self, parent: Any, name: str, T: Array) -> Any:
        return parent.add_body(name=name, pos=T[:3, 3], quat=quat_of(T[:3, :3]))

    def inertia(self, body: Any, inertia: Inertia) -> None:
        """Give a body its mass; what the compiler would refuse gets a placeholder until later."""
        shown = inertia if mujoco_accepts(inertia) else _OFF_CENTRE
        moments, axes = principal(shown.tensor)
        # A flat plate has A + B = C; rounding must not make C the larger.
        moments[2] = min(moments[2], moments[0] + moments[1])
        body.explicitinertial = True
        body.mass, body.ipos = shown.mass, shown.com
        body.inertia, body.iquat = moments, quat_of(axes)
        self.inertias.append((body, inertia))

    def solids(
        self, body: Any, parts: Iterable[Part], kind: Kind, owner: str, surface: Surface
    ) -> None:
        """Collision solids for the parts that collide."""
        for part in parts:
            if part.collides:
                for solid in primitives(part):
                    self.solid(body, solid, Label(kind, owner, part.name), surface)

    def solid(self, body: Any, solid: Primitive, label: Label, surface: Surface) -> Any:
        mujoco = engine()
        size = np.zeros(3)
        size[: len(solid.size)] = solid.size
        geom = body.add_geom(
            type=getattr(mujoco.mjtGeom, f"mjGEOM_{solid.kind.upper()}"),
            size=size,
            pos=solid.pose[:3, 3],
            quat=quat_of(solid.pose[:3, :3]),
        )
        if solid.vertices is not None:
            geom.meshname = self._hull(solid.vertices)
        self._touch(geom, label, surface)
        return geom

    def plane(self, height: float, label: Label, surface: Surface) -> None:
        """A floor; its size is for drawing only."""
        geom = self.world.add_geom(
            type=engine().mjtGeom.mjGEOM_PLANE, size=[10, 10, 1], pos=[0, 0, height]
        )
        self._touch(geom, label, surface)

    def exclude(self, first: str, second: str) -> None:
        """Two bodies, by name, that never touch."""
        self.spec.add_exclude(bodyname1=first, bodyname2=second)

    def tie(self, equality: Any, time: float | None = None) -> Any:
        """Make an equality as stiff as contacts are, or with a time constant of its own."""
        solref, solimp = self.contact.solref, self.contact.solimp
        equality.solref = solref if time is None else (time, 1.0)
        equality.solimp = solimp if time is None else (0.99, 0.999, 0.001, 0.5, 2.0)
        return equality

    def compile(self) -> Any:
        """The `mujoco.MjModel` with its exact inertias."""
        mujoco = engine()
        try:
            with caught_warnings():
                model = self.spec.compile()
        except (ValueError, mujoco.FatalError) as error:
            text = " ".join(str(error).split())
            raise BrazoError(f"the cell cannot be made a physical model: {text}") from error
        for body, inertia in self.inertias:
            moments, axes = principal(inertia.tensor)
            b = body.id
            model.body_mass[b] = inertia.mass
            model.body_ipos[b] = inertia.com
            model.body_inertia[b] = moments
            model.body_iquat[b] = quat_of(axes)
            if not mujoco_accepts(inertia):
                model.body_sameframe[b] = 0
        with caught_warnings():  # a singular mass matrix at q = 0 is no news here
            mujoco.mj_setConst(model, mujoco.MjData(model))
        return model

    def _touch(self, geom: Any, label: Label, surface: Surface) -> None:
        geom.friction = surface.friction
        geom.priority, geom.condim = surface.priority, surface.dimension
        geom.solref = surface.solref or self.contact.solref
        geom.solimp = self.contact.solimp
        geom.gap, geom.mass = surface.gap, 0.0
        self.geoms.append((geom, label))

    def _hull(self, vertices: Array) -> str:
        if id(vertices) not in self._hulls:
            name = self._hulls[id(vertices)] = f"hull {len(self._hulls)}"
            mesh = self.spec.add_mesh(name=name)
            mesh.uservert = vertices.ravel()
            mesh.maxhullvert = MAX_HULL
            mesh.inertia = engine().mjtMeshInertia.mjMESH_INERTIA_CONVEX
        return self._hulls[id(vertices)]


def limited(element: Any, limits: tuple[float, float]) -> None:
    """Give a joint its range, where it has one."""
    finite = bool(np.isfinite(limits).any())
    element.limited = int(finite)
    if finite:
        element.range = np.clip(limits, -LIMIT, LIMIT)
