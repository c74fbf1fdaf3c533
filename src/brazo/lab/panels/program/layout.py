"""HTML of the Program panel: run controls, buttons that add steps, lists of steps, form, text."""

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
    """Return the choice of the program and the buttons that run it.

    `other_cell` is the cell that the program was made for, if another one is open.
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
                title="Run from the selected step; other robots skip the same syncs",
            ),
            button(
                "Dry run",
                "dry-run",
                icon="eye",
                enabled="may-run",
                title="Ghosts run through the program; nothing in the simulation moves",
            ),
        ),
        row("State", text("state", wide=True)),
        row("Steps done", text("share", "%")),
        '<brazo-text class="brazo-why" name="why"></brazo-text>',
        id="run",
    )


def text_html() -> str:
    """Return the editor of the text and the buttons for files."""
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
            button("From points", "from-points", title="Moves through the taught points"),
            button("New", "new", icon="plus", title="Start an empty program"),
        ),
        id="text",
    )


def _other_cell(cell: str) -> str:
    return note(f"This program is for cell {cell}.") + buttons(
        button(f"Open {cell}", "open-cell", icon="folder")
    )


def builder_html(robots: Sequence[str], frames: Sequence[str]) -> str:
    """Return the buttons that add a step of the selected robot at its current pose."""
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
        + row("New points", points, title="How the points of MoveJ and MoveL are stored")
        + f'<div class="program-kinds">{kinds}{more}</div>'
        + note("At the current pose of the robot, after the selected step or inside a loop.")
    )


def tracks_html(robots: Sequence[str]) -> str:
    """Return the list of steps of each robot, and the buttons for the selected step."""
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
            "Drag steps to reorder them or to another robot. A click on a number sets a breakpoint."
        )
    )


def form_html() -> str:
    """Return the form of the selected step."""
    return '<brazo-step-form name="form" event="field"></brazo-step-form>'


def _track(robot: str) -> str:
    safe = escape(robot)
    return (
        f'<div class="program-track"><div class="brazo-robot-head"><span>{safe}</span>'
        f'<brazo-text name="status/{safe}"></brazo-text></div>'
        f'<brazo-steps name="steps/{safe}" at="at/{safe}" robot="{safe}" label="Steps of {safe}">'
        "</brazo-steps></div>"
    )
