"""Dimensions panel: edit the parameters of a robot file while the simulation runs.

Every parameter of the robot file has a slider.  D-H parameters, masses, centres of mass, inertia
tensors and friction are edited in tables.  An edit immediately updates the scene, the physics and
the kinematics of the robot.  The joint positions do not change, unless the type or number of joints
changes.  A value that is invalid in a robot file is rejected with the error message of the file
reader.

A slider sends values faster than models can be built, so only the latest value is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo import units
from brazo.errors import BrazoError
from brazo.formats.robot_yaml.link_table import LinkRow
from brazo.formats.robot_yaml.parameter_use import parameter_dimensions
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.formats.robot_yaml.structure import (
    with_joint_added,
    with_joint_kind,
    with_last_joint_removed,
)
from brazo.lab.app.cell_editor import CellEditor
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.quantities import Quantity
from brazo.lab.app.session import with_new_names
from brazo.lab.app.unsaved import Work
from brazo.lab.panels.common.choice import robot_choice
from brazo.lab.panels.common.html import (
    button,
    buttons,
    column,
    escape,
    note,
    number,
    row,
    section,
    table,
    text,
)
from brazo.lab.panels.dimensions.joint_table import (
    DH_UNITS,
    ENTRIES,
    dh_field,
    dh_html,
    dh_rows,
    has_dh,
    inertia_html,
    inertia_rows,
    with_inertia,
)
from brazo.model.description import frozen
from brazo.model.shapes import Mesh
from brazo.world import cell_edits as edits

if TYPE_CHECKING:
    from brazo.world.robot_source import RobotSource

# Display of a parameter: factor from SI, unit, digits, unit of a typed number without one.
_SHOWN: dict[units.Dimension | None, tuple[float, str, int, Quantity]] = {
    units.LENGTH: (1000.0, "mm", 1, "mm"),
    units.ANGLE: (180.0 / math.pi, "°", 1, "deg"),
    units.MASS: (1.0, "kg", 3, "kg"),
    None: (1.0, "", 4, "number"),
}
TRACK = (0.25, 2.5)  # slider range, relative to the initial value of a parameter
WIDTHS = (0.3, 2.5)  # slider range of the width factor of the links


class DimensionsPanel(Panel):
    """Panel that edits dimensions, joints, masses, inertia and friction of the selected robot."""

    id, title, icon, side, order = "dimensions", "Dimensions", "ruler", "left", 40
    rate = 5.0
    scripts = ("panels/dimensions/dimensions.js",)

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._editor = CellEditor(context.session, context.history)
        self._sim: Any = None
        self._first: dict[str, RobotSource] = {}  # robots before any edit in this panel
        self._saved: dict[str, RobotSource] = {}  # robots as last saved
        self._rows: tuple[RobotSource | None, dict[str, LinkRow]] = (None, {})
        self._refused = 0
        self._queued: dict[str, Any] = {}  # queued edits of the selected robot
        context.session.on_rename(self._robots_renamed)
        self.on("robot", context.session.select, str)
        for unit in ("mm", "deg", "kg", "number"):
            self.on_number(f"parameter-{unit}", self._set_parameter, str, unit=unit)
        self.on_number("width", lambda value: self._queue("width", value))
        for size in ("finger", "opening"):
            self.on_number(size, partial(self._set_gripper, size), int, unit="mm")
        self.on_number("mass", self._set_mass, str, unit="kg")
        for i, axis in enumerate("xyz"):
            self.on_number(f"com-{axis}", self._com_setter(i), str, unit="mm")
        self.on_number("viscous", self._set_viscous, str)
        self.on_number("coulomb-plus", self._coulomb_setter(0), str)
        self.on_number("coulomb-minus", self._coulomb_setter(1), str)
        for key, unit in DH_UNITS.items():
            self.on_number(f"dh-{key}", partial(self._set_dh, key), int, unit=unit)
        for entry in ENTRIES:
            self.on_number(f"inertia-{entry}", partial(self._set_inertia, entry), str)
        self.on("dh-kind", self._switch_kind, int)
        self.on("joint-add", self._add_joint)
        self.on("joint-remove", self._remove_joint)
        self.on("reset-all", self._reset_all)
        self.on("save", self._save)

    # ---- display ---------------------------------------------------------------------------

    def simulation_changed(self) -> None:
        if self.sim is not self._sim:
            known = {} if self._sim is None or not self._goes_on() else self._first
            self._sim = self.sim
            self._first = {}
            for one in self.sim.cell.robots:
                first = known.get(one.name, one.source)
                self._first[one.name] = one.source if first.edits == one.source.edits else first
            self._queued = {}
        for one in self.sim.cell.robots:
            self._first.setdefault(one.name, one.source)
        self.refresh()

    def _robots_renamed(self, renamed: Mapping[str, str]) -> None:
        self._first = with_new_names(self._first, renamed)
        self._saved = with_new_names(self._saved, renamed)

    def _goes_on(self) -> bool:
        """Whether the new simulation has the same cell as the previous one.

        If so, the Reset button still restores the dimensions from before the first edit.
        """
        old, new = self._sim.cell, self.sim.cell
        return (old.name, old.path) == (new.name, new.path)

    def selection_changed(self) -> None:
        self._queued = {}
        self.refresh()

    def html(self) -> str:
        robots = list(self.sim.robots)
        if not robots:
            return note("There is no robot in this cell.")
        choice = robot_choice(robots)
        first = self._first_source()
        if first.file is None:
            where = first.model.path.name if first.model.path is not None else "a program"
            return choice + note(
                f"{first.model.name} was loaded from {where}, which has no parameters. Only "
                "robots from robot files (.yaml) can be edited here."
            )
        return "".join(
            [
                choice,
                section("Lengths", self._parameters_html(first), id="lengths"),
                section("Body", self._body_html(first)),
                section("D-H table", dh_html(first.bare), open=False) if has_dh(first.bare) else "",
                section("Masses", self._masses_html(), open=False),
                section("Inertia", inertia_html(), open=False),
                section("Friction", self._friction_html(), open=False),
                '<div class="dimensions-end">',
                row("Changed", text("changed", wide=True)),
                buttons(
                    button("Save robot file", "save", look="primary", icon="download"),
                    button("Reset", "reset-all", icon="restart", enabled="edited"),
                ),
                "</div>",
            ]
        )

    def _parameters_html(self, first: RobotSource) -> str:
        if not first.model.parameters:
            return note("The robot file has no parameters.")
        assert first.file is not None
        tracks = []
        for name, dimension in parameter_dimensions(first.file).items():
            scale, unit, digits, quantity = _SHOWN.get(dimension, _SHOWN[None])
            value = scale * first.model.parameters[name]
            low, high = sorted(_round(share * value) for share in TRACK) if value else (-1.0, 1.0)
            tracks.append(
                f'<brazo-dimension name="parameter/{escape(name)}" label="{escape(name)}" '
                f'event="parameter-{quantity}" args="{escape(json.dumps([name]))}" '
                f'unit="{unit}" digits="{digits}" min="{low!r}" max="{high!r}" '
                f'first="{value!r}"></brazo-dimension>'
            )
        return "".join(tracks)

    def _body_html(self, first: RobotSource) -> str:
        parts = []
        solids = (part for _, each in first.model.solids for part in each)
        if any(not isinstance(part.shape, Mesh) for part in solids):
            parts.append(
                f'<brazo-dimension name="width" event="width" label="Width" unit="×" digits="2" '
                f'min="{WIDTHS[0]}" max="{WIDTHS[1]}" first="{first.width!r}"></brazo-dimension>'
            )
        else:
            parts.append(note("The body consists of meshes. Their poses follow the parameters."))
        if first.model.gripper is not None:
            fields = [
                number(f"finger/{i}", label=f"Finger {axis}", event="finger", args=[i], digits=1)
                for i, axis in enumerate("xyz")
            ]
            parts.append(_fields("Gripper finger", *fields))
            fields = [
                number(f"opening/{i}", label=f"Gripper {what}", event="opening", args=[i], digits=1)
                for i, what in enumerate(("closed", "open"))
            ]
            parts.append(_fields("Closed, open", *fields))
        return "".join(parts)

    def _masses_html(self) -> str:
        columns = [
            column("name", "Link"),
            column("mass", "Mass", unit="kg", digits=3, event="mass"),
            *(
                column(axis, axis, unit="mm", digits=1, event=f"com-{axis}")
                for axis in ("x", "y", "z")
            ),
        ]
        return table("masses", columns, label="Masses") + note(
            "The centre of mass is in the link frame. An inertia tensor given by a shape "
            "(box, cylinder) scales with the mass; a tensor given by numbers does not."
        )

    def _friction_html(self) -> str:
        columns = [
            column("name", "Joint"),
            column("viscous", "Viscous", digits=4, event="viscous"),
            column("plus", "Coulomb +", digits=3, event="coulomb-plus"),
            column("minus", "−", digits=3, event="coulomb-minus"),
        ]
        return table("friction", columns, label="Friction") + note(
            "Units: N m s/rad and N m for rotary joints, N s/m and N for linear joints. Coulomb + "
            "and − are for positive and negative velocity."
        )

    def values(self) -> Values:
        if not self.sim.robots:
            return {}
        source, first = self._source(), self._first_source()
        shown: Values = {"robot": self.session.robot.name}
        if source.file is None:
            return shown
        assert first.file is not None
        for name, dimension in parameter_dimensions(first.file).items():
            scale = _SHOWN.get(dimension, _SHOWN[None])[0]
            shown[f"parameter/{name}"] = scale * source.model.parameters[name]
        shown["width"] = source.width
        gripper = source.model.gripper
        if gripper is not None:
            shown |= {f"finger/{i}": 1000.0 * x for i, x in enumerate(gripper.finger)}
            shown |= {f"opening/{i}": 1000.0 * x for i, x in enumerate(gripper.opening)}
        links = self._links()
        shown["inertia"] = inertia_rows(links)
        if has_dh(source.bare):
            shown["dh"] = dh_rows(source.bare)
        shown["masses"] = [_mass_row(name, one) for name, one in links.items()]
        shown["friction"] = [
            _friction_row(name, one) for name, one in links.items() if one.friction_field
        ]
        changed = _changes(first, source)
        return shown | {"changed": ", ".join(changed) or "nothing", "edited": bool(changed)}

    # ---- edits -----------------------------------------------------------------------------

    def _set_parameter(self, name: str, value: float) -> None:
        wanted = self._queued.get("parameters", {})
        self._queue("parameters", {**wanted, name: value})

    def _set_gripper(self, size: str, i: int, value: float) -> None:
        gripper = self._source().model.gripper
        if gripper is not None:
            sizes = list(self._queued.get(size, getattr(gripper, size)))
            if 0 <= i < len(sizes):
                sizes[i] = value
                self._queue(size, tuple(sizes))

    def _set_mass(self, name: str, value: float) -> None:
        if name in self._links():
            self._queue_fields(self._links()[name].with_mass(value))

    def _com_setter(self, axis: int) -> Callable[[str, float], None]:
        def set_com(name: str, value: float) -> None:
            link = self._links().get(name)
            if link is None or not link.com_field:
                return
            com = np.zeros(3) if link.inertia is None else np.array(link.inertia.com)
            com[axis] = value
            self._queue_fields(link.with_com(com))

        return set_com

    def _set_viscous(self, name: str, value: float) -> None:
        if name in self._links():
            self._queue_fields(self._links()[name].with_friction(viscous=value))

    def _coulomb_setter(self, side: int) -> Callable[[str, float], None]:
        def set_coulomb(name: str, value: float) -> None:
            if name not in self._links():
                return
            plus, minus = self._links()[name].friction.coulomb
            both = (value, minus) if side == 0 else (plus, value)
            self._queue_fields(self._links()[name].with_friction(coulomb=both))

        return set_coulomb

    # ---- joints ----------------------------------------------------------------------------

    def _set_dh(self, key: str, joint: int, value: float) -> None:
        if 0 <= joint < len(self._source().bare.joint_names):
            self._queue_fields({dh_field(self._source().bare, joint, key): value})

    def _set_inertia(self, entry: str, name: str, value: float) -> None:
        if name in self._links():
            self._queue_fields(with_inertia(self._links()[name], entry, value))

    def _switch_kind(self, joint: int) -> None:
        model = self._source().bare
        if has_dh(model) and 0 <= joint < len(model.joint_names):
            kind = "prismatic" if model.joint_kinds[joint] == "revolute" else "revolute"
            label = f"switch {model.joint_names[joint]} to {kind}"
            self._restructure(label, lambda file: with_joint_kind(file, joint, kind))

    def _add_joint(self) -> None:
        self._restructure("add a joint", with_joint_added)

    def _remove_joint(self) -> None:
        self._restructure("remove the last joint", with_last_joint_removed)

    def _restructure(self, label: str, change: Callable[[RobotFile], RobotFile]) -> None:
        """Change the type or number of joints of the selected robot.

        `change(file)` returns the changed robot file.  The robot is then placed in its start pose.
        """
        name = self.session.robot.name
        old = next(one for one in self.sim.cell.robots if one.name == name)
        self._replace_source(label, old.source.restructured(change))

    def _replace_source(self, label: str, source: RobotSource) -> None:
        name = self.session.robot.name
        old = next(one for one in self.sim.cell.robots if one.name == name)
        q = np.zeros(len(source.model.joint_names))
        kept = min(len(q), len(old.start))
        q[:kept] = old.start[:kept]
        kinds = zip(source.model.joint_kinds, old.model.joint_kinds, strict=False)
        q[[i for i, (new, was) in enumerate(kinds) if new != was]] = 0.0
        low, high = source.model.limits.T
        other = replace(old, source=source, start=frozen(np.clip(q, low, high)))
        self._queued = {}
        self._editor.do(
            f"{label} of {name}",
            lambda cell: edits.replaced(cell, name, other),
            lambda cell: edits.replaced(cell, name, old),
        )

    def _queue_fields(self, fields: dict[str, Any]) -> None:
        self._queue("fields", {**self._queued.get("fields", {}), **fields})

    def _queue(self, what: str, value: Any) -> None:
        """Queue an edit of the item `what`; it replaces a queued edit of the same item."""
        if not self._queued:
            self.context.post(self._carry_out)
        self._queued[what] = value

    def _carry_out(self) -> None:
        queued, self._queued = self._queued, {}
        if not queued:
            return
        try:
            self._check_lengths(queued.get("parameters", {}))
            self._edit(**queued)
        except BrazoError:
            self._refused += 1  # makes the pages reset their sliders
            self.put({"refused": self._refused})
            raise

    def _check_lengths(self, parameters: dict[str, float]) -> None:
        """Raise `BrazoError` if a length, positive before the first edit, becomes 0 or negative.

        `parameters` maps names to new values (SI).  The reader of robot files does not check this,
        because a length may also be an offset between axes, which can be negative.
        """
        first = self._first_source()
        for name, value in parameters.items():
            was = first.model.parameters.get(name, 0.0)
            if first.file is None or parameter_dimensions(first.file).get(name) != units.LENGTH:
                continue
            if was > 0.0 and value <= 0.0:
                raise BrazoError(f"{name} {1e3 * value:g} mm: a length must be above 0")

    def _edit(self, **edits: Any) -> None:
        """Edit the selected robot; consecutive edits of the same values are undone together."""
        name, what = self.session.robot.name, ", ".join(_names(edits))

        def source() -> RobotSource:
            return next(one.source for one in self.sim.cell.robots if one.name == name)

        def restore(source: RobotSource) -> None:
            self.sim.edit(name, source=source)
            self.session.edited()

        def change() -> None:
            self.sim.edit(name, **edits)
            self.session.edited()

        label = f"{what or 'dimensions'} of {name}"
        self.context.history.record(label, change, source, restore, f"dimensions/{label}")

    def _reset_all(self) -> None:
        self._queued = {}
        now, first = self._source(), self._first_source().attached(self._source().attachment)
        joints = now.model.joint_names, now.model.joint_kinds
        if joints == (first.model.joint_names, first.model.joint_kinds):
            self._edit(source=first)
        else:
            self._replace_source("reset dimensions", first)

    def _save(self) -> None:
        source = self._source()
        self.download(f"{source.model.name}.yaml", source.text())
        self._saved[self.session.robot.name] = source

    def cell_saved(self) -> None:
        self._saved = {one.name: one.source for one in self.sim.cell.robots}

    def unsaved(self) -> list[Work]:
        if self._sim is not self.session.shown:  # the edits are of a cell no longer open
            return []
        found = []
        for one in self.sim.cell.robots:
            name, source = one.name, one.source
            changed = _changes(self._first.get(name, source), source)
            if changed and source is not self._saved.get(name):
                title = f"{name}: dimensions ({', '.join(changed)})"
                found.append(Work(title, {f"{name}.yaml": source.text()}, name))
        return found

    # ---- internal --------------------------------------------------------------------------

    def _source(self) -> RobotSource:
        name = self.session.robot.name
        return next(one.source for one in self.sim.cell.robots if one.name == name)

    def _first_source(self) -> RobotSource:
        return self._first.get(self.session.robot.name) or self._source()

    def _links(self) -> dict[str, LinkRow]:
        """Links of the selected robot, by unique name."""
        source = self._source()
        if self._rows[0] is not source:
            named: dict[str, LinkRow] = {}
            for link in source.links():
                name = link.name if link.name not in named else f"{link.name} (load)"
                named[name] = link
            self._rows = (source, named)
        return self._rows[1]


def _mass_row(name: str, link: LinkRow) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": name,
        "name": name,
        "mass": "–" if link.mass is None else link.mass,
    }
    com = None if link.inertia is None or not link.com_field else 1000.0 * link.inertia.com
    for i, axis in enumerate("xyz"):
        shown[axis] = "–" if com is None else float(com[i])
    return shown


def _friction_row(name: str, link: LinkRow) -> dict[str, Any]:
    plus, minus = link.friction.coulomb
    viscous = link.friction.viscous
    return {"id": name, "name": name, "viscous": viscous, "plus": plus, "minus": minus}


def _changes(first: RobotSource, now: RobotSource) -> list[str]:
    """Names of the parameters and other values that differ between two versions of a robot."""
    if now is first:
        return []
    old, new = first.model.parameters, now.model.parameters
    found = [name for name in new if new[name] != old[name]]
    found += ["width"] * (now.width != first.width)
    if now.model.gripper is not None and first.model.gripper is not None:
        found += ["finger"] * (now.model.gripper.finger != first.model.gripper.finger)
        found += ["opening"] * (now.model.gripper.opening != first.model.gripper.opening)
    for link in now.links():
        for field, what in (
            (link.mass_field, "mass"),
            (link.com_field, "centre"),
            (link.friction_field, "friction"),
        ):
            if field and any(
                one.startswith(field) and value != first.edits.fields.get(one)
                for one, value in now.edits.fields.items()
            ):
                found.append(f"{link.name} {what}")
    known = [
        field
        for link in now.links()
        for field in (link.mass_field, link.com_field, link.friction_field)
        if field
    ]
    for one, value in now.edits.fields.items():
        if value != first.edits.fields.get(one) and not any(one.startswith(f) for f in known):
            found.append(one.rpartition(".")[2])
    if now.model.joint_names != first.model.joint_names:
        found.append("number of joints")
    elif now.model.joint_kinds != first.model.joint_kinds:
        found.append("joint types")
    return found


def _names(edits: dict[str, Any]) -> list[str]:
    """Names of the values that an edit changes, for its undo label.

    If the edit changes several fields of the robot file, only the first field is named.
    """
    found = [*edits.get("parameters", {}), *(one for one in ("width", "finger") if one in edits)]
    found += ["opening"] * ("opening" in edits)
    return found + [one.rpartition(".")[2] for one in edits.get("fields", {})][:1]


def _round(value: float) -> float:
    """Round to two significant digits, for the ends of a slider range."""
    return float(f"{value:.2g}")


def _fields(label: str, *fields: str) -> str:
    """HTML of a row of input fields in mm with a common label."""
    unit = '<span class="unit">mm</span>'
    return (
        f'<div class="dimensions-fields"><span>{escape(label)}</span>{"".join(fields)}{unit}</div>'
    )
