"""Inverse kinematics of arms with seven revolute joints, with the redundancy as a parameter.

All branches are computed for a given value of the parameter. If the last (or first) joint is locked
at a value v, six joints remain. The locked joint only moves the target (or the base):

    T = X₀ S₁ … S₆ X₆ · (S₇(v) X₇)        →   six joints with the target T (S₇(v) X₇)⁻¹.

One solver for six joints is therefore used for all values. It is the closed form for the family of
these six axes, or the general 6R solver.

Arms with a spherical shoulder and a spherical wrist (S-R-S, such as an iiwa) use the *arm angle* ψ
instead. It is the angle of the elbow about the line from the shoulder S to the wrist W, measured
from the half plane that contains the direction of axis 1. If the line is along axis 1, the half
plane contains the x axis of the frame of joint 1 at q = 0. If the elbow is on the line, ψ is
measured to the side to which axis 4 would bend the elbow. |SW| gives two angles of the elbow. The
remaining rotations give two solutions for the shoulder and two for the wrist.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.branches import CompiledBranches
from brazo.kinematics.chain import Chain, chain_of
from brazo.kinematics.closed_form import ClosedForm, recognise
from brazo.kinematics.closed_form.base import ACCEPTED, accepted_distance, pose_errors, wrap
from brazo.kinematics.closed_form.general_six import GeneralSix
from brazo.kinematics.result import IKBatch, into_limits, joint_text, range_text, violations
from brazo.model.description import TreeModel
from brazo.model.transforms import invert

if TYPE_CHECKING:
    from brazo.kinematics.tree import TreeKinematics

Array = np.ndarray

_STRETCHED = 1e-7  # the elbow is on the line from shoulder to wrist: as a part of the arm's size
_ROUNDING = 4e-15  # of the squared distance from shoulder to wrist
_MEET = 1e-9  # axes meet: distance as a part of the arm's size


@dataclass(frozen=True, eq=False)
class Redundancy(ABC):
    """Redundancy parameter of an arm with seven joints, and IK for given parameter values."""

    name: str  # "arm angle", or the name of the locked joint

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the branches."""

    @abstractmethod
    def value(self, q: Array) -> Array:
        """Return values (...) of the redundancy parameter (rad) at configurations q (..., n)."""

    @abstractmethod
    def branches(
        self, T: Array, values: Array, start: Array, tolerance: float, slots: set[int] | None
    ) -> IKBatch:
        """Find all branches for poses T (..., 4, 4) and redundancy parameter values (...).

        `start` (..., n) contains the start values of the joints. A branch is valid only if its
        orientation error is at most 1e-10 rad. The selected branch must also have an orientation
        error of at most `tolerance` (rad) and an index in `slots`; None allows all branches.
        """


@dataclass(frozen=True, eq=False)
class LockedJoint(Redundancy):
    """Redundancy parameter that is the value of the first or last joint of seven."""

    joint: int  # coordinate of the robot
    chain: Chain  # of all seven
    solver: CompiledBranches

    @property
    def names(self) -> tuple[str, ...]:
        return self.solver.names

    def value(self, q: Array) -> Array:
        return q[..., self.joint]

    def branches(
        self, T: Array, values: Array, start: Array, tolerance: float, slots: set[int] | None
    ) -> IKBatch:
        start = np.array(start)
        start[..., self.joint] = values
        found, _ = self.solver.batch(
            self.moved(T, np.asarray(values)), start, True, "full", tolerance, slots
        )
        return replace(found, method=f"{found.method}, {self.name} given")

    def moved(self, T: Array, values: Array) -> Array:
        """Return targets (..., 4, 4) for the other six joints, with the locked joint at `values`.

        T (..., 4, 4) are the targets of the arm with all seven joints.
        """
        turn = np.zeros((*values.shape, 4, 4))
        c, s = np.cos(values), np.sin(values)
        turn[..., 0, 0] = turn[..., 1, 1] = c
        turn[..., 1, 0], turn[..., 0, 1] = s, -s
        turn[..., 2, 2] = turn[..., 3, 3] = 1.0
        X = self.chain.X
        if self.joint == self.chain.coordinates[-1]:
            return T @ invert(X[7]) @ np.swapaxes(turn, -1, -2)
        return np.swapaxes(turn, -1, -2) @ invert(X[0]) @ T


def redundancy_of(model: TreeModel, limits: Array) -> Redundancy | str:
    """Return the redundancy parameter of an arm, or the reason why it has none."""
    try:
        chain = chain_of(model)
    except BrazoError as error:
        return str(error)
    if chain.n != 7 or not chain.revolute.all():
        kinds = "".join(kind[0].upper() for kind in chain.kinds)
        return f"the joints are {kinds}; seven revolute joints are needed"
    swivel = _swivel(chain, limits)
    if swivel is not None:
        return swivel
    reasons, general = [], None
    for place in (6, 0):
        form = recognise(_without(chain, place))
        if not isinstance(form, ClosedForm):
            reasons.append("; ".join(map(str, form)))
            continue
        joint = chain.coordinates[place]
        solver = CompiledBranches(form, limits)
        found = LockedJoint(model.coordinates[joint].name, joint, chain, solver)
        if not isinstance(form, GeneralSix):
            return found
        general = general or found
    return general or "; ".join(reasons)


def _without(chain: Chain, place: int) -> Chain:
    """Return the chain without its first or last joint; `place` is the index of that joint."""
    keep = [i for i in range(7) if i != place]
    X = chain.X[:7] if place else chain.X[1:]
    coordinates = tuple(chain.coordinates[i] for i in keep)
    return Chain(tuple(chain.kinds[i] for i in keep), X, coordinates)


def check_values(arm: TreeKinematics, redundancy: Redundancy, values: Array) -> None:
    """Raise an error if the parameter is a locked joint and a value is out of the joint limits."""
    if not isinstance(redundancy, LockedJoint):
        return
    low, high = arm.limits[redundancy.joint]
    out = (values < low - 1e-9) | (values > high + 1e-9)
    if np.any(out):
        kind = arm.joint_kinds[redundancy.joint]
        value = float(np.atleast_1d(values)[np.atleast_1d(out)][0])
        raise BrazoError(
            f"redundancy: {redundancy.name} at {joint_text(kind, value)} is out of its limits, "
            f"{range_text(kind, arm.limits[redundancy.joint])}"
        )


# --- spherical shoulder, elbow, spherical wrist ---------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArmAngle(Redundancy):
    """Redundancy parameter of an S-R-S arm: the arm angle ψ; see the module docstring."""

    chain: Chain
    limits: Array  # (n, 2) of the robot
    shoulder: Array  # (3,) where axes 1, 2, 3 meet, base frame
    elbow: Array  # (3,) a point of axis 4, in the frame of joint 3
    wrist: Array  # (3,) where axes 5, 6, 7 meet, in the frame of joint 4
    tip: Array  # (3,) the same in the tool frame

    @property
    def names(self) -> tuple[str, ...]:
        words = (("SHOULDER1", "SHOULDER2"), ("ELBOW1", "ELBOW2"), ("WRIST1", "WRIST2"))
        return tuple(" ".join(parts) for parts in itertools.product(*words))

    def value(self, q: Array) -> Array:
        used = q[..., list(self.chain.coordinates)]
        frames = self.chain.frames(used)
        wrist = _point(frames[..., 3, :, :], self.wrist)
        _, x, y = self._plane(wrist - self.shoulder)
        _, _, side = self._links(used[..., 3])
        off = (frames[..., 2, :3, :3] @ side[..., None])[..., 0]
        return np.arctan2((off * y).sum(axis=-1), (off * x).sum(axis=-1))

    def _links(self, q4: Array) -> tuple[Array, Array, Array]:
        """Return three vectors in the frame of joint 3, for values q4 of joint 4.

        They are the vector from shoulder to wrist, its direction, and the unit vector from this
        line to the elbow, perpendicular to the line. If the arm is stretched, axis 4 determines the
        third vector.
        """
        X3 = self.chain.X[3]
        to_wrist = _turned(X3[:3, :3], q4) @ self.wrist + X3[:3, 3]
        u = _unit(to_wrist)
        off = self.elbow - (u @ self.elbow)[..., None] * u
        bent = np.linalg.norm(off, axis=-1, keepdims=True) > _STRETCHED * self.chain.size
        return to_wrist, u, _perpendicular(np.where(bent, off, np.cross(X3[:3, 2], u)), u)

    def _plane(self, to_wrist: Array) -> tuple[Array, Array, Array]:
        """Return unit vectors u, x, y (..., 3), to which the arm angle ψ refers.

        `to_wrist` contains the vectors from shoulder to wrist. u is their direction, x is
        perpendicular to u in the half plane of ψ = 0, and y = u × x.
        """
        u = _unit(to_wrist)
        axes = self.chain.X[0][:3, :3]
        x = axes[:, 2] - (u @ axes[:, 2])[..., None] * u
        upright = np.linalg.norm(x, axis=-1, keepdims=True) <= 1e-9
        x = _perpendicular(np.where(upright, axes[:, 0], x), u)
        return u, x, np.cross(u, x)

    def branches(
        self, T: Array, values: Array, start: Array, tolerance: float, slots: set[int] | None
    ) -> IKBatch:
        chain = self.chain
        lead = T.shape[:-2]
        T, psi = T.reshape(-1, 4, 4), np.reshape(values, -1)
        N = len(T)
        to_wrist = _point(T, self.tip) - self.shoulder
        X3 = chain.X[3]
        # |SW|² = |shoulder to elbow axis …|² in the frame of joint 3: linear in cos, sin of q₄.
        origin = invert(X3)
        s3 = origin[:3, 3]  # the shoulder is the origin of frame 3, seen before joint 4
        w = self.wrist
        a = -2 * (s3[0] * w[0] + s3[1] * w[1])
        b = -2 * (s3[1] * w[0] - s3[0] * w[1])
        c = (to_wrist * to_wrist).sum(axis=-1) - s3 @ s3 - w @ w + 2 * s3[2] * w[2]
        r = math.hypot(a, b)
        reach = np.abs(c) <= r * (1.0 + 1e-12)
        square = (r - c) * (r + c)
        # A stretched arm to rounding is stretched: the wrist may be in line with it.
        half = np.arctan2(np.sqrt(np.where(square > _ROUNDING * r * r, square, 0.0)), c)
        middle = math.atan2(b, a)
        q = np.zeros((N, 2, 2, 2, 7))
        free = np.broadcast_to(start, (*lead, start.shape[-1])).reshape(N, -1)
        free = free[:, list(chain.coordinates)]
        u, x, y = self._plane(to_wrist)
        side = np.cos(psi)[:, None] * x + np.sin(psi)[:, None] * y
        world = np.stack([u, side, np.cross(u, side)], axis=-1)  # (N, 3, 3)
        for e, sign in enumerate((1.0, -1.0)):
            q4 = middle + sign * half
            _, lu, lside = self._links(q4)
            frame = np.stack([lu, lside, np.cross(lu, lside)], axis=-1)
            R3 = world @ np.swapaxes(frame, -1, -2)
            first = np.swapaxes(chain.X[0][:3, :3], -1, -2) @ R3
            shoulder = chain.X[1][:3, :3], chain.X[2][:3, :3], free[:, 0]
            for k, arm in enumerate(_three(first, *shoulder)):
                R4 = R3 @ _turned(X3[:3, :3], q4) @ chain.X[4][:3, :3]
                rest = np.swapaxes(R4, -1, -2) @ T[:, :3, :3] @ chain.X[7][:3, :3].T
                hands = _three(rest, chain.X[5][:3, :3], chain.X[6][:3, :3], free[:, 4])
                for m, hand in enumerate(hands):
                    q[:, k, e, m] = np.concatenate([arm, q4[:, None], hand], axis=-1)
        q = wrap(q.reshape(N, 8, 7))
        position, orientation = pose_errors(chain, q, T)
        near = position <= accepted_distance(chain.size)
        valid = reach[:, None] & near & (orientation <= ACCEPTED)
        return self._batch(lead, q, valid, position, orientation, start, tolerance, slots)

    def _batch(
        self,
        lead: tuple[int, ...],
        q: Array,
        valid: Array,
        position: Array,
        orientation: Array,
        start: Array,
        tolerance: float,
        slots: set[int] | None,
    ) -> IKBatch:
        used = list(self.chain.coordinates)
        n = len(self.limits)
        start = np.broadcast_to(start, (*lead, n)).reshape(-1, 1, n)
        whole = np.array(np.broadcast_to(start, (len(q), 8, n)))
        whole[..., used] = into_limits(q, self.limits[used], self.chain.kinds, start[..., used])
        inside = valid & ~violations(whole, self.limits).any(axis=-1)
        allowed = np.array([slots is None or slot in slots for slot in range(8)])
        chosen = inside & allowed & (orientation <= tolerance)
        away = np.where(chosen, np.abs(whole - start).max(axis=-1), math.inf)
        slot = np.argmin(away, axis=-1)
        success = np.isfinite(away[np.arange(len(q)), slot])
        best = np.where(success[:, None], whole[np.arange(len(q)), slot], np.nan)
        return IKBatch(
            q=best.reshape(*lead, n),
            success=success.reshape(lead),
            branch=np.where(success, slot, -1).reshape(lead),
            all_q=whole.reshape(*lead, 8, n),
            valid=valid.reshape(*lead, 8),
            within_limits=inside.reshape(*lead, 8),
            position_error=position.reshape(*lead, 8),
            orientation_error=orientation.reshape(*lead, 8),
            names=self.names,
            method="closed form, S-R-S arm, arm angle given",
        )


def _swivel(chain: Chain, limits: Array) -> ArmAngle | None:
    """Return the arm angle parameter, or None if the arm is not S-R-S.

    An S-R-S arm has a spherical shoulder (axes 1, 2, 3 meet in a point) and a spherical wrist (axes
    5, 6, 7 meet in a point). Axis 4 must not pass through the shoulder.
    """
    directions, points = chain.home_axes
    shoulder = _meeting(directions[:3], points[:3], chain.size)
    wrist = _meeting(directions[4:], points[4:], chain.size)
    if shoulder is None or wrist is None:
        return None
    chain = _centred(chain, shoulder, wrist)
    frames = chain.frames(np.zeros(7))
    W = invert(frames[3]) @ np.append(wrist, 1.0)
    elbow = chain.X[3][:3, 3]
    axis = chain.X[3][:3, 2]
    # The point of axis 4 nearest to the shoulder; on the line itself, the elbow has no side.
    elbow = elbow - (elbow @ axis) * axis
    tip = invert(chain.home) @ np.append(wrist, 1.0)
    if np.linalg.norm(elbow) < _MEET * chain.size:
        return None
    return ArmAngle("arm angle", chain, limits, shoulder, elbow, W[:3], tip[:3])


def _centred(chain: Chain, shoulder: Array, wrist: Array) -> Chain:
    """Return the chain with frames 1, 2, 3 moved to the shoulder and 5, 6, 7 to the wrist."""
    X = chain.X.copy()
    frames = chain.frames(np.zeros(7))
    for i, point in enumerate([shoulder] * 3 + [None] + [wrist] * 3):
        if point is None:
            continue
        # A shift along the axis of joint i + 1 commutes with its rotation.
        d = float((invert(frames[i]) @ np.append(point, 1.0))[2])
        along = np.eye(4)
        along[2, 3] = d
        X[i] = X[i] @ along
        X[i + 1] = invert(along) @ X[i + 1]
    return Chain(chain.kinds, X, chain.coordinates)


def _meeting(directions: Array, points: Array, size: float) -> Array | None:
    """Return the intersection of three axes, or None if they do not meet in a point."""
    A = np.concatenate([np.eye(3) - np.outer(d, d) for d in directions])
    b = np.concatenate(
        [(np.eye(3) - np.outer(d, d)) @ p for d, p in zip(directions, points, strict=True)]
    )
    point, _, rank, _ = np.linalg.lstsq(A, b, rcond=1e-9)
    off = float(np.abs(A @ point - b).max())
    return point if rank == 3 and off < _MEET * size else None


def _point(T: Array, p: Array) -> Array:
    return T[..., :3, :3] @ p + T[..., :3, 3]


def _turned(R: Array, q: Array) -> Array:
    """Return R Rz(q), shape (..., 3, 3)."""
    c, s = np.cos(q)[..., None], np.sin(q)[..., None]
    x, y, z = R[:, 0], R[:, 1], R[:, 2]
    return np.stack([c * x + s * y, c * y - s * x, np.broadcast_to(z, (*q.shape, 3))], axis=-1)


def _unit(v: Array) -> Array:
    return v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-300)


def _perpendicular(v: Array, u: Array) -> Array:
    """Return unit vectors (..., 3) along the part of v perpendicular to the unit vectors u."""
    for _ in range(2):  # once more, for a v that is nearly along u
        v = _unit(v - (v * u).sum(axis=-1, keepdims=True) * u)
    return v


def _three(R: Array, A: Array, B: Array, free: Array) -> list[Array]:
    """Return both solutions (a, b, c), each (N, 3), of R = Rz(a) A Rz(b) B Rz(c).

    Where R determines only a + c or a − c, the value of a is `free`.
    """
    # z·R z = (Aᵀ z)·Rz(b) (B z)
    p, r = A.T[:, 2], B[:, 2]
    a, b = p[0] * r[0] + p[1] * r[1], p[1] * r[0] - p[0] * r[1]
    c = R[:, 2, 2] - p[2] * r[2]
    # 1 − R₂₂² taken from the other entries, as in spherical wrists.
    sine2 = R[:, 0, 2] ** 2 + R[:, 1, 2] ** 2
    rest = sine2 - (p[2] ** 2 + r[2] ** 2) + 2.0 * p[2] * r[2] * R[:, 2, 2]
    half = np.arctan2(np.sqrt(np.maximum(rest, 0.0)), c)
    middle = math.atan2(b, a)
    found = []
    for sign in (1.0, -1.0):
        angle = middle + sign * half
        M = _turned(A, angle) @ B
        # Rz(a) M Rz(c) = R: third columns for a, third rows for c.
        first = np.where(sine2 > 1e-24, _from_to(M[:, :2, 2], R[:, :2, 2]), free)
        N = np.swapaxes(_turned(np.eye(3), first) @ M, -1, -2) @ R
        found.append(np.stack([first, angle, np.arctan2(N[:, 1, 0], N[:, 0, 0])], axis=-1))
    return found


def _from_to(a: Array, b: Array) -> Array:
    """Return the angles (N,) from a to b, both vectors (N, 2); 0 where a vector vanishes."""
    return np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], (a * b).sum(axis=-1))
