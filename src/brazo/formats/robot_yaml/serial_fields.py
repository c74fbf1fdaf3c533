"""Fields of a robot file that describe a serial arm, read into a `TreeModel`."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from brazo.body.drawing import DrawnParts
from brazo.body.generate import generate_parts
from brazo.body.layout import Sizes
from brazo.formats.document import Field
from brazo.formats.robot_yaml.actuator_fields import read_actuator
from brazo.formats.robot_yaml.common_fields import COMMON, MAX_JOINTS, CommonFields
from brazo.formats.robot_yaml.joint_fields import (
    read_drive,
    read_friction,
    read_inertia,
    read_limits,
    read_row,
)
from brazo.formats.robot_yaml.part_fields import read_parts
from brazo.model.description import Body, Inertia, Joint, TreeModel, frozen
from brazo.model.dh import Convention, DHRow, before_after
from brazo.model.inertia import merge, transformed

_JOINT = (
    "name", "type", "theta", "d", "a", "alpha", "offset", "limits", "mass", "com", "inertia",
    "friction", "drive", "actuator", "parts",
)  # fmt: skip


class SerialFields(CommonFields):
    """Reader of the robot file of a serial arm."""

    allowed = (*COMMON, "convention", "base", "joints")

    def read(self, sizes: Sizes | None) -> TreeModel:
        """Return the model of the arm.

        `sizes` are the radii (m) of the generated geometry; if None, they are computed from the
        lengths.  The field `body: radii` of the file overrides `sizes`.
        """
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
                    "the tool has a mass, but the last link has none; add 'mass' to the last joint",
                    rests=(blocks[-1].name,),
                )
            inertias[-1] = merge(last, transformed(tool_inertia, tool))
        limits = frozen([joint.limits for joint in joints])
        common = self._common()
        style = self._style(len(rows) + 1)
        drawing = DrawnParts(
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
        model = TreeModel(
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
        return self._driven(model)

    def _base(self) -> tuple[np.ndarray, tuple | None]:
        if "base" not in self.fields:
            return np.eye(4), None
        fields = self.fields["base"].mapping(("xyz", "rpy", "parts"))
        parts = read_parts(fields["parts"], self.names) if "parts" in fields else None
        return self._transform(fields), parts

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
            drive=replace(
                read_drive(fields.get("drive"), row.kind, self.context),
                actuator=read_actuator(fields.get("actuator"), row.kind, self.context),
            ),
        )
