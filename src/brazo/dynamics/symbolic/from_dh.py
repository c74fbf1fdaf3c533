"""Symbols for the numbers in the file of a D-H robot.

If a length, an angle or a centre of mass in the robot file is an expression of parameters (`a: L1`,
`com: {a: -L1/2}`), the equations show this expression.  A plain number gets a symbol: a1, d1 for
D-H lengths, r1x for a centre of mass, g for gravity.  Masses and inertias always get symbols, m1
and I1xx; an expression in the file becomes the formula of the symbol.  Zeros and multiples of 90°
stay exact, because they keep the equations short.  If the value of an expression differs from the
number in the model, for example after a change of tool or payload, a new symbol replaces the
expression.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from brazo.dynamics.symbolic.expressions import symbolic
from brazo.dynamics.symbolic.mechanism import (
    TENSOR,
    DHEntry,
    Mechanism,
    Pose,
    SymbolicLink,
    Vector,
    identity,
)
from brazo.dynamics.symbolic.symbols import SymbolTable, joint_symbols
from brazo.kinematics.forward import compose, constant
from brazo.model.description import Inertia, Joint, TreeModel
from brazo.model.dh import DHRow, before_after
from brazo.model.transforms import exact_sincos, invert, pose
from brazo.units import Expression

Expr = Any

_AXES = "xyz"


class DHReader:
    """Reader that builds the symbolic mechanism of a D-H robot.

    Indices `i` count joints from 0; the numbers in symbols (q1, m1, …) start at 1.  `place` is the
    path of a field in the robot file, such as `joints[0].mass`.
    """

    def __init__(self, model: TreeModel) -> None:
        self.model = model
        self.expressions = _own_expressions(model)
        self.table = SymbolTable(model.parameters)
        self.parameters: dict[str, Expr] = {}
        for name, value in model.parameters.items():
            self.parameters[name] = self.table.add(name, value, "parameter", "", "parameter")
        for name, value in model.parameters.items():
            formula = self._formula(f"parameters.{name}", value)
            if formula is not None:
                self.table.explain(name, formula)

    def read(self) -> Mechanism:
        model, table = self.model, self.table
        q, qd, qdd = joint_symbols(table, model.coordinates)
        links, entries = [], []
        for i, row in enumerate(model.dh):
            link, entry = self._link(i, row, q[i])
            links.append(link)
            entries.append(entry)
        tool = self._pose("tool", model.tool)
        gravity = self._gravity()
        return Mechanism(
            name=model.name,
            links=tuple(links),
            joint_names=tuple(joint.name for joint in model.coordinates),
            joint_kinds=tuple(joint.kind for joint in model.coordinates),
            tip=model.tip - 1,
            tool=tool,
            gravity=gravity,
            q=q,
            qd=qd,
            qdd=qdd,
            symbols=table.entries,
            convention=model.convention,
            dh=tuple(entries),
            values={e.symbol: e.value for e in table.entries if not math.isnan(e.value)},
        )

    # -- one joint --------------------------------------------------------------------------

    def _link(self, i: int, row: DHRow, q: Expr) -> tuple[SymbolicLink, DHEntry]:
        k, place = i + 1, f"joints[{i}]"
        joint = self.model.joints[i]
        a = self._length(f"{place}.a", f"a{k}", row.a, f"D-H length of link {k}")
        alpha = self._angle(f"{place}.alpha", f"alpha{k}", row.alpha, f"D-H twist of link {k}")
        added = f"{place}.offset", f"delta{k}", row.offset
        if row.kind == "revolute":
            d = self._length(f"{place}.d", f"d{k}", row.d, f"D-H offset of joint {k}")
            offset = self._angle(*added, f"angle added to q{k}")
            theta: Expr = 0
            entry = DHEntry(q + offset, d, a, alpha)
        else:
            theta = self._angle(f"{place}.theta", f"theta{k}", row.theta, f"D-H angle {k}")
            offset = self._length(*added, f"length added to q{k}")
            d = 0
            entry = DHEntry(theta, q + offset, a, alpha)
        screw: Pose = (_rot_z(theta), [0, 0, d])
        twist: Pose = (_rot_x(alpha), [a, 0, 0])
        if self.model.convention == "standard":
            before, after = identity(), compose(screw, twist)
        else:
            before, after = twist, screw
        if i == 0:
            own = before_after(row, self.model.convention)[0]  # type: ignore[arg-type]
            number = np.array(joint.before) @ invert(own)
            before = compose(self._pose("base", number), before)
        mass, com, tensor = self._inertia(i)
        plus, minus = joint.friction.coulomb
        link = SymbolicLink(
            name=self.model.bodies[k].name,
            joint=joint.name,
            parent=i - 1,
            kind=row.kind,
            coordinate=i,
            before=before,
            axis=[0, 0, 1],
            after=after,
            mass=mass,
            com=com,
            inertia=tensor,
            armature=self._letter(
                f"Jm{k}", joint.drive.armature, "motor", _effort(joint, "s²"),
                f"motor inertia at joint {k}, multiplied by the squared gear ratio",
            ),
            viscous=self._letter(
                f"b{k}", joint.friction.viscous, "friction", _effort(joint, "s"),
                f"viscous friction of joint {k}",
            ),
            coulomb=self._coulomb(k, joint, plus, minus),
            offset=offset,
        )  # fmt: skip
        return link, entry

    def _coulomb(self, k: int, joint: Joint, plus: float, minus: float) -> tuple[Expr, Expr]:
        unit = "N m" if joint.kind == "revolute" else "N"
        if plus == minus:
            both = self._letter(f"T{k}", plus, "friction", unit, f"Coulomb friction of joint {k}")
            return both, both
        return (
            self._letter(f"T{k}p", plus, "friction", unit, f"Coulomb friction {k}, forward"),
            self._letter(f"T{k}m", minus, "friction", unit, f"Coulomb friction {k}, backward"),
        )

    def _inertia(self, i: int) -> tuple[Expr, Vector, Vector]:
        k, place = i + 1, f"joints[{i}]"
        inertia = self.model.bodies[k].inertia
        assert inertia is not None
        formula = self._formula(f"{place}.mass", inertia.mass)
        mass = self._letter(f"m{k}", inertia.mass, "mass", "kg", f"mass of link {k}", formula)
        com = self._com(k, place, inertia)
        solid = self._solid(place, mass, inertia)
        largest = float(np.abs(inertia.tensor).max())
        tensor = []
        for a, b in TENSOR:
            value = float(inertia.tensor[a, b])
            if abs(value) <= 1e-15 * largest:
                value = 0.0  # rounding error of the rotated tensor
            name = f"I{k}{_AXES[a]}{_AXES[b]}"
            meaning = f"inertia of link {k} about its centre of mass, {_AXES[a]}{_AXES[b]}"
            formula = solid[a] if solid is not None and a == b else None
            tensor.append(self._letter(name, value, "inertia", "kg m²", meaning, formula))
        return mass, com, tensor

    def _com(self, k: int, place: str, inertia: Inertia) -> Vector:
        given = [self._expression(f"{place}.com[{j}]") for j in range(3)]
        a, turn = self._expression(f"{place}.com.a"), self._symbolic(f"{place}.com.theta")
        if a is not None:
            turn = turn if turn is not None else 0
            given = [a * sp.cos(turn), a * sp.sin(turn), None]
        if f"{place}.com.d" in self.expressions:
            given[2] = self._expression(f"{place}.com.d")
        com = []
        for j, axis in enumerate(_AXES):
            value, expression = float(inertia.com[j]), given[j]
            if expression is not None and expression != 0 and self._matches(expression, value):
                com.append(expression)
            else:
                meaning = f"centre of mass of link {k} in its frame, {axis}"
                com.append(self._letter(f"r{k}{axis}", value, "com", "m", meaning))
        return com

    def _solid(self, place: str, mass: Expr, inertia: Inertia) -> list[Expr] | None:
        """Formulas of the principal moments, if the file gives the inertia as that of a solid.

        Solids are box, cylinder and sphere.  None if the file gives no solid, if the solid is
        rotated, or if the values of the formulas differ from `inertia`.
        """
        if {f"{place}.com.theta", f"{place}.com.alpha"} & self.expressions.keys():
            return None
        moments = np.diag(inertia.tensor).tolist()
        for candidate in _solids(self._sizes(f"{place}.inertia"), mass):
            if all(map(self._matches, candidate, moments)):
                return candidate
        return None

    def _sizes(self, place: str) -> dict[str, list[Expr]]:
        """Dimensions of the solid that the file gives for an inertia, by shape name."""
        found: dict[str, list[Expr]] = {}
        for key, count in (("box", 3), ("cylinder", 2)):
            sizes = [self._symbolic(f"{place}.{key}[{j}]") for j in range(count)]
            if None not in sizes:
                found[key] = sizes
        if (radius := self._symbolic(f"{place}.sphere")) is not None:
            found["sphere"] = [radius]
        return found

    # -- letters and expressions ------------------------------------------------------------

    def _letter(
        self, name: str, value: float, kind: str, unit: str, meaning: str, formula: Expr = None
    ) -> Expr:
        """Create a symbol for a number; return the integer 0 if the number is zero."""
        if value == 0.0:
            return sp.Integer(0)
        # A load in the gripper makes the last link another one than the file's.
        if formula is not None and not (_writable(formula) and self._matches(formula, value)):
            formula = None
        return self.table.add(name, value, kind, unit, meaning, formula)

    def _length(self, place: str, name: str, value: float, meaning: str) -> Expr:
        expression = self._formula(place, value)
        if expression is not None:
            self.table.measure(expression, "m")
            return expression
        return self._letter(name, value, "length", "m", meaning)

    def _angle(self, place: str, name: str, value: float, meaning: str) -> Expr:
        expression = self._formula(place, value)
        if expression is not None:
            self.table.measure(expression, "rad")
            return expression
        s, c = exact_sincos(value)
        if s in (0.0, 1.0, -1.0) and c in (0.0, 1.0, -1.0):
            return round(value / (math.pi / 2)) * sp.pi / 2
        return self._letter(name, value, "angle", "rad", meaning)

    def _symbolic(self, place: str) -> Expr | None:
        """Symbolic value of a field of the robot file; None if the file has no such field."""
        expression = self.expressions.get(place)
        return None if expression is None else symbolic(expression, self.parameters)

    def _expression(self, place: str) -> Expr | None:
        """Symbolic value of a field that contains parameters.

        None if the file has no such field, or if it is a plain number or not `_writable`.
        """
        expression = self._symbolic(place)
        if expression is None or not expression.free_symbols or not _writable(expression):
            return None
        return expression

    def _formula(self, place: str, value: float) -> Expr | None:
        """Result of `_expression`, or None if its numeric value differs from `value`."""
        expression = self._expression(place)
        return expression if expression is not None and self._matches(expression, value) else None

    def _matches(self, expression: Expr, value: float) -> bool:
        return abs(self._number(expression) - value) <= 1e-12 * max(1.0, abs(value))

    def _number(self, expression: Expr) -> float:
        return float(sp.sympify(expression).evalf(30, subs=self.table.values))

    def _pose(self, what: str, number: np.ndarray) -> Pose:
        """Symbolic pose of a fixed frame, given in the robot file as xyz and roll, pitch, yaw.

        `number` is the pose in the model.  If its rotation differs from the angles in the file, the
        rotation is numeric.
        """
        p = [
            self._length(f"{what}.xyz[{j}]", f"{what}_{axis}", x, f"{what} frame, {axis}")
            for j, (axis, x) in enumerate(zip(_AXES, number[:3, 3].tolist(), strict=True))
        ]
        places = [f"{what}.rpy[{j}]" for j in range(3)]
        values = [self._number(self._symbolic(place) or 0) for place in places]
        turn = pose((0, 0, 0), values)[:3, :3]
        if not np.allclose(turn, number[:3, :3], rtol=1e-12, atol=1e-12):
            return list(constant(number)[0]), p
        roll, pitch, yaw = (
            self._angle(place, f"{what}_{name}", value, f"{what} frame, {name}")
            for place, name, value in zip(places, ("roll", "pitch", "yaw"), values, strict=True)
        )
        return _product(_product(_rot_z(yaw), _rot_y(pitch)), _rot_x(roll)), p

    def _gravity(self) -> Vector:
        values = [float(x) for x in self.model.gravity]
        pulling = [i for i, x in enumerate(values) if x != 0.0]
        if len(pulling) == 1:
            i = pulling[0]
            g = self.table.add("g", abs(values[i]), "gravity", "m/s²", "gravity")
            return [(g if values[i] > 0 else -g) if j == i else 0 for j in range(3)]
        return [
            self._letter(f"g{axis}", x, "gravity", "m/s²", f"gravity along {axis} of the base")
            for axis, x in zip(_AXES, values, strict=True)
        ]


def _own_expressions(model: TreeModel) -> dict[str, Expression]:
    """Expressions of the robot file that are valid for the model, by path of the field.

    A tool with mass is merged into the last link.  The expressions for the inertia of this link are
    then not valid.
    """
    given = dict(model.expressions)
    if "tool.mass" not in given:
        return given
    last = f"joints[{len(model.dh) - 1}]"
    merged = tuple(f"{last}.{key}" for key in ("mass", "com", "inertia"))
    return {place: one for place, one in given.items() if not place.startswith(merged)}


def _writable(expression: Expr) -> bool:
    """Whether every exponent in an expression is a multiple of 1/2, as the exports require."""
    return all((2 * power.exp).is_Integer for power in expression.atoms(sp.Pow))


def _solids(sizes: dict[str, list[Expr]], mass: Expr) -> Iterator[list[Expr]]:
    """Yield the three principal moments of a solid.

    A cylinder yields three times: with its axis along x, y and z.
    """
    if "box" in sizes:
        x, y, z = (s**2 for s in sizes["box"])
        yield [mass * (y + z) / 12, mass * (x + z) / 12, mass * (x + y) / 12]
    if "sphere" in sizes:
        yield [sp.Rational(2, 5) * mass * sizes["sphere"][0] ** 2] * 3
    if "cylinder" in sizes:
        radius, length = sizes["cylinder"]
        for axis in range(3):
            moments = [mass * (3 * radius**2 + length**2) / 12] * 3
            moments[axis] = mass * radius**2 / 2
            yield moments


def _rot_x(angle: Expr) -> Vector:
    s, c = sp.sin(angle), sp.cos(angle)
    return [1, 0, 0, 0, c, -s, 0, s, c]


def _rot_y(angle: Expr) -> Vector:
    s, c = sp.sin(angle), sp.cos(angle)
    return [c, 0, s, 0, 1, 0, -s, 0, c]


def _rot_z(angle: Expr) -> Vector:
    s, c = sp.sin(angle), sp.cos(angle)
    return [c, -s, 0, s, c, 0, 0, 0, 1]


def _product(A: Vector, B: Vector) -> Vector:
    return compose((A, [0, 0, 0]), (B, [0, 0, 0]))[0]


def _effort(joint: Joint, per: str) -> str:
    return f"N m {per}/rad" if joint.kind == "revolute" else f"N {per}/m"
