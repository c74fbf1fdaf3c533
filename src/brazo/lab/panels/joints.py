"""Joint values to pull and to read, named poses, and where the tool is.

Degrees and millimetres here, radians and metres everywhere else.  A joint without limits can be
pulled over a full turn (±180°), or ±1 m where it slides.  A value may be typed with a unit
(`0.5rad`, `5cm`); one without is degrees or millimetres, or radians where it is told in `pi`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import viser

from brazo import units
from brazo.kinematics.orientation import oat_from_matrix, rpy_from_matrix, wxyz_from_matrix
from brazo.kinematics.sampling import sampling_box
from brazo.lab.panels import Panel, escape

if TYPE_CHECKING:
    from brazo.lab.app import Lab

TO_SHOWN = {"revolute": 180.0 / math.pi, "prismatic": 1000.0}
DIMENSION = {"revolute": units.ANGLE, "prismatic": units.LENGTH}
UNIT = {"revolute": "°", "prismatic": "mm"}

TOOL_ROWS = (
    ("position", "mm", ("x", "y", "z")),
    ("O-A-T", "°", ("o", "a", "t")),
    ("roll-pitch-yaw", "°", ("roll", "pitch", "yaw")),
)


class JointsPanel(Panel):
    """A slider for every joint, and the pose of the tool."""

    title = "Joints"
    icon = viser.Icon.ADJUSTMENTS_HORIZONTAL

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self._chosen = ""  # of poses that are alike, the one the user means
        lab.channel.on("joint", self._set_joint, int, float)
        lab.channel.on("joint-typed", self._set_joint_typed, int, str)
        lab.channel.on("pose", self._go_to_pose, str)
        lab.channel.on("home", lambda: lab.go_to(lab.home))
        lab.channel.on("zero", self._go_to_zero)

    def html(self) -> str:
        return f'{self._pose_row()}<div class="brazo-joints">{self._sliders()}</div>{_tool_table()}'

    def values(self) -> dict[str, Any]:
        shown = self.lab.q * self._scales
        values: dict[str, Any] = {f"joint/{i}": float(v) for i, v in enumerate(shown)}
        values["pose"] = self._pose()
        T = self.lab.tool
        xyz = T[:3, 3] * 1000.0
        oat, rpy = np.degrees(oat_from_matrix(T[:3, :3])), np.degrees(rpy_from_matrix(T[:3, :3]))
        for (_, _, names), row in zip(TOOL_ROWS, (xyz, oat, rpy), strict=True):
            values |= {f"tool/{n}": fixed(v, 2) for n, v in zip(names, row, strict=True)}
        wxyz = wxyz_from_matrix(T[:3, :3])
        return values | {f"tool/q{n}": fixed(v, 4) for n, v in zip("wxyz", wxyz, strict=True)}

    def _pose_row(self) -> str:
        poses = self.lab.robot.poses
        options = "".join(f"<option>{escape(name)}</option>" for name in poses)
        disabled = "" if poses else "disabled"
        return (
            '<div class="brazo-row">'
            f'<brazo-select name="pose" event="pose" label="Pose" placeholder="Pose…" {disabled}>'
            f"{options}</brazo-select>"
            '<brazo-button event="home">Home</brazo-button>'
            '<brazo-button event="zero">Zero</brazo-button></div>'
        )

    def _sliders(self) -> str:
        robot, rows = self.lab.robot, []
        for i, (name, kind) in enumerate(zip(robot.joint_names, robot.joint_kinds, strict=True)):
            low, high = (joint_range(robot.limits[i], kind) * TO_SHOWN[kind]).tolist()
            limited = " ".join(
                which
                for which, limit in zip(("low", "high"), robot.limits[i], strict=True)
                if math.isfinite(limit)
            )
            rows.append(
                f'<brazo-slider name="joint/{i}" event="joint" argument="{i}" '
                f'label="{escape(name)}" min="{low!r}" max="{high!r}" unit="{UNIT[kind]}" '
                f'limited="{limited}"></brazo-slider>'
            )
        return "".join(rows)

    @property
    def _scales(self) -> np.ndarray:
        return np.array([TO_SHOWN[kind] for kind in self.lab.robot.joint_kinds])

    def _set_joint(self, index: int, shown: float) -> None:
        robot = self.lab.robot
        if 0 <= index < robot.n:  # a page may still show the robot before this one
            q = self.lab.q.copy()
            kind = robot.joint_kinds[index]
            q[index] = np.clip(shown / TO_SHOWN[kind], *joint_range(robot.limits[index], kind))
            self.lab.go_to(q)

    def _set_joint_typed(self, index: int, text: str) -> None:
        if 0 <= index < self.lab.robot.n:
            self._set_joint(index, shown_value(text, self.lab.robot.joint_kinds[index]))

    def _go_to_pose(self, name: str) -> None:
        if name in self.lab.robot.poses:
            self._chosen = name
            self.lab.go_to(self.lab.robot.poses[name])

    def _pose(self) -> str:
        """The named pose the robot is in; empty when it is in none."""
        poses = self.lab.robot.poses
        names = [name for name, q in poses.items() if np.array_equal(q, self.lab.q)]
        return self._chosen if self._chosen in names else (*names, "")[0]

    def _go_to_zero(self) -> None:
        limits = self.lab.robot.limits
        self.lab.go_to(np.clip(np.zeros(self.lab.robot.n), limits[:, 0], limits[:, 1]))


def joint_range(limits: np.ndarray, kind: str) -> np.ndarray:
    """How far (2,) a joint can be pulled, rad or m."""
    return sampling_box(np.asarray(limits)[None], (kind,))[0]


def shown_value(text: str, kind: str) -> float:
    """What was typed for a joint, in degrees or millimetres; raises if it is no such value."""
    text = text.replace("−", "-").replace("°", "deg")
    in_pi = kind == "revolute" and "pi" in units.names_in(text)
    if units.parse(text).dimension is None and not in_pi:
        return units.quantity(text)
    return units.quantity(text, DIMENSION[kind]) * TO_SHOWN[kind]


def fixed(value: float, digits: int) -> str:
    """A number with a true minus, and no minus before zeros."""
    text = f"{value:.{digits}f}"
    if text.startswith("-"):
        return text[1:] if not text.strip("-0.") else f"−{text[1:]}"
    return text


def _tool_table() -> str:
    rows = []
    for title, unit, names in TOOL_ROWS:
        cells = "".join(
            f"<div><dt>{name.upper() if len(name) == 1 else name}</dt>"
            f'<dd><brazo-text name="tool/{name}"></brazo-text></dd></div>'
            for name in names
        )
        rows.append(f"<h4>{title} ({unit})</h4><dl>{cells}</dl>")
    wxyz = "".join(
        f'<div><dt>{n}</dt><dd><brazo-text name="tool/q{n}"></brazo-text></dd></div>'
        for n in "wxyz"
    )
    rows.append(f'<details><summary>quaternion</summary><dl class="four">{wxyz}</dl></details>')
    return (
        f'<section class="brazo-tool" aria-label="Tool pose"><h3>Tool</h3>{"".join(rows)}</section>'
    )
