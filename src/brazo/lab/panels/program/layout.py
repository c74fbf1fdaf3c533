"""HTML of the Program panel: run controls, buttons that add steps, step lists, form and text."""

from __future__ import annotations

from collections.abc import Sequence

from brazo.lab.panels.common.choice import robot_choice
from brazo.lab.panels.common.html import (
    button,
    buttons,
    escape,
    note,
    row,
    section,
    select,
    text,
    upload,
)
from brazo.lab.panels.program.builder import ADDED, MORE


def run_html(names: Sequence[str], about: str, other_cell: str) -> str:
    """HTML of the program selector and the run buttons.

    `about` is the description of the program.  `other_cell` is the cell that the program was
    written for, or empty if that cell is open.
    """
    return section(
        "Run",
        row(
            "Program",
            select("name", names, label="Program", event="choose", placeholder="Custom program"),
        ),
        note(about.split(". ")[0].split(": ")[0] + ".") if about else "",
        _other_cell(other_cell) if other_cell else "",
        buttons(
            button("Run", "run", look="primary", icon="play", enabled="may-run"),
            button("Reset and run", "again", icon="restart", enabled="may-run"),
        ),
        buttons(
            button("Pause", "pause", icon="pause", enabled="may-pause"),
            button("Resume", "go-on", icon="play", enabled="may-go-on"),
            button("Step", "step", icon="step", enabled="may-step"),
            button("Stop", "end", icon="stop", enabled="active"),
        ),
        buttons(
            button(
                "Run from here",
                "from-here",
                icon="play",
                enabled="may-from-here",
                title="Run from the selected step; other robots skip the syncs before it",
            ),
            button(
                "Dry run",
                "dry-run",
                icon="eye",
                enabled="may-run",
                title="Preview with ghosts; the robots do not move",
            ),
        ),
        row("State", text("state", wide=True)),
        row("Steps done", text("share", "%")),
        '<brazo-text class="brazo-why" name="why"></brazo-text>',
        id="run",
    )


def text_html() -> str:
    """HTML of the text editor and of the buttons that save and load files."""
    return section(
        "Text",
        '<brazo-editor name="text" event="text" error="error" lines="lines" '
        'completion="completion" label="Program text"></brazo-editor>',
        '<brazo-text class="brazo-why" name="problem"></brazo-text>',
        note("Ctrl+Enter applies the text, Ctrl+Space completes a word."),
        buttons(
            button("Save", "save", icon="download"),
            upload("Load…", "load", ".yaml", ".yml"),
        ),
        buttons(
            button("From points", "from-points", title="New program through the taught points"),
            button("New", "new", icon="plus", title="Start an empty program"),
        ),
        id="text",
    )


def _other_cell(cell: str) -> str:
    return note(f"This program is for the cell {cell}.") + buttons(
        button(f"Open {cell}", "open-cell", icon="folder")
    )


def builder_html(robots: Sequence[str], frames: Sequence[str]) -> str:
    """HTML of the buttons that add a step for the selected robot at its current pose.

    `frames` are the frames in which new points can be stored.
    """
    if not robots:
        return note("There is no robot in this cell: add one in the Scene panel.")
    kinds = "".join(
        button(label, "add", kind, title=title, enabled="may-build")
        for kind, (label, title) in ADDED.items()
    )
    more = select(
        "", MORE, label="More steps", event="add", placeholder="More…", enabled="may-build"
    )
    points = select(
        "teach-in",
        {"": "Joint values", **{name: f"Pose in {name}" for name in frames}},
        label="New points",
    )
    return (
        robot_choice(robots)
        + row("New points", points, title="How points taught by MoveJ and MoveL are stored")
        + f'<div class="program-kinds">{kinds}{more}</div>'
        + note("Adds a step after the selected step, or inside a selected loop.")
    )


def tracks_html(robots: Sequence[str]) -> str:
    """HTML of the list of steps of each robot, and of the buttons for the selected step."""
    if not robots:
        return note("No steps: add a robot to the cell first.")
    tracks = "".join(_track(robot) for robot in robots)
    tools = "".join(
        [
            button("", "shift", -1, icon="up", title="Move up (Alt+↑)", enabled="may-edit"),
            button("", "shift", 1, icon="down", title="Move down (Alt+↓)", enabled="may-edit"),
            button("Duplicate", "duplicate", icon="copy", enabled="may-edit"),
            button("Delete", "delete", icon="trash", enabled="may-edit"),
        ]
    )
    return (
        f'<div class="program-tracks">{tracks}</div>'
        f'<div class="program-tools">{tools}</div>'
        + note(
            "Drag a step to move it, also to another robot. Click its number to set a breakpoint."
        )
    )


def form_html() -> str:
    """HTML of the form of the selected step."""
    return '<brazo-step-form name="form" event="field"></brazo-step-form>'


def _track(robot: str) -> str:
    safe = escape(robot)
    return (
        f'<div class="program-track"><div class="brazo-robot-head"><span>{safe}</span>'
        f'<brazo-text name="status/{safe}"></brazo-text></div>'
        f'<brazo-steps name="steps/{safe}" at="at/{safe}" robot="{safe}" label="Steps of {safe}">'
        "</brazo-steps></div>"
    )
