"""HTML of the scene panel: element tree, buttons that add elements, and the selected element."""

from __future__ import annotations

from collections.abc import Iterable

from brazo.lab.app.imported_files import MESHES
from brazo.lab.panels.common.html import (
    button,
    buttons,
    escape,
    note,
    number,
    row,
    section,
    segments,
    select,
    text,
    toggle,
    upload,
)
from brazo.lab.panels.scene.placing import KINDS
from brazo.lab.panels.scene.properties import UNITS, Property, can_be_free, color_of
from brazo.world import CellRobot, Chute, FreeBody
from brazo.world.cell_edits import Element, kind_of

AXES = ("x", "y", "z")
ANGLES = ("roll", "pitch", "yaw")
CELL_NAME = '<brazo-entry name="cell-name" event="cell-name" label="Cell name"></brazo-entry>'
SNAPS = {"0": "Off", "1": "1", "10": "10", "50": "50"}  # mm
ATTACHMENTS = {"none": "None", "gripper": "Two-finger gripper", "tool": "Tool"}
ICONS = {
    "box": "cube",
    "cylinder": "cylinder",
    "table": "desk",
    "bin": "bin",
    "chute": "chute",
    "frame": "axes",
}


def layout(chosen: Element | None, properties: Iterable[Property]) -> str:
    """HTML of the panel.

    `chosen` is the selected element, or None.  `properties` are its editable numbers.
    """
    return "".join(
        [
            '<brazo-scene-tree name="tree" event="select" label="Elements of the cell">'
            "</brazo-scene-tree>",
            section("Add", _add(), id="add"),
            section("Selected element", *_selected(chosen, properties), id="selected"),
            section(
                "Cell file",
                row("Name", CELL_NAME),
                toggle(
                    "from-current",
                    "Start from the current state",
                    title="If off, the file keeps the start state of the cell.",
                ),
                buttons(button("Download cell file", "save", icon="download")),
                note(
                    "Downloads a cell file (YAML). If it needs other files, such as edited robots "
                    "or meshes, all files are downloaded as one .zip."
                ),
                id="cell-file",
            ),
        ]
    )


def _add() -> str:
    kinds = "".join(
        button(label, "add", kind, icon=ICONS[kind], title=f"Add {label.lower()}")
        for kind, label in KINDS.items()
    )
    return "".join(
        [
            row(
                "Robot",
                select(
                    "robot-choice",
                    label="Robot to add",
                    event="add-robot",
                    placeholder="Choose a robot…",
                    options_from="robots",
                ),
            ),
            f'<div class="scene-kinds">{kinds}</div>',
            upload("Import mesh…", "mesh", *MESHES),
            note(
                "New elements are placed on the selected table or fixture. Boxes and cylinders are "
                "placed beside the selected element, on the same fixture. Otherwise, elements are "
                "placed on the floor, and robots beside the other robots."
            ),
        ]
    )


def _selected(chosen: Element | None, properties: Iterable[Property]) -> list[str]:
    if chosen is None:
        return [note("Select an element in the list, or click it in the 3D view.")]
    turned = ("", "", "yaw") if isinstance(chosen, Chute) else ANGLES
    places = [
        _field(axis, "mm") + (_field(angle, "°") if angle else "<span></span>" * 3)
        for axis, angle in zip(AXES, turned, strict=True)
    ]
    live = isinstance(chosen, FreeBody)
    found = [
        row("Name", '<brazo-entry name="name" label="Name" event="rename"></brazo-entry>'),
        row("Kind", text("kind", wide=True)),
        f'<div class="scene-fields">{"".join(places)}</div>',
        row("Gizmo", toggle("gizmo", "Move in the 3D view")),
        row(
            "Snap (mm)",
            segments("snap", SNAPS, label="Snap (mm)", event="snap"),
            title="Position step while dragging; rotations then snap to 15°",
        ),
    ]
    if kind_of(chosen) != "frame":
        found.append(
            buttons(
                button(
                    "Place on surface below",
                    "drop",
                    icon="down",
                    title="Lowers the element onto the floor, table or body below it",
                )
            )
        )
    if isinstance(chosen, CellRobot):
        found.append(_robot(chosen))
    if fields := [_property(one) for one in properties]:
        found.append(f'<div class="scene-properties">{"".join(fields)}</div>')
    if color_of(chosen) is not None:
        colour = '<brazo-color name="color" label="Colour" event="color"></brazo-color>'
        found.append(row("Colour", colour))
    if can_be_free(chosen):
        found.append(
            toggle("fixed", "Fixed in place", title="If off, the element can move and fall")
        )
    if live:
        found.append(note("Shows the current position and orientation in the simulation."))
    found.append(
        buttons(
            button("Duplicate", "duplicate", icon="copy"),
            button("Delete", "delete", icon="trash", look="danger"),
        )
    )
    return found


def _robot(robot: CellRobot) -> str:
    """HTML of the rows of a robot: the tool at its flange, and its start pose."""
    own = robot.source.attachment is None and robot.model.gripper is not None
    if own:
        flange = row("Flange", '<span class="words">Gripper from the robot file</span>')
    elif robot.model.closed_loops:
        flange = row("Flange", '<span class="words">Nothing can be attached</span>')
    else:
        flange = row("Flange", select("attached", ATTACHMENTS, label="Flange", event="attach"))
    return flange + buttons(
        button(
            "Use current pose as start",
            "start-here",
            title="The robot then starts at its current joint positions",
        )
    )


def _field(name: str, unit: str) -> str:
    shown = number(f"pose/{name}", unit, label=name, event=f"pose-{name}", digits=1)
    return f'<span class="name">{escape(name)}</span>{shown}'


def _property(one: Property) -> str:
    unit = UNITS[one.unit][0]
    shown = number(
        f"property/{one.id}",
        unit,
        label=one.label,
        event="property",
        args=(one.id,),
        digits=one.digits,
    )
    return row(one.label, shown)
