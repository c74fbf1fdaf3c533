"""Equations of motion of a robot with a load, for controllers and any scalar type.

    inverse_dynamics   τ = M(q) q̈ + C(q, q̇) q̇ + G(q) + friction(q̇)
    passive            M(q) w + C(q, q̇) v + G(q)          v, w: reference velocity, acceleration

`passive` needs the matrix C of the Christoffel symbols, for which C(q, a) b = C(q, b) a.
Newton–Euler computes only C(q, v) v.  The product with two vectors follows from this quadratic
form:

    C(q, a) b = C(q, s) s − C(q, d) d,        s = (a + b)/2,  d = (a − b)/2

so two Newton–Euler passes give C(q, q̇) v without derivatives.  With this C, Ṁ − 2C is
skew-symmetric.

The load is a vector: ten inertial parameters for a tree robot, one mass for a Delta.  Both torques
are linear in this vector.  The load is an input of compiled controllers, so a new load requires no
recompilation.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.codegen.linear import dot
from brazo.dynamics.composite import mass_matrix
from brazo.dynamics.definite import refuse_everywhere
from brazo.dynamics.delta import DeltaDynamics
from brazo.dynamics.friction import friction, has_friction
from brazo.dynamics.links import LinkInertia, Links, links_of
from brazo.dynamics.newton_euler import ZERO, joint_transforms, newton_euler
from brazo.dynamics.unrolled import UnrolledDynamics
from brazo.dynamics.vectors import add
from brazo.kinematics.forward import Pose, jacobian_rows, posture, tool_pose
from brazo.model.description import DeltaModel, Model, TreeModel
from brazo.model.payload import read_load

if TYPE_CHECKING:
    from brazo.control.regressor import Regressor

Scalar = Any
Vector = list[Scalar]


class ControlEquations(ABC):
    """Equations of motion of a robot for controllers, for any scalar type.

    The argument `load` is a result of `load_vector`, or None for no load.
    """

    n: int
    load_size: int

    @abstractmethod
    def mass_matrix(self, q: Vector, load: Vector | None = None) -> list[Vector]:
        """Mass matrix M (n, n), including motor inertia."""

    @abstractmethod
    def gravity(self, q: Vector, load: Vector | None = None) -> Vector:
        """Gravity torques G (n)."""

    @abstractmethod
    def friction(self, qd: Vector) -> Vector:
        """Friction torques of the joints (n)."""

    @abstractmethod
    def rigid(self, q: Vector, qd: Vector, qdd: Vector, load: Vector | None = None) -> Vector:
        """Inverse dynamics without friction: M q̈ + C q̇ + G (n)."""

    @abstractmethod
    def passive(
        self, q: Vector, qd: Vector, v: Vector, w: Vector, load: Vector | None = None
    ) -> Vector:
        """Torque M w + C(q, q̇) v + G (n), for controllers based on passivity."""

    @abstractmethod
    def acceleration(
        self,
        q: Vector,
        qd: Vector,
        tau: Vector,
        load: Vector | None = None,
        mass_scale: Scalar | None = None,
    ) -> Vector:
        """Forward dynamics: the accelerations q̈ (n) under the torques `tau`.

        `mass_scale` multiplies the masses and inertias of the links, but not the load or the motor
        inertia.
        """

    @abstractmethod
    def tool(self, q: Vector) -> tuple[Pose, list[Vector]]:
        """Pose of the tool in the base frame, and Jacobian (6, n) of the tool in base axes."""

    @abstractmethod
    def regressor(self) -> Regressor:
        """Regressor: the equations of motion as a linear function of the inertial parameters."""

    @abstractmethod
    def load_vector(self, mass: float, com: Any, inertia: Any) -> np.ndarray:
        """Return a load as a vector, for the argument `load` of the other methods.

        `mass` is in kg.  `com` (m) is the centre of mass in the tool frame, and `inertia` (kg m²)
        is the inertia about the centre of mass in tool axes.
        """

    def inverse_dynamics(
        self, q: Vector, qd: Vector, qdd: Vector, load: Vector | None = None
    ) -> Vector:
        """Inverse dynamics with friction: M q̈ + C q̇ + G + friction (n)."""
        return add(self.rigid(q, qd, qdd, load), self.friction(qd))

    def __deepcopy__(self, memo: dict[int, Any]) -> ControlEquations:
        return self  # immutable


def equations_of(model: Model) -> ControlEquations:
    """Equations of motion of a tree robot or a Delta; raises an error if inertia is missing."""
    if isinstance(model, DeltaModel):
        return DeltaEquations(model)
    return TreeEquations(model.require_tree())


class TreeEquations(ControlEquations):
    """Equations of motion of a tree robot, with the algorithms of `brazo.dynamics`."""

    load_size = 10

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.n = model.n
        self.links = links_of(model)
        self.up: Vector = [-float(g) for g in model.gravity]
        self.armature = [0.0] * self.n
        for link in self.links.links:
            self.armature[link.coordinate] += link.multiplier**2 * link.armature

    def mass_matrix(self, q: Vector, load: Vector | None = None) -> list[Vector]:
        links = self.loaded(load)
        return mass_matrix(links, joint_transforms(links, q))

    def gravity(self, q: Vector, load: Vector | None = None) -> Vector:
        links = self.loaded(load)
        return newton_euler(links, joint_transforms(links, q), None, None, self.up)

    def friction(self, qd: Vector) -> Vector:
        return friction(self.links, qd) if has_friction(self.links) else [0.0] * self.n

    def rigid(self, q: Vector, qd: Vector, qdd: Vector, load: Vector | None = None) -> Vector:
        links = self.loaded(load)
        tau = newton_euler(links, joint_transforms(links, q), qd, qdd, self.up)
        return self.with_motors(tau, qdd)

    def passive(
        self, q: Vector, qd: Vector, v: Vector, w: Vector, load: Vector | None = None
    ) -> Vector:
        links = self.loaded(load)
        transforms = joint_transforms(links, q)
        half_sum, half_difference = halves(qd, v)
        tau = newton_euler(links, transforms, half_sum, w, self.up)
        less = newton_euler(links, transforms, half_difference, None, ZERO)
        return self.with_motors([a - b for a, b in zip(tau, less, strict=True)], w)

    def acceleration(
        self,
        q: Vector,
        qd: Vector,
        tau: Vector,
        load: Vector | None = None,
        mass_scale: Scalar | None = None,
    ) -> Vector:
        refuse_everywhere(self.model)
        links = self.loaded(load, mass_scale)
        rest = [t - f for t, f in zip(tau, self.friction(qd), strict=True)]
        return UnrolledDynamics(links).forward(q, qd, rest, self.up)

    def tool(self, q: Vector) -> tuple[Pose, list[Vector]]:
        where = posture(self.model, q)
        pose = tool_pose(self.model, where)
        return pose, jacobian_rows(self.model, where, self.model.tip, pose[1])

    def regressor(self) -> Regressor:
        from brazo.control.regressor import TreeRegressor

        return TreeRegressor(self)

    def load_vector(self, mass: float, com: Any, inertia: Any) -> np.ndarray:
        body = LinkInertia.of(read_load(mass, com, inertia)).seen_from(self.links.tool)
        return np.array([body.mass, *body.first, *body.second])

    def loaded(self, load: Vector | None, mass_scale: Scalar | None = None) -> Links:
        """Return the links, with the load added to the link that carries the tool.

        `mass_scale` multiplies the inertia of the links, but not the load.
        """
        links = list(self.links.links)
        if mass_scale is not None:
            links = [replace(link, inertia=_scaled(link.inertia, mass_scale)) for link in links]
        if load is None or self.links.tip < 0:
            return self.links if mass_scale is None else replace(self.links, links=tuple(links))
        tip = links[self.links.tip]
        own = tip.inertia
        held = LinkInertia(
            own.mass + load[0],
            tuple(add(own.first, load[1:4])),  # pyright: ignore[reportArgumentType]
            tuple(add(own.second, load[4:])),  # pyright: ignore[reportArgumentType]
        )
        links[self.links.tip] = replace(tip, inertia=held)
        return replace(self.links, links=tuple(links))

    def with_motors(self, tau: Vector, qdd: Vector) -> Vector:
        """Add the torques of the motor inertia at accelerations `qdd` to `tau`."""
        return [t + a * w for t, a, w in zip(tau, self.armature, qdd, strict=True)]


class DeltaEquations(ControlEquations):
    """Equations of motion of a Delta robot; a load is a point mass added to the platform."""

    n = 3
    load_size = 1

    def __init__(self, model: DeltaModel) -> None:
        self.model = model
        self.dynamics = DeltaDynamics(model)
        self.field: Vector = model.gravity.tolist()

    def mass_matrix(self, q: Vector, load: Vector | None = None) -> list[Vector]:
        return self.loaded(load)._matrices(q, [0.0] * 3)[0]

    def gravity(self, q: Vector, load: Vector | None = None) -> Vector:
        return self.loaded(load)._holding(q, self.field)

    def friction(self, qd: Vector) -> Vector:
        return self.dynamics._friction(qd)

    def rigid(self, q: Vector, qd: Vector, qdd: Vector, load: Vector | None = None) -> Vector:
        return self.passive(q, qd, qd, qdd, load)

    def passive(
        self, q: Vector, qd: Vector, v: Vector, w: Vector, load: Vector | None = None
    ) -> Vector:
        return delta_passive(self.loaded(load), q, qd, v, w, self.field)

    def acceleration(
        self,
        q: Vector,
        qd: Vector,
        tau: Vector,
        load: Vector | None = None,
        mass_scale: Scalar | None = None,
    ) -> Vector:
        held = copy.copy(self.dynamics)
        if mass_scale is not None:
            for name in ("arm_inertia", "arm_mass", "rod_mass", "platform_mass"):
                setattr(held, name, mass_scale * getattr(held, name))
        if load is not None:
            held.platform_mass = held.platform_mass + load[0]
        return held._acceleration(q, qd, tau)

    def tool(self, q: Vector) -> tuple[Pose, list[Vector]]:
        motion = self.dynamics._motion(q, [0.0] * 3)
        R, p = self.model.tool[:3, :3].ravel().tolist(), self.model.tool[:3, 3].tolist()
        return (R, add(motion.P, p)), [*motion.J, *([0.0] * 3 for _ in range(3))]

    def regressor(self) -> Regressor:
        from brazo.control.regressor import DeltaRegressor

        return DeltaRegressor(self)

    def load_vector(self, mass: float, com: Any, inertia: Any) -> np.ndarray:
        return np.array([read_load(mass, com, inertia).mass])

    def loaded(self, load: Vector | None) -> DeltaDynamics:
        """Return the dynamics with the load added to the platform mass."""
        if load is None:
            return self.dynamics
        held = copy.copy(self.dynamics)
        held.platform_mass = self.dynamics.platform_mass + load[0]
        return held


def delta_passive(
    dynamics: DeltaDynamics, q: Vector, qd: Vector, v: Vector, w: Vector, field: Vector
) -> Vector:
    """Torque M w + C(q, q̇) v + G of a Delta robot, where `field` is the gravity vector."""
    M, C = dynamics._matrices(q, qd)
    moved = [dot(row, w) + dot(other, v) for row, other in zip(M, C, strict=True)]
    return add(moved, dynamics._holding(q, field))


def _scaled(body: LinkInertia, k: Scalar) -> LinkInertia:
    # A constant zero stays one: it removes operations from the compiled code.
    def times(value: float) -> Scalar:
        return k * value if value else 0.0

    return LinkInertia(
        times(body.mass),
        tuple(times(x) for x in body.first),  # pyright: ignore[reportArgumentType]
        tuple(times(x) for x in body.second),  # pyright: ignore[reportArgumentType]
    )


def halves(a: Sequence[Scalar], b: Sequence[Scalar]) -> tuple[Vector, Vector]:
    """Half the sum and half the difference of two vectors."""
    pairs = list(zip(a, b, strict=True))
    return [0.5 * (x + y) for x, y in pairs], [0.5 * (x - y) for x, y in pairs]
