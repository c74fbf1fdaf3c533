"""Joint torques as a linear function of the dynamic parameters: tau = Y(q, q̇, q̈) π.

π has ten parameters per body, in the body's own frame and about its origin:

    m   mx my mz (m times the centre of mass)   Ixx Ixy Ixz Iyy Iyz Izz

If drive parameters are included, π has four more per joint: motor inertia Ia, viscous friction Fv,
and Coulomb friction Fc+ and Fc- for positive and negative speed.

Let c be the centre of mass of a body, and let the body's frame have the angular velocity ω, the
angular acceleration α and the linear acceleration a.  With U = [α×] + ω ωᵀ − ω² 1, moving the body
requires the force m a + U (m c) and the moment (m c)×a + I α + ω×I ω.  Let w and v be the angular
and linear velocity of the body's frame for a unit speed of joint j.  The torque of joint j is the
power of the force and the moment under this motion.  It has the coefficients

    m: v·a        m c: Uᵀ v + a×w        I: w αᵀ + (w×ω) ωᵀ, made symmetric

Row j of Y has these ten coefficients for every body that joint j moves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from brazo.codegen.kernel import Kernel
from brazo.codegen.ring import sign, sqrt, where
from brazo.dynamics.frames import JointTransform, euler_turns
from brazo.dynamics.links import Links, links_of
from brazo.dynamics.newton_euler import ZERO, Spin, joint_transforms, outward_pass
from brazo.dynamics.vectors import add, cross, dot
from brazo.model.description import DeltaModel, Friction, TreeModel
from brazo.model.transforms import align_z, invert

__all__ = [
    "DynamicParameters",
    "InertialRegressor",
    "RegressorKernels",
    "delta_parameters",
    "friction_columns",
]

Scalar = Any
Vector = list[Scalar]

MOMENTS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
_UNITS = ("kg", *["kg m"] * 3, *["kg m²"] * 6)
DRIVE = ("Ia", "Fv", "Fc+", "Fc-")
_DRIVE_UNITS = {
    "revolute": ("kg m²", "N m s/rad", "N m", "N m"),
    "prismatic": ("kg", "N s/m", "N", "N"),
}


@dataclass(frozen=True, slots=True, eq=False)
class DynamicParameters:
    """Parameters π of a regressor with names and units, in the order of its columns."""

    names: tuple[str, ...]
    values: np.ndarray
    """(p,) values of the robot file, SI."""
    units: tuple[str, ...]


class RegressorKernels(ABC):
    """Compiled regressors of a robot, with and without drive parameters."""

    def regressor(self, q, qd, qdd, drives: bool = False, out=None, threads=None) -> np.ndarray:
        """Regressor Y (..., n, p) of tau = Y π; `drives` adds columns for the drive parameters."""
        kernel = self._with_drives if drives else self._without_drives
        return kernel(q, qd, qdd, out=out, threads=threads)

    @cached_property
    def _with_drives(self) -> Kernel:
        return self._regressor_kernel(drives=True)

    @cached_property
    def _without_drives(self) -> Kernel:
        return self._regressor_kernel(drives=False)

    @abstractmethod
    def _regressor_kernel(self, drives: bool) -> Kernel: ...


class InertialRegressor:
    """Regressor of a tree robot, for any scalar type."""

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.links: Links = links_of(model, regroup=False)
        self.bodies = [body for body in model.bodies if body.joint is not None]
        self.frames = [_body_pose(body.joint) for body in self.bodies]

    def parameters(self, drives: bool) -> DynamicParameters:
        """Names, units and values (from the robot file) of the parameters π."""
        names, values, units = [], [], []
        for body in self.bodies:
            inertia = body.inertia
            assert inertia is not None
            m, c = inertia.mass, np.asarray(inertia.com)
            I = inertia.tensor + m * (c @ c * np.eye(3) - np.outer(c, c))
            names += [f"{body.name} {moment}" for moment in MOMENTS]
            values += [m, *(m * c), I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]]
            units += _UNITS
        for body in self.bodies if drives else ():
            joint = body.joint
            assert joint is not None
            names += [f"{joint.name} {word}" for word in DRIVE]
            values += _drive_values(joint.drive.armature, joint.friction)
            units += _DRIVE_UNITS[joint.kind]
        return DynamicParameters(tuple(names), np.array(values, dtype=float), tuple(units))

    def rows(
        self,
        q: Sequence[Scalar],
        qd: Sequence[Scalar],
        qdd: Sequence[Scalar],
        up: Vector,
        drives: bool,
    ) -> list[Vector]:
        """Regressor Y (n x p), as a list of rows.

        `up` is minus the gravity vector.  `drives` adds the columns of the drive parameters.
        """
        links = self.links.links
        width = 10 * len(links)
        Y: list[Vector] = [[0.0] * width for _ in range(self.model.n)]
        transforms = joint_transforms(self.links, q)
        spins, accel = outward_pass(self.links, transforms, qd, qdd, up)
        motions: list[dict[int, tuple[Vector, Vector]]] = []  # by moving link, for unit speeds
        for i, (link, T) in enumerate(zip(links, transforms, strict=True)):
            before = motions[link.parent] if link.parent >= 0 else {}
            moved = {j: _attached_motion(T, w, v) for j, (w, v) in before.items()}
            axis = [0.0, 0.0, 1.0]
            moved[i] = (axis, ZERO) if link.kind == "revolute" else (ZERO, axis)
            motions.append(moved)
            C, spin = self.frames[i], spins[i]
            own = Spin(C.to_link(spin.omega), C.to_link(spin.alpha))
            a = C.to_link(add(accel[i], spin.times(C.p)))
            for j, (w, v) in moved.items():
                row, scale = Y[links[j].coordinate], links[j].multiplier
                for k, value in enumerate(_powers(own, a, *_attached_motion(C, w, v))):
                    row[10 * i + k] = row[10 * i + k] + scale * value
        if drives:
            for link in links:
                columns = friction_columns(
                    link.friction,
                    link.multiplier * qd[link.coordinate],
                    link.multiplier * qdd[link.coordinate],
                )
                for c, row in enumerate(Y):
                    own = c == link.coordinate
                    row += [link.multiplier * x if own else 0.0 for x in columns]
        return Y


def _drive_values(armature: float, friction: Friction) -> list[float]:
    """Values of the drive parameters Ia, Fv, Fc+ and Fc- of a joint."""
    return [armature, friction.viscous, *friction.coulomb]


def friction_columns(friction: Friction, qd: Scalar, qdd: Scalar) -> Vector:
    """Torques of one joint for a unit value of each drive parameter: Ia, Fv, Fc+ and Fc-.

    `qd` and `qdd` are the velocity and acceleration of the joint.
    """
    v0 = friction.smooth
    shape = qd / sqrt(qd * qd + v0 * v0) if v0 else sign(qd)
    return [qdd, qd, where(qd, shape, 0.0), where(qd, 0.0, shape)]


def delta_parameters(model: DeltaModel, values: Sequence[float], drives: bool) -> DynamicParameters:
    """Dynamic parameters of a Delta; its arms, rods and drives are equal and share parameters.

    `values` are the values of `DeltaDynamics.masses`.  With `drives`, the drive parameters follow.
    """
    names = ["arm Iyy", "arm mx", "arm mz", "rod m", "platform m"]
    units = ["kg m²", "kg m", "kg m", "kg", "kg"]
    values = list(values)
    if drives:
        names += [f"arm {word}" for word in DRIVE]
        units += _DRIVE_UNITS["revolute"]
        values += _drive_values(model.drive.armature, model.friction)
    return DynamicParameters(tuple(names), np.array(values, dtype=float), tuple(units))


def _body_pose(joint: Any) -> JointTransform:
    """Pose of the body's frame in the frame of its joint."""
    after = invert(align_z(joint.axis)) @ joint.after
    return JointTransform(*euler_turns(after[:3, :3]), after[:3, 3].tolist())


def _attached_motion(T: JointTransform, w: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Motion (angular, linear) of a frame that is rigidly attached to a moving frame.

    T is the pose of the attached frame in the moving frame, which has the motion (w, v).
    """
    return T.to_link(w), T.to_link(add(v, cross(w, T.p)))


def _powers(spin: Spin, a: Vector, w: Vector, v: Vector) -> Vector:
    """Power of the inertial forces in a motion (w; v), for a unit value of each parameter (10)."""
    columns = [[row[k] for row in spin.U] for k in range(3)]
    first = add([dot(column, v) for column in columns], cross(a, w))
    c, s, al = cross(w, spin.omega), spin.omega, spin.alpha
    tensor = [
        w[i] * al[j] + c[i] * s[j] if i == j
        else w[i] * al[j] + w[j] * al[i] + (c[i] * s[j] + c[j] * s[i])
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    ]  # fmt: skip
    return [dot(v, a), *first, *tensor]
