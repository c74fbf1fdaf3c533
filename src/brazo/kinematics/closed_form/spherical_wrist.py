"""Six revolute joints whose last three axes meet in a point: any first three, any wrist angles.

The wrist centre, where axes 4, 5, 6 meet, follows from the target alone and depends on q₁, q₂,
q₃ only (`position.py`, up to four solutions).  What rotation remains is the wrist's,

    R₃₆ = Rz(q₄) R₄ Rz(q₅) R₅ Rz(q₆),

whose last entry is linear in cos q₅ and sin q₅; each of its two roots gives one q₄ and one q₆.

Branch names, for the arms whose axes 2 and 3 are parallel.  a₁, a₂: directions of axes 1 and 2;
f = a₂ × a₁ the arm's forward direction; o the offset of the wrist centre along a₂ from the
common normal of axes 1 and 2; s the part along f of the way from axis 1 to the wrist centre.

    LEFTY  s·o ≥ 0 (o = 0 counts as positive): from above, the arm's plane passes left of axis 1 for
           someone who looks from there to the wrist; else RIGHTY
    ABOVE  the elbow (axis 3) is above the line from shoulder to wrist: ((elbow − shoulder) ×
           (wrist − shoulder))·a₂ has the sign of s; else BELOW
    NOFLIP q₅, counted from where axes 4 and 6 are in line, is in [0, π]; else FLIP

Other arms: where axes 1 and 2 are parallel LEFTY means that axis 2 is left of the line from axis
1 to the wrist centre, seen from above, and ELBOW1, ELBOW2 are the two roots for q₃.  Otherwise
ARM1 to ARM4, or ARM1, ARM2 × ELBOW1, ELBOW2 count the roots.

At singular poses the target leaves a joint free, which then keeps its value of q0 (0 without
q0): q₄ where axes 4 and 6 are in line, q₁ with the wrist centre on axis 1, q₂ with it on axis 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.kinematics.chain import Chain
from brazo.kinematics.closed_form.base import (
    ACCEPTED,
    ClosedForm,
    Flag,
    Mismatch,
    wrap,
)
from brazo.kinematics.closed_form.polish import polish
from brazo.kinematics.closed_form.position import NEARLY, PositionArm, feet
from brazo.model.transforms import invert, translate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Array = np.ndarray

FAMILY = "6R arm with a spherical wrist"
WRIST: Flag = ("wrist", ("NOFLIP", "FLIP"))


def recognise(chain: Chain) -> SphericalWrist | Mismatch:
    """The solver of an arm of this family, or the reason why it does not belong to it."""
    if chain.kinds != ("revolute",) * 6:
        return Mismatch(FAMILY, f"it has {_joints(chain)}, not six revolute joints")
    (a4, b4), (a5, b5) = feet(chain.X[4]), feet(chain.X[5])
    for first, X in ((4, chain.X[4]), (5, chain.X[5])):
        if np.hypot(X[0, 2], X[1, 2]) <= NEARLY:
            return Mismatch(FAMILY, f"axes {first} and {first + 1} are parallel")
    for first, a, b, X in ((4, a4, b4, chain.X[4]), (5, a5, b5, chain.X[5])):
        gap = np.linalg.norm((translate(z=-a) @ X @ translate(z=b))[:3, 3])
        if gap > NEARLY * chain.size:
            return Mismatch(FAMILY, f"axes {first} and {first + 1} pass each other at {gap:.6g} m")
    if abs(a5 - b4) > NEARLY * chain.size:
        apart = f"axis 6 meets axis 5 {abs(a5 - b4):.6g} m from where axis 4 meets it"
        return Mismatch(FAMILY, apart)
    solver = SphericalWrist(chain, a4, b5)
    if not solver.places_the_wrist():
        reason = "joints 1 to 3 cannot move the wrist centre in all directions, wherever they stand"
        return Mismatch(FAMILY, reason)
    return solver


class SphericalWrist(ClosedForm):
    """See the module docstring; created by `recognise`."""

    family = FAMILY

    def __init__(self, chain: Chain, a4: float, b6: float) -> None:
        """a4, b6: where the wrist centre is on axis 4 and on axis 6."""
        self.chain = chain
        X3 = chain.X[3] @ translate(z=a4)
        self.X0_inverse = invert(chain.X[0])
        self.tool_to_wrist = invert(translate(z=-b6) @ chain.X[6])
        self.R1, self.R2, self.R3, self.R4, self.R5 = (
            X[:3, :3] for X in (chain.X[1], chain.X[2], X3, chain.X[4], chain.X[5])
        )
        self.arm = PositionArm(chain.X[1], chain.X[2], X3[:3, 3], chain.size)
        a, b = self.R4[2], self.R5[:, 2]
        self.straight = float(np.arctan2(a[1] * b[0] - a[0] * b[1], a[0] * b[0] + a[1] * b[1]))
        self.flags, self.slots = self._names()

    def places_the_wrist(self) -> bool:
        """False if joints 1 to 3 are degenerate everywhere (e.g. three parallel axes)."""
        q = np.random.default_rng(0).uniform(-3, 3, (16, 6))
        frames = self.chain.frames(q)
        z, origin = frames[:, :3, :3, 2], frames[:, :3, :3, 3]
        wrist = self.chain.fk(q) @ self.tool_to_wrist[:, 3]
        J = np.cross(z, wrist[:, None, :3] - origin) / self.chain.size
        return bool(np.linalg.svd(J, compute_uv=False)[:, -1].max() > 1e-7)

    def flag_values(self, q: Array) -> Array:
        batch = q.shape[:-1]
        flat = q.reshape(-1, 6)
        # A hair below the straight wrist still counts as straight.
        flip = (np.sin(flat[:, 4] - self.straight) < -1e-12).astype(int)
        wrist, _ = self._targets(self.chain.fk(flat))
        if self.arm.normal.case == "skew":
            found = self.arm.solve(wrist, flat[:, :3])
            away = np.abs(wrap(found - flat[:, None, :3])).max(axis=-1)
            slot = np.argmin(np.where(np.isnan(away), np.inf, away), axis=1)
            return np.stack([slot, flip], axis=-1).reshape(*batch, 2)
        slot = np.argsort(self.slots)[self.arm.raw_branch(wrist, flat[:, :3])]
        return np.stack([slot // 2, slot % 2, flip], axis=-1).reshape(*batch, 3)

    def why_unreachable(self, T: ArrayLike) -> str | None:
        T = np.asarray(T, dtype=float).reshape(1, 4, 4)
        q, valid, _, _ = self._solve(T, None)
        if valid.any():
            return None
        p, _ = self._targets(T)
        reached, _ = self._targets(self.chain.fk(q[0]))
        if np.linalg.norm(reached - p, axis=1).min() <= 1e-6 * self.chain.size:
            lean = np.rad2deg(self._wrist_lean(T))
            low, high = np.rad2deg(self._wrist_range())
            return (
                f"the wrist would have to lean {np.min(lean):.1f}° (angle of axis 6 to axis 4), "
                f"it leans {low:.1f}° to {high:.1f}°"
            )
        return self._why_position(p)

    def _names(self) -> tuple[tuple[Flag, ...], Array]:
        """The flags, and the raw branch of `PositionArm` that each pair of arm flags means."""
        arm = self.arm
        if arm.parallel_23 and not arm.parallel_12:
            # Raw branches: s ≥ 0, s < 0; in each ((elbow) × (wrist))·a₂ ≤ 0, then ≥ 0.
            slots = [1, 0, 2, 3] if arm.offset >= -1e-12 * arm.size else [2, 3, 1, 0]
            words = ("arm", ("LEFTY", "RIGHTY")), ("elbow", ("ABOVE", "BELOW"))
        elif arm.normal.case == "parallel":
            # Raw branches: two roots q₃; in each axis 2 right of the line, then left (a₂ along a₁).
            slots = [1, 3, 0, 2] if arm.normal.cos > 0 else [0, 2, 1, 3]
            words = ("arm", ("LEFTY", "RIGHTY")), ("elbow", ("ELBOW1", "ELBOW2"))
        elif arm.normal.case == "meet":
            slots = [0, 1, 2, 3]
            words = ("arm", ("ARM1", "ARM2")), ("elbow", ("ELBOW1", "ELBOW2"))
        else:
            slots = [0, 1, 2, 3]
            words = (("arm", ("ARM1", "ARM2", "ARM3", "ARM4")),)
        return (*words, WRIST), np.array(slots)

    def _solve(self, T: Array, q0: Array | None) -> tuple[Array, Array, Array, Array]:
        q0 = np.zeros((len(T), 6)) if q0 is None else q0
        p, R06 = self._targets(T)
        arm = self.arm.solve(p, q0[:, :3])[:, self.slots]
        missing = np.isnan(arm[..., 2])
        arm = np.where(missing[..., None], 0.0, arm)
        q = np.empty((len(T), 4, 2, 6))
        q[..., :3] = arm[:, :, None]
        q[..., 3:] = self._wrist(self._wrist_rotation(R06, arm), q0[:, None, 3])
        q = q.reshape(len(T), 8, 6)
        position, orientation = polish(self.chain, q, T)
        close = (position <= ACCEPTED * self.chain.size) & (orientation <= ACCEPTED)
        return wrap(q), close & ~np.repeat(missing, 2, axis=1), position, orientation

    def _targets(self, T: Array) -> tuple[Array, Array]:
        """Wrist centre (N, 3) and wrist rotation (N, 3, 3) in the frame of axis 1."""
        A = T[:, :3] @ self.tool_to_wrist
        R0, t0 = self.X0_inverse[:3, :3], self.X0_inverse[:3, 3]
        return A[:, :, 3] @ R0.T + t0, R0 @ A[:, :, :3]

    def _wrist_rotation(self, R06: Array, arm: Array) -> Array:
        """R₃₆ (N, 4, 3, 3): what the arm leaves to the wrist."""
        # Built up as its transpose, so that each step is a turn of two columns and one product.
        G = np.repeat(np.swapaxes(R06, 1, 2)[:, None], 4, axis=1)
        for i, R in enumerate((self.R1, self.R2, self.R3)):
            s, c = np.sin(arm[..., i, None]), np.cos(arm[..., i, None])
            x, y = G[..., 0].copy(), G[..., 1].copy()
            G[..., 0], G[..., 1] = c * x + s * y, c * y - s * x
            G = G @ R
        return np.swapaxes(G, -1, -2)

    def _wrist(self, R: Array, free: Array) -> Array:
        """q₄, q₅, q₆ of wrist rotations (N, 4, 3, 3): (N, 4, 2, 3)."""
        a, b = self.R4[2], self.R5[:, 2]
        sine2 = R[..., 0, 2] ** 2 + R[..., 1, 2] ** 2
        # (1 − a²)(1 − b²) − (R₂₂ − ab)² with 1 − R₂₂² taken from the other entries, which keeps
        # all digits next to the straight wrist.
        rest = sine2 - a[2] ** 2 - b[2] ** 2 + 2 * a[2] * b[2] * R[..., 2, 2]
        bend = np.arctan2(np.sqrt(np.maximum(rest, 0.0)), R[..., 2, 2] - a[2] * b[2])
        q5 = self.straight + np.stack([bend, -bend], axis=-1)
        approach = self._after_bend(q5, self.R5[:, 2])
        q4 = np.arctan2(R[..., 1, 2], R[..., 0, 2])[..., None]
        q4 = q4 - np.arctan2(approach[..., 1], approach[..., 0])
        q4 = np.where((sine2 <= 1e-24)[..., None], free[..., None], q4)
        s, c = np.sin(q4), np.cos(q4)
        x, y, z = (R[..., None, i, 0] for i in range(3))
        # R's first column, turned back by q₄, against the first two columns before the last turn.
        x, y = c * x + s * y, c * y - s * x
        first, second = (self._after_bend(q5, self.R5[:, i]) for i in (0, 1))
        q6 = np.arctan2(
            x * second[..., 0] + y * second[..., 1] + z * second[..., 2],
            x * first[..., 0] + y * first[..., 1] + z * first[..., 2],
        )
        return np.stack([q4, q5, q6], axis=-1)

    def _after_bend(self, q5: Array, r: Array) -> Array:
        """R₄ Rz(q₅) r."""
        cosine, sine = self.R4 @ (r[0], r[1], 0.0), self.R4 @ (-r[1], r[0], 0.0)
        return np.cos(q5)[..., None] * cosine + np.sin(q5)[..., None] * sine + self.R4[:, 2] * r[2]

    def _wrist_lean(self, T: Array) -> Array:
        """Angles of axis 6 to axis 4 that the targets ask for, one a branch of the arm."""
        p, R06 = self._targets(T)
        arm = self.arm.solve(p, np.zeros((len(T), 3)))
        R = self._wrist_rotation(R06, arm)
        return np.arccos(np.clip(R[..., 2, 2][~np.isnan(arm[..., 2])], -1, 1))

    def _wrist_range(self) -> tuple[float, float]:
        """Min and max angle of axis 6 to axis 4 (rad)."""
        first, second = np.arccos(np.clip([self.R4[2, 2], self.R5[2, 2]], -1, 1))
        return abs(first - second), min(first + second, 2 * np.pi - first - second)

    def _why_position(self, p: Array) -> str:
        arm = self.arm
        radius = float(np.hypot(p[0, 0], p[0, 1]))
        if not (arm.parallel_23 and not arm.parallel_12):
            reach = self._meridian()
            miss = np.hypot(reach[:, 0] - radius, reach[:, 1] - p[0, 2]).min()
            return (
                f"the wrist centre would be {radius:.4g} m from axis 1 at height {p[0, 2]:.4g} m; "
                f"the nearest the arm can bring it is about {miss:.2g} m away"
            )
        A, B, C = arm.lateral(p)
        if abs(C) > np.hypot(A, B) + ACCEPTED * arm.size:
            least = radius * abs(C) / np.hypot(A, B) if radius > 0 else abs(arm.offset)
            return (
                f"the wrist centre would be {radius:.4g} m from axis 1, but the arm's offset keeps "
                f"it at least {least:.4g} m away"
            )
        q1 = arm.solve(p, np.zeros((1, 3)))[:, ::2, 0]
        distance = arm.in_plane(p, q1)[0]
        upper, fore = np.hypot(*arm.t2[:2]), np.hypot(*arm.w[:2])
        ways = " or ".join(f"{d:.4g}" for d in sorted({round(float(d), 6) for d in distance}))
        return (
            f"the wrist centre would be {ways} m from the shoulder axis (axis 2), the arm reaches "
            f"{abs(upper - fore):.4g} to {upper + fore:.4g} m"
        )

    def _meridian(self) -> Array:
        """Radius from axis 1 and height (M, 2) the wrist centre takes on a grid of q₂, q₃."""
        grid = np.linspace(-np.pi, np.pi, 181)
        q = np.zeros((181, 181, 6))
        q[..., 1], q[..., 2] = grid[:, None], grid
        p, _ = self._targets(self.chain.fk(q.reshape(-1, 6)))
        return np.stack([np.hypot(p[:, 0], p[:, 1]), p[:, 2]], axis=1)


def _joints(chain: Chain) -> str:
    return f"{chain.n} joints ({''.join(kind[0].upper() for kind in chain.kinds)})"
