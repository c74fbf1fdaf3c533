"""Robot file: conversion of YAML fields to a `TreeModel` or `DeltaModel`.

There is one reading function per block of the file, in the usual order.  Expressions of
`parameters` are evaluated as they are read, and the model keeps their trees for the symbolic
equations.  `RobotFile.build` accepts other parameter values and evaluates everything again, which
keeps all derived numbers consistent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from brazo import units
from brazo.body.delta_body import delta_bodies, delta_parts, delta_size, rod_offset
from brazo.body.drawing import Drawing
from brazo.body.generate import Style, generate_parts
from brazo.body.layout import Sizes, proportions
from brazo.errors import BrazoError
from brazo.formats.document import Field, parse_document, read_document
from brazo.formats.robot_yaml.joint_fields import (
    Context,
    Names,
    outside,
    position_of,
    read_drive,
    read_friction,
    read_inertia,
    read_limits,
    read_row,
    slipped,
)
from brazo.formats.robot_yaml.part_fields import read_parts, read_style
from brazo.model.description import (
    EARTH_GRAVITY,
    Body,
    DeltaModel,
    Finding,
    Gripper,
    Inertia,
    Joint,
    JointKind,
    Model,
    TreeModel,
    frozen,
)
from brazo.model.dh import Convention, DHRow, before_after
from brazo.model.inertia import merge, transformed
from brazo.model.transforms import pose

MAX_JOINTS = 64
MAX_PARAMETERS = 200
MAX_POSES = 200

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


@dataclass(frozen=True)
class RobotFile:
    """A parsed robot file that can be built with its own or other parameter values."""

    root: Field

    @classmethod
    def read(cls, path: Path) -> RobotFile:
        return cls(read_document(path))

    @classmethod
    def parse(cls, text: str | bytes, path: Path | None = None) -> RobotFile:
        return cls(parse_document(text, path))

    def build(self, overrides: Mapping[str, float] | None = None) -> Model:
        """Build the model from the fields, with `overrides` replacing parameters of the file."""
        if not self.root.is_mapping:
            self.root.fail("expected a robot file: fields such as name, joints, parameters")
        given = self.root.mapping()
        kind = given["kind"].choice("serial", "delta") if "kind" in given else "serial"
        fields = self.root.mapping(_COMMON + (_SERIAL if kind == "serial" else _DELTA))
        size = self._own_size if overrides and kind == "delta" else None
        sizes = self._own_sizes if overrides and kind == "serial" else None
        self.root.doubts.clear()  # remove those of a build with other values
        self.root.expressions.clear()
        reader = _Reader(self.root, fields, overrides or {})
        return reader.delta(size) if kind == "delta" else reader.serial(sizes)

    def names(self, overrides: Mapping[str, float] | None = None) -> Names:
        """Return the evaluated parameters, with `overrides` replacing those of the file."""
        return _Reader(self.root, self.root.mapping(), overrides or {}).names

    @property
    def radii(self) -> tuple[float, ...]:
        """`body: radii` of the unmodified robot, given or derived from its lengths."""
        if isinstance(self.build(), DeltaModel):
            return (self._own_size,)
        return self._own_sizes.radii

    @cached_property
    def _own_sizes(self) -> Sizes:
        """Flange sizes of the unmodified arm; they stay constant when lengths are edited."""
        model = self.build()
        assert isinstance(model, TreeModel)
        limits = [joint.limits for joint in model.joints]
        given = self._given_radii()
        return Sizes(given) if given else proportions(model.dh, limits, model.tool)

    @cached_property
    def _own_size(self) -> float:
        """Size of the unmodified Delta; it stays constant when lengths are edited."""
        model = self.build()
        assert isinstance(model, DeltaModel)
        given = self._given_radii()
        return given[0] if given else delta_size(model.R, model.L1, model.L2)

    def _given_radii(self) -> tuple[float, ...]:
        return read_style(self.root.mapping().get("body"), self.names()).radii


class _Reader:
    """Reader of the blocks of one file with one set of parameter values."""

    def __init__(self, root: Field, fields: dict[str, Field], overrides: Mapping[str, float]):
        self.root = root
        self.fields = fields
        self.context = Context(self._parameters(overrides))
        self.names = self.context.names

    # -- blocks common to all kinds ---------------------------------------------------------

    def _required(self, key: str) -> Field:
        if key not in self.fields:
            self.root.missing(key)
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
        self.root.origins.clear()
        self.root.origins.update({name: given[name] for name in given if name not in overrides})
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
            given["max_force"] = block["max_force"].number(units.FORCE, names=self.names, above=0.0)
        if "finger" in block:
            size = block["finger"].numbers(3, units.LENGTH, names=self.names)
            if min(size) <= 0.0:
                block["finger"].fail("finger sizes must be greater than 0")
            given["finger"] = tuple(size)
        return Gripper(**given)

    def _poses(
        self, joints: Sequence[str], kinds: list[JointKind], limits: np.ndarray
    ) -> dict[str, np.ndarray]:
        if "poses" not in self.fields:
            return {}
        poses: dict[str, np.ndarray] = {}
        given = self.fields["poses"].mapping()
        if len(given) > MAX_POSES:
            self.fields["poses"].fail(f"{len(given)} poses; at most {MAX_POSES}")
        for name, field in given.items():
            items = list(field.items(MAX_JOINTS))
            if len(items) != len(kinds):
                field.fail(f"{len(items)} values for {len(kinds)} joints")
            q = frozen(
                [
                    item.number(position_of(kind), names=self.names)
                    for item, kind in zip(items, kinds, strict=True)
                ]
            )
            beyond = np.flatnonzero((q < limits[:, 0] - 1e-9) | (q > limits[:, 1] + 1e-9))
            for i in beyond.tolist():
                plain = items[i].quantity(self.names).dimension is None
                low, high = limits[i].tolist()
                message = outside(float(q[i]), low, high, joints[i], kinds[i], plain)
                slip = plain and slipped(float(q[i]), low, high, kinds[i])
                self.context.note(items[i], message, slip)
            poses[name] = q
        return poses

    def _style(self, radii: int) -> Style:
        style = read_style(self.fields.get("body"), self.names)
        if len(style.radii) not in (0, radii):
            self.fields["body"].mapping()["radii"].fail(
                f"{len(style.radii)} radii; wanted {radii}: of every joint, then of the flange"
                if radii > 1
                else f"{len(style.radii)} radii; a Delta has one, that of its drives"
            )
        return style

    def _findings(self) -> tuple[Finding, ...]:
        """Return the warnings, and doubtful units of fields without another warning."""
        found = self.context.findings
        told = {finding.field for finding in found}
        doubts = (
            doubt
            for (used, _), doubt in self.root.doubts.items()
            if not told & {used, used.rpartition("[")[0]}
        )
        return tuple(dict.fromkeys((*found, *doubts)))

    # -- serial arms ------------------------------------------------------------------------

    def serial(self, sizes: Sizes | None) -> TreeModel:
        convention: Convention = "standard"
        if "convention" in self.fields:
            convention = self.fields["convention"].choice("standard", "modified")  # type: ignore[assignment]
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
            row = read_row(fields, self.context)
            joint = self._joint(i, fields, row, convention, base if i == 0 else None)
            if any(joint.name == other.name for other in joints):
                fields.get("name", block).fail(f"joint name '{joint.name}' is used twice")
            joints.append(joint)
            rows.append(row)
            inertias.append(read_inertia(fields, block, self.context))
            given_parts.append(
                read_parts(fields["parts"], self.names) if "parts" in fields else None
            )
        tool, tool_inertia = self._tool()
        if tool_inertia is not None:
            last = inertias[-1]
            if last is None:
                self.fields["tool"].fail(
                    "has a mass, but the last joint's link has none", rests=(blocks[-1].name,)
                )
            inertias[-1] = merge(last, transformed(tool_inertia, tool))
        limits = frozen([joint.limits for joint in joints])
        common = self._common()
        style = self._style(len(rows) + 1)
        drawing = Drawing(
            partial(
                generate_parts,
                rows,
                convention,
                base=base,
                tool=tool,
                limits=[joint.limits for joint in joints],
                gripper=common["gripper"],
                style=style,
                sizes=Sizes(style.radii) if style.radii else sizes,
            )
        )
        bodies = [Body("base", parts=drawing.parts(0) if base_parts is None else base_parts)]
        for i, joint in enumerate(joints):
            bodies.append(
                Body(
                    name=f"link {i + 1}",
                    parent=i,
                    joint=joint,
                    inertia=inertias[i],
                    parts=drawing.parts(i + 1) if given_parts[i] is None else given_parts[i],
                )
            )
        poses = self._poses(
            [joint.name for joint in joints], [joint.kind for joint in joints], limits
        )
        return TreeModel(
            **common,
            poses=poses,
            bodies=tuple(bodies),
            tip=len(joints),
            tool=frozen(tool),
            convention=convention,
            dh=tuple(rows),
            findings=self._findings(),
            expressions=self.root.expressions,
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
        if max(map(abs, rpy)) > 2.1 * math.pi:
            self.context.note_turns(fields["rpy"], "more than a turn", 90, 2.1 * math.pi)
        return pose(xyz, rpy)

    def _tool(self) -> tuple[np.ndarray, Inertia | None]:
        if "tool" not in self.fields or self.fields["tool"].is_null:
            return np.eye(4), None
        block = self.fields["tool"]
        fields = block.mapping(("xyz", "rpy", "mass", "com", "inertia"))
        return self._transform(fields), read_inertia(fields, block, self.context)

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
            limits=read_limits(fields["limits"], row.kind, self.context)
            if "limits" in fields
            else (-math.inf, math.inf),
            friction=read_friction(fields.get("friction"), self.context),
            drive=read_drive(fields.get("drive"), row.kind, self.context),
        )

    # -- Delta --------------------------------------------------------------------------------

    def delta(self, size: float | None) -> DeltaModel:
        names = self.names
        sizes = {
            key: self._required(key).number(units.LENGTH, names=names, above=0.0)
            for key in ("R", "r", "L1", "L2")
        }
        measures = ("parameters", "R", "r", "L1", "limits")
        if sizes["L2"] <= abs(sizes["R"] - sizes["r"]) - sizes["L1"]:
            self.fields["L2"].fail(
                "the rods are too short to reach the platform in any pose", rests=measures
            )
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
            limits = frozen([read_limits(self.fields["limits"], "revolute", self.context)] * 3)
        low, high = limits[0]
        grid = np.linspace(low, high, 181) if np.isfinite(limits).all() else np.zeros(0)
        gap = np.abs(sizes["R"] - sizes["r"] + sizes["L1"] * np.cos(grid))
        if grid.size and gap.min() > sizes["L2"]:
            self.fields["L2"].fail(
                "the rods are too short to meet at any angle in the limits", rests=measures
            )
        arm = None
        if "arm" in self.fields:
            arm = read_inertia(
                self.fields["arm"].mapping(("mass", "com", "inertia")),
                self.fields["arm"],
                self.context,
            )
        masses = {
            key: self.fields[key].number(units.MASS, names=names, at_least=0.0)
            for key in ("rod_mass", "platform_mass")
            if key in self.fields
        }
        tool, tool_inertia = self._tool()
        if tool_inertia is not None:
            if "platform_mass" not in masses:
                self.fields["tool"].fail("has a mass, but the platform has none")
            masses["platform_mass"] += tool_inertia.mass
        if not np.allclose(tool[:3, :3], np.eye(3)):
            self.fields["tool"].fail("a Delta's tool cannot be turned: the platform stays level")
        style = self._style(1)
        (size,) = style.radii or (size or delta_size(sizes["R"], sizes["L1"], sizes["L2"]),)
        drawing = Drawing(partial(delta_parts, **sizes, azimuths=azimuths, style=style, size=size))
        return DeltaModel(
            **self._common(),
            R=sizes["R"],
            r=sizes["r"],
            L1=sizes["L1"],
            L2=sizes["L2"],
            rod_mass=masses.get("rod_mass"),
            platform_mass=masses.get("platform_mass"),
            azimuths=azimuths,
            limits=limits,
            poses=self._poses(DeltaModel.joint_names, ["revolute"] * 3, limits),
            tool=frozen(tool),
            arm_inertia=arm,
            friction=read_friction(self.fields.get("friction"), self.context),
            drive=read_drive(self.fields.get("drive"), "revolute", self.context),
            rod_spacing=2.0 * rod_offset(sizes["r"], size * style.width),
            parts={name: drawing.parts(name) for name in delta_bodies(len(azimuths))},
            findings=self._findings(),
            expressions=self.root.expressions,
        )


def _evaluate_parameters(given: dict[str, Field], overrides: Mapping[str, float]) -> Names:
    """Evaluate parameters in any order; circular definitions are rejected."""
    values: dict[str, units.Quantity] = {}
    waiting = dict(given)
    for name, field in given.items():
        if not name.isidentifier() or name in units.RESERVED:
            field.fail(f"'{name[:40]}' cannot be a parameter's name; use letters, digits and _")
    while waiting:
        ready = {}
        for name, field in waiting.items():
            if not field.expression(given).names & waiting.keys():
                own = field.quantity(values)
                ready[name] = _overridden(name, own, overrides) if name in overrides else own
        if not ready:
            name, field = next(iter(waiting.items()))
            field.fail(
                f"'{name}' depends on itself; parameters in the circle: {', '.join(waiting)}"
            )
        values.update(ready)
        for name in ready:
            del waiting[name]
    return {name: values[name] for name in given}


def _overridden(name: str, own: units.Quantity, overrides: Mapping[str, float]) -> units.Quantity:
    """Return another value for a parameter, with its dimension in the file."""
    try:
        value = float(overrides[name])
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise BrazoError(
            f"parameter '{name}' must be a finite number in SI, got {overrides[name]!r}"
        )
    return units.Quantity(value, own.dimension)
