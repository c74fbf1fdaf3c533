"""Blocks of a robot file that are common to all kinds of robots; one method per block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import numpy as np

from brazo import units
from brazo.body.generate import Style
from brazo.formats.document import Field
from brazo.formats.robot_yaml.joint_fields import (
    ReadingContext,
    outside,
    position_of,
    read_inertia,
    slipped,
)
from brazo.formats.robot_yaml.parameter_fields import read_parameters
from brazo.formats.robot_yaml.part_fields import read_style
from brazo.model.actuators import DRIVE_KINDS, with_drives
from brazo.model.description import (
    EARTH_GRAVITY,
    Finding,
    Gripper,
    Inertia,
    JointKind,
    Model,
    frozen,
)
from brazo.model.transforms import pose

AnyModel = TypeVar("AnyModel", bound=Model)
MAX_JOINTS = 64
MAX_POSES = 200
COMMON = (
    "name",
    "about",
    "kind",
    "parameters",
    "gravity",
    "poses",
    "gripper",
    "tool",
    "body",
    "drives",
)


class CommonFields:
    """Reader of the blocks common to all kinds of robots, for one set of parameter values."""

    allowed: tuple[str, ...] = COMMON  # names of the fields of this kind of robot

    def __init__(self, root: Field, overrides: Mapping[str, float]) -> None:
        self.root, self.fields = root, root.mapping(self.allowed)
        root.doubts.clear()  # remove those of a build with other values
        root.expressions.clear()
        self.context = ReadingContext(read_parameters(root, self.fields, overrides))
        self.names = self.context.names

    def _required(self, key: str) -> Field:
        if key not in self.fields:
            self.root.missing(key)
        return self.fields[key]

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

    def _driven(self, model: AnyModel) -> AnyModel:
        """Return the model with the drives that the field `drives` selects: ideal or real."""
        field = self.fields.get("drives")
        if field is None or field.choice(*DRIVE_KINDS) == "ideal":
            return model
        with field.errors_here():
            return cast(AnyModel, with_drives(model, "real"))

    def _gripper(self) -> Gripper | None:
        if "gripper" not in self.fields or self.fields["gripper"].is_null:
            return None
        block = self.fields["gripper"].mapping(("opening", "max_force", "finger"))
        given: dict = {}
        if "opening" in block:
            low, high = block["opening"].numbers(2, units.LENGTH, names=self.names)
            if not 0.0 <= low < high:
                block["opening"].fail(
                    f"[{low:g}, {high:g}]: expected [closed, open] with 0 <= closed < open"
                )
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
            self.fields["poses"].fail(f"{len(given)} poses; at most {MAX_POSES} are allowed")
        for name, field in given.items():
            items = list(field.items(MAX_JOINTS))
            if len(items) != len(kinds):
                field.fail(f"{len(items)} values for {len(kinds)} joints; expected one per joint")
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
                f"{len(style.radii)} radii; expected {radii}: one per joint, then the tool flange"
                if radii > 1
                else f"{len(style.radii)} radii; a Delta has one radius, that of its drives"
            )
        return style

    def _findings(self) -> tuple[Finding, ...]:
        """Return all warnings about the file.

        A warning about a probable unit mistake is omitted if its field has another warning.
        """
        found = self.context.findings
        reported = {finding.field for finding in found}
        doubts = (
            doubt
            for (used, _), doubt in self.root.doubts.items()
            if not reported & {used, used.rpartition("[")[0]}
        )
        return tuple(dict.fromkeys((*found, *doubts)))

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
