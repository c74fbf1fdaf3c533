"""Layout of the trajectory panel: waypoints or curve, preview, playback and files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brazo.lab.panels.common.html import (
    button,
    buttons,
    column,
    note,
    row,
    section,
    segments,
    select,
    table,
    text,
    toggle,
    upload,
)
from brazo.lab.panels.trajectory.curve_section import TURNS
from brazo.lab.panels.trajectory.draft import Draft
from brazo.robot import Robot
from brazo.trajectory.via_points import RULES

SOURCES = {"points": "Points", "curve": "Curve"}
SPACES = {"joint": "Joint", "tool": "Cartesian"}
THROUGH = {"cubic": "Cubics", "quintic": "Quintics", "line": "Straight lines"}
SHOWN = {"revolute": ("°", 180.0 / np.pi), "prismatic": ("mm", 1e3)}
TOOL = {"x": "mm", "y": "mm", "z": "mm", "roll": "°", "pitch": "°", "yaw": "°"}


def layout(several: Sequence[str], draft: Draft, arm: Robot, curve: str) -> str:
    """HTML of the panel for the draft of one robot.

    `several` are the names of all robots.  `curve` is the HTML of the curve controls.
    """
    return (
        section(
            "Motion",
            row("Robot", select("robot", several, label="Robot")) if len(several) > 1 else "",
            segments("source", SOURCES, label="Motion through"),
            curve if draft.curved else _points(draft, arm),
            id="motion",
        )
        + section(
            "Preview",
            toggle("seen", "Path in the scene", title="Red: limit violation"),
            row("Time", text("duration", "s")),
            row("Path length", text("length", "mm")),
            '<brazo-text class="brazo-why" name="why"></brazo-text>',
            table("limits", [column("text", "Limit violations")], label="Limits"),
            buttons(
                button(
                    "Scale time to limits",
                    "slow",
                    enabled="may-slow",
                    title="Slows the motion down until velocities and torques are within limits",
                ),
            )
            + (_placement() if draft.curved else ""),
            id="preview",
        )
        + section(
            "Run",
            buttons(
                button("Run trajectory", "play", look="primary", icon="play", enabled="may-play"),
                button("Stop", "halt", icon="stop", enabled="playing"),
            ),
            toggle("loop", "Loop"),
            row("Now", text("now", wide=True)),
            buttons(
                button(
                    "Save trace",
                    "trace",
                    icon="download",
                    enabled="may-trace",
                    title="CSV file with the actual tool path and pen state of the last run",
                ),
            ),
            id="play",
        )
        + section(
            "File",
            buttons(
                button("Save", "save", icon="download", enabled="may-save"),
                upload("Load…", "load", ".yaml", ".yml"),
            ),
            id="file",
        )
    )


def _points(draft: Draft, arm: Robot) -> str:
    columns = [
        column("name", "Point", event="cell/name"),
        column("t", "t", unit="s", digits=2, event="cell/t"),
    ]
    if draft.space == "joint":
        columns += [
            column(f"q{i}", name, unit=SHOWN[kind][0], digits=2, event=f"cell/q{i}")
            for i, (name, kind) in enumerate(zip(arm.joint_names, arm.joint_kinds, strict=True))
        ]
    else:
        columns += [
            column(key, key, unit=unit, digits=2, event=f"cell/{key}") for key, unit in TOOL.items()
        ]
    columns += [
        column("set", "Update", event="point-set", kind="button"),
        column("delete", "×", event="point-delete", kind="button"),
    ]
    through = row("Interpolation", select("through", THROUGH, label="Interpolation"))
    rule = row("Waypoint velocities", select("rule", RULES, label="Waypoint velocities"))
    turn = row("Orientation", select("orientation", TURNS, label="Orientation"))
    given = draft.space == "joint" and draft.through != "line"
    return (
        row("Space", segments("space", SPACES, label="Space"))
        + table("rows", columns, label="Points", empty="No points yet: press Add current pose.")
        + buttons(
            button("Add current pose", "add", icon="plus", look="primary"),
            button("Clear", "clear", icon="trash", enabled="any"),
        )
        + row(
            "Add point",
            select(
                "",
                label="Add point",
                event="add-point",
                placeholder="Taught point…",
                options_from="named",
            ),
        )
        + through
        + (rule if draft.through != "line" else "")
        + (_velocities(arm) if given else "")
        + (turn if draft.space == "tool" or draft.through == "line" else "")
    )


def _velocities(arm: Robot) -> str:
    """HTML of the table of joint velocities at the waypoints."""
    columns = [column("name", "Point"), column("t", "t", unit="s", digits=2)]
    columns += [
        column(
            f"v{i}", f"{name} velocity", unit=f"{SHOWN[kind][0]}/s", digits=2, event=f"cell/v{i}"
        )
        for i, (name, kind) in enumerate(zip(arm.joint_names, arm.joint_kinds, strict=True))
    ]
    columns.append(column("auto", "Auto", event="velocity-auto", kind="button"))
    return table(
        "velocities", columns, label="Velocities at points", empty="No velocities yet: add points."
    ) + note(
        "Highlighted rows were edited. Other velocities follow the rule in Waypoint velocities. "
        "Auto resets a row."
    )


def _placement() -> str:
    return buttons(
        button(
            "Shift to feasible",
            "shift",
            enabled="may-place",
            title="Moves the curve by the smallest shift for which the arm can follow it",
        ),
        button(
            "Scale to feasible",
            "scale",
            enabled="may-place",
            title="Shrinks the curve about its centre until the arm can follow it",
        ),
    )
