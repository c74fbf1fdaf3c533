"""Table of the link and joint values in a robot file, for display and editing.

There is one row per joint (mass and centre of mass of its link, friction), and one for the tool if
the file has one.  A Delta robot has rows for its arms, rods and platform.  A row contains the names
of its fields in the file (`joints[0].mass`), so that an edit can change these fields.  The file is
then read again, so the new values are checked by the same rules as any file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from brazo import units
from brazo.formats.document import Field
from brazo.formats.robot_yaml.joint_fields import ReadingContext, read_friction, read_inertia
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.model.description import Array, Friction, Inertia

Value = float | list[float] | list[list[float]]


@dataclass(frozen=True, slots=True, eq=False)
class LinkRow:
    """Mass, inertia and friction of one link and its joint, and their field names in the file.

    A field name such as `com_field` is empty if a robot file has no such field for the link, e.g.
    for the rods of a Delta robot.
    """

    name: str
    mass_field: str = ""
    com_field: str = ""
    friction_field: str = ""
    mass: float | None = None  # kg; None if not given
    inertia: Inertia | None = None
    friction: Friction = Friction()
    turned: bool = False  # the D-H row of its centre of mass also rotates the axes of its tensor

    def with_mass(self, mass: float) -> dict[str, Value]:
        """Return the new field values, by field name, that set the mass (kg)."""
        return {self.mass_field: float(mass)}

    def with_com(self, com: Array) -> dict[str, Value]:
        """Return the new field values, by field name, that set the centre of mass (3,) in m."""
        fields: dict[str, Value] = {self.com_field: [float(x) for x in com]}
        if self.turned and self.inertia is not None:
            # A plain vector contains no rotation, so the tensor is written in its current axes.
            block = self.com_field.removesuffix("com")
            fields[f"{block}inertia"] = self.inertia.tensor.tolist()
        return fields

    def with_friction(
        self, viscous: float | None = None, coulomb: tuple[float, float] | None = None
    ) -> dict[str, Value]:
        """Return the new field values, by field name, that set the friction.

        `viscous` is in N m s/rad or N s/m, `coulomb` (for qd > 0, for qd < 0) in N m or N.  None
        keeps the value of the file.
        """
        fields: dict[str, Value] = {}
        if viscous is not None:
            fields[f"{self.friction_field}.viscous"] = float(viscous)
        if coulomb is not None:
            fields[f"{self.friction_field}.coulomb"] = [float(x) for x in coulomb]
        return fields


def link_table(
    file: RobotFile, parameters: Mapping[str, float] | None = None
) -> tuple[LinkRow, ...]:
    """Return the table of a robot file; `parameters` (SI) replace parameter values of the file."""
    context = ReadingContext(file.names(parameters))
    fields = file.root.mapping()
    if "joints" in fields:
        rows = [_joint(i, block, context) for i, block in enumerate(fields["joints"].items())]
    else:
        rows = _delta(fields, context)
    tool = fields.get("tool")
    if tool is not None and not tool.is_null:
        rows.append(_massive("tool", "tool", tool, context))
    return tuple(rows)


def _joint(i: int, block: Field, context: ReadingContext) -> LinkRow:
    fields = block.mapping()
    name = fields["name"].identifier() if "name" in fields else f"joint {i + 1}"
    friction = read_friction(fields.get("friction"), context)
    return _massive(name, f"joints[{i}]", block, context, f"joints[{i}].friction", friction)


def _delta(fields: dict[str, Field], context: ReadingContext) -> list[LinkRow]:
    friction = read_friction(fields.get("friction"), context)
    if "arm" in fields:
        arm = _massive("arms", "arm", fields["arm"], context, "friction", friction)
    else:
        arm = LinkRow("arms", "arm.mass", "arm.com", "friction", friction=friction)

    def plain(name: str, key: str) -> LinkRow:
        mass = fields[key].number(units.MASS, names=context.names) if key in fields else None
        return LinkRow(name, key, mass=mass)

    return [arm, plain("rods", "rod_mass"), plain("platform", "platform_mass")]


def _massive(
    name: str,
    key: str,
    block: Field,
    context: ReadingContext,
    friction_field: str = "",
    friction: Friction | None = None,
) -> LinkRow:
    fields = block.mapping()
    inertia = read_inertia(fields, block, context)
    com = fields.get("com")
    turns = com is not None and com.is_mapping and {"theta", "alpha"} & com.mapping().keys()
    return LinkRow(
        name,
        f"{key}.mass",
        f"{key}.com",
        friction_field,
        None if inertia is None else inertia.mass,
        inertia,
        friction or Friction(),
        bool(turns) and inertia is not None and bool(np.any(inertia.tensor)),
    )
