"""Which letter stands for which number of a D-H robot.

Where the file writes an expression of its parameters (`a: L1`, `com: {a: -L1/2}`) the equations
show it.  A plain number gets a letter: a1, d1 for D-H lengths, r1x for a centre of mass, m1, I1xx,
g.  Zeros stay zeros and quarter turns stay exact, since they are what makes an arm's equations
short.  Every expression is checked against the number the model was built with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp

from brazo.dynamics.symbolic.expressions import read_expression
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
from brazo.errors import BrazoError
from brazo.formats.document import Field
from brazo.kinematics.forward import compose, constant
from brazo.model.description import Inertia, Joint, TreeModel
from brazo.model.dh import DHRow, before_after
from brazo.model.transforms import exact_sincos, invert

Expr = Any

_AXES = "xyz"


class DHReader:
    """Reads one D-H robot; `i` counts joints from 0, letters from 1."""

    def __init__(self, model: TreeModel, document: Field | None) -> None:
        self.model = model
        self.table = SymbolTable(model.parameters)
        fields = document.mapping() if document is not None else {}
        self.joints: list[dict[str, Field]] = [{} for _ in model.dh]
        if "joints" in fields:
            blocks = [block.mapping() for block in fields["joints"].items()]
            if len(blocks) != len(model.dh):
                self._changed()
            self.joints = blocks
        self.base = fields["base"].mapping() if "base" in fields else {}
        tool = fields.get("tool")
        self.tool = tool.mapping() if tool is not None and tool.is_mapping else {}
        self.parameters: dict[str, Expr] = {}
        for name, value in model.parameters.items():
            self.parameters[name] = self.table.add(name, value, "parameter", "", "parameter")
        given = fields["parameters"].mapping() if "parameters" in fields else {}
        for name, field in given.items():
            formula = self._expression(field)
            if formula is not None and self._matches(formula, model.parameters[name]):
                self.table.explain(name, formula)

    def read(self) -> Mechanism:
        model, table = self.model, self.table
        q, qd, qdd = joint_symbols(table, model.coordinates)
        links, entries = [], []
        for i, row in enumerate(model.dh):
            link, entry = self._link(i, row, q[i])
            links.append(link)
            entries.append(entry)
        tool = self._pose("tool", self.tool, model.tool)
        gravity = self._gravity()
        self._check_frames(links, tool)
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
        fields, k = self.joints[i], i + 1
        joint = self.model.joints[i]
        revolute = row.kind == "revolute"
        a = self._length(fields.get("a"), f"a{k}", row.a, f"D-H length of link {k}")
        alpha = self._angle(fields.get("alpha"), f"alpha{k}", row.alpha, f"D-H twist of link {k}")
        if revolute:
            d = self._length(fields.get("d"), f"d{k}", row.d, f"D-H offset of joint {k}")
            offset = self._angle(
                fields.get("offset"), f"delta{k}", row.offset, f"angle added to q{k}"
            )
            theta: Expr = 0
            entry = DHEntry(q + offset, d, a, alpha)
        else:
            theta = self._angle(fields.get("theta"), f"theta{k}", row.theta, f"D-H angle {k}")
            offset = self._length(
                fields.get("offset"), f"delta{k}", row.offset, f"length added to q{k}"
            )
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
            before = compose(self._pose("base", self.base, number), before)
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
                f"motor inertia seen at joint {k}, gear ratio squared included",
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
        fields, k = self.joints[i], i + 1
        inertia = self.model.bodies[k].inertia
        assert inertia is not None
        # The tool's mass is merged into the last link, which then has no expressions of its own.
        merged = k == len(self.model.dh) and "mass" in self.tool
        formula = None if merged or "mass" not in fields else self._expression(fields["mass"])
        mass = self._letter(f"m{k}", inertia.mass, "mass", "kg", f"mass of link {k}", formula)
        com = self._com(k, None if merged else fields.get("com"), inertia)
        solid = None if merged or mass == 0 else self._solid(fields, mass)
        largest = float(np.abs(inertia.tensor).max())
        tensor = []
        for a, b in TENSOR:
            value = float(inertia.tensor[a, b])
            if abs(value) <= 1e-15 * largest:
                value = 0.0  # what turning a tensor leaves behind
            name = f"I{k}{_AXES[a]}{_AXES[b]}"
            meaning = f"inertia of link {k} about its centre of mass, {_AXES[a]}{_AXES[b]}"
            formula = solid[a] if solid is not None and a == b else None
            tensor.append(self._letter(name, value, "inertia", "kg m²", meaning, formula))
        return mass, com, tensor

    def _com(self, k: int, field: Field | None, inertia: Inertia) -> Vector:
        given: list[Expr | None] = [None, None, None]
        if field is not None and field.is_list:
            given = [self._expression(item) for item in field.items()]
        elif field is not None and field.is_mapping:
            row = field.mapping()
            a, d = (self._expression(row[key]) if key in row else None for key in ("a", "d"))
            turn = 0 if "theta" not in row else self._text(row["theta"])
            if a is not None and turn is not None:
                given = [a * sp.cos(turn), a * sp.sin(turn), None]
            given[2] = d
        com = []
        for j, axis in enumerate(_AXES):
            value, expression = float(inertia.com[j]), given[j]
            if expression is not None and expression != 0 and self._matches(expression, value):
                com.append(expression)
            else:
                meaning = f"centre of mass of link {k} in its frame, {axis}"
                com.append(self._letter(f"r{k}{axis}", value, "com", "m", meaning))
        return com

    def _solid(self, fields: Mapping[str, Field], mass: Expr) -> list[Expr] | None:
        """Principal moments of a box, cylinder or sphere as formulas, where it is not turned."""
        com, inertia = fields.get("com"), fields.get("inertia")
        if inertia is None or not inertia.is_mapping:
            return None
        if com is not None and com.is_mapping and {"theta", "alpha"} & com.mapping().keys():
            return None
        block = inertia.mapping()
        kind = next(key for key in block if key != "axis")
        items = [block[kind]] if kind == "sphere" else list(block[kind].items())
        sizes = [self._text(item) for item in items]
        if kind == "box":
            x, y, z = (s**2 for s in sizes)
            return [mass * (y + z) / 12, mass * (x + z) / 12, mass * (x + y) / 12]
        if kind == "sphere":
            return [sp.Rational(2, 5) * mass * sizes[0] ** 2] * 3
        radius, length = sizes
        moments = [mass * (3 * radius**2 + length**2) / 12] * 3
        axis = block["axis"].text() if "axis" in block else "z"
        moments[_AXES.index(axis)] = mass * radius**2 / 2
        return moments

    # -- letters and expressions ------------------------------------------------------------

    def _letter(
        self, name: str, value: float, kind: str, unit: str, meaning: str, formula: Expr = None
    ) -> Expr:
        """A letter for a number; none for a zero."""
        if value == 0.0:
            return sp.Integer(0)
        # A load in the gripper makes the last link another one than the file's.
        if formula is not None and not (_writable(formula) and self._matches(formula, value)):
            formula = None
        return self.table.add(name, value, kind, unit, meaning, formula)

    def _length(self, field: Field | None, name: str, value: float, meaning: str) -> Expr:
        expression = None if field is None else self._expression(field)
        if expression is not None:
            self.table.measure(expression, "m")
            return self._checked(expression, value)
        return self._letter(name, value, "length", "m", meaning)

    def _angle(self, field: Field | None, name: str, value: float, meaning: str) -> Expr:
        expression = None if field is None else self._expression(field)
        if expression is not None:
            self.table.measure(expression, "rad")
            return self._checked(expression, value)
        s, c = exact_sincos(value)
        if s in (0.0, 1.0, -1.0) and c in (0.0, 1.0, -1.0):
            return round(value / (math.pi / 2)) * sp.pi / 2
        return self._letter(name, value, "angle", "rad", meaning)

    def _text(self, field: Field) -> Expr:
        """A field's text over the file's parameters."""
        return read_expression(field.text(), self.parameters)

    def _expression(self, field: Field) -> Expr | None:
        """A field's text where it mentions parameters; None for a plain number."""
        expression = self._text(field)
        return expression if expression.free_symbols and _writable(expression) else None

    def _checked(self, expression: Expr, value: float) -> Expr:
        """Refuse an expression that does not give the number the model was built with."""
        if not self._matches(expression, value):
            self._changed()
        return expression

    def _matches(self, expression: Expr, value: float) -> bool:
        return abs(self._number(expression) - value) <= 1e-12 * max(1.0, abs(value))

    def _number(self, expression: Expr) -> float:
        return float(sp.sympify(expression).evalf(30, subs=self.table.values))

    def _changed(self) -> None:
        raise BrazoError(
            f"{self.model.path or self.model.name}: the file has changed since robot "
            f"'{self.model.name}' was loaded; load it again"
        )

    def _pose(self, what: str, fields: Mapping[str, Field], number: np.ndarray) -> Pose:
        """A fixed frame given as xyz and roll, pitch, yaw."""
        if not fields:
            R, p = constant(number)
            return list(R), [
                self._letter(f"{what}_{axis}", x, "length", "m", f"{what} frame, {axis}")
                for axis, x in zip(_AXES, p, strict=True)
            ]
        xyz: list[Field | None] = list(fields["xyz"].items()) if "xyz" in fields else [None] * 3
        rpy: list[Field | None] = list(fields["rpy"].items()) if "rpy" in fields else [None] * 3
        p = [
            self._length(field, f"{what}_{axis}", float(x), f"{what} frame, {axis}")
            for field, axis, x in zip(xyz, _AXES, number[:3, 3], strict=True)
        ]
        angles = []
        for field, name in zip(rpy, ("roll", "pitch", "yaw"), strict=True):
            value = 0.0
            if field is not None:
                value = self._number(self._text(field))
            angles.append(self._angle(field, f"{what}_{name}", value, f"{what} frame, {name}"))
        roll, pitch, yaw = angles
        R = _product(_product(_rot_z(yaw), _rot_y(pitch)), _rot_x(roll))
        return R, p

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

    def _check_frames(self, links: list[SymbolicLink], tool: Pose) -> None:
        """The frames with letters are the model's frames."""
        pairs = [(tool, self.model.tool)]
        for link, joint in zip(links, self.model.joints, strict=True):
            pairs.append((link.before, joint.before))
            offset = self._number(link.offset)
            s, c = exact_sincos(offset if link.kind == "revolute" else 0.0)
            z = offset if link.kind == "prismatic" else 0.0
            start = ([c, -s, 0, s, c, 0, 0, 0, 1], [0, 0, z])
            pairs.append((compose(start, link.after), joint.after))
        for (R, p), number in pairs:
            got = [self._number(x) for x in [*R, *p]]
            want = [*number[:3, :3].ravel(), *number[:3, 3]]
            if not np.allclose(got, want, rtol=1e-12, atol=1e-12):
                self._changed()


def _writable(expression: Expr) -> bool:
    """True when every power is whole or a root, which is what the exports can compute."""
    return all((2 * power.exp).is_Integer for power in expression.atoms(sp.Pow))


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
