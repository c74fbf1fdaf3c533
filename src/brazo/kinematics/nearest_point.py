"""Nearest reachable tool position of a five-joint arm within the joint limits, by two rules.

A target is a position, the pitch of the tool axis and the roll about it. If the arm cannot reach
the target, one of two rules applies:

    pitch      the tool keeps the target pitch and moves to the nearest position that is reachable
               with this pitch. The RV-2AJ paper approximates this rule by limiting the arguments of
               its inverse cosines. Here the joint limits, both elbows and both sides of axis 1 are
               considered.
    position   the tool moves to the nearest position that is reachable with any pitch; its pitch is
               then as close as possible to the target pitch

Both rules are exact. In the plane of the arm, the nearest tool position is either the target, or a
position at which no joint can reduce the distance. A joint cannot reduce it if the joint is at a
limit, or if the links that it moves point to the target or away from it. Each combination of these
cases is solved in closed form, and the nearest of the few dozen candidates is the result.

The yaw (joint 1) turns the plane of the arm so that the plane contains the target; the arm then
faces the target or reaches backwards to it. If the limits of the yaw prevent this, the yaw is at a
limit. At a pitch of 0 the tool axis points away from axis 1, to the side of the target.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from brazo.checks import one_of
from brazo.errors import BrazoError
from brazo.kinematics.closed_form.five_axis import FiveAxis

NearestRule = Literal["pitch", "position"]
RULES: tuple[NearestRule, ...] = ("pitch", "position")
EXACT = 1e-9  # m; a target nearer than this is reached
_EDGE = 1e-9  # rad; candidates at a limit may be outside by rounding
_ON_PLANE = 1e-9  # m


@dataclass(frozen=True, slots=True, eq=False)
class NearestPoint:
    """Result of `nearest_point`: the configuration whose tool is nearest to a target."""

    q: np.ndarray  # (5,) rad, within the limits
    distance: float  # m, from the target position
    pitch: float  # rad, elevation of the tool's axis
    reached: bool  # position and pitch are those of the target


def nearest_point(
    solver: Any, limits: np.ndarray, xyz: np.ndarray, pitch: float, roll: float, rule: NearestRule
) -> NearestPoint:
    """Find the configuration of a five-joint arm nearest to a target; see `Robot.nearest_point`.

    `solver` is the closed form of the arm, which must be a `FiveAxis`.
    """
    one_of(rule, RULES, "nearest_point: rule")
    if not isinstance(solver, FiveAxis):
        raise BrazoError(
            "nearest_point needs an arm with five joints (yaw, three parallel joints, roll); for "
            "other arms use ik"
        )
    if solver.tool_beside or abs(float(solver.tool @ solver.a2)) > _ON_PLANE:
        raise BrazoError(
            "nearest_point needs a tool on axis 5 without lateral offset from axis 1; for other "
            "tools use ik"
        )
    p = np.asarray(xyz, dtype=float)
    if p.shape != (3,) or not np.isfinite([*p, pitch, roll]).all():
        raise BrazoError(
            "nearest_point: expected a position of three finite numbers (m), and finite pitch and "
            "roll (rad)"
        )
    if not limits[4, 0] <= roll <= limits[4, 1]:
        raise BrazoError(
            f"nearest_point: roll {np.degrees(roll):g}° is outside the limits of joint 5, "
            f"{np.degrees(limits[4, 0]):g}° to {np.degrees(limits[4, 1]):g}°"
        )
    arm = _PlaneArm(solver, limits)
    height = float(solver.a1 @ (p - solver.foot))
    best: tuple[float, float] | None = None
    chosen, facing_of = np.zeros(5), 1.0
    for q1, ahead, aside, facing in _yaws(solver, limits[0], p):
        target, wanted = height + 1j * ahead, np.sin(pitch) + 1j * facing * np.cos(pitch)
        turns = np.array(list(arm.candidates(target, wanted, rule)))
        if not len(turns):
            continue
        place, along = arm.tool(turns)
        gap = np.round(np.hypot(np.abs(place - target), aside), 12)
        gap[gap < EXACT] = 0.0
        off = np.abs(np.angle(along / wanted))
        k = int(np.lexsort((off, gap))[0])
        score = float(gap[k]), float(off[k])
        if best is None or score < best:
            best, chosen, facing_of = score, np.array([q1, *turns[k], roll]), facing
    if best is None:
        raise BrazoError(
            f"nearest_point: no configuration within the joint limits has the pitch "
            f"{np.degrees(pitch):g}°; use the rule 'position'"
        )
    _, (along,) = arm.tool(chosen[None, 1:4])
    distance = float(np.linalg.norm(solver.chain.fk(chosen)[:3, 3] - p))
    elevation = float(np.arctan2(along.real, facing_of * along.imag))
    return NearestPoint(chosen, distance, elevation, distance < EXACT and best[1] < EXACT)


def _yaws(solver: FiveAxis, limits: np.ndarray, p: np.ndarray) -> Iterator[tuple[float, ...]]:
    """Yield (yaw, ahead, beside, facing) for each yaw to evaluate within the limits.

    `ahead` (m) is the signed distance of the target p from axis 1 in the plane of the arm. `beside`
    (m) is the signed distance of p from this plane. `facing` is 1 if the arm faces the target, −1
    if the arm reaches backwards.
    """
    rest = p - solver.foot
    x, y = float(rest @ solver.forward), float(rest @ solver.a2)  # positive yaw turns f to a₂
    for facing in (1.0, -1.0):
        wanted = float(np.arctan2(y * facing, x * facing))
        inside = [
            q for k in (-1, 0, 1) if limits[0] <= (q := wanted + 2.0 * np.pi * k) <= limits[1]
        ]
        for q1 in inside or limits.tolist():
            c, s = np.cos(q1), np.sin(q1)
            yield q1, x * c + y * s, y * c - x * s, facing


class _PlaneArm:
    """The three parallel joints of the arm, with complex coordinates (up + i forward) in its plane.

    A *turn* is the angle by which a joint rotates the following links.
    """

    def __init__(self, solver: FiveAxis, limits: np.ndarray) -> None:
        tool = solver.plane.flat(solver.tool) - solver.P4
        self.start = complex(solver.P2)
        self.links = (complex(solver.l1), complex(solver.l2), complex(tool))
        self.axis = complex(solver.plane.flat(solver.a5))
        # A turn is a joint value times the sign of the axis direction.
        self.signs: list[float] = solver.signs.tolist()
        ends = solver.signs[:, None] * limits[1:4]
        self.low: list[float] = ends.min(axis=1).tolist()
        self.high: list[float] = ends.max(axis=1).tolist()

    def tool(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return tool positions (k,) and tool axis directions (k,) at q (k, 3) of joints 2 to 4."""
        turns = np.exp(1j * np.cumsum(q * self.signs, axis=1))
        return self.start + turns @ np.array(self.links), self.axis * turns[:, 2]

    def candidates(self, target: complex, along: complex, rule: NearestRule) -> Iterator[list]:
        """Yield candidates: values of joints 2 to 4 within the limits.

        One of the candidates is the solution nearest to the target. `target` is the target position
        and `along` the target direction of the tool axis, both in the plane of the arm.
        """
        total = cmath.phase(along / self.axis)
        found = self._fixed_pitch(target, total)
        if rule == "position":
            found = (*found, *self._any_pitch(target))
        for turns in found:
            fitted = self._fit(turns)
            if fitted is not None:
                yield [x * sign for x, sign in zip(fitted, self.signs, strict=True)]

    def _fit(self, turns: Any) -> list[float] | None:
        """Shift three joint rotations by full turns into the limits; None if one cannot fit."""
        fitted = []
        for x, low, high in zip(turns, self.low, self.high, strict=True):
            x = x - 2.0 * math.pi * math.ceil((x - high - _EDGE) / (2.0 * math.pi))
            if x < low - _EDGE:
                return None
            fitted.append(min(max(x, low), high))
        return fitted

    def _fixed_pitch(self, target: complex, total: float) -> list[tuple[float, float, float]]:
        """Return candidates with the target pitch: three joint rotations whose sum is `total`."""
        a, b, tool = self.links
        wrist = target - self.start - tool * cmath.rect(1.0, total)
        pairs = [*_two_links(a, b, wrist), *_in_line((a, b), wrist)]
        ends = [self.low, self.high]
        sums = [total - end[2] for end in ends]  # of the first two turns, the third at a limit
        for end in ends:
            t = cmath.rect(1.0, end[0])
            pairs += [(end[0], x) for x in _turns_to(b * t, wrist - a * t)]
            pairs += [(x, end[1]) for x in _turns_to(a + b * cmath.rect(1.0, end[1]), wrist)]
            for other in ends:
                pairs.append((end[0], other[1]))
            pairs += [(end[0], s - end[0]) for s in sums]
            pairs += [(s - end[1], end[1]) for s in sums]
        for s in sums:
            pairs += [(x, s - x) for x in _turns_to(a, wrist - b * cmath.rect(1.0, s))]
        return [(x, y, total - x - y) for x, y in pairs]

    def _any_pitch(self, target: complex) -> list[tuple[float, float, float]]:
        """Return candidates with any pitch, each as three joint rotations.

        There are two kinds of candidates. In the first kind, one joint is at a limit or straight,
        and the other two joints move the tool to the target. In the second kind, each joint is at a
        limit, or the links that it moves point to the target or away from it.
        """
        wanted, found = target - self.start, []
        # With one joint fixed, the others reach the target as two links.  A straight elbow is also
        # an end of the range of pitches.
        a, b, c = self.links
        for x in (self.low[0], self.high[0]):
            t = cmath.rect(1.0, x)
            found += [(x, y, z) for y, z in _two_links(b * t, c * t, wanted - a * t)]
        for y in (self.low[1], self.high[1], self._straight(0)):
            t = cmath.rect(1.0, y)
            found += [(x, y, z) for x, z in _two_links(a + b * t, c * t, wanted)]
        for z in (self.low[2], self.high[2], self._straight(1)):
            found += [(x, y, z) for x, y in _two_links(a, b + c * cmath.rect(1.0, z), wanted)]
        for fixed in product((None, 0, 1), repeat=3):
            held = [None if k is None else (self.low, self.high)[k][j] for j, k in enumerate(fixed)]
            found += list(self._aligned(held, wanted))
        return found

    def _straight(self, joint: int) -> float:
        """Return the joint rotation that aligns link `joint` + 1 with link `joint` of `links`."""
        return cmath.phase(self.links[joint] / self.links[joint + 1])

    def _aligned(self, held: list[float | None], wanted: complex) -> Iterator[tuple]:
        """Yield joint rotations for which the links of free joints point to or away from `wanted`.

        `held` contains the rotation of each fixed joint, and None for each free joint. All
        combinations of stretched and folded links are yielded.
        """
        free = [j for j, x in enumerate(held) if x is None]
        # Rigid pieces: the links after each free joint up to the next one, in its own frame.
        pieces, piece, turn = [], 0.0 + 0.0j, 0.0
        for j, link in enumerate(self.links):
            if held[j] is None:
                pieces.append((piece, turn))
                piece, turn = 0.0 + 0.0j, 0.0
            else:
                turn += held[j]  # type: ignore[operator]
            piece += link * cmath.rect(1.0, turn)
        pieces.append((piece, turn))
        (base, turned), *moving = pieces
        rest = wanted - base
        heading = cmath.phase(rest) if abs(rest) else 0.0
        for sides in product((0.0, math.pi), repeat=len(moving)):
            values, before = list(held), turned
            for j, (vector, own), side in zip(free, moving, sides, strict=True):
                absolute = heading + side - cmath.phase(vector)
                values[j] = absolute - before
                before = absolute + own
            yield tuple(values)


def _two_links(a: complex, b: complex, wanted: complex) -> list[tuple[float, float]]:
    """Return both solutions (x, y) of a e^{ix} + b e^{i(x+y)} = `wanted`.

    x and y are rotations (rad) of two joints, a and b the link vectors. The list is empty if
    `wanted` is out of reach or a link has length 0.
    """
    d, la, lb = abs(wanted), abs(a), abs(b)
    if la * lb == 0.0:
        return []
    c = (d * d - la * la - lb * lb) / (2.0 * la * lb)
    if abs(c) > 1.0 + 1e-12:
        return []
    found = []
    for bend in (1.0, -1.0):
        y = bend * math.acos(min(max(c, -1.0), 1.0)) + cmath.phase(a / b)
        reach = a + b * cmath.rect(1.0, y)
        found.append((cmath.phase(wanted / reach) if abs(reach) and d else 0.0, y))
    return found


def _in_line(links: tuple[complex, complex], wanted: complex) -> list[tuple[float, float]]:
    """Return the four pairs of joint rotations for which two links are along ±`wanted`."""
    a, b = links
    heading = cmath.phase(wanted) if abs(wanted) else 0.0
    found = []
    for s, t in product((0.0, math.pi), repeat=2):
        x = heading + s - cmath.phase(a)
        found.append((x, heading + t - cmath.phase(b) - x))
    return found


def _turns_to(link: complex, wanted: complex) -> list[float]:
    """Return two rotations (rad) of a link: the first points it to `wanted`, the second away.

    The list is empty if `link` or `wanted` is 0.
    """
    if not abs(link) or not abs(wanted):
        return []
    x = cmath.phase(wanted / link)
    return [x, x + math.pi]
