"""`Assembly`: construction of the MuJoCo model of a cell.

An assembly wraps an `MjSpec` and stores data that the compiled model does not contain: the part
that each geom belongs to, the exact inertia of each body, and the geometry to draw.  `compile`
writes the exact inertias into the compiled model, including inertias that MuJoCo's compiler rejects
(zero mass, violated triangle inequality).  The engine can simulate bodies with such inertias, but
`compile` has to switch off the engine's optimisation for aligned body frames (`body_sameframe`).
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
LIMIT = 1e9  # MuJoCo requires finite ranges
MAX_HULL = 64  # vertices of a convex hull
# The compiler derives the sparsity of the mass matrix from the inertias it sees, and allocates no
# entries for the couplings of a body whose centre of mass is at the origin of its frame.
_OFF_CENTRE = replace(PLACEHOLDER, com=np.full(3, 0.1))


@dataclass(frozen=True, slots=True)
class Label:
    """Owner and part of a geom: a robot, body or fixture, and the name of one of its parts."""

    kind: Kind
    owner: str
    part: str = ""

    @property
    def name(self) -> str:
        """`owner/part`, or only `owner` if the owner has no separate parts."""
        return f"{self.owner}/{self.part}" if self.part else self.owner


@dataclass(frozen=True, slots=True)
class Surface:
    """Contact properties of a geom, as in MuJoCo: friction, priority, condim, gap and solref.

    In a contact, friction, condim and solref of the geom with the higher priority are used.
    """

    friction: Friction
    priority: int = 0
    dimension: int = 3  # condim
    gap: float = 0.0
    solref: tuple[float, float] | None = None  # overrides the cell's `solref`


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A body to draw.  Its parts are in the body frame; `World.poses` returns the body's pose."""

    name: str  # `robot/body`, or the name of a body or fixture
    kind: Kind
    parts: tuple[Part, ...]
    body: Any  # element of the spec; None for a static body at `pose`
    pose: Array | None = None
    shift: tuple[Any, float] | None = None  # offset along y of this body (rods of a Delta)
    of_gripper: bool = False  # a finger, which is not a body of the robot's model


@dataclass
class Assembly:
    """The MuJoCo model of a cell under construction."""

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
        """Set the inertia of a body.

        If MuJoCo's compiler would reject the inertia, a placeholder is set here, and `compile`
        writes the true values into the compiled model.
        """
        shown = inertia if mujoco_accepts(inertia) else _OFF_CENTRE
        moments, axes = principal(shown.tensor)
        # A flat plate has A + B = C; rounding must not make C larger than A + B.
        moments[2] = min(moments[2], moments[0] + moments[1])
        body.explicitinertial = True
        body.mass, body.ipos = shown.mass, shown.com
        body.inertia, body.iquat = moments, quat_of(axes)
        self.inertias.append((body, inertia))

    def solids(
        self, body: Any, parts: Iterable[Part], kind: Kind, owner: str, surface: Surface
    ) -> None:
        """Add collision geoms to a body, for all `parts` whose attribute `collides` is True."""
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
        """Add an infinite horizontal plane at the height `height` (m)."""
        geom = self.world.add_geom(
            type=engine().mjtGeom.mjGEOM_PLANE, size=[10, 10, 1], pos=[0, 0, height]
        )
        self._touch(geom, label, surface)

    def exclude(self, first: str, second: str) -> None:
        """Disable contacts between the bodies with these two names."""
        self.spec.add_exclude(bodyname1=first, bodyname2=second)

    def tie(self, equality: Any, time: float | None = None) -> Any:
        """Set the solver parameters of an equality constraint; return the constraint.

        By default, the parameters are those of contacts.  If `time` (s) is given, the constraint is
        nearly rigid and has the time constant `time`.
        """
        solref, solimp = self.contact.solref, self.contact.solimp
        equality.solref = solref if time is None else (time, 1.0)
        equality.solimp = solimp if time is None else (0.99, 0.999, 0.001, 0.5, 2.0)
        return equality

    def compile(self) -> Any:
        """Compile and return the `mujoco.MjModel`, with the exact inertias."""
        mujoco = engine()
        try:
            with caught_warnings():
                model = self.spec.compile()
        except (ValueError, mujoco.FatalError) as error:
            text = " ".join(str(error).split())
            raise BrazoError(f"MuJoCo cannot compile the cell: {text}") from error
        for body, inertia in self.inertias:
            moments, axes = principal(inertia.tensor)
            b = body.id
            model.body_mass[b] = inertia.mass
            model.body_ipos[b] = inertia.com
            model.body_inertia[b] = moments
            model.body_iquat[b] = quat_of(axes)
            if not mujoco_accepts(inertia):
                model.body_sameframe[b] = 0
        with caught_warnings():  # a singular mass matrix at q = 0 is expected here
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
    """Set the range of the MuJoCo joint `element`; two infinite limits make it unlimited."""
    finite = bool(np.isfinite(limits).any())
    element.limited = int(finite)
    if finite:
        element.range = np.clip(limits, -LIMIT, LIMIT)
