"""Fields of a robot file that describe a Delta robot, read into a `DeltaModel`."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from brazo import units
from brazo.body.delta_body import delta_bodies, delta_parts, delta_size, rod_offset
from brazo.body.drawing import DrawnParts
from brazo.formats.robot_yaml.actuator_fields import read_actuator
from brazo.formats.robot_yaml.common_fields import COMMON, CommonFields
from brazo.formats.robot_yaml.joint_fields import (
    read_drive,
    read_friction,
    read_inertia,
    read_limits,
)
from brazo.model.description import DeltaModel, frozen


class DeltaFields(CommonFields):
    """Reader of the robot file of a Delta robot."""

    allowed = (
        *COMMON, "R", "r", "L1", "L2", "azimuths", "limits", "arm", "rod_mass", "platform_mass",
        "friction", "drive", "actuator",
    )  # fmt: skip

    def read(self, size: float | None) -> DeltaModel:
        """Return the model of the Delta robot.

        `size` (m) is the radius of the drive hubs in the generated geometry, if the file has no
        field `body: radii`.  By default it is computed from the lengths.
        """
        names = self.names
        sizes = {
            key: self._required(key).number(units.LENGTH, names=names, above=0.0)
            for key in ("R", "r", "L1", "L2")
        }
        measures = ("parameters", "R", "r", "L1", "limits")
        if sizes["L2"] <= abs(sizes["R"] - sizes["r"]) - sizes["L1"]:
            least = abs(sizes["R"] - sizes["r"]) - sizes["L1"]
            self.fields["L2"].fail(
                f"the rods ({sizes['L2']:g} m) cannot reach the platform at any arm angle; they "
                f"must be longer than |R - r| - L1 = {least:g} m",
                rests=measures,
            )
        azimuths = (math.radians(210), math.radians(330), math.radians(90))
        if "azimuths" in self.fields:
            entry = self.fields["azimuths"]
            a, b, c = entry.numbers(3, units.ANGLE, names=names)
            azimuths = (a, b, c)
            turns = sorted(x % (2 * math.pi) for x in azimuths)
            gaps = [turns[1] - turns[0], turns[2] - turns[1], turns[0] + 2 * math.pi - turns[2]]
            if min(gaps) < 1e-3:
                entry.fail("two arms have the same azimuth; give three different azimuths")
        limits = frozen([[-math.inf, math.inf]] * 3)
        if "limits" in self.fields:
            limits = frozen([read_limits(self.fields["limits"], "revolute", self.context)] * 3)
        low, high = limits[0]
        grid = np.linspace(low, high, 181) if np.isfinite(limits).all() else np.zeros(0)
        gap = np.abs(sizes["R"] - sizes["r"] + sizes["L1"] * np.cos(grid))
        if grid.size and gap.min() > sizes["L2"]:
            self.fields["L2"].fail(
                f"the rods ({sizes['L2']:g} m) cannot reach the platform at any arm angle within "
                f"the limits; they must be at least {gap.min():g} m long",
                rests=measures,
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
                self.fields["tool"].fail(
                    "the tool has a mass, but the platform has none; add the field 'platform_mass'"
                )
            masses["platform_mass"] += tool_inertia.mass
        style = self._style(1)
        (size,) = style.radii or (size or delta_size(sizes["R"], sizes["L1"], sizes["L2"]),)
        drawing = DrawnParts(
            partial(delta_parts, **sizes, azimuths=azimuths, style=style, size=size)
        )
        model = DeltaModel(
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
            drive=replace(
                read_drive(self.fields.get("drive"), "revolute", self.context),
                actuator=read_actuator(self.fields.get("actuator"), "revolute", self.context),
            ),
            rod_spacing=2.0 * rod_offset(sizes["r"], size * style.width),
            parts={name: drawing.parts(name) for name in delta_bodies(len(azimuths))},
            findings=self._findings(),
            expressions=self.root.expressions,
        )
        return self._driven(model)
