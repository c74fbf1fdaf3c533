"""Equations of motion, linear in the inertial parameters π: M w + C(q, q̇) v + G = Y π + known.

v and w are a joint velocity and a joint acceleration.  `known` is the part that does not depend on
π, such as the torques of the motor inertias.

Newton–Euler is linear in the mass m, first moment h and second moment S of each link
(`brazo.dynamics.newton_euler`).  Let a be the acceleration of the link frame's origin, and U r the
additional acceleration of a point r due to rotation.  The force f and the moment n of a link are

    f = m a + U h        n = h×a + (U S)×,    (A)× = (A_zy − A_yz, A_xz − A_zx, A_yx − A_xy).

M w + C(q, q̇) v + G is the difference of two Newton–Euler passes (`brazo.control.equations`).  f
and n are also linear in (a, U), so one inward pass with the differences of a and U is sufficient.
It computes Y π without building the matrix Y.  Let ẋ and ω be the linear and angular velocity of a
link at the joint speeds s.  Yᵀ s follows from s·Y π = Σ (ẋ·f + ω·n).  The elements of Yᵀ s for a
link are:

    m: ẋ·a        h: Uᵀẋ + a×ω        S: Uᵀ[ω×] made symmetric

Parameters that are zero after regrouping (`brazo.dynamics.links`) are left out.  A link with a
revolute joint keeps seven parameters (h_x, h_y and S except S_zz).  A link with a prismatic joint
keeps four (m and h).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.codegen.linear import dot as inner
from brazo.control.equations import (
    DeltaEquations,
    TreeEquations,
    delta_passive,
    halves,
)
from brazo.dynamics.links import LinkInertia, links_of
from brazo.dynamics.newton_euler import ZERO, inward_pass, joint_transforms, outward_pass
from brazo.dynamics.vectors import add, cross, dot, subtract

Scalar = Any
Vector = list[Scalar]

MOMENTS = ("m", "hx", "hy", "hz", "Sxx", "Sxy", "Sxz", "Syy", "Syz", "Szz")
_OF_KIND = {"revolute": (1, 2, 4, 5, 6, 7, 8), "prismatic": (0, 1, 2, 3)}
_GRAVITY = 9.81


class Regressor(ABC):
    """Inertial parameters π of a robot, and the torque as a linear function of π."""

    names: tuple[str, ...]
    values: np.ndarray  # (p,) values of the robot file
    size: np.ndarray  # (p,) typical m, m l or m l² of the bodies that the joint carries
    weight: np.ndarray  # (p,) torque or force that holds these bodies, N m or N
    coordinates: tuple[int, ...]  # the joint to which each parameter belongs

    @abstractmethod
    def form(self, q: Vector, qd: Vector, v: Vector, w: Vector) -> LinearForm:
        """Torque M w + C(q, q̇) v + G as a linear function of the inertial parameters π.

        v and w are a joint velocity and a joint acceleration.
        """


class LinearForm(ABC):
    """Torque Y π + known as a function of π, for given q, q̇, v and w.

    `known` is the part that does not depend on π.
    """

    @abstractmethod
    def torque(self, parameters: Sequence[Scalar]) -> Vector:
        """Torque (n): Y π plus the part that does not depend on the parameters π."""

    @abstractmethod
    def gradient(self, s: Sequence[Scalar]) -> Vector:
        """Return Yᵀ s, one value per parameter; `s` has one value per joint."""


class TreeRegressor(Regressor):
    """Regressor of a tree robot: π are the masses and moments m, h, S of its links.

    Motor inertias are not estimated.
    """

    def __init__(self, equations: TreeEquations) -> None:
        self.equations = equations
        links = equations.links
        self.chosen = [_OF_KIND[link.kind] for link in links.links]
        names, values, coordinates = [], [], []
        for link, chosen in zip(links.links, self.chosen, strict=True):
            moments = [link.inertia.mass, *link.inertia.first, *link.inertia.second]
            names += [f"{link.name} {MOMENTS[k]}" for k in chosen]
            values += [moments[k] for k in chosen]
            coordinates += [link.coordinate] * len(chosen)
        self.names, self.coordinates = tuple(names), tuple(coordinates)
        self.values = np.array(values)
        sizes, weights = self._hanging()
        picked = zip(sizes, self.chosen, strict=True)
        self.size = np.concatenate([size[list(chosen)] for size, chosen in picked])
        self.weight = np.repeat(weights, [len(chosen) for chosen in self.chosen])

    def form(self, q: Vector, qd: Vector, v: Vector, w: Vector) -> LinearForm:
        return _TreeForm(self, q, qd, v, w)

    def _hanging(self) -> tuple[list[np.ndarray], list[float]]:
        """Return, for each link, typical magnitudes (10,) of m, h and S, and a typical weight.

        Both describe all bodies that the joint of the link moves, at q = 0.  The weight is a
        typical torque (N m) or force (N) with which the joint holds these bodies against gravity.
        """
        own = links_of(self.equations.model, regroup=False)
        hanging: list[LinkInertia] = [link.inertia for link in own.links]
        for i in reversed(range(len(own.links))):
            link = own.links[i]
            if link.parent >= 0:
                seen = hanging[i].seen_from(link.K)
                hanging[link.parent] = hanging[link.parent].plus(seen)
        sizes, weights = [], []
        for link, all_of_it in zip(own.links, hanging, strict=True):
            # A link may have no mass or no extent: sizes must stay above 0.
            mass = max(all_of_it.mass, 1e-3)
            xx, _, _, yy, _, zz = all_of_it.second
            length = max(float(np.sqrt(max(xx + yy + zz, 0.0) / mass)), 1e-3)
            sizes.append(mass * length ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2]))
            weights.append(mass * _GRAVITY * (length if link.kind == "revolute" else 1.0))
        return sizes, weights


class _TreeForm(LinearForm):
    def __init__(
        self, regressor: TreeRegressor, q: Vector, qd: Vector, v: Vector, w: Vector
    ) -> None:
        equations = regressor.equations
        self.links, self.chosen = equations.links, regressor.chosen
        self.known = [a * x for a, x in zip(equations.armature, w, strict=True)]
        self.transforms = joint_transforms(self.links, q)
        half_sum, half_difference = halves(qd, v)
        spins, accel = outward_pass(self.links, self.transforms, half_sum, w, equations.up)
        less = outward_pass(self.links, self.transforms, half_difference, None, ZERO)
        self.a = [subtract(a, b) for a, b in zip(accel, less[1], strict=True)]
        self.U = [
            [subtract(row, other) for row, other in zip(spin.U, slow.U, strict=True)]
            for spin, slow in zip(spins, less[0], strict=True)
        ]

    def torque(self, parameters: Sequence[Scalar]) -> Vector:
        forces, moments, start = [], [], 0
        for a, U, chosen in zip(self.a, self.U, self.chosen, strict=True):
            full: Vector = [0.0] * 10
            for k, value in zip(chosen, parameters[start : start + len(chosen)], strict=True):
                full[k] = value
            start += len(chosen)
            m, h, S = full[0], full[1:4], full[4:]
            forces.append(add([m * x for x in a], [dot(row, h) for row in U]))
            moments.append(add(cross(h, a), _moment_of(U, S)))
        return add(self.known, inward_pass(self.links, self.transforms, forces, moments))

    def gradient(self, s: Sequence[Scalar]) -> Vector:
        speeds: list[tuple[Vector, Vector]] = []
        result: Vector = []
        for i, (link, T) in enumerate(zip(self.links.links, self.transforms, strict=True)):
            w0, v0 = speeds[link.parent] if link.parent >= 0 else (ZERO, ZERO)
            rate = link.multiplier * s[link.coordinate]
            w, v = T.to_link(w0), T.to_link(add(v0, cross(w0, T.p)))
            if link.kind == "revolute":
                w = [w[0], w[1], w[2] + rate]
            else:
                v = [v[0], v[1], v[2] + rate]
            speeds.append((w, v))
            a, U = self.a[i], self.U[i]
            columns = [[row[k] for row in U] for k in range(3)]
            h = add([dot(column, v) for column in columns], cross(a, w))
            # ω·(U S)× = tr(Uᵀ[ω×] S): entry jk of Uᵀ[ω×] is (column j of U × ω)_k.
            B = [cross(column, w) for column in columns]
            S = [
                B[0][0], B[0][1] + B[1][0], B[0][2] + B[2][0],
                B[1][1], B[1][2] + B[2][1], B[2][2],
            ]  # fmt: skip
            full = [dot(v, a), *h, *S]
            result += [full[k] for k in self.chosen[i]]
        return result


class DeltaRegressor(Regressor):
    """Regressor of a Delta: π are arm inertia and first moments, rod mass and platform mass.

    A column of Y is the torque with one parameter at 1 and all others at 0, minus the torque with
    all parameters at 0.
    """

    names = ("arm inertia", "arm hx", "arm hz", "rod mass", "platform mass")
    coordinates = (0, 0, 0, 0, 0)

    def __init__(self, equations: DeltaEquations) -> None:
        self.equations = equations
        d, length = equations.dynamics, equations.model.L1
        self.values = np.array(d.masses)
        mass = d.arm_mass + d.rod_mass + d.platform_mass
        self.size = mass * length ** np.array([2.0, 1.0, 1.0, 0.0, 0.0])
        self.weight = np.full(5, mass * _GRAVITY * length)

    def form(self, q: Vector, qd: Vector, v: Vector, w: Vector) -> LinearForm:
        known = self._torque(np.zeros(5), q, qd, v, w)
        columns = [subtract(self._torque(unit, q, qd, v, w), known) for unit in np.eye(5)]
        return _ColumnForm(columns, known)

    def _torque(self, unit: np.ndarray, q: Vector, qd: Vector, v: Vector, w: Vector) -> Vector:
        dynamics = self.equations.dynamics.with_masses(unit.tolist())
        return delta_passive(dynamics, q, qd, v, w, self.equations.field)


class _ColumnForm(LinearForm):
    def __init__(self, columns: list[Vector], known: Vector) -> None:
        self.columns, self.known = columns, known

    def torque(self, parameters: Sequence[Scalar]) -> Vector:
        rows = zip(*self.columns, strict=True)
        return [inner(row, parameters) + k for row, k in zip(rows, self.known, strict=True)]

    def gradient(self, s: Sequence[Scalar]) -> Vector:
        return [inner(column, s) for column in self.columns]


def _moment_of(U: list[Vector], S: Vector) -> Vector:
    """Return (U S)×, where (A)× = (A_zy − A_yz, A_xz − A_zx, A_yx − A_xy)."""
    xx, xy, xz, yy, yz, zz = S
    columns = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    A = [[dot(row, column) for column in columns] for row in U]
    return [A[2][1] - A[1][2], A[0][2] - A[2][0], A[1][0] - A[0][1]]
