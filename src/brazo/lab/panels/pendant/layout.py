"""Layout of the teach pendant: the rows of each jog mode, and the sections below them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brazo.kinematics.sampling import sampling_box
from brazo.lab.panels.common.gamepad import STOP
from brazo.lab.panels.common.html import (
    button,
    buttons,
    column,
    escape,
    gamepad,
    note,
    number,
    row,
    section,
    segments,
    select,
    slider,
    table,
    text,
    toggle,
)
from brazo.operate.mover import ELBOW, Frame, is_redundant
from brazo.operate.nearest_target import has_nearest_rules

if TYPE_CHECKING:
    from brazo.robot import Robot
    from brazo.simulation.robot import SimRobot

MODES = {"joint": "Joint", "world": "World", "base": "Base", "tool": "Tool"}
USER = "user"  # the mode of the frames of the cell
ANGLES = {"oat": ("O", "A", "T"), "rpy": ("roll", "pitch", "yaw")}
STEPS = {"hold": "Hold", "0.1": "0.1", "1": "1", "10": "10"}
REFUSE = "refuse"
NEAREST = {
    REFUSE: "refuse",
    "pitch": "nearest, pitch kept",
    "position": "nearest position",
}  # what a target out of reach does
PLUS_KEYS, MINUS_KEYS = "qwertyu", "asdfghj"
TURNS = {3: "Rx", 4: "Ry", 5: "Rz"}
GRIPPER_ACTIONS = (
    {"key": "open", "label": "Open gripper", "button": 2, "event": "release"},
    {"key": "close", "label": "Close gripper", "button": 1, "event": "grip"},
)


class Layout:
    """HTML of the teach pendant for one robot and jog mode.

    `robots` are the names of all robots.  `angles` is a key of `ANGLES`.  `si` selects rad and m
    instead of degrees and mm.
    """

    def __init__(
        self,
        robot: SimRobot,
        robots: list[str],
        mode: Frame,
        angles: str,
        si: bool,
        frames: Sequence[str] = (),
        tools: str = "",
        user_frames: Sequence[str] = (),
    ) -> None:
        self.robot, self.arm, self.robots = robot, robot.arm, robots
        self.mode, self.angles, self.si = mode, angles, si
        self.frames = frames  # in which poses can be taught
        self.tools = tools  # HTML of the section of the tools
        self.user_frames = user_frames  # in which the tool can be jogged

    def html(self) -> str:
        """HTML of the panel."""
        rows = {"joint": self._joint_rows, "tool": self._tool_rows}
        several = len(self.robots) > 1
        return "".join(
            [
                row("Robot", select("robot", self.robots, label="Robot")) if several else "",
                '<div class="pendant-modes">',
                segments("mode", self._modes(), label="Mode"),
                "</div>",
                row("User frame", select("frame", self.user_frames, label="User frame"))
                if self.mode == USER
                else "",
                f'<div class="pendant-rows">{rows.get(self.mode, self._frame_rows)()}</div>',
                '<p class="pendant-why" role="status"><brazo-text name="why"></brazo-text></p>',
                '<div class="brazo-buttons">'
                '<brazo-move event="move" how="joint" label="Move joint (MoveJ)" '
                'look="primary"></brazo-move>'
                '<brazo-move event="move" how="line" label="Move linear (MoveL)">'
                "</brazo-move></div>",
                row("Jog step (°, mm)", segments("step", STEPS, label="Jog step")),
                slider("override", "%", label="Speed override", least=1, most=100, digits=0),
                toggle(
                    "reduced",
                    "Reduced speed",
                    title="Limits the tool to 250 mm/s in all motions from the pendant.",
                ),
                self._poses(),
                self._gripper(),
                self._point_section(),
                self.tools,
                section("Gamepad", self._gamepad(), open=False),
                section(
                    "More",
                    row(
                        "Target out of reach",
                        select("nearest", NEAREST, label="Target out of reach"),
                        title="What to do if this five-joint arm cannot reach a typed pose",
                    )
                    if has_nearest_rules(self.arm)
                    else "",
                    toggle(
                        "gizmo", "Drag the tool in the scene", title="Shows a gizmo at the tool."
                    ),
                    toggle(
                        "clicks",
                        "Click a link to move its joint",
                        title="Moves by the jog step (Hold: 1° or 1 mm). Shift-click moves back.",
                    ),
                    "<brazo-keys></brazo-keys>",
                    row(
                        "Units",
                        segments("units", {"deg": "° · mm", "si": "rad · m"}, label="Units"),
                    ),
                    row(
                        "Angles",
                        segments("angles", {"oat": "O-A-T", "rpy": "RPY"}, label="Angles"),
                    ),
                ),
            ]
        )

    def _modes(self) -> dict[str, str]:
        return MODES | ({USER: "User"} if self.user_frames else {})

    def _joint_rows(self) -> str:
        arm, rows = self.arm, []
        digits = {"°": 2, "mm": 2, "rad": 4, "m": 4}
        scales, box = joint_scales(self.arm, self.si), sampling_box(arm.limits, arm.joint_kinds)
        for i, name in enumerate(arm.joint_names):
            unit = self._unit(arm.joint_kinds[i])
            low, high = (box[i] * scales[i]).tolist()
            rows.append(
                f'<brazo-axis name="q/{i}" axis="{i}" target="q{i}" label="{escape(name)}" '
                f'unit="{unit}" digits="{digits[unit]}" min="{low!r}" max="{high!r}" '
                f"{self._keys(i)}></brazo-axis>"
            )
        return "".join(rows)

    def _frame_rows(self) -> str:
        unit, turn = ("m", "rad") if self.si else ("mm", "°")
        lengths = "".join(
            f'<brazo-axis name="{n}" axis="{i}" target="{n}" label="{n.upper()}" unit="{unit}" '
            f'digits="{4 if self.si else 2}" {self._keys(i)}></brazo-axis>'
            for i, n in enumerate("xyz")
        )
        angles = "".join(
            f'<brazo-target name="angle/{i}" target="a{i}" label="{label}" unit="{turn}" '
            f'digits="{4 if self.si else 2}"></brazo-target>'
            for i, label in enumerate(ANGLES[self.angles])
        )
        more = self._turns() + self._elbow()
        return f'{lengths}<div class="pendant-angles">{angles}</div>{more}'

    def _tool_rows(self) -> str:
        unit = "m" if self.si else "mm"
        lengths = "".join(
            f'<brazo-axis axis="{i}" target="{n}" label="{n.upper()}" unit="{unit}" '
            f'digits="{4 if self.si else 2}" {self._keys(i)}></brazo-axis>'
            for i, n in enumerate("xyz")
        )
        return f"{lengths}{self._turns()}{self._elbow()}"

    def _turns(self) -> str:
        if self.arm.mobility <= 3:
            return ""
        return (
            '<div class="pendant-turns">'
            + "".join(
                f'<brazo-axis bare axis="{i}" label="{label}" {self._keys(i)}></brazo-axis>'
                for i, label in TURNS.items()
            )
            + "</div>"
        )

    def _elbow(self) -> str:
        if not is_redundant(self.arm):
            return ""
        return (
            f'<brazo-axis bare axis="{ELBOW}" label="Elbow (null space)" {self._keys(ELBOW)}>'
            "</brazo-axis>"
        )

    def _keys(self, i: int) -> str:
        if i >= len(PLUS_KEYS):
            return ""
        return f'plus-key="{PLUS_KEYS[i]}" minus-key="{MINUS_KEYS[i]}"'

    def _poses(self) -> str:
        named = list(self.arm.poses)
        menu = select("", named, label="Pose", event="pose", placeholder="Go to pose…")
        return row("Poses", menu if named else "", button("Zero", "zero"))

    def _gripper(self) -> str:
        if self.robot.world.gripper is None:
            return ""
        return section(
            "Gripper",
            row(
                "Opening",
                number("opening", "mm", label="Gripper opening", digits=1),
                text("holds", wide=True),
            ),
            buttons(button("Open", "release"), button("Close", "grip", icon="gripper")),
        )

    def _point_section(self) -> str:
        columns = [
            column("name", "Point", event="point-name"),
            column("where", "x, y, z", unit="mm"),
            column("", "MoveJ", event="point-go", kind="button"),
            column("", "MoveL", event="point-line", kind="button"),
            column("", "Touch up", event="point-set", kind="button"),
            column("", "↑", event="point-up", kind="button"),
            column("", "✕", event="point-delete", kind="button"),
        ]
        kinds = {"": "Joint values", **{name: f"Pose in {name}" for name in self.frames}}
        return section(
            "Points",
            buttons(
                button("Teach", "teach", look="primary", icon="plus"),
                button("Run through points", "play", icon="play"),
            ),
            row("Teach as", select("teach-in", kinds, label="Teach as")),
            table(
                "points",
                columns,
                label="Taught points",
                empty="No points taught yet.",
                hover="point-hover",
            ),
            note("Points are saved in the project. The start page shows the project folder."),
        )

    def _gamepad(self) -> str:
        grips = GRIPPER_ACTIONS if self.robot.world.gripper is not None else ()
        if self.mode == "joint":
            return gamepad("stick", "joint", self.arm.joint_names, (*grips, STOP))
        axes = ["X", "Y", "Z", *TURNS.values()] if self.arm.mobility > 3 else ["X", "Y", "Z"]
        if is_redundant(self.arm) and len(axes) == ELBOW:
            axes.append("Elbow")
        return gamepad("stick", "tool", axes, (*grips, STOP))

    def _unit(self, kind: str) -> str:
        if kind == "revolute":
            return "rad" if self.si else "°"
        return "m" if self.si else "mm"


def joint_scales(arm: Robot, si: bool) -> np.ndarray:
    """Factors (n,) from SI to displayed joint units: 1 if `si`, else conversion to ° and mm."""
    per = {"revolute": 1.0 if si else 180.0 / math.pi, "prismatic": 1.0 if si else 1000.0}
    return np.array([per[kind] for kind in arm.joint_kinds])
