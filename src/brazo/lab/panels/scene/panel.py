"""Scene panel: all elements of the cell in a tree; add, move, edit, duplicate and delete them.

Elements are robots, free bodies, fixtures, chutes and frames.  Edits are made while the simulation
runs and can be undone (`brazo.lab.app.cell_editor`).  The cell can be downloaded as a cell file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rpy, rpy_from_matrix
from brazo.lab.app.cell_editor import CellEditor, Change
from brazo.lab.app.context import PanelContext
from brazo.lab.app.imported_files import MESHES
from brazo.lab.app.opening import ROBOT, choices, is_cell_file
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.program_run import program_in
from brazo.lab.app.quantities import read_quantity
from brazo.lab.app.unsaved import Work, packed
from brazo.lab.panels.scene.gizmo import DraggedElement, ElementGizmo
from brazo.lab.panels.scene.layout import ANGLES, AXES, layout
from brazo.lab.panels.scene.placing import (
    below,
    extent,
    mesh_fixture,
    new_element,
    new_robot,
    placed,
    support_of,
)
from brazo.lab.panels.scene.properties import (
    can_be_free,
    color_of,
    colored,
    fixed_in_place,
    freed,
    properties_of,
)
from brazo.lab.server.channel import Typed
from brazo.lab.server.transfers import Upload
from brazo.model.description import frozen
from brazo.program.references import names_used
from brazo.simulation import Simulation
from brazo.world import Cell, CellRobot, Chute, Fixture, FreeBody
from brazo.world import cell_edits as edits
from brazo.world.attachment import AttachedGripper, AttachedTool, Attachment
from brazo.world.cell_edits import Element, element, kind_of, pose_of
from brazo.world.cell_writer import cell_files
from brazo.world.robot_source import RobotSource

OWN = "file:"  # prefix of the id of an imported robot file
GROUPS = {
    "robot": "Robots",
    "body": "Bodies",
    "fixture": "Fixtures",
    "chute": "Fixtures",
    "frame": "Frames",
}
_HEX = re.compile(r"#[0-9a-fA-F]{6}")


class ScenePanel(Panel):
    """Panel that shows and edits the elements of the cell."""

    id, title, icon, side, order = "scene", "Scene", "tree", "left", 20
    rate = 5.0
    scripts = ("panels/scene/scene.js",)
    needs_robot = False

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._editor = CellEditor(context.session, context.history)
        self._gizmo = ElementGizmo(context, self._dragged)
        self._moves = True  # whether the gizmo is shown
        self._from_current = False  # whether a saved cell starts from the current state
        self._opened = 0  # value of `session.cells` for which `_saved` is valid
        self._saved = self.session.shown.cell  # cell as last opened or saved
        self.on("select", self.session.select_element, str)
        self.on("add", self._add, str)
        self.on("add-robot", self._add_robot, str)
        self.on_upload("mesh", self._add_mesh, *MESHES)
        self.on("rename", self._rename, str)
        self.on("cell-name", self._rename_cell, str)
        for i, name in enumerate((*AXES, *ANGLES)):
            unit = "mm" if i < 3 else "deg"
            self.on_number(f"pose-{name}", lambda value, i=i: self._set_pose(i, value), unit=unit)
        self.on("property", self._set_property, str, Typed)
        self.on("color", self._set_color, str)
        self.on("fixed", self._set_fixed, bool)
        self.on("attach", self._attach, str)
        self.on("start-here", self._start_here)
        self.on("duplicate", self._duplicate)
        self.on("delete", self._delete)
        self.on("drop", self._drop)
        self.on_setting("gizmo", "_moves")
        self.on("snap", self._set_snap, str)
        self.on_setting("from-current", "_from_current")
        self.on("save", self._save)

    # ---- display ---------------------------------------------------------------------------

    def simulation_changed(self) -> None:
        if self._opened != self.session.cells:
            self._opened, self._saved = self.session.cells, self.sim.cell
        self._gizmo.show(None)
        self.selection_changed()

    def selection_changed(self) -> None:
        self.put({"tree": self._rows()})  # before the new content, which shows it at once
        self.refresh()

    def html(self) -> str:
        chosen = self._chosen
        return layout(chosen, () if chosen is None else properties_of(chosen))

    @property
    def _chosen(self) -> Element | None:
        """The selected element; None if no element is selected."""
        name = self.session.selection.element
        found = (one for one in edits.elements(self.sim.cell) if one.name == name)
        return next(found, None)

    def _rows(self) -> list[dict[str, Any]]:
        chosen = self.session.selection.element
        return [_row(one, one.name == chosen) for one in edits.elements(self.sim.cell)]

    def _required(self) -> Element:
        if self._chosen is None:
            raise BrazoError("select an element first")
        return self._chosen

    def values(self) -> Values:
        cell, chosen = self.sim.cell, self._chosen
        own = [[f"{OWN}{n}", n] for n in self.context.imported.descriptions]
        shown: Values = {
            "tree": self._rows(),
            "robots": own + [[f"{ROBOT}{n}", n] for n in choices()["robots"]],
            "robot-choice": "",
            "cell-name": cell.name,
            "from-current": self._from_current,
            "gizmo": self._moves,
            "snap": f"{1000.0 * self._gizmo.snap:g}",
        }
        if chosen is None:
            return shown
        T = self._pose(chosen)
        places = (*(1000.0 * T[:3, 3]), *np.degrees(rpy_from_matrix(T[:3, :3])))
        shown |= {f"pose/{n}": float(v) for n, v in zip((*AXES, *ANGLES), places, strict=True)}
        shown |= {f"property/{one.id}": one.shown(chosen) for one in properties_of(chosen)}
        shown |= {"name": chosen.name, "kind": _kind_text(chosen)}
        if (color := color_of(chosen)) is not None:
            shown["color"] = "#" + "".join(f"{round(255 * c):02x}" for c in color)
        if can_be_free(chosen):
            shown["fixed"] = isinstance(chosen, Fixture)
        if isinstance(chosen, CellRobot):
            shown["attached"] = _attachment_name(chosen.source.attachment)
        return shown

    def follow(self) -> None:
        visible = any(self.id in page.shown for page in self.context.channel.pages)
        chosen = self._chosen if visible and self._moves else None
        self._gizmo.show(None if chosen is None else self._held(chosen))

    def stopped(self) -> None:
        self._gizmo.cancel()

    def driver_changed(self) -> None:
        self._gizmo.cancel()

    def _held(self, one: Element) -> DraggedElement:
        drawn = self.sim.world.drawn
        robot = isinstance(one, CellRobot)
        own = [
            i
            for i, body in enumerate(drawn)
            if (body.name.partition("/")[0] if robot else body.name) == one.name
        ]
        return DraggedElement(one.name, self._pose(one), own)

    def _pose(self, one: Element) -> np.ndarray:
        """Current pose (4, 4) of an element; for a free body, its pose in the simulation."""
        if isinstance(one, FreeBody):
            with self.sim.lock:
                return self.sim.world.pose(one.name)
        return np.array(pose_of(one))

    # ---- edits -----------------------------------------------------------------------------

    def _add(self, kind: str) -> None:
        self._put_in(new_element(kind, kind))

    def _add_robot(self, name: str) -> None:
        source = self._source_of(name)
        self._put_in(new_robot(source.model.name, source))

    def _source_of(self, name: str) -> RobotSource:
        imported = self.context.imported
        if name.startswith(OWN):
            path = imported.path(name.removeprefix(OWN))
            try:
                if is_cell_file(path):
                    raise BrazoError(f"{path} is a cell, not a robot: open it in the Robots panel")
                return RobotSource.load(path)
            except BrazoError as error:
                raise BrazoError(imported.shown(error)) from None
        if name.removeprefix(ROBOT) not in choices()["robots"]:
            raise BrazoError("choose a robot from the list")
        return RobotSource.load(name.removeprefix(ROBOT))

    def _add_mesh(self, upload: Upload) -> None:
        imported = self.context.imported
        upload = imported.renamed(upload)  # another part of the same name keeps its file
        imported.take(upload)
        path = imported.file(upload.name)
        try:
            self._put_in(mesh_fixture(Path(upload.name).stem, path))
        except BrazoError as error:
            raise BrazoError(imported.shown(error)) from None

    def _put_in(self, new: Element) -> None:
        """Add a new element to the cell at a free place, and select it."""
        chosen = self._chosen
        on = chosen.name if isinstance(chosen, Fixture) else ""
        if not on and chosen is not None and isinstance(new, FreeBody):
            on = support_of(self.sim.cell, chosen)  # beside what is selected

        def go() -> None:
            one = placed(self.sim.cell, new, on if on in _names(self.sim.cell) else "")
            name = one.name
            self._editor.do(
                f"add {name}",
                lambda cell: edits.add(cell, one),
                lambda cell: edits.remove(cell, name),
                placed=(name,),
            )
            self.session.select_element(name)

        if isinstance(new, CellRobot):
            self._prepared(f"Add {new.name}", lambda cell: edits.add(cell, placed(cell, new)), go)
        else:
            go()

    def _prepared(self, title: str, change: Change, go: Callable[[], None]) -> None:
        """Compile the robots of the changed cell in a background job, then call `go`.

        `change(cell)` returns the changed cell.  The simulation continues to run.
        """
        sim, jobs = self.sim, self.context.jobs

        def done(_: None) -> None:
            self.context.post(lambda: jobs.cancel(job.number))  # its result is visible
            if self.session.shown is sim:
                self.context.notices.guard(go)

        job = jobs.start(title, lambda _: sim.prepare(change(sim.cell)), done)

    def _delete(self) -> None:
        old = self._required()
        name = old.name
        self._require_unused(name, "delete")

        def go() -> None:
            self._editor.do(
                f"delete {name}",
                lambda cell: edits.remove(cell, name),
                lambda cell: edits.add(cell, old),
            )

        lost = [one for one in self.context.unsaved.work() if one.robot == name]
        self.context.unsaved.ask(f"Deleting {name} discards:", lost, go)

    def _duplicate(self) -> None:
        old = self._required()
        cell = self.sim.cell
        base = re.sub(r" \d+$", "", old.name)
        moved = edits.moved(old, self._pose(old))
        copy = placed(cell, cast(Element, replace(cast(Any, moved), name=base)))
        if not isinstance(copy, CellRobot):
            T = np.array(pose_of(moved))
            T[:2, 3] = pose_of(copy)[:2, 3]
            copy = edits.moved(copy, T if not isinstance(old, FreeBody) else pose_of(copy))
        name = copy.name
        self._editor.do(
            f"duplicate {old.name}",
            lambda cell: edits.add(cell, copy),
            lambda cell: edits.remove(cell, name),
            placed=(name,),
        )
        self.session.select_element(name)

    def _rename(self, new: str) -> None:
        name, new = self._required().name, new.strip()
        if new == name:
            return
        self._require_unused(name, "rename")
        edits.rename(self.sim.cell, name, new)  # raises for a name that is not possible
        self._editor.do(
            f"rename {name} to {new}",
            lambda cell: edits.rename(cell, name, new),
            lambda cell: edits.rename(cell, new, name),
            renamed={name: new},
        )

    def _rename_cell(self, new: str) -> None:
        old, new = self.sim.cell.name, new.strip()
        if new == old:
            return
        if not new or not new.isprintable() or len(new) > edits.MAX_NAME:
            raise BrazoError(
                f"invalid cell name: must have 1 to {edits.MAX_NAME} printable characters"
            )
        self._editor.do(
            f"rename the cell to {new}",
            lambda cell: replace(cell, name=new),
            lambda cell: replace(cell, name=old),
        )

    def _require_unused(self, name: str, verb: str) -> None:
        """Raise `BrazoError` if the running or paused program uses the element `name`.

        `verb` describes the rejected edit in the message, e.g. "delete".
        """
        program = program_in(self.sim)
        if program is None or program.done:
            return
        places = names_used(program.program).get(name)
        if places:
            raise BrazoError(
                f"cannot {verb} {name}: the running program {program.program.name} uses it "
                f"({places[0]}). Stop the program first."
            )

    def _set_pose(self, part: int, value: float) -> None:
        one = self._required()
        T = np.array(self._pose(one))
        if part < 3:
            T[part, 3] = value
        else:
            rpy = np.array(rpy_from_matrix(T[:3, :3]))
            if isinstance(one, Chute):
                self._replace(one, replace(one, yaw=value), "move")
                return
            rpy[part - 3] = value
            T[:3, :3] = matrix_from_rpy(rpy)
        self._move(one, T)

    def _dragged(self, name: str, T: np.ndarray) -> None:
        self._move(element(self.sim.cell, name), T)

    def _drop(self) -> None:
        one = self._required()
        with self.sim.lock:
            T = below(self.sim, one.name)
        self._move(one, T)

    def _move(self, one: Element, T: np.ndarray) -> None:
        name, old, new = one.name, pose_of(one), frozen(T)
        self._editor.do(
            f"move {name}",
            lambda cell: edits.move(cell, name, new),
            lambda cell: edits.move(cell, name, old),
            placed=(name,),
        )

    def _replace(self, old: Element, new: Element, what: str, placed: bool = True) -> None:
        name = old.name
        self._editor.do(
            f"{what} {name}",
            lambda cell: edits.replaced(cell, name, new),
            lambda cell: edits.replaced(cell, name, old),
            placed=(name,) if placed and not isinstance(new, FreeBody) else (),
        )

    def _set_property(self, name: str, value: Any) -> None:
        one = self._required()
        found = next((p for p in properties_of(one) if p.id == name), None)
        if found is None:
            return
        new = found.set(one, read_quantity(value, found.unit))
        if isinstance(one, CellRobot) and isinstance(new, CellRobot):
            self._set_attachment(one, new.source.attachment, f"{found.label.lower()} of")
            return
        if isinstance(new, FreeBody) and isinstance(one, FreeBody) and new.shape is not one.shape:
            self._resize(one, new, found.label.lower())
            return
        self._replace(one, new, f"{found.label.lower()} of")

    def _resize(self, old: FreeBody, new: FreeBody, what: str) -> None:
        """Replace the free body `old` by `new`, of another size, at the current pose of `old`.

        A body that becomes higher is raised, so that it does not overlap the surface below.  `what`
        names the changed dimension in the undo label.
        """
        grown = 0.5 * (_height(new) - _height(old))
        T = np.array(self._pose(old))
        T[2, 3] += max(grown, 0.0)
        new, name = replace(new, pose=frozen(T)), old.name
        self._editor.do(
            f"{what} of {name}",
            lambda cell: edits.replaced(cell, name, new),
            lambda cell: edits.replaced(cell, name, old),
            placed=(name,),
        )

    def _set_color(self, text: str) -> None:
        one = self._required()
        if color_of(one) is None or not _HEX.fullmatch(text):
            return
        red, green, blue = (int(text[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
        color = (round(red, 4), round(green, 4), round(blue, 4))
        self._replace(one, colored(one, color), "colour of", placed=False)

    def _set_fixed(self, fixed: bool) -> None:
        one = self._required()
        T = frozen(self._pose(one))
        if fixed and isinstance(one, FreeBody):
            self._require_unused(one.name, "fix")
            self._replace(one, fixed_in_place(one, T), "fix", placed=False)
        elif not fixed and isinstance(one, Fixture):
            self._replace(one, freed(one, T), "free")

    def _attach(self, what: str) -> None:
        robot = self._required()
        if not isinstance(robot, CellRobot):
            return
        self._require_unused(robot.name, "change the tool of")
        made: dict[str, Callable[[], Attachment] | None] = {
            "none": None,
            "gripper": AttachedGripper,
            "tool": AttachedTool,
        }
        if what not in made or what == _attachment_name(robot.source.attachment):
            return
        make = made[what]
        label = "remove the tool of" if make is None else f"attach {what} to"
        self._set_attachment(robot, None if make is None else make(), label)

    def _set_attachment(self, robot: CellRobot, new: Attachment | None, what: str) -> None:
        name, old = robot.name, robot.source.attachment

        def go() -> None:
            self._editor.do(
                f"{what} {name}",
                lambda cell: edits.attach(cell, name, new),
                lambda cell: edits.attach(cell, name, old),
            )

        edits.attach(self.sim.cell, name, new)  # raises if that is not possible
        title = f"{what} {name}"
        self._prepared(title[0].upper() + title[1:], lambda cell: edits.attach(cell, name, new), go)

    def _start_here(self) -> None:
        robot = self._required()
        if isinstance(robot, CellRobot):
            q = np.clip(self.sim.robots[robot.name].q, *robot.model.limits.T)
            self._replace(robot, replace(robot, start=frozen(q)), "start of", placed=False)

    # ---- moving ----------------------------------------------------------------------------

    def _set_snap(self, text: str) -> None:
        if text.isdigit() and len(text) <= 4:
            self._gizmo.snap = int(text) / 1000.0

    # ---- saving ----------------------------------------------------------------------------

    def _save(self) -> None:
        files = self._cell_files(self._from_current)
        name, content = next(iter(files.items()))
        self._saved = self.sim.cell
        self.context.each_panel(lambda panel: panel.cell_saved())
        if len(files) == 1:
            self.download(name, content)
            return
        self.download(f"{Path(name).stem}.zip", packed(files))
        self.say(f"{name} is in an archive with the files that it needs: keep them together")

    def _cell_files(self, from_current: bool) -> dict[str, bytes]:
        """Cell file and the files that it refers to, as a dict from name to content.

        The cell file is the first entry.
        """
        cell = present_cell(self.sim, from_current)
        imported = self.context.imported
        files: dict[str, bytes] = {}

        def refer(path: Path) -> str:
            # An imported file is saved with the cell, together with all other imported files.
            inside = imported.name_of(path)
            if inside is None:
                return path.resolve().as_posix()
            files.update(imported.contents())
            return inside

        texts = cell_files(cell, refer, beside=True)
        if files:  # write again, with the names of the imported files reserved
            tops = {PurePosixPath(key).parts[0] for key in files}
            texts = cell_files(cell, refer, tops, beside=True)
        return {key: value.encode() for key, value in texts.items()} | files

    def unsaved(self) -> list[Work]:
        if self._opened != self.session.cells or self.session.replay is not None:
            return []
        cell = self.sim.cell
        changed = changes(self._saved, cell)
        if not changed:
            return []
        title = f"Cell {cell.name}: {', '.join(changed)}"
        try:
            files = {f"cell/{name}": one for name, one in self._cell_files(False).items()}
        except BrazoError:
            files = {}  # no file can describe one of its robots: it can only be discarded
        return [Work(title, files)]


def present_cell(sim: Simulation, from_current_state: bool = False) -> Cell:
    """Return the cell of a simulation, for saving, with the current contact response of its robots.

    If `from_current_state` is True, the current joint positions and body poses become the start
    state of the returned cell.
    """
    with sim.lock:
        robots, bodies = [], list(sim.cell.bodies)
        for given in sim.cell.robots:
            robot = replace(given, contact_response=sim.world.robots[given.name].contact_response)
            if from_current_state:
                q = np.clip(sim.robots[given.name].q, *given.model.limits.T)
                robot = replace(robot, start=frozen(q))
            robots.append(robot)
        if from_current_state:
            bodies = [replace(one, pose=frozen(sim.world.pose(one.name))) for one in bodies]
        return replace(sim.cell, robots=tuple(robots), bodies=tuple(bodies))


def changes(first: Cell, now: Cell) -> list[str]:
    """Describe the edits between two versions of a cell, e.g. `["table moved"]`.

    Edits of robot dimensions are not included.
    """
    old = {one.name: one for one in edits.elements(first)}
    new = {one.name: one for one in edits.elements(now)}
    found = [f"{name} added" for name in new if name not in old]
    found += [f"{name} deleted" for name in old if name not in new]
    for name, one in new.items():
        before = old.get(name, one)
        if before is one:
            continue
        if not np.array_equal(pose_of(one), pose_of(before)):
            found.append(f"{name} moved")
        elif not isinstance(one, CellRobot) or _edited(one, before):
            found.append(f"{name} edited")
    if first.name != now.name:
        found.append("name")
    if not np.array_equal(first.gravity, now.gravity):
        found.append("gravity")
    return found + ["time step"] * (first.step != now.step)


def _edited(robot: CellRobot, before: Element) -> bool:
    """Whether start pose, attachment or tools differ between two versions of a robot."""
    return not isinstance(before, CellRobot) or (
        robot.source.attachment is not before.source.attachment
        or not np.array_equal(robot.start, before.start)
        or robot.tcps is not before.tcps
        or robot.tcp != before.tcp
    )


def _names(cell: Cell) -> set[str]:
    return {one.name for one in edits.elements(cell)}


def _row(one: Element, chosen: bool) -> dict[str, Any]:
    """Row of an element in the tree, as sent to the page."""
    return {
        "id": one.name,
        "group": GROUPS[kind_of(one)],
        "icon": _icon(one),
        "about": _kind_text(one),
        "chosen": chosen,
        "parts": _carried(one),
    }


def _icon(one: Element) -> str:
    if isinstance(one, CellRobot):
        return "robot"
    if isinstance(one, Chute):
        return "chute"
    if kind_of(one) == "frame":
        return "axes"
    shape = _shape_name(one)
    return {"cylinder": "cylinder", "table": "desk", "bin": "bin"}.get(shape, "cube")


def _shape_name(one: Element) -> str:
    shape = getattr(one, "shape", None)
    return "parts" if shape is None else type(shape).__name__.removesuffix("Shape").lower()


def _carried(one: Element) -> list[str]:
    """Label of the gripper or tool at a robot's flange, as a list; empty if there is none."""
    if not isinstance(one, CellRobot):
        return []
    if isinstance(one.source.attachment, AttachedTool):
        return ["Tool"]
    return [] if one.model.gripper is None else ["Gripper"]


def _kind_text(one: Element) -> str:
    """Text for the user that describes the kind of an element, e.g. `free box, 0.2 kg`."""
    if isinstance(one, CellRobot):
        return f"robot {one.model.name}"
    if isinstance(one, FreeBody):
        return f"free {_shape_name(one)}, {one.mass:g} kg"
    if isinstance(one, Fixture):
        return f"fixed {_shape_name(one)}"
    return kind_of(one)


def _attachment_name(attachment: Attachment | None) -> str:
    if attachment is None:
        return "none"
    return "gripper" if isinstance(attachment, AttachedGripper) else "tool"


def _height(body: FreeBody) -> float:
    low, high = extent(body)
    return float(high[2] - low[2])
