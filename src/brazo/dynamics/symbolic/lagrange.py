"""Derivation by Lagrange–Euler: energies from link Jacobians, then their derivatives.

    K = ½ q̇ᵀ M q̇,     M = Σ m Jvᵀ Jv + Jωᵀ I Jω + motor inertia
    P = −Σ m gᵀ p
    C_ij = Σ_k ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q̇_k          G = ∂P/∂q

The sums are over the links.  m is the mass of a link, p the position of its centre of mass, I its
inertia tensor about the centre of mass, and g the gravity vector.  Jv and Jω are the Jacobians of
the centre of mass and of the angular velocity of the link.  Their columns are propagated from link
to link in the frames of `brazo.dynamics.symbolic.axes`.  No force balance is used, so the result is
independent of Newton–Euler.

The scalars are elements of a ring (`Ring`): polynomials for the expanded form, or graph nodes for
the recursive form.  A ring has the methods `embed` (converts a constant of the robot), `cos_sin`
(of an `Angle`), `coordinate` (the variable of a prismatic joint) and `derivatives`.  Its elements
support addition, subtraction and multiplication.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from brazo.dynamics.symbolic.axes import LinkAxes, Turn, plan
from brazo.dynamics.symbolic.mechanism import Mechanism, identity
from brazo.dynamics.symbolic.polynomial import Angle
from brazo.dynamics.vectors import add, cross, dot, rotate, rotate_back, tensor_times
from brazo.kinematics.forward import compose

Scalar = Any
Vector = list[Scalar]
Progress = Callable[[float, str], None]


class Ring(Protocol):
    """Operations that the derivation needs for its scalars."""

    def embed(self, value: Any) -> Scalar: ...

    def cos_sin(self, angle: Angle) -> tuple[Scalar, Scalar]: ...

    def coordinate(self, symbol: Any, k: int) -> Scalar: ...

    def derivatives(self, values: Sequence[Scalar], k: int) -> list[Scalar]: ...


@dataclass
class LinkMotion:
    """Pose of a link, and its Jacobian columns in the frame of its group of parallel axes.

    `brazo.dynamics.symbolic.axes` describes these groups.  `omega` and `speed` map the
    index of a coordinate to its Jacobian column.
    """

    axes: LinkAxes | None
    B: Vector  # 9: the group's frame in the base
    p: Vector  # body origin in the base
    omega: dict[int, Vector]
    speed: dict[int, Vector]  # of the body's origin


@dataclass
class Derived:
    """Results of the derivation: mass matrix, potential energy, frames, tool and Jacobian."""

    M: list[list[Scalar]]  # lower triangle filled, symmetric
    potential: Scalar
    frames: list[tuple[Vector, Vector]]  # pose of every link's body
    tool: tuple[Vector, Vector]
    jacobian: list[list[Scalar]]  # 6 x n, tool point, base axes, linear rows first


class Lagrange:
    """Derivation of the equations of one robot with the scalars of one ring."""

    def __init__(self, ring: Ring, mechanism: Mechanism) -> None:
        self.ring, self.mechanism = ring, mechanism
        self.axes = plan(mechanism)

    def energies(self, progress: Progress) -> Derived:
        """Derive kinematics, mass matrix and potential energy, link by link."""
        robot, ring, n = self.mechanism, self.ring, self.mechanism.n
        M: list[list[Scalar]] = [[0] * n for _ in range(n)]
        potential: Scalar = 0
        gravity = [ring.embed(x) for x in robot.gravity]
        motions: list[LinkMotion] = []
        frames = []
        for i, (link, axes) in enumerate(zip(robot.links, self.axes, strict=True)):
            progress(i / len(robot.links), f"{link.name}: kinetic and potential energy")
            parent = motions[link.parent] if link.parent >= 0 else _base()
            motion = self._moved(link, axes, parent)
            motions.append(motion)
            frames.append((self._rotation(motion), motion.p))
            mass = ring.embed(link.mass)
            arm = self._turned(axes.turn, rotate(self._all(axes.A), self._all(link.com)))
            tensor = self._all(link.inertia)
            k = link.coordinate
            M[k][k] = M[k][k] + ring.embed(link.armature)
            centre = {j: add(motion.speed[j], cross(w, arm)) for j, w in motion.omega.items()}
            spin = {
                j: rotate_back(self._all(axes.A), self._turned_back(axes.turn, w))
                for j, w in motion.omega.items()
            }
            turned = {j: tensor_times(tensor, w) for j, w in spin.items()}
            for a in centre:
                for b in centre:
                    if b <= a:
                        kinetic = mass * dot(centre[a], centre[b]) + dot(spin[a], turned[b])
                        M[a][b] = M[a][b] + kinetic
            height = dot(gravity, add(motion.p, rotate(motion.B, arm)))
            potential = potential - mass * height
        for a in range(n):
            for b in range(a):
                M[b][a] = M[a][b]
        tip = motions[robot.tip] if robot.tip >= 0 else _base()
        tool = compose(
            (self._rotation(tip), tip.p), (self._all(robot.tool[0]), self._all(robot.tool[1]))
        )
        return Derived(M, potential, frames, tool, self._jacobian(tip, tool[1]))

    def christoffel(self, M: list[list[Scalar]], progress: Progress) -> list[list[list[Scalar]]]:
        """Twice the Christoffel symbols of M; element [i][j][k] multiplies q̇_k / 2 in C_ij."""
        n = self.mechanism.n
        pairs = [(i, j) for i in range(n) for j in range(i + 1)]
        D: list[dict[tuple[int, int], Scalar]] = []
        for k in range(n):
            progress(k / n, f"derivatives by q{k + 1}")
            D.append(
                dict(zip(pairs, self.ring.derivatives([M[i][j] for i, j in pairs], k), strict=True))
            )

        def d(i: int, j: int, k: int) -> Scalar:
            return D[k][max(i, j), min(i, j)]

        return [
            [[d(i, j, k) + d(i, k, j) - d(j, k, i) for k in range(n)] for j in range(n)]
            for i in range(n)
        ]

    def gravity(self, potential: Scalar) -> list[Scalar]:
        """Gravity torques G = ∂P/∂q of a potential energy P."""
        return [self.ring.derivatives([potential], k)[0] for k in range(self.mechanism.n)]

    # -- from link to link ------------------------------------------------------------------

    def _moved(self, link, axes: LinkAxes, parent: LinkMotion) -> LinkMotion:
        ring = self.ring
        turn = parent.axes.turn if parent.axes else Turn()
        A = self._all(parent.axes.A) if parent.axes else identity()[0]
        B, p = parent.B, parent.p
        omega, speed = dict(parent.omega), dict(parent.speed)

        def shift(r: Vector) -> None:
            nonlocal p
            for j, w in omega.items():
                speed[j] = add(speed[j], cross(w, r))
            p = add(p, rotate(B, r))

        shift(self._turned(turn, rotate(A, self._all(link.before[1]))))
        k, multiplier = link.coordinate, ring.embed(link.multiplier)
        if link.kind == "prismatic":
            along = self._turned(turn, self._all(axes.slide))
            value = multiplier * ring.coordinate(self.mechanism.q[k], k) + ring.embed(link.offset)
            shift([x * value for x in along])
            column = [0, 0, 0], [x * multiplier for x in along]
        else:
            if axes.opens:
                X = self._all(axes.X)
                omega = {j: rotate_back(X, self._turned_back(turn, w)) for j, w in omega.items()}
                speed = {j: rotate_back(X, self._turned_back(turn, v)) for j, v in speed.items()}
                B = compose((compose((B, p), (self._matrix(turn), [0] * 3))[0], p), (X, [0] * 3))[0]
            column = [0, 0, axes.sign * multiplier], [0, 0, 0]
        omega[k] = add(omega.get(k, [0, 0, 0]), column[0])
        speed[k] = add(speed.get(k, [0, 0, 0]), column[1])
        shift(self._turned(axes.turn, rotate(self._all(axes.joint), self._all(link.after[1]))))
        return LinkMotion(axes, B, p, omega, speed)

    def _jacobian(self, tip: LinkMotion, point: Vector) -> list[list[Scalar]]:
        n = self.mechanism.n
        columns = [self.ring.derivatives(point, k) for k in range(n)]
        spins = [rotate(tip.B, tip.omega.get(k, [0, 0, 0])) for k in range(n)]
        return [[columns[k][i] for k in range(n)] for i in range(3)] + [
            [spins[k][i] for k in range(n)] for i in range(3)
        ]

    # -- rotations --------------------------------------------------------------------------

    def _all(self, values: Sequence[Any]) -> Vector:
        return [self.ring.embed(x) for x in values]

    def _cos_sin(self, turn: Turn) -> tuple[Scalar, Scalar]:
        c, s = (1, 0) if turn.angle is None else self.ring.cos_sin(turn.angle)
        return ((c, s), (-s, c), (-c, -s), (s, -c))[turn.quarters]

    def _turned(self, turn: Turn, v: Vector) -> Vector:
        c, s = self._cos_sin(turn)
        return [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]]

    def _turned_back(self, turn: Turn, v: Vector) -> Vector:
        c, s = self._cos_sin(turn)
        return [c * v[0] + s * v[1], c * v[1] - s * v[0], v[2]]

    def _matrix(self, turn: Turn) -> Vector:
        c, s = self._cos_sin(turn)
        return [c, -s, 0, s, c, 0, 0, 0, 1]

    def _rotation(self, motion: LinkMotion) -> Vector:
        if motion.axes is None:
            return identity()[0]
        turned = compose((motion.B, motion.p), (self._matrix(motion.axes.turn), [0, 0, 0]))[0]
        return compose((turned, motion.p), (self._all(motion.axes.A), [0, 0, 0]))[0]


def _base() -> LinkMotion:
    R, p = identity()
    return LinkMotion(None, R, p, {}, {})
