"""Curves in space: a point p(x) for the progress x from 0 to 1, with three derivatives.

c is the centre of a curve, e₁, e₂, e₃ are its axes, r is its radius and h its rise per turn.

    straight    p = p₀ + x (p₁ − p₀)
    helix       p = c + r (cos θ e₁ + sin θ e₂) + h·turns·x e₃,  θ = θ₀ + 2π·turns·x
                (h = 0: a circle or an arc)
    spiral      a helix with h = 0 and a radius that changes linearly from r₀ to r₁ (Archimedes)
    lissajous   p = c + Σ Aᵢ sin(2π fᵢ x + φᵢ) eᵢ
    ellipse     p = c + cos θ a + sin θ b, for any two vectors a, b
    affine      p = A g(x) + b, for another curve g, a matrix A and a vector b
    corner      a quintic between two straight lines, with zero curvature at both ends, so
                the acceleration is continuous

`by_length` makes the progress proportional to arc length, so that a constant rate of progress is a
constant speed.  The third derivative is needed for the angular acceleration of tools that rotate
with the path.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from brazo.errors import BrazoError

Array = np.ndarray

_PANELS = 256
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


class Curve(ABC):
    """Base class of curves: a point in space as a function of the progress x (m,) from 0 to 1."""

    @abstractmethod
    def at(self, x: Array) -> Array:
        """Points in metres and three derivatives with respect to x (m,), as an array (4, m, 3)."""

    def slope(self, x: Array) -> Array:
        """First derivative (m, 3) with respect to x; subclasses may compute it faster than `at`."""
        return self.at(x)[1]

    @property
    def length(self) -> float:
        """Length in m."""
        edges = np.linspace(0.0, 1.0, _PANELS + 1)
        return float(_spans(self, edges[:-1], edges[1:]).sum())

    @property
    def breaks(self) -> tuple[float, ...]:
        """Values of x between 0 and 1 at which a derivative is discontinuous."""
        return ()


@dataclass(frozen=True, eq=False)
class Straight(Curve):
    """Straight line from p0 to p1."""

    p0: Array
    p1: Array

    def at(self, x: Array) -> Array:
        found = np.zeros((4, len(x), 3))
        found[0] = self.p0 + x[:, None] * (self.p1 - self.p0)
        found[1] = self.p1 - self.p0
        return found

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.p1 - self.p0))


@dataclass(frozen=True, eq=False)
class Winding(Curve):
    """Helix, circle, arc or, with two different radii, spiral.

    The columns of `axes` are e₁, e₂ and e₃.
    """

    centre: Array
    axes: Array  # (3, 3)
    radii: tuple[float, float]
    angles: tuple[float, float]  # rad, first and last
    rise: float = 0.0  # m along e3, total

    def at(self, x: Array) -> Array:
        (r0, r1), (a0, a1) = self.radii, self.angles
        dr, da = r1 - r0, a1 - a0
        # In the plane, as the complex number r e^{iθ}, whose derivatives are products.
        turn = np.exp(1j * (a0 + da * x))
        r = r0 + dr * x
        z = np.stack(
            [
                r * turn,
                (dr + 1j * da * r) * turn,
                (2j * dr * da - da**2 * r) * turn,
                (-3.0 * dr * da**2 - 1j * da**3 * r) * turn,
            ]
        )
        e1, e2, e3 = self.axes.T
        found = z.real[..., None] * e1 + z.imag[..., None] * e2
        found[0] += self.centre + (self.rise * x)[:, None] * e3
        found[1] += self.rise * e3
        return found

    @property
    def length(self) -> float:
        if self.radii[0] != self.radii[1]:
            return super().length
        return math.hypot(self.radii[0] * (self.angles[1] - self.angles[0]), self.rise)


@dataclass(frozen=True, eq=False)
class Lissajous(Curve):
    """Lissajous curve: sines along the columns of `axes`."""

    centre: Array
    axes: Array  # (3, 3)
    amplitudes: Array  # (3,) m
    frequencies: Array  # (3,) periods over the whole curve
    phases: Array  # (3,) rad

    def at(self, x: Array) -> Array:
        w = 2.0 * math.pi * self.frequencies
        angle = w * x[:, None] + self.phases
        s, c = self.amplitudes * np.sin(angle), self.amplitudes * np.cos(angle)
        found = np.stack([s, w * c, -(w**2) * s, -(w**3) * c]) @ self.axes.T
        found[0] += self.centre
        return found

    def slope(self, x: Array) -> Array:
        w = 2.0 * math.pi * self.frequencies
        return (self.amplitudes * w * np.cos(w * x[:, None] + self.phases)) @ self.axes.T


@dataclass(frozen=True, eq=False)
class Polynomial(Curve):
    """Polynomial in x with coefficients (order, 3), lowest power first."""

    coefficients: Array

    def at(self, x: Array) -> Array:
        polynomial = np.polynomial.polynomial
        found = []
        c = self.coefficients
        for _ in range(4):
            found.append(polynomial.polyval(x, c).T)
            c = polynomial.polyder(c)
        return np.stack(found)


@dataclass(frozen=True, eq=False)
class Ellipse(Curve):
    """An arc of an ellipse: p = c + cos θ a + sin θ b, with θ linear in the progress."""

    centre: Array
    a: Array  # (3,)
    b: Array  # (3,)
    angles: tuple[float, float]  # rad, first and last

    def at(self, x: Array) -> Array:
        a0, a1 = self.angles
        rate = a1 - a0
        angle = (a0 + rate * x)[:, None]
        p = np.cos(angle) * self.a + np.sin(angle) * self.b
        v = np.cos(angle) * self.b - np.sin(angle) * self.a
        return np.stack([self.centre + p, rate * v, -(rate**2) * p, -(rate**3) * v])


@dataclass(frozen=True, eq=False)
class Affine(Curve):
    """Affine transformation A p + b of another curve."""

    curve: Curve
    A: Array  # (3, 3)
    b: Array  # (3,)

    def at(self, x: Array) -> Array:
        found = self.curve.at(x) @ self.A.T
        found[0] += self.b
        return found

    def slope(self, x: Array) -> Array:
        return self.curve.slope(x) @ self.A.T

    @property
    def length(self) -> float:
        # A scaled rotation, as of every placement, scales the length.
        gram = self.A.T @ self.A
        scale = float(np.trace(gram)) / 3.0
        if np.abs(gram - scale * np.eye(3)).max() > 1e-12 * scale:
            return super().length
        return math.sqrt(scale) * self.curve.length

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.curve.breaks


def corner(before: Array, vertex: Array, after: Array, distance: float) -> Polynomial:
    """Rounded corner that starts `distance` (m) before the vertex and ends `distance` after it.

    `before` and `after` are points on the two lines.  Let d be the distance, and e₀ and e₁ the
    directions of the lines before and after the vertex.  Then p' is 2d e₀ at the start and 2d e₁ at
    the end, and p'' is 0 at both ends.  The curve passes the vertex at a distance of
    (3/16) d |e₁ − e₀|, which is 0.27 d for a right angle.
    """
    from brazo.trajectory.piecewise import quintic_pieces

    e0 = (vertex - before) / np.linalg.norm(vertex - before)
    e1 = (after - vertex) / np.linalg.norm(after - vertex)
    p0, p1 = vertex - distance * e0, vertex + distance * e1
    v0, v1 = 2.0 * distance * e0, 2.0 * distance * e1
    rest = np.zeros((1, 3))
    return Polynomial(
        quintic_pieces(np.ones(1), p0[None], p1[None], v0[None], v1[None], rest, rest)[0]
    )


@dataclass(frozen=True, eq=False)
class FunctionCurve(Curve):
    """Curve given by a function from x (m,) to (4, m, 3): points and three derivatives."""

    function: Callable[[Array], Array]

    def at(self, x: Array) -> Array:
        return self.function(x)


@dataclass(frozen=True, eq=False)
class Joined(Curve):
    """Concatenated curves; each takes a share of the progress proportional to its length."""

    parts: tuple[Curve, ...]

    @property
    def length(self) -> float:
        return float(sum(part.length for part in self.parts))

    @cached_property
    def _edges(self) -> Array:
        edges = np.concatenate([[0.0], np.cumsum([part.length for part in self.parts])])
        return edges / edges[-1]

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple(self._edges[1:-1].tolist())

    def at(self, x: Array) -> Array:
        edges = self._edges
        which = np.clip(np.searchsorted(edges[1:-1], x, side="right"), 0, len(self.parts) - 1)
        found = np.empty((4, len(x), 3))
        for k, part in enumerate(self.parts):
            rows = which == k
            if rows.any():
                share = edges[k + 1] - edges[k]
                local = np.clip((x[rows] - edges[k]) / share, 0.0, 1.0)
                powers = share ** -np.arange(4.0)
                found[:, rows] = part.at(local) * powers[:, None, None]
        return found


def by_length(curve: Curve) -> Curve:
    """Return the curve parametrised by arc length, so that |p'(x)| is constant."""
    return _ByLength(curve)


class _ByLength(Curve):
    """A curve c(u) parametrised by arc length s; derivatives follow from ds/du = |c'(u)|."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        edges = np.linspace(0.0, 1.0, _PANELS + 1)
        panels = _spans(curve, edges[:-1], edges[1:])
        speed = np.linalg.norm(curve.at(edges)[1], axis=-1)
        total = float(panels.sum())
        if total <= 0.0 or speed.min() < 1e-9 * total:
            u = float(edges[int(np.argmin(speed))])
            raise BrazoError(
                f"the curve has zero velocity or reverses at {100 * u:.1f} % of its parameter; "
                "a path needs a tangent everywhere"
            )
        self._edges, self._sums = edges, np.concatenate([[0.0], np.cumsum(panels)])
        self._total, self._speed = total, speed

    @property
    def length(self) -> float:
        return self._total

    def at(self, x: Array) -> Array:
        u = self._parameter(self._total * x)
        c, c1, c2, c3 = self.curve.at(u)
        sigma = np.linalg.norm(c1, axis=-1)
        along = np.sum(c1 * c2, axis=-1)
        sigma_u = along / sigma
        sigma_uu = (np.sum(c2 * c2, axis=-1) + np.sum(c1 * c3, axis=-1) - sigma_u**2) / sigma
        L = self._total
        u1 = (L / sigma)[:, None]
        u2 = (-(L**2) * sigma_u / sigma**3)[:, None]
        u3 = (-(L**3) * (sigma_uu * sigma - 3.0 * sigma_u**2) / sigma**5)[:, None]
        return np.stack(
            [c, c1 * u1, c2 * u1**2 + c1 * u2, c3 * u1**3 + 3.0 * c2 * u1 * u2 + c1 * u3]
        )

    def _parameter(self, s: Array) -> Array:
        """Parameter u at arc length s, by Newton's method inside one quadrature panel."""
        k = np.clip(np.searchsorted(self._sums, s, side="right") - 1, 0, _PANELS - 1)
        start, end = self._edges[k], self._edges[k + 1]
        wanted = s - self._sums[k]
        # Initial guess: the cubic with the exact slopes at both ends of the panel.
        length = self._sums[k + 1] - self._sums[k]
        y = wanted / length
        a, b = length / self._speed[k], length / self._speed[k + 1]
        width = end - start
        u = start + y * (a + y * (3.0 * width - 2.0 * a - b + y * (a + b - 2.0 * width)))
        for _ in range(6):
            run = _spans(self.curve, start, u)
            slope = np.linalg.norm(self.curve.slope(u), axis=-1)
            step = (run - wanted) / slope
            u = np.clip(u - step, 0.0, 1.0)
            if np.abs(step).max(initial=0.0) < 1e-14:
                break
        return u


def _spans(curve: Curve, low: Array, high: Array) -> Array:
    """Arc lengths between pairs of parameters `low` and `high`, by Gauss quadrature."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    u = middle[:, None] + half[:, None] * _NODES
    speed = np.linalg.norm(curve.slope(u.ravel()), axis=-1).reshape(u.shape)
    return half * (speed @ _WEIGHTS)


def joined(parts: Sequence[Curve]) -> Curve:
    """Concatenate curves; a single curve is returned unchanged."""
    return parts[0] if len(parts) == 1 else Joined(tuple(parts))
