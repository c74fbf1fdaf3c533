"""Sums of the angles of parallel joints, formed before the symbolic derivation.

Joints whose axes stay parallel form a *group*, such as joints 1, 2 and 3 of a SCARA or joints 2 and
3 of a Puma.  All vectors of the links of a group are written in the frame of the group, which does
not rotate with these links.  In this frame, link i is rotated about z by a sum of joint angles,

    φ_i = φ_parent + δ + σ (multiplier·q + offset)

so cos(q1 + q2) is kept and never expanded.  δ is a constant angle.  σ is 1, or −1 if the joint axis
is opposite to the z axis of the group.  The sum of the first joint of a group does not contain
φ_parent and δ.  The rotation of link i in the base frame is

    R_i = B(group) · Rz(φ_i) · A_i          B(new group) = B(parent's) · Rz(φ_parent) · X

where B is the rotation of the frame of a group, and A_i and X are constant rotations.  Multiples of
90° are removed from φ, because they only exchange sine and cosine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from brazo.dynamics.symbolic.mechanism import Mechanism, Vector, identity
from brazo.dynamics.symbolic.polynomial import Angle, TrigRing, terms_of
from brazo.kinematics.forward import compose, rotate
from brazo.model.transforms import align_z

Expr = Any
_NEAR = 1e-12  # how close numbers come to a quarter turn to be taken for one


@dataclass(frozen=True)
class Turn:
    """A rotation about z by an angle plus `quarters` times 90°; `angle` None means zero."""

    angle: Angle | None = None
    quarters: int = 0


@dataclass(frozen=True)
class LinkAxes:
    """Orientation of one link and its joint in their group of parallel axes."""

    group: int
    opens: bool  # the joint is the first of a new group
    X: Vector  # 9: the new group's frame in the parent's turned frame (when it opens)
    turn: Turn  # of the link: φ_i
    sign: int  # of the joint's axis along the group's z (revolute)
    slide: Vector  # 3: a sliding joint's axis in the parent's turned frame
    joint: Vector  # 9: the joint frame, after its motion, in the link's turned frame
    A: Vector  # 9: the body in the link's turned frame


def plan(mechanism: Mechanism) -> list[LinkAxes]:
    """Orientation data of every link, with the joints divided into groups of parallel axes."""
    done: list[LinkAxes] = []
    groups = 1
    for link in mechanism.links:
        parent = done[link.parent] if link.parent >= 0 else None
        group, turn = (parent.group, parent.turn) if parent else (0, Turn())
        A = parent.A if parent else identity()[0]
        R = product(A, link.before[0])
        if link.kind == "prismatic":
            slide = [_tidy(x) for x in rotate(R, link.axis)]
            body = product(R, link.after[0])
            done.append(LinkAxes(group, False, [], turn, 0, slide, R, body))
            continue
        align = _aligned(link.axis)
        X = product(R, align)
        parallel = _about_z(X)
        moved = link.multiplier * mechanism.q[link.coordinate]
        if parallel is None:
            group, groups, opens, sign = groups, groups + 1, True, 1
            base: tuple[Expr, int, dict[int, Any]] = (0, 0, {})
            flip = identity()[0]
        else:
            delta, quarters, sign = parallel
            opens = False
            before = turn.angle
            expression = delta + (before.expression if before else 0)
            base = (expression, turn.quarters + quarters, dict(before.rates) if before else {})
            flip = [1, 0, 0, 0, sign, 0, 0, 0, sign]
        expression, quarters, rates = base
        extra, more = _quarters(link.offset)
        k = link.coordinate
        rates[k] = rates.get(k, 0) + sign * link.multiplier
        angle = Angle(expression + sign * (moved + extra), group, rates)
        joint = product(flip, _transposed(align))
        done.append(
            LinkAxes(
                group, opens, X, Turn(angle, (quarters + sign * more) % 4), sign, [], joint,
                product(joint, link.after[0]),
            )
        )  # fmt: skip
    return done


def product(A: Vector, B: Vector) -> Vector:
    """Product of two constant rotations, with elements simplified by `_tidy`."""
    return [_tidy(x) for x in compose((A, [0, 0, 0]), (B, [0, 0, 0]))[0]]


def _about_z(X: Vector) -> tuple[Expr, int, int] | None:
    """Return (δ, quarters, σ) such that X = Rz(δ + quarters·90°) diag(1, σ, σ).

    None if X does not have this form, or if δ cannot be read from its elements.
    """
    if not any(X[8] == sign for sign in (1, -1)):
        return None
    sign = int(X[8])
    c, s = X[0], X[3]
    if all(isinstance(x, int) or getattr(x, "is_Integer", False) for x in (c, s)):
        return 0, {(1, 0): 0, (0, 1): 1, (-1, 0): 2, (0, -1): 3}[int(c), int(s)], sign
    if isinstance(c, (int, float)) and isinstance(s, (int, float)):
        return float(np.arctan2(s, c)), 0, sign
    if isinstance(c, sp.cos):
        angle: Any = c.args[0]
        for delta in (angle, -angle):
            if s == sp.sin(delta):
                return delta, 0, sign
    return None


def _quarters(offset: Expr) -> tuple[Expr, int]:
    """Split an angle into a remainder and a number of quarter turns.

    The result is (0, k) for k times 90°, and (angle, 0) for any other angle.
    """
    value = offset / (sp.pi / 2)
    if isinstance(offset, (int, float)):
        count = round(float(offset) / (np.pi / 2))
        return (0, count) if abs(offset - count * np.pi / 2) < _NEAR else (offset, 0)
    return (0, int(value)) if value.is_Integer else (offset, 0)


def _aligned(axis: Vector) -> Vector:
    """Rotation that maps the z axis to `axis`."""
    if list(axis) == [0, 0, 1]:
        return identity()[0]
    return [_tidy(float(x)) for x in align_z(np.array(axis, dtype=float))[:3, :3].ravel()]


def _transposed(R: Vector) -> Vector:
    return [R[3 * j + i] for i in range(3) for j in range(3)]


def _tidy(x: Expr) -> Expr:
    """Return 0, 1 or -1 as an integer if `x` has this value; otherwise return `x`.

    Floats are compared with a tolerance.  Expressions are simplified first: cos² + sin² gives 1.
    """
    if isinstance(x, int):
        return x
    if isinstance(x, float) or x.is_Float:
        for whole in (0, 1, -1):
            if abs(float(x) - whole) < _NEAR:
                return whole
        return float(x)
    if x.is_Integer:
        return int(x)
    terms = terms_of(TrigRing().embed(x))  # cos² + sin² is 1 there
    if not terms:
        return 0
    return terms[0] if set(terms) == {0} and terms[0] in (1, -1) else x
