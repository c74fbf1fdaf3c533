"""The robot file: YAML fields to a `TreeModel` or `DeltaModel`.

One reading function a block of the file, in the order a person writes them.  Expressions of
`parameters` are evaluated as they are met; `RobotFile.build` may be given other parameter values
and reads everything anew, which is what keeps all derived numbers consistent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brazo import units
from brazo.errors import BrazoError
from brazo.model.body import Style, delta_parts, generate_parts
from brazo.model.description import (
    EARTH_GRAVITY,
    Body,
    DeltaModel,
    Drive,
    Finding,
    Friction,
    Gripper,
    Inertia,
    Joint,
    JointKind,
    Model,
    TreeModel,
    frozen,
)
from brazo.model.dh import DHRow, before_after, row_transform
from brazo.model.document import Field, parse_document, read_document
from brazo.model.inertia import broken_rules, merge, rotated, shape_tensor
from brazo.model.part_fields import read_parts, read_style
from brazo.model.transforms import pose

MAX_JOINTS = 64
MAX_PARAMETERS = 200

_COMMON = ("name", "about", "kind", "parameters", "gravity", "poses", "gripper", "tool", "body")
_SERIAL = ("convention", "base", "joints")
_DELTA = (
    "R", "r", "L1", "L2", "azimuths", "limits", "arm", "rod_mass", "platform_mass",
    "friction", "drive",
)  # fmt: skip
_JOINT = (
    "name", "type", "theta", "d", "a", "alpha", "offset", "limits", "mass", "com", "inertia",
    "friction", "drive", "parts",
)  # fmt: skip

Names = Mapping[str, units.Quantity]


@dataclass(frozen=True)
class RobotFile:
    """A parsed robot file, ready to be built with its own or other parameter values."""

    root: Field

    @classmethod
    def read(cls, path: Path) -> RobotFile:
        return cls(read_document(path))

    @classmethod
    def parse(cls, text: str | bytes, path: Path | None = None) -> RobotFile:
        return cls(parse_document(text, path))

    def build(self, overrides: Mapping[str, float] | None = None) -> Model:
        """Read the fields into a model, with `overrides` in place of the file's parameters."""
        if not self.root.is_mapping:
            self.root.fail("expected a robot file: fields such as name, joints, parameters")
        given = self.root.mapping()
        kind = given["kind"].choice("serial", "delta") if "kind" in given else "serial"
        fields = self.root.mapping(_COMMON + (_SERIAL if kind == "serial" else _DELTA))
        reader = _Reader(self.root, fields, overrides or {})
        return reader.serial() if kind == "serial" else reader.delta()


class _Reader:
    """Reads the blocks of one file with one set of parameter values."""

    def __init__(self, root: Field, fields: dict[str, Field], overrides: Mapping[str, float]):
        self.root = root
        self.fields = fields
        self.findings: list[Finding] = []
        self.names = self._parameters(overrides)

    # -- blocks common to all kinds ---------------------------------------------------------

    def _required(self, key: str) -> Field:
        if key not in self.fields:
            self.root.fail(f"field '{key}' is missing")
        return self.fields[key]

    def _parameters(self, overrides: Mapping[str, float]) -> Names:
        given: dict[str, Field] = {}
        if "parameters" in self.fields:
            block = self.fields["parameters"]
            given = block.mapping()
            if len(given) > MAX_PARAMETERS:
                block.fail(f"{len(given)} parameters; at most {MAX_PARAMETERS}")
        for name in overrides:
            if name not in given:
                known = ", ".join(given) or "none"
                raise BrazoError(f"unknown parameter '{name}'; this robot has: {known}")
        return _evaluate_parameters(given, overrides)

    def _common(self) -> dict:
        fields = self.fields
        gravity = EARTH_GRAVITY
        if "gravity" in fields:
            gravity = frozen(fields["gravity"].numbers(3, units.ACCELERATION, names=self.names))
        return {
            "name": self._required("name").identifier(),
            "about": fields["about"].text().strip() if "about" in fields else "",
            "parameters": {name: q.value for name, q in self.names.items()},
            "gravity": gravity,
            "gripper": self._gripper(),
            "path": self.root.path,
        }

    def _gripper(self) -> Gripper | None:
        if "gripper" not in self.fields or self.fields["gripper"].is_null:
            return None
        block = self.fields["gripper"].mapping(("opening", "max_force", "finger"))
        given: dict = {}
        if "opening" in block:
            low, high = block["opening"].numbers(2, units.LENGTH, names=self.names)
            if not 0.0 <= low < high:
                block["opening"].fail(f"[{low:g}, {high:g}]: needs 0 <= closed < open")
            given["opening"] = (low, high)
        if "max_force" in block:
            given["max_force"] = block["max_force"].number(
                units.FORCE, names=self.names, above=0.0
            )
        if "finger" in block:
            size = block["finger"].numbers(3, units.LENGTH, names=self.names)
            if min(size) <= 0.0:
                block["finger"].fail("finger sizes must be greater than 0")
            given["finger"] = tuple(size)
        return Gripper(**given)

    def _poses(self, kinds: list[JointKind], limits: np.ndarray) -> dict[str, np.ndarray]:
        if "poses" not in self.fields:
            return {}
        poses: dict[str, np.ndarray] = {}
        for name, field in self.fields["poses"].mapping().items():
            items = list(field.items(MAX_JOINTS))
            if len(items) != len(kinds):
                field.fail(f"{len(items)} values for {len(kinds)} joints")
            q = frozen(
                [
                    item.number(_position(kind), names=self.names)
                    for item, kind in zip(items, kinds, strict=True)
                ]
            )
            outside = np.flatnonzero((q < limits[:, 0] - 1e-9) | (q > limits[:, 1] + 1e-9))
            if outside.size:
                i = int(outside[0])
                self._note(
                    items[i],
                    f"{q[i]:g} is outside the limits "
                    f"{limits[i, 0]:g} .. {limits[i, 1]:g} of joint {i + 1}",
                )
            poses[name] = q
        return poses

    def _style(self) -> Style:
        return read_style(self.fields.get("body"), self.names)

    def _note(self, field: Field, message: str) -> None:
        self.findings.append(Finding(message, field.path, field.line, field.name))

    # -- serial arms ------------------------------------------------------------------------

    def serial(self) -> TreeModel:
        convention = "standard"
        if "convention" in self.fields:
            convention = self.fields["convention"].choice("standard", "modified")
        base, base_parts = self._base()
        joints_field = self._required("joints")
        blocks = list(joints_field.items(MAX_JOINTS))
        if not blocks:
            joints_field.fail("at least one joint is needed")
        joints: list[Joint] = []
        rows: list[DHRow] = []
        inertias: list[Inertia | None] = []
        given_parts: list = []
        for i, block in enumerate(blocks):
            fields = block.mapping(_JOINT)
            row = self._row(fields)
            joint = self._joint(i, fields, row, convention, base if i == 0 else None)
            if any(joint.name == other.name for other in joints):
                fields["name"].fail(f"joint name '{joint.name}' is used twice")
            joints.append(joint)
            rows.append(row)
            inertias.append(self._inertia(fields, block))
            given_parts.append(
                read_parts(fields["parts"], self.names) if "parts" in fields else None
            )
        tool, tool_inertia = self._tool()
        if tool_inertia is not None and inertias[-1] is not None:
            inertias[-1] = merge(inertias[-1], tool_inertia)
        limits = frozen([joint.limits for joint in joints])
        common = self._common()
        parts = generate_parts(
            rows,
            convention,
            base=base,
            tool=tool,
            limits=limits,
            gripper=common["gripper"],
            style=self._style(),
        )
        bodies = [Body("base", parts=base_parts if base_parts is not None else parts[0])]
        for i, joint in enumerate(joints):
            bodies.append(
                Body(
                    name=f"link {i + 1}",
                    parent=i,
                    joint=joint,
                    inertia=inertias[i],
                    parts=given_parts[i] if given_parts[i] is not None else parts[i + 1],
                )
            )
        poses = self._poses([joint.kind for joint in joints], limits)
        return TreeModel(
            **common,
            poses=poses,
            bodies=tuple(bodies),
            tip=len(joints),
            tool=frozen(tool),
            convention=convention,
            dh=tuple(rows),
            findings=tuple(self.findings),
        )

    def _base(self) -> tuple[np.ndarray, tuple | None]:
        if "base" not in self.fields:
            return np.eye(4), None
        fields = self.fields["base"].mapping(("xyz", "rpy", "parts"))
        parts = read_parts(fields["parts"], self.names) if "parts" in fields else None
        return self._transform(fields), parts

    def _transform(self, fields: dict[str, Field]) -> np.ndarray:
        xyz = (
            fields["xyz"].numbers(3, units.LENGTH, names=self.names) if "xyz" in fields else [0] * 3
        )
        rpy = (
            fields["rpy"].numbers(3, units.ANGLE, names=self.names) if "rpy" in fields else [0] * 3
        )
        return pose(xyz, rpy)

    def _tool(self) -> tuple[np.ndarray, Inertia | None]:
        if "tool" not in self.fields or self.fields["tool"].is_null:
            return np.eye(4), None
        block = self.fields["tool"]
        fields = block.mapping(("xyz", "rpy", "mass", "com", "inertia"))
        return self._transform(fields), self._inertia(fields, block)

    def _row(self, fields: dict[str, Field]) -> DHRow:
        names = self.names
        kind: JointKind = "revolute"
        if "type" in fields:
            kind = fields["type"].choice("revolute", "prismatic")  # type: ignore[assignment]
        variable = "theta" if kind == "revolute" else "d"
        if variable in fields:
            fields[variable].fail(
                f"{variable} is the variable of a {kind} joint; "
                "write 'offset' for a constant added to it"
            )

        def value(key: str, dimension: units.Dimension) -> float:
            return fields[key].number(dimension, names=names) if key in fields else 0.0

        return DHRow(
            kind=kind,
            theta=value("theta", units.ANGLE),
            d=value("d", units.LENGTH),
            a=value("a", units.LENGTH),
            alpha=value("alpha", units.ANGLE),
            offset=value("offset", _position(kind)),
        )

    def _joint(
        self,
        i: int,
        fields: dict[str, Field],
        row: DHRow,
        convention,
        base: np.ndarray | None,
    ) -> Joint:
        before, after = before_after(row, convention)
        if base is not None:
            before = base @ before
        return Joint(
            name=fields["name"].identifier() if "name" in fields else f"joint {i + 1}",
            kind=row.kind,
            coordinate=i,
            before=frozen(before),
            after=frozen(after),
            limits=self._limits(fields["limits"], row.kind)
            if "limits" in fields
            else (-math.inf, math.inf),
            friction=self._friction(fields.get("friction")),
            drive=self._drive(fields.get("drive"), row.kind),
        )

    def _limits(self, field: Field, kind: JointKind) -> tuple[float, float]:
        if field.is_null:
            return -math.inf, math.inf
        low, high = field.numbers(2, _position(kind), names=self.names)
        if not low < high:
            field.fail(f"[{low:g}, {high:g}]: the lower limit must be below the upper")
        if kind == "revolute" and max(abs(low), abs(high)) > 8.0 * math.pi:
            self._note(field, "more than four turns in radians; write e.g. 150deg for degrees")
        return low, high

    def _friction(self, field: Field | None) -> Friction:
        if field is None or field.is_null:
            return Friction()
        fields = field.mapping(("viscous", "coulomb"))
        viscous = 0.0
        if "viscous" in fields:
            viscous = fields["viscous"].number(names=self.names, at_least=0.0)
        coulomb = (0.0, 0.0)
        if "coulomb" in fields:
            entry = fields["coulomb"]
            if entry.is_list:
                plus, minus = entry.numbers(2, units.TORQUE, units.FORCE, names=self.names)
                if min(plus, minus) < 0.0:
                    entry.fail("both Coulomb values are magnitudes, at least 0")
                coulomb = (plus, minus)
            else:
                both = entry.number(units.TORQUE, units.FORCE, names=self.names, at_least=0.0)
                coulomb = (both, both)
        return Friction(viscous, coulomb)

    def _drive(self, field: Field | None, kind: JointKind) -> Drive:
        if field is None or field.is_null:
            return Drive()
        fields = field.mapping(("max_torque", "max_speed", "gear", "motor_inertia"))
        revolute = kind == "revolute"
        effort = units.TORQUE if revolute else units.FORCE
        # '180deg' is read as 180deg/s: a drive's speed can mean nothing else.
        speeds = (
            (units.ANGULAR_SPEED, units.ANGLE) if revolute else (units.SPEED, units.LENGTH)
        )
        given = {}
        if "max_torque" in fields:
            given["max_torque"] = fields["max_torque"].number(effort, names=self.names, above=0.0)
        if "max_speed" in fields:
            given["max_speed"] = fields["max_speed"].number(*speeds, names=self.names, above=0.0)
        if "gear" in fields:
            given["gear"] = fields["gear"].number(names=self.names)
            if given["gear"] == 0.0:
                fields["gear"].fail("a gear ratio of 0 moves nothing")
        if "motor_inertia" in fields:
            given["motor_inertia"] = fields["motor_inertia"].number(
                units.INERTIA, names=self.names, at_least=0.0
            )
        return Drive(**given)

    def _inertia(self, fields: dict[str, Field], block: Field) -> Inertia | None:
        names = self.names
        if "mass" not in fields:
            for key in ("com", "inertia"):
                if key in fields:
                    fields[key].fail("is given without a mass; add 'mass' or remove it")
            return None
        mass = fields["mass"].number(units.MASS, names=names, at_least=0.0)
        com, rotation = np.zeros(3), np.eye(3)
        if "com" in fields:
            entry = fields["com"]
            if entry.is_mapping:
                row = entry.mapping(("theta", "d", "a", "alpha"))
                values = {
                    key: child.number(
                        units.ANGLE if key in ("theta", "alpha") else units.LENGTH, names=names
                    )
                    for key, child in row.items()
                }
                T = row_transform(**values)
                com, rotation = T[:3, 3], T[:3, :3]
            else:
                com = np.array(entry.numbers(3, units.LENGTH, names=names))
        if "inertia" in fields:
            tensor = self._tensor(fields["inertia"], mass)
        else:
            tensor = np.zeros((3, 3))
            self._note(
                block, "has mass but no inertia: a point mass; the mass matrix may be singular"
            )
        tensor = rotated(tensor, rotation)
        inertia = Inertia(mass, frozen(com), frozen(tensor))
        for rule in broken_rules(inertia) if "inertia" in fields else ():
            self._note(fields["inertia"], rule)
        return inertia

    def _tensor(self, field: Field, mass: float) -> np.ndarray:
        names = self.names
        if field.is_mapping:
            fields = field.mapping(("box", "cylinder", "sphere", "axis"))
            shapes = [key for key in fields if key != "axis"]
            if len(shapes) != 1:
                field.fail("give exactly one of box, cylinder, sphere")
            shape = shapes[0]
            if shape == "sphere":
                sizes = [fields[shape].number(units.LENGTH, names=names)]
            else:
                count = 3 if shape == "box" else 2
                sizes = fields[shape].numbers(count, units.LENGTH, names=names)
            if min(sizes) < 0.0:
                fields[shape].fail("sizes cannot be negative")
            axis = "z"
            if "axis" in fields:
                axis = fields["axis"].choice("x", "y", "z")
            return shape_tensor(shape, mass, sizes, axis)
        items = list(field.items(3))
        if len(items) != 3:
            field.fail("expected [Ixx, Iyy, Izz], a 3x3 matrix, or box/cylinder/sphere sizes")
        if not items[0].is_list:
            return np.diag(field.numbers(3, units.INERTIA, names=names))
        tensor = np.array([item.numbers(3, units.INERTIA, names=names) for item in items])
        if not np.allclose(tensor, tensor.T, rtol=1e-6, atol=1e-12):
            field.fail("the inertia matrix is not symmetric")
        return 0.5 * (tensor + tensor.T)

    # -- Delta --------------------------------------------------------------------------------

    def delta(self) -> DeltaModel:
        names = self.names
        sizes = {
            key: self._required(key).number(units.LENGTH, names=names, above=0.0)
            for key in ("R", "r", "L1", "L2")
        }
        if sizes["L2"] <= abs(sizes["R"] - sizes["r"]) - sizes["L1"]:
            self.fields["L2"].fail("the rods are too short to reach the platform in any pose")
        azimuths = (math.radians(210), math.radians(330), math.radians(90))
        if "azimuths" in self.fields:
            entry = self.fields["azimuths"]
            a, b, c = entry.numbers(3, units.ANGLE, names=names)
            azimuths = (a, b, c)
            turns = sorted(x % (2 * math.pi) for x in azimuths)
            gaps = [turns[1] - turns[0], turns[2] - turns[1], turns[0] + 2 * math.pi - turns[2]]
            if min(gaps) < 1e-3:
                entry.fail("two arms point the same way; give three different azimuths")
        limits = frozen([[-math.inf, math.inf]] * 3)
        if "limits" in self.fields:
            limits = frozen([self._limits(self.fields["limits"], "revolute")] * 3)
        arm = None
        if "arm" in self.fields:
            arm = self._inertia(
                self.fields["arm"].mapping(("mass", "com", "inertia")), self.fields["arm"]
            )
        masses = {
            key: self.fields[key].number(units.MASS, names=names, at_least=0.0)
            for key in ("rod_mass", "platform_mass")
            if key in self.fields
        }
        tool, tool_inertia = self._tool()
        if tool_inertia is not None and "platform_mass" in masses:
            masses["platform_mass"] += tool_inertia.mass
        if not np.allclose(tool[:3, :3], np.eye(3)):
            self.fields["tool"].fail("a Delta's tool cannot be turned: the platform stays level")
        return DeltaModel(
            **self._common(),
            **sizes,
            **masses,
            azimuths=azimuths,
            limits=limits,
            poses=self._poses(["revolute"] * 3, limits),
            tool=frozen(tool),
            arm_inertia=arm,
            friction=self._friction(self.fields.get("friction")),
            drive=self._drive(self.fields.get("drive"), "revolute"),
            parts=delta_parts(**sizes, azimuths=azimuths, style=self._style()),
            findings=tuple(self.findings),
        )


def _position(kind: JointKind) -> units.Dimension:
    return units.ANGLE if kind == "revolute" else units.LENGTH


def _evaluate_parameters(given: dict[str, Field], overrides: Mapping[str, float]) -> Names:
    """Evaluate parameters in any order; one that needs itself is refused."""
    values: dict[str, units.Quantity] = {}
    waiting = dict(given)
    for name, field in given.items():
        if not name.isidentifier() or name in ("pi", "sin", "cos", "tan", "sqrt", "abs"):
            field.fail(f"'{name[:40]}' cannot be a parameter's name; use letters, digits and _")
        if name in overrides:
            value = float(overrides[name])
            if not math.isfinite(value):
                raise BrazoError(f"parameter '{name}' must be a finite number, got {value}")
            values[name] = units.Quantity(value)
            del waiting[name]
    while waiting:
        ready = {}
        for name, field in waiting.items():
            if not units.names_in(field.text(at_most=400)) & waiting.keys():
                ready[name] = field.quantity(values)
        if not ready:
            name, field = next(iter(waiting.items()))
            field.fail(f"'{name}' depends on itself; parameters in the circle: {', '.join(waiting)}")
        values.update(ready)
        for name in ready:
            del waiting[name]
    return {name: values[name] for name in given}
