"""Joint values of three joints that bring a point to a target position.

The three joints are R-R-R (`PositionArm`) or R-R-P (`SlidingArm`). They are the first three joints
of an arm with a spherical wrist, where the point is the wrist centre, or a whole arm with three
joints.

Let p be the target point in frame 0 (z on axis 1) and w the point in frame 3. R₁, t₁ (frame 1 to
axis 2) and R₂, t₂ (frame 2 to axis 3) are constant. Then

    Rz(q₁) [R₁ Rz(q₂) v(q₃) + t₁] = p,      v(q₃) = R₂ Rz(q₃) w + t₂.

|p|² and p_z do not depend on q₁. The origins of frames 1 and 2 are placed where the common normal
of axes 1 and 2 intersects these axes. t₁ is therefore perpendicular to both axes. μ is its length
and α the angle between the axes. Let x be the component of Rz(q₂) v along t₁, and g the component
perpendicular to t₁ and to axis 2. Then

    2 μ x = |p|² − |v|² − μ² =: E(q₃)
    sin α · g = p_z − cos α v_z =: F(q₃)
    x² + g² = v_x² + v_y².

E and F are linear in cos q₃ and sin q₃, so:

  μ = 0 (axes 1, 2 intersect)      E(q₃) = 0 gives two q₃, each with one g and x = ±√…
  sin α = 0 (axes 1, 2 parallel)   F(q₃) = 0 gives two q₃, each with one x and g = ±√…
  otherwise                        sin²α E² + 4μ² F² = 4μ² sin²α (v_x² + v_y²): up to four q₃

The chain from w back to p has the same form, with q₃ and q₁ exchanged and q₂ negative:

    Rz(−q₃) [R₂ᵀ Rz(−q₂) y(q₁) − R₂ᵀ t₂] = w,    y(q₁) = R₁ᵀ (Rz(−q₁) p − t₁)

Square roots are therefore also sufficient if axes 2 and 3 are parallel (as in nearly every
industrial arm) or intersect. References: Pieper 1968; Craig, *Introduction to Robotics*, sec. 4.6.

Angles are given and returned as (cos, sin), see `pairs.py`. *Raw branches* are the solutions in the
order of the equations; `point_arm.py` gives them names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.codegen.ring import maximum, sqrt, where
from brazo.kinematics.closed_form.pairs import (
    Pair,
    Vector,
    back,
    both_roots,
    constant_pair,
    dot3,
    length,
    root,
    select,
    times,
    times_matrix,
    turned,
    unit,
)
from brazo.kinematics.closed_form.quartic import circle_roots
from brazo.model.transforms import invert, translate

Array = np.ndarray
Scalar = Any
Swept = tuple[Vector, Vector, Vector]  # v₀, v_c, v_s of v₀ + v_c cos θ + v_s sin θ

# Axes that are parallel or intersect up to this tolerance (rad, or a fraction of the arm's size)
# are solved as if they were exactly so, and Newton steps correct the solution.  The quartic would
# lose more digits, because two of its roots nearly coincide.  A file with 1.5708 for a right angle
# is off by 4e-6.
NEARLY = 1e-5


@dataclass(frozen=True, eq=False)
class Normal:
    """Common normal of two neighbouring axes, and the solution of the position equations for them.

    The outer axis is axis 1 and the inner axis is axis 2. In the chain from w back to p, the outer
    axis is axis 3.
    """

    mu: float  # length of the common normal (m), 0 if the axes intersect
    sin: float  # sine of the angle between the axes, 0 if they are parallel
    cos: float
    angle: float  # direction of the common normal about the inner axis (rad)

    @staticmethod
    def of(m: Array, k: Array, size: float) -> Normal:
        """Make the normal from its vector m (outer to inner axis) and the outer axis direction k.

        Both vectors are in the frame of the inner axis. `size` is the size of the arm (m).
        """
        mu, across = float(np.hypot(m[0], m[1])), float(np.hypot(k[0], k[1]))
        mu = mu if mu > NEARLY * size else 0.0
        if mu:
            ex, ey = m[:2] / mu
            sin = float(k[1] * ex - k[0] * ey) if across > NEARLY else 0.0
            return Normal(mu, sin, float(k[2]), float(np.arctan2(ey, ex)))
        if across > NEARLY:
            return Normal(0.0, across, float(k[2]), float(np.arctan2(-k[0], k[1])))
        return Normal(0.0, 0.0, float(np.sign(k[2])), 0.0)

    @property
    def case(self) -> str:
        """Relative position of the axes: "meet" (they intersect), "parallel" or "skew"."""
        return "meet" if self.mu == 0 else "parallel" if self.sin == 0 else "skew"

    def solve(
        self, v: Swept, norm2: Scalar, z: Scalar, free: tuple[Pair, Pair], size: float
    ) -> list[tuple[Pair, Pair, Scalar]]:
        """Return four solutions (θ, φ, exists) for a target with |p|² = norm2 and p_z = z.

        θ is the angle in v(θ) = v₀ + v_c cos θ + v_s sin θ, where v₀, v_c and v_s are the elements
        of `v`. φ is the angle by which v(θ) is rotated about the inner axis.
        `exists` is ≥ 0 where the solution exists. Unless the axes are skew, solutions 0 and 1 have
        the same θ, as have solutions 2 and 3. `free` contains the values of θ and φ to use if the
        target does not determine them.
        """
        if self.case == "skew":
            roots = self._quartic(v, norm2, z, size)
        else:
            first, second = both_roots(*self._linear(v, norm2, z), free[0], 1e-12 * size)
            roots = [(first, 0.0), (first, 0.0), (second, 0.0), (second, 0.0)]
        found = []
        for i, (theta, exists) in enumerate(roots):
            sign = -1.0 if i % 2 else 1.0
            phi = self.turn(swept(v, theta), norm2, z, sign, free[1], size)
            found.append((theta, phi, exists))
        return found

    def turn(
        self, at: Vector, norm2: Scalar, z: Scalar, sign: float, free: Pair, size: float
    ) -> Pair:
        """Return the angle φ about the inner axis that rotates v = `at` to the target.

        The target has |p|² = norm2 and p_z = z. `sign` selects the square root if the axes
        intersect or are parallel. `free` is returned if v is on the inner axis.
        """
        rho2 = at[0] * at[0] + at[1] * at[1]
        x, g = self._across(at, norm2, z)
        if self.case == "parallel":
            g = sign * root(rho2 - x * x, rho2)
        elif self.case == "meet":
            x = sign * root(rho2 - g * g, rho2)
        turn = times(times((x, g), (at[0], -at[1])), constant_pair(self.angle))
        r = sqrt((x * x + g * g) * rho2)
        return select(rho2 - (1e-12 * size) ** 2, unit(*turn, free, r=r), free)

    def signs(
        self, v: Swept, theta: Pair, phi: Pair, norm2: Scalar, z: Scalar
    ) -> tuple[Array, Array]:
        """Return the indices (N,), each 0 or 1, of θ and of φ among the solutions of `solve`.

        Index 0 is the first of the two values that `solve` returns. The indices are not defined for
        skew axes.
        """
        A, B, _ = self._linear(v, norm2, z)
        slope = B * theta[0] - A * theta[1]
        at = swept(v, theta)
        cos, sin = times(times(phi, (at[0], at[1])), back(constant_pair(self.angle)))
        side = (sin if self.case == "parallel" else cos) / np.hypot(at[0], at[1])
        first = slope > 1e-12 * np.hypot(A, B)
        return first.astype(int), (side < -1e-12).astype(int)

    def _linear(self, v: Swept, norm2: Scalar, z: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return (A, B, C) of the equation A cos θ + B sin θ = C, which does not contain φ.

        There is no such equation for skew axes.
        """
        v0, vc, vs = v
        if self.case == "parallel":
            return vc[2], vs[2], z * self.cos - v0[2]
        # Divided by twice the length of v_c, so that A, B and C are lengths.
        reach = length(*vc)
        reach = where(-reach, 1.0, reach)
        A, B = dot3(v0, vc) / reach, dot3(v0, vs) / reach
        return A, B, 0.5 * (norm2 - self.mu**2 - dot3(v0, v0) - dot3(vc, vc)) / reach

    def _across(self, at: Vector, norm2: Scalar, z: Scalar) -> tuple[Scalar, Scalar]:
        """Return the components x and g of v = `at` after its rotation about the inner axis.

        x is along the common normal, g perpendicular to it and to the inner axis. If the axes
        intersect, x is returned as 0; if they are parallel, g is returned as 0. The caller then
        computes this component as a square root.
        """
        x = g = 0.0
        if self.mu:
            x = (norm2 - self.mu**2 - dot3(at, at)) * (0.5 / self.mu)
        if self.sin:
            g = (z - self.cos * at[2]) * (1.0 / self.sin)
        return x, g

    def _quartic(self, v: Swept, norm2: Scalar, z: Scalar, size: float) -> list[Any]:
        """Return the solutions θ for skew axes (up to four), in the format of `circle_roots`."""
        scale = 1.0 / size
        v0, vc, vs = ([scale * x for x in part] for part in v)
        norm2, z, mu = norm2 * scale**2, z * scale, self.mu * scale
        length2 = [dot3(v0, v0) + dot3(vc, vc), 2 * dot3(v0, vc), 2 * dot3(v0, vs)]
        height = [v0[2], vc[2], vs[2]]
        E = [norm2 - mu**2 - length2[0], -length2[1], -length2[2]]
        F = [z - self.cos * height[0], -self.cos * height[1], -self.cos * height[2]]
        squares = [(self.sin**2, E), (4 * mu**2, F), (4 * mu**2 * self.sin**2, height)]
        return circle_roots(squares, [-4 * mu**2 * self.sin**2 * x for x in length2])


class SlidingArm:
    """Position solver of an R-R-P arm, where v = v₀ + v_d q₃ (symbols: see the module docstring).

    Axes 1 and 2 must intersect or be parallel. If they intersect, |v|² = |p|² gives two q₃. If they
    are parallel, p_z = cos α v_z gives one q₃.
    """

    def __init__(self, X1: Array, X2: Array, w: Array, size: float) -> None:
        self.size = size
        a1, b1 = feet(X1)
        self.h1 = a1
        X1 = translate(z=-a1) @ X1 @ translate(z=b1)
        X2 = translate(z=-b1) @ X2
        self.normal = Normal.of(*_normal(X1), size)
        self.R1, self.t1 = X1[:3, :3], X1[:3, 3]
        self.v0, self.vd = (X2[:3, :3] @ w + X2[:3, 3]).tolist(), X2[:3, 2].tolist()
        self.offset = float(self.v0[2])

    @property
    def solvable(self) -> bool:
        """True if the position equations have a closed form.

        Axes 1 and 2 must intersect in one point, or be parallel to each other and not perpendicular
        to axis 3.
        """
        normal = self.normal
        if normal.case == "parallel":
            return abs(self.vd[2]) > NEARLY
        return normal.case == "meet" and normal.sin != 0.0

    def solve(self, p: Vector, free: list[Pair]) -> list[tuple[Pair, Pair, Scalar, Scalar]]:
        """Return four solutions (q₁, q₂, q₃, exists), or two if axes 1 and 2 are parallel.

        The larger q₃ comes first. For each q₃ the solution with x ≥ 0 comes first (for parallel
        axes: g ≥ 0). `exists` is always 0: targets out of reach are not detected here. `free`
        contains the angles q₁ and q₂ to use if the target does not determine them.
        """
        p = [p[0], p[1], p[2] - self.h1]
        norm2, normal = dot3(p, p), self.normal
        if normal.case == "parallel":
            slides = [(p[2] * normal.cos - self.v0[2]) * (1.0 / self.vd[2])]
        else:
            middle = -dot3(self.v0, self.vd)
            root = sqrt(maximum(middle * middle - dot3(self.v0, self.v0) + norm2, 0.0))
            slides = [middle + root, middle - root]
        on_axis = (1e-12 * self.size) ** 2 - (p[0] * p[0] + p[1] * p[1])
        found = []
        for slide in slides:
            at = [a + b * slide for a, b in zip(self.v0, self.vd, strict=True)]
            for sign in (1.0, -1.0):
                q2 = normal.turn(at, norm2, p[2], sign, free[1], self.size)
                r = times_matrix(self.R1, turned(q2, at))
                r = [a + b for a, b in zip(r, self.t1.tolist(), strict=True)]
                q1 = unit(*times((p[0], p[1]), (r[0], -r[1])), free[0])
                found.append((select(on_axis, free[0], q1), q2, slide, 0.0))
        return found

    def raw_branch(self, p: Array, q: Array) -> Array:
        """Return the indices (N,) of configurations q (N, 3) among the solutions of `solve`.

        p (N, 3) is the position of the point at q.
        """
        at = [a + b * q[:, 2] for a, b in zip(self.v0, self.vd, strict=True)]
        turn = times((np.cos(q[:, 1]), np.sin(q[:, 1])), (at[0], at[1]))
        cos, sin = times(turn, back(constant_pair(self.normal.angle)))
        rho = np.maximum(np.hypot(at[0], at[1]), 1e-300)
        if self.normal.case == "parallel":
            return (sin < -1e-12 * rho).astype(int)
        inner = q[:, 2] < -dot3(self.v0, self.vd) - 1e-12 * self.size
        return 2 * inner.astype(int) + (cos < -1e-12 * rho).astype(int)


class PositionArm:
    """Position solver of an R-R-R arm; see the module docstring."""

    def __init__(self, X1: Array, X2: Array, w: Array, size: float) -> None:
        """Make the solver from the transforms X1 (frame 1 to axis 2) and X2 (frame 2 to axis 3).

        w (3,) is the point, which is fixed in frame 3. `size` is the size of the arm (m).
        """
        self.size = size
        a1, b1 = feet(X1)
        a2, b2 = feet(X2)
        ahead = Normal.of(*_normal(translate(z=-a1) @ X1 @ translate(z=b1)), size)
        back = invert(translate(z=-a2) @ X2 @ translate(z=b2))
        behind = Normal.of(*_normal(back), size)
        # Parallel axes 2 and 3 have priority: the usual branch names are defined for them.
        easy = [behind.case == "parallel", ahead.case != "skew"]
        easy.append(behind.case == "meet")
        self.backward = easy[0] or (not easy[1] and (easy[2] or abs(behind.sin) > abs(ahead.sin)))
        self.normal = behind if self.backward else ahead
        self.parallel_23 = behind.case == "parallel"
        self.parallel_12 = ahead.case == "parallel"
        # The frames move along their axes to the common normal that is used.
        h1, h2, h3 = (0.0, a2, b2) if self.backward else (a1, b1, 0.0)
        self.h1 = h1
        X1, X2 = translate(z=-h1) @ X1 @ translate(z=h2), translate(z=-h2) @ X2 @ translate(z=h3)
        self.R1, self.t1, self.R2, self.t2 = X1[:3, :3], X1[:3, 3], X2[:3, :3], X2[:3, 3]
        self.w = w - (0.0, 0.0, h3)
        # Offset of the point along axis 2, measured from the common normal of axes 1 and 2.
        self.offset = float(self.R2[2, 2] * self.w[2] + h2 - b1) if self.parallel_23 else 0.0
        self.v: Swept = tuple(
            part.tolist()
            for part in (
                self.R2 @ (0.0, 0.0, self.w[2]) + self.t2,
                self.R2 @ (self.w[0], self.w[1], 0.0),
                self.R2 @ (-self.w[1], self.w[0], 0.0),
            )
        )

    def solve(self, p: Vector, free: list[Pair]) -> list[tuple[Pair, Pair, Pair, Scalar]]:
        """Return four solutions (q₁, q₂, q₃, exists) for a target point p (three scalars).

        `exists` is ≥ 0 where a solution exists. It may also be ≥ 0 if the target is out of reach.
        The angles are then approximate, so the caller must check them. `free` contains the angles
        to use if the target does not determine them.
        """
        p = [p[0], p[1], p[2] - self.h1]
        found = []
        if self.backward:
            v = self._from_target(p)
            order = free[0], back(free[1])
            w = self.w.tolist()
            own = _unit_floats(w[0], w[1])
            for q1, phi, exists in self.normal.solve(v, self._w2, w[2], order, self.size):
                r = turned(phi, swept(v, q1))
                r = times_matrix(self.R2.T, [a - b for a, b in zip(r, self.t2, strict=True)])
                q3 = times(unit(r[0], r[1]), back(own))
                found.append((q1, back(phi), q3, exists))
            return found
        order = free[2], free[1]
        on_axis = (1e-12 * self.size) ** 2 - (p[0] * p[0] + p[1] * p[1])
        for q3, q2, exists in self.normal.solve(self.v, dot3(p, p), p[2], order, self.size):
            r = times_matrix(self.R1, turned(q2, swept(self.v, q3)))
            r = [a + b for a, b in zip(r, self.t1.tolist(), strict=True)]
            q1 = unit(*times((p[0], p[1]), (r[0], -r[1])), free[0])
            found.append((select(on_axis, free[0], q1), q2, q3, exists))
        return found

    def raw_branch(self, p: Array, q: Array) -> Array:
        """Return the indices (N,) of configurations q (N, 3) among the solutions of `solve`.

        p (N, 3) is the position of the point at q. The indices are not defined for skew axes.
        """
        point = [p[:, 0], p[:, 1], p[:, 2] - self.h1]
        q1, q2, q3 = ((np.cos(x), np.sin(x)) for x in q.T)
        if self.backward:
            v, targets = self._from_target(point), (self._w2, self.w[2])
            i, j = self.normal.signs(v, q1, back(q2), *targets)
        else:
            i, j = self.normal.signs(self.v, q3, q2, dot3(point, point), point[2])
        return 2 * i + j

    def lateral(self, p: Vector) -> tuple[Scalar, Scalar, Scalar]:
        """Return (A, B, C) of the equation A cos q₁ + B sin q₁ = C, which q₁ must satisfy for p.

        Axes 2 and 3 must be parallel.
        """
        v = self._from_target([p[0], p[1], p[2] - self.h1])
        return self.normal._linear(v, self._w2, float(self.w[2]))

    def in_plane(self, p: Vector, q1: Pair) -> Scalar:
        """Return the distance (m) of the target point p from axis 2 with joint 1 at q1."""
        y = swept(self._from_target([p[0], p[1], p[2] - self.h1]), q1)
        return length(y[0], y[1])

    @property
    def _w2(self) -> float:
        return float(self.w @ self.w)

    def _from_target(self, p: Vector) -> Swept:
        """Return the constant, cosine and sine parts of y(q₁) = R₁ᵀ (Rz(−q₁) p − t₁)."""
        R, t = self.R1.T, self.t1.tolist()
        return (
            times_matrix(R, [-t[0], -t[1], p[2] - t[2]]),
            times_matrix(R, [p[0], p[1], 0.0]),
            times_matrix(R, [p[1], -p[0], 0.0]),
        )


def feet(X: Array) -> tuple[float, float]:
    """Return the coordinates (m) along two axes at which their common normal intersects them.

    X (4, 4) is the transform from the first axis to the second. Both axes are z axes.
    """
    t, d = X[:3, 3], X[:3, 2]
    across = d[0] ** 2 + d[1] ** 2
    if across <= NEARLY**2:
        return float(t[2]), 0.0
    b = float((t[2] * d[2] - t @ d) / across)
    return float(t[2] + b * d[2]), b


def swept(v: Swept, theta: Pair) -> list[Scalar]:
    """Return v(θ) = v₀ + v_c cos θ + v_s sin θ."""
    c, s = theta
    return [a + b * c + d * s for a, b, d in zip(*v, strict=True)]


def _normal(X: Array) -> tuple[Array, Array]:
    """Return the common normal and the outer axis direction, both in the frame of the inner axis.

    X is the transform from the outer to the inner axis. Both origins are on the common normal.
    """
    return X[:3, :3].T @ X[:3, 3], X[2, :3]


def _unit_floats(x: float, y: float) -> Pair:
    r = float(np.hypot(x, y))
    return (x / r, y / r) if r > 0 else (1.0, 0.0)
