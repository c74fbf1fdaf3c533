"""Three revolute joints that bring a point to a place: the arm half of a spherical-wrist arm.

With p the wanted point in frame 0 (z on axis 1), w the point in frame 3, and the constants R₁,
t₁ (frame 1 to axis 2) and R₂, t₂ (frame 2 to axis 3),

    Rz(q₁) [R₁ Rz(q₂) v(q₃) + t₁] = p,      v(q₃) = R₂ Rz(q₃) w + t₂.

Two numbers do not change with q₁: |p|² and p_z.  With frames 1 and 2 put where the common normal
of axes 1 and 2 meets them, t₁ is square to both axes; call its length μ and the angle of the
axes α.  Let x, g be the parts of Rz(q₂) v along t₁ and square to it (and to axis 2); then

    2 μ x = |p|² − |v|² − μ² =: E(q₃)
    sin α · g = p_z − cos α v_z =: F(q₃)
    x² + g² = v_x² + v_y².

E and F are linear in cos q₃ and sin q₃, so:

  μ = 0 (axes 1, 2 meet)       E(q₃) = 0 gives two q₃, each with one g and x = ±√…
  sin α = 0 (they are parallel) F(q₃) = 0 gives two q₃, each with one x and g = ±√…
  else                          sin²α E² + 4μ² F² = 4μ² sin²α (v_x² + v_y²) gives up to four q₃

The chain read backwards, from w to p, has the same form with q₃ and q₁ exchanged and q₂
negative:

    Rz(−q₃) [R₂ᵀ Rz(−q₂) y(q₁) − R₂ᵀ t₂] = w,    y(q₁) = R₁ᵀ (Rz(−q₁) p − t₁)

so axes 2 and 3 that are parallel (nearly every industrial arm) or meet also need square roots
only.  References: Pieper 1968; Craig, *Introduction to Robotics*, sec. 4.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brazo.kinematics.closed_form.base import solve_trig, wrap
from brazo.kinematics.closed_form.quartic import circle_roots
from brazo.model.transforms import invert, translate

Array = np.ndarray

# Axes this close to parallel or to meeting (rad, or a fraction of the arm's size) are solved as
# such, and Newton steps take out the difference.  The quartic, two of whose roots then nearly
# coincide, would lose more digits; a file that writes 1.5708 for a right angle is 4e-6 off.
NEARLY = 1e-5


@dataclass(frozen=True, eq=False)
class Normal:
    """How two neighbouring axes, an outer and an inner one, lie to each other."""

    mu: float  # length of the common normal (m), 0 where the axes meet
    sin: float  # sine of the angle between the axes, 0 where they are parallel
    cos: float
    angle: float  # direction of the common normal about the inner axis (rad)

    @staticmethod
    def of(m: Array, k: Array, size: float) -> Normal:
        """From the common normal m (outer to inner) and the outer axis k, in the inner frame."""
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
        """Which of the three cases this is: "meet", "parallel" or "skew"."""
        return "meet" if self.mu == 0 else "parallel" if self.sin == 0 else "skew"

    def solve(
        self, v: tuple[Array, Array, Array], norm2: Array, z: Array, free: Array, size: float
    ) -> tuple[Array, Array]:
        """Both angles (N, 4), v's own and the one that turns it, for targets |p|² and p_z (N,).

        v = v₀ + v_c cos θ + v_s sin θ, each (N, 3) or (3,).  Slots 0, 1 and 2, 3 share θ where the
        axes meet or are parallel; `free` (N, 2) is taken where an angle does not matter.
        """
        if self.case == "skew":
            theta = self._quartic(v, norm2, z, size)
        else:
            theta = np.repeat(
                solve_trig(*self._linear(v, norm2, z), free[:, 0], 1e-12 * size), 2, axis=1
            )
        at = _at(v, theta)
        rho = np.hypot(at[..., 0], at[..., 1])
        x, g = self._across(at, norm2, z)
        other = np.tile([1.0, -1.0], 2)
        if self.case == "parallel":
            g = other * np.sqrt(np.maximum((rho - x) * (rho + x), 0.0))
        elif self.case == "meet":
            x = other * np.sqrt(np.maximum((rho - g) * (rho + g), 0.0))
        phi = self.angle + np.arctan2(g, x) - np.arctan2(at[..., 1], at[..., 0])
        return theta, np.where(rho > 1e-12 * size, phi, free[:, 1:])

    def signs(
        self, v: tuple[Array, Array, Array], theta: Array, phi: Array, norm2: Array, z: Array
    ) -> tuple[Array, Array]:
        """0 or 1 for each of the two choices that lead to (N,) angles; not for skew axes."""
        A, B, _ = self._linear(v, norm2, z)
        slope = B * np.cos(theta) - A * np.sin(theta)
        at = _at(v, theta[:, None])[:, 0]
        turned = phi + np.arctan2(at[:, 1], at[:, 0]) - self.angle
        side = np.sin(turned) if self.case == "parallel" else np.cos(turned)
        first = slope > 1e-12 * np.hypot(A, B)
        return first.astype(int), (side < -1e-12).astype(int)

    def _linear(
        self, v: tuple[Array, Array, Array], norm2: Array, z: Array
    ) -> tuple[Array, Array, Array]:
        """A cos θ + B sin θ = C, the equation that θ alone fulfils."""
        v0, vc, vs = v
        if self.case == "parallel":
            A, B, C = vc[..., 2], vs[..., 2], z * self.cos - v0[..., 2]
        else:
            # Divided by twice the length of v_c, to weigh like a length.
            reach = np.linalg.norm(vc, axis=-1)
            reach = np.where(reach > 0, reach, 1.0)
            A, B = _dot(v0, vc) / reach, _dot(v0, vs) / reach
            C = 0.5 * (norm2 - self.mu**2 - _dot(v0, v0) - _dot(vc, vc)) / reach
        A, B, C = np.broadcast_arrays(A, B, C)
        return A, B, C

    def _across(self, at: Array, norm2: Array, z: Array) -> tuple[Array, Array]:
        """x and g at v (N, 4, 3); 0 for the one that the equations leave to a square root."""
        x = g = np.zeros(at.shape[:-1])
        if self.mu:
            x = (norm2[:, None] - self.mu**2 - _dot(at, at)) / (2 * self.mu)
        if self.sin:
            g = (z[:, None] - self.cos * at[..., 2]) / self.sin
        return x, g

    def _quartic(self, v: tuple[Array, Array, Array], norm2: Array, z: Array, size: float) -> Array:
        """Up to four θ with x² + g² = v_x² + v_y²; missing ones are NaN."""
        v0, vc, vs = (np.broadcast_to(part, (*norm2.shape, 3)) / size for part in v)
        norm2, z, mu = norm2 / size**2, z / size, self.mu / size
        length2 = np.stack(
            [_dot(v0, v0) + _dot(vc, vc), 2 * _dot(v0, vc), 2 * _dot(v0, vs)], axis=-1
        )
        height = np.stack([v0[..., 2], vc[..., 2], vs[..., 2]], axis=-1)
        E, F = -length2, -self.cos * height
        E[..., 0] += norm2 - mu**2
        F[..., 0] += z
        squares = [(self.sin**2, E), (4 * mu**2, F), (4 * mu**2 * self.sin**2, height)]
        return circle_roots(squares, -4 * mu**2 * self.sin**2 * length2)


class PositionArm:
    """Solves for q₁, q₂, q₃ from the place of a point; see the module's equations."""

    def __init__(self, X1: Array, X2: Array, w: Array, size: float) -> None:
        """X1, X2: frame 1 to axis 2 and frame 2 to axis 3; w: the point in frame 3."""
        self.size = size
        a1, b1 = feet(X1)
        a2, b2 = feet(X2)
        ahead = Normal.of(*_normal(translate(z=-a1) @ X1 @ translate(z=b1)), size)
        back = invert(translate(z=-a2) @ X2 @ translate(z=b2))
        behind = Normal.of(*_normal(back), size)
        # Parallel axes 2 and 3 come first: they give the branches their everyday names.
        easy = [behind.case == "parallel", ahead.case != "skew"]
        easy.append(behind.case == "meet")
        self.backward = easy[0] or (not easy[1] and (easy[2] or abs(behind.sin) > abs(ahead.sin)))
        self.normal = behind if self.backward else ahead
        self.parallel_23 = behind.case == "parallel"
        self.parallel_12 = ahead.case == "parallel"
        # Heights of the frames along their axes: the feet of the normal that is used.
        h1, h2, h3 = (0.0, a2, b2) if self.backward else (a1, b1, 0.0)
        self.h1 = h1
        X1, X2 = translate(z=-h1) @ X1 @ translate(z=h2), translate(z=-h2) @ X2 @ translate(z=h3)
        self.R1, self.t1, self.R2, self.t2 = X1[:3, :3], X1[:3, 3], X2[:3, :3], X2[:3, 3]
        self.w = w - (0.0, 0.0, h3)
        # Offset of the point along axis 2, from the foot of the common normal of axes 1 and 2.
        self.offset = float(self.R2[2, 2] * self.w[2] + h2 - b1) if self.parallel_23 else 0.0
        self.v = (
            self.R2 @ (0.0, 0.0, self.w[2]) + self.t2,
            self.R2 @ (self.w[0], self.w[1], 0.0),
            self.R2 @ (-self.w[1], self.w[0], 0.0),
        )

    def solve(self, p: Array, free: Array) -> Array:
        """q₁, q₂, q₃ in four raw branches: (N, 3), (N, 3) -> (N, 4, 3); NaN for missing roots.

        Out of reach the nearest angles come back: whoever asks has to check.
        """
        p = p - (0.0, 0.0, self.h1)
        if self.backward:
            ones = np.ones(len(p))
            order = np.stack([free[:, 0], -free[:, 1]], axis=1)
            v = self._from_target(p)
            q1, phi = self.normal.solve(v, self._w2 * ones, self.w[2] * ones, order, self.size)
            q2, y = -phi, _at(v, q1)
            r = (_turned(y, phi) - self.t2) @ self.R2
            q3 = np.arctan2(r[..., 1], r[..., 0]) - np.arctan2(self.w[1], self.w[0])
        else:
            q3, q2 = self.normal.solve(self.v, _dot(p, p), p[:, 2], free[:, 2:0:-1], self.size)
            r = _turned(_at(self.v, q3), q2) @ self.R1.T + self.t1
            q1 = np.arctan2(p[:, 1], p[:, 0])[:, None] - np.arctan2(r[..., 1], r[..., 0])
            on_axis = np.hypot(p[:, 0], p[:, 1]) <= 1e-12 * self.size
            q1 = np.where(on_axis[:, None], free[:, :1], q1)
        return wrap(np.stack([q1, q2, q3], axis=-1))

    def raw_branch(self, p: Array, q: Array) -> Array:
        """Which of the four raw branches q (N, 3), that reaches p (N, 3), is; not for skew axes."""
        p = p - (0.0, 0.0, self.h1)
        if self.backward:
            ones = np.ones(len(p))
            targets = (self._w2 * ones, self.w[2] * ones)
            i, j = self.normal.signs(self._from_target(p), q[:, 0], -q[:, 1], *targets)
        else:
            i, j = self.normal.signs(self.v, q[:, 2], q[:, 1], _dot(p, p), p[:, 2])
        return 2 * i + j

    def lateral(self, p: Array) -> tuple[float, float, float]:
        """A cos q₁ + B sin q₁ = C for one point p (1, 3), where axes 2 and 3 are parallel."""
        v = self._from_target(p - (0.0, 0.0, self.h1))
        A, B, C = self.normal._linear(v, np.array([self._w2]), np.array([self.w[2]]))
        return float(A[0]), float(B[0]), float(C[0])

    def in_plane(self, p: Array, q1: Array) -> Array:
        """Distance (m) of the point from axis 2 when joint 1 stands at q1 (N, K)."""
        y = _at(self._from_target(p - (0.0, 0.0, self.h1)), q1)
        return np.hypot(y[..., 0], y[..., 1])

    @property
    def _w2(self) -> float:
        return float(self.w @ self.w)

    def _from_target(self, p: Array) -> tuple[Array, Array, Array]:
        """y(q₁) = R₁ᵀ (Rz(−q₁) p − t₁) as its constant, cosine and sine parts (N, 3)."""
        zero = np.zeros(len(p))
        return (
            (np.stack([zero, zero, p[:, 2]], axis=1) - self.t1) @ self.R1,
            np.stack([p[:, 0], p[:, 1], zero], axis=1) @ self.R1,
            np.stack([p[:, 1], -p[:, 0], zero], axis=1) @ self.R1,
        )


def feet(X: Array) -> tuple[float, float]:
    """Where the common normal of two axes meets each, X leading from one to the other."""
    t, d = X[:3, 3], X[:3, 2]
    across = d[0] ** 2 + d[1] ** 2
    if across <= NEARLY**2:
        return float(t[2]), 0.0
    b = float((t[2] * d[2] - t @ d) / across)
    return float(t[2] + b * d[2]), b


def _normal(X: Array) -> tuple[Array, Array]:
    """Common normal and outer axis in the inner frame; X leads from foot to foot."""
    return X[:3, :3].T @ X[:3, 3], X[2, :3]


def _at(v: tuple[Array, Array, Array], theta: Array) -> Array:
    """v(θ) for θ (N, K): (N, K, 3)."""
    v0, vc, vs = (part[:, None, :] if part.ndim == 2 else part for part in v)
    return v0 + vc * np.cos(theta)[..., None] + vs * np.sin(theta)[..., None]


def _turned(v: Array, angle: Array) -> Array:
    """Rz(angle) v."""
    s, c = np.sin(angle), np.cos(angle)
    x, y = v[..., 0], v[..., 1]
    return np.stack([c * x - s * y, s * x + c * y, v[..., 2]], axis=-1)


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)
