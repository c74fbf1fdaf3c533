"""`Mechanism`: a robot model with SymPy expressions instead of numbers.

The pose of a body in its parent is, as in `brazo.model.description`,

    T_parent_body(q) = before · motion(axis, multiplier·q + offset) · after

A rotation has nine scalars, row by row, and a position has three.  Every scalar is a SymPy
expression, or a plain number if the robot has no symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Literal

import sympy as sp

from brazo.dynamics.symbolic.symbols import Named
from brazo.model.description import JointKind

Expr = Any
Vector = list[Expr]
Pose = tuple[Vector, Vector]

Parameters = Literal["symbolic", "numeric"]

TENSOR = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # the entries of a symmetric matrix


def identity() -> Pose:
    """Identity pose: no rotation and no translation."""
    return [1, 0, 0, 0, 1, 0, 0, 0, 1], [0, 0, 0]


@dataclass(frozen=True)
class DHEntry:
    """One row of the D-H table, with symbols."""

    theta: Expr
    d: Expr
    a: Expr
    alpha: Expr


@dataclass(frozen=True)
class SymbolicLink:
    """A moving body and the joint that moves it."""

    name: str
    joint: str
    parent: int  # index of an earlier link; -1 for the base
    kind: JointKind
    coordinate: int
    before: Pose
    axis: Vector  # unit vector in the joint frame
    after: Pose
    mass: Expr
    com: Vector  # body frame
    inertia: Vector  # xx, xy, xz, yy, yz, zz about the centre of mass
    armature: Expr = 0
    viscous: Expr = 0
    coulomb: tuple[Expr, Expr] = (0, 0)
    multiplier: float = 1
    offset: Expr = 0


@dataclass(frozen=True)
class Mechanism:
    """Symbolic description of a robot, as used by the derivation."""

    name: str
    links: tuple[SymbolicLink, ...]
    joint_names: tuple[str, ...]  # of the independent joints, in the order of q
    joint_kinds: tuple[JointKind, ...]
    tip: int  # index of the link that carries the tool; -1 for the base
    tool: Pose
    gravity: Vector  # base frame
    q: tuple[Expr, ...]
    qd: tuple[Expr, ...]
    qdd: tuple[Expr, ...]
    symbols: tuple[Named, ...]
    convention: str = "general"
    dh: tuple[DHEntry, ...] = ()
    values: dict[Expr, float] = field(default_factory=dict)  # of the parameters

    @property
    def n(self) -> int:
        """Number of joint coordinates."""
        return len(self.q)

    def with_numbers(self) -> Mechanism:
        """Return the same robot with numbers instead of parameters; multiples of 90° stay exact."""

        def number(x: Expr) -> Expr:
            x = sp.sympify(x)
            return int(x) if x.is_Integer else self.numeric(x)

        def numbers(values: Sequence[Expr]) -> Vector:
            return [number(x) for x in values]

        def angle(x: Expr) -> Expr:
            return x if sp.sympify(2 * x / sp.pi).is_Integer else number(x)

        links = [
            replace(
                link,
                before=(numbers(link.before[0]), numbers(link.before[1])),
                after=(numbers(link.after[0]), numbers(link.after[1])),
                mass=number(link.mass),
                com=numbers(link.com),
                inertia=numbers(link.inertia),
                armature=number(link.armature),
                viscous=number(link.viscous),
                coulomb=(number(link.coulomb[0]), number(link.coulomb[1])),
                offset=angle(link.offset),
            )
            for link in self.links
        ]
        rows = [
            DHEntry(*(sp.sympify(x).evalf(subs=self.values) for x in astuple(row)))
            for row in self.dh
        ]
        return replace(
            self,
            links=tuple(links),
            tool=(numbers(self.tool[0]), numbers(self.tool[1])),
            gravity=numbers(self.gravity),
            symbols=tuple(e for e in self.symbols if e.symbol not in self.values),
            dh=tuple(rows),
            values={},
        )

    def numeric(self, value: Expr) -> float:
        """Numeric value of an expression of parameters."""
        if isinstance(value, (int, float)):
            return float(value)
        if value in self.values:
            return self.values[value]
        return float(sp.sympify(value).evalf(30, subs=self.values))
