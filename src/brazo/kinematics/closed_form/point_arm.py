"""Position IK of three joints, with named branches: R-R-R (any axes) and R-R-P.

`NamedArm` computes joints 1 to 3 from the target position of one point of the arm. For an arm with
a spherical wrist, the point is the wrist centre. For a spatial arm with three joints, the point is
the tool, and `PointArm` is the solver. The tool orientation of such an arm cannot be chosen.

The names of R-R-R branches are explained in `spherical_wrist.py`. For an R-R-P arm whose axes 1 and
2 intersect, LEFTY and RIGHTY have the same meaning as for an R-R-R arm. OUT is the branch with the
larger q₃, IN the branch with the smaller q₃. If axes 1 and 2 of an R-R-P arm are parallel, LEFTY
means that axis 2 is left of the line from axis 1 to the point, seen from above.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    ACCEPTED,
    Candidate,
    ClosedForm,
    Flag,
    Mismatch,
    Scalar,
    wrap,
)
from brazo.kinematics.closed_form.pairs import Pair, Vector, angle_of, of_angle
from brazo.kinematics.closed_form.position import PositionArm, SlidingArm
from brazo.kinematics.forward import Pose, compose, constant
from brazo.model.description import JointKind
from brazo.model.transforms import invert

Array = np.ndarray

FAMILY = "spatial arm with three joints"


def recognise(chain: Chain) -> PointArm | Mismatch:
    """Return the solver if the arm belongs to this family, otherwise the reason why it does not."""
    if chain.n != 3:
        return Mismatch(FAMILY, f"it has {chain.n} joints, not three")
    if chain.kinds not in (("revolute",) * 3, ("revolute", "revolute", "prismatic")):
        kinds = "".join(kind[0].upper() for kind in chain.kinds)
        return Mismatch(FAMILY, f"its joints are {kinds}, not RRR or RRP")
    solver = PointArm(chain)
    if not solver.arm.solvable:
        return Mismatch(FAMILY, "its first two axes are neither parallel nor intersecting")
    if not places(chain, np.array([0.0, 0.0, 0.0, 1.0])):
        reason = "no configuration allows its joints to move the tool in all directions"
        return Mismatch(FAMILY, reason)
    return solver


def places(chain: Chain, point: Array) -> bool:
    """Return whether joints 1 to 3 can move a point of the tool in all directions.

    `point` (4,) is in the tool frame (homogeneous coordinates). The result is True if this is
    possible in at least one of 16 random configurations. It is False e.g. for three parallel axes.
    """
    q = np.random.default_rng(0).uniform(-3, 3, (16, chain.n))
    frames = chain.frames(q)
    z, origin = frames[:, :3, :3, 2], frames[:, :3, :3, 3]
    place = (chain.fk(q) @ point)[:, None, :3]
    J = np.where(chain.revolute[:3, None], np.cross(z, place - origin) / chain.size, z)
    return bool(np.linalg.svd(J, compute_uv=False)[:, -1].max() > 1e-7)


class NamedArm:
    """Position IK of three joints, R-R-R or R-R-P, with named branches."""

    def __init__(
        self, kinds: Sequence[JointKind], X1: Array, X2: Array, w: Array, size: float
    ) -> None:
        """Make the solver from the transforms X1 (frame 1 to axis 2) and X2 (frame 2 to axis 3).

        w (3,) is the point, which is fixed in frame 3. `size` is the size of the arm (m).
        """
        self.sliding = kinds[2] == "prismatic"
        self.core = (SlidingArm if self.sliding else PositionArm)(X1, X2, w, size)
        self.flags, self.slots = self._names()

    @property
    def solvable(self) -> bool:
        """True if the arm has a closed form.

        Every R-R-R arm has one. For R-R-P arms see `SlidingArm.solvable`.
        """
        return not isinstance(self.core, SlidingArm) or self.core.solvable

    def solve(self, p: Vector, free: list[Pair]) -> list[tuple[Pair, Pair, Scalar, Scalar]]:
        """Return (q₁, q₂, q₃, exists) of every branch for a target point p; angles are (cos, sin).

        `exists` is ≥ 0 where the branch exists. `free` contains the joint angles to use if the
        target does not determine them.
        """
        found = self.core.solve(p, free)
        return [found[slot] for slot in self.slots]

    def turns(self, found: tuple[Pair, Pair, Scalar, Scalar]) -> list[Pair]:
        """Return (cos, sin) of each joint in a solution `found`; (1, 0) for a prismatic joint."""
        return [found[0], found[1], (1.0, 0.0) if self.sliding else found[2]]

    def flag_values(self, p: Array, q: Array) -> Array:
        """Return the branch flags at q (N, 3) as integers (N, number of flags).

        `ClosedForm.flag_values` describes them. p (N, 3) is the position of the point at q.
        """
        core = self.core
        if isinstance(core, PositionArm) and core.normal.case == "skew":
            away = np.stack([np.abs(wrap(arm - q)).max(axis=-1) for arm in self._angles(p, q)], 1)
            return np.argmin(np.where(np.isnan(away), np.inf, away), axis=1)[:, None]
        slot = np.argsort(self.slots)[core.raw_branch(p, q)]
        if len(self.flags) == 1:
            return slot[:, None]
        return np.stack([slot // 2, slot % 2], axis=-1)

    def _angles(self, p: Array, q0: Array) -> list[Array]:
        """Return joint values (N, 3) of every branch of an R-R-R arm; NaN if it does not exist."""
        with np.errstate(all="ignore"):
            found = self.solve(list(p.T), [of_angle(x) for x in q0.T])
        arms = []
        for *pairs, exists in found:
            q = np.stack(np.broadcast_arrays(*(angle_of(pair) for pair in pairs)), axis=-1)
            arms.append(np.where(np.broadcast_to(exists, len(q))[:, None] >= 0, q, np.nan))
        return arms

    def _names(self) -> tuple[tuple[Flag, ...], list[int]]:
        """Return the flags of the branch names, and the raw branch of each named branch.

        A raw branch is an index in the result of `core.solve`.
        """
        core = self.core
        sides: Flag = ("arm", ("LEFTY", "RIGHTY"))
        if isinstance(core, SlidingArm):
            if core.normal.case == "parallel":
                return (sides,), [1, 0] if core.normal.cos > 0 else [0, 1]
            # Raw branches: the larger q₃, the smaller one; in each s ≤ 0, s ≥ 0.
            slots = [1, 3, 0, 2] if core.offset >= -1e-12 * core.size else [0, 2, 1, 3]
            return (sides, ("slide", ("OUT", "IN"))), slots
        if core.parallel_23 and not core.parallel_12:
            # Raw branches: s ≥ 0, s < 0; in each ((elbow) × (wrist))·a₂ ≤ 0, then ≥ 0.
            slots = [1, 0, 2, 3] if core.offset >= -1e-12 * core.size else [2, 3, 1, 0]
            return (sides, ("elbow", ("ABOVE", "BELOW"))), slots
        if core.normal.case == "parallel":
            # Raw branches: two roots q₃; in each axis 2 right of the line, then left (a₂ along a₁).
            slots = [1, 3, 0, 2] if core.normal.cos > 0 else [0, 2, 1, 3]
            return (sides, ("elbow", ("ELBOW1", "ELBOW2"))), slots
        if core.normal.case == "meet":
            return (("arm", ("ARM1", "ARM2")), ("elbow", ("ELBOW1", "ELBOW2"))), [0, 1, 2, 3]
        return (("arm", ("ARM1", "ARM2", "ARM3", "ARM4")),), [0, 1, 2, 3]

    def why(self, p: Array, meridian: Array, what: str) -> str:
        """Return a message that explains why the point cannot reach the position p (3,).

        `what` is the name of the point in the message, e.g. "wrist centre". `meridian` (M, 2)
        contains reachable positions of the point, as (radius, height) in m.
        """
        core = self.core
        radius = float(np.hypot(p[0], p[1]))
        if not (isinstance(core, PositionArm) and core.parallel_23 and not core.parallel_12):
            miss = np.hypot(meridian[:, 0] - radius, meridian[:, 1] - p[2]).min()
            return (
                f"the {what} would be {radius:.4g} m from axis 1 at height {p[2]:.4g} m; "
                f"the nearest reachable position is about {miss:.2g} m from there"
            )
        point = p.tolist()
        A, B, C = core.lateral(point)
        if abs(C) > np.hypot(A, B) + ACCEPTED * core.size:
            least = radius * abs(C) / np.hypot(A, B) if radius > 0 else abs(core.offset)
            return (
                f"the {what} would be {radius:.4g} m from axis 1, but the arm's offset keeps "
                f"it at least {least:.4g} m away"
            )
        yaws = [found[0] for found in core.solve(point, [(1.0, 0.0)] * 3)[::2]]
        distance = [core.in_plane(point, q1) for q1 in yaws]
        upper, fore = np.hypot(*core.t2[:2]), np.hypot(*core.w[:2])
        ways = " or ".join(f"{d:.4g}" for d in sorted({round(float(d), 6) for d in distance}))
        return (
            f"the {what} would be {ways} m from the shoulder axis (axis 2); the arm reaches "
            f"{abs(upper - fore):.4g} to {upper + fore:.4g} m"
        )


def meridian(chain: Chain) -> Array:
    """Return joint values (M, n) that sample the reach: a grid of q₂ and q₃; other joints are 0."""
    grid = np.linspace(-np.pi, np.pi, 181)
    q = np.zeros((181, 181, chain.n))
    q[..., 1] = grid[:, None]
    q[..., 2] = grid if chain.kinds[2] == "revolute" else grid * chain.size
    return q.reshape(-1, chain.n)


class PointArm(ClosedForm):
    """Position solver for a spatial arm with three joints; see the module docstring."""

    family = FAMILY
    meets = "position"

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.X0_inverse = invert(chain.X[0])
        self.arm = NamedArm(chain.kinds, chain.X[1], chain.X[2], chain.X[3][:3, 3], chain.size)
        self.flags = self.arm.flags

    def formula(self, T: Pose, q0: list[Scalar], given: Scalar) -> list[Candidate]:
        _, p = compose(constant(self.X0_inverse), T)
        found = self.arm.solve(p, [of_angle(x) for x in q0])
        return [Candidate([q1, q2, q3], exists) for q1, q2, q3, exists in found]

    def flag_values(self, q: Array) -> Array:
        flat = q.reshape(-1, 3)
        values = self.arm.flag_values(self._points(self.chain.fk(flat)), flat)
        return values.reshape(*q.shape[:-1], len(self.flags))

    def why_unreachable(self, T: ArrayLike) -> str | None:
        T = np.asarray(T, dtype=float).reshape(1, 4, 4)
        if self.solve(T).valid.any():
            return None
        p = self._points(self.chain.fk(meridian(self.chain)))
        places = np.stack([np.hypot(p[:, 0], p[:, 1]), p[:, 2]], axis=1)
        return self.arm.why(self._points(T)[0], places, "tool")

    def _points(self, T: Array) -> Array:
        """Return the tool positions (N, 3) of poses T (N, 4, 4) in the frame of axis 1."""
        return T[:, :3, 3] @ self.X0_inverse[:3, :3].T + self.X0_inverse[:3, 3]
