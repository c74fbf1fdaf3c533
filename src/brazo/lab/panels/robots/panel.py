"""Robots panel: open shipped or imported robots and cells, and add robots to the open cell.

Files are parsed as everywhere in `brazo`.  Errors are shown with file and line, until they are
dismissed or something else is opened.
"""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.document import read_document
from brazo.formats.library import robot_directory
from brazo.kinematics.orientation import rpy_from_matrix
from brazo.lab.app.context import Context
from brazo.lab.app.imported_files import TAKEN, ImportedFiles
from brazo.lab.app.opening import CELL, ROBOT, all_mistakes, choices, is_cell_file, require_idle
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.unsaved import Work, packed
from brazo.lab.panels.common.html import (
    button,
    buttons,
    column,
    note,
    number,
    row,
    section,
    select,
    table,
    toggle,
    upload,
)
from brazo.lab.panels.robots import cell_editing
from brazo.lab.server.transfers import Upload
from brazo.world.cell_file import cell_directory
from brazo.world.cell_writer import cell_files
from brazo.world.robot_source import RobotSource

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job

OWN = "file:"  # prefix of the id of an imported file
PLACES = ("x", "y", "z", "yaw")
FINDINGS = 12  # max number of listed warnings or errors


class RobotsPanel(Panel):
    """Robots of the cell, and robots and cells that can be opened."""

    id, title, icon, side, order = "robots", "Robots and cells", "robot", "left", 50
    rate = 4.0
    scripts = ("panels/robots/robots.js",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._imported = ImportedFiles()
        self._problem = ""
        self._job: Job | None = None
        self._opening = threading.Lock()
        self._chosen = ""  # id of the robot to add
        self._place = np.zeros(4)  # x, y, z in m, yaw in rad
        self._opened = 0  # value of `session.cells` for which `_saved` is valid
        self._saved = self.session.shown.cell  # cell as last opened or saved
        self._standing = False  # whether a saved cell starts from the current state
        self.on("open", self._open, str)
        self.on("dismiss", self._dismiss)
        self.on_upload("bring", self._bring, *TAKEN)
        self.on("choose", self._choose, str)
        for i, name in enumerate(PLACES):
            unit = "deg" if name == "yaw" else "mm"
            self.on_number(f"place-{name}", lambda v, i=i: self._set_place(i, v), unit=unit)
            self.on_number(f"base-{name}", self._base_setter(i), str, unit=unit)
        self.on("place", self._place_robot)
        self.on("remove", self._remove, str)
        self.on("as-it-stands", self._set_standing, bool)
        self.on("save", self._save)

    def simulation_changed(self) -> None:
        if self._opened != self.session.cells:
            self._opened, self._saved = self.session.cells, self.sim.cell
        self.put({"slips": self._slips()})
        self.refresh()

    def closed(self) -> None:
        self._imported.close()

    # ---- display ---------------------------------------------------------------------------

    def html(self) -> str:
        standing = [
            column("name", "Robot"),
            *(column(n, n, unit="mm", digits=0, event=f"base-{n}") for n in PLACES[:3]),
            column("yaw", "yaw", unit="°", digits=1, event="base-yaw"),
            column("", "✕", event="remove", kind="button"),
        ]
        fields = [
            number(
                f"place/{name}",
                "°" if name == "yaw" else "mm",
                label=f"Place {name}",
                event=f"place-{name}",
                digits=1 if name == "yaw" else 0,
            )
            for name in PLACES
        ]
        named = [
            f'<span class="name">{name}</span>{one}'
            for name, one in zip(PLACES, fields, strict=True)
        ]
        return "".join(
            [
                '<brazo-problem name="problem" event="dismiss"></brazo-problem>',
                section(
                    "Your files",
                    upload("Import robot or cell…", "bring", *TAKEN),
                    note(
                        "YAML, URDF, xacro or MJCF; click or drop. Meshes (STL, OBJ, glTF, "
                        "COLLADA) first, or everything in one .zip."
                    ),
                    '<brazo-openings name="own" event="open"></brazo-openings>',
                ),
                section(
                    "In this cell",
                    table("standing", standing, label="Robots in this cell"),
                    '<div class="robots-place">',
                    row(
                        "Add robot",
                        select(
                            "chosen",
                            label="Robot to add",
                            event="choose",
                            placeholder="Choose a robot…",
                            options_from="placeable",
                        ),
                    ),
                    f'<div class="robots-fields">{"".join(named)}</div>',
                    buttons(button("Add", "place", look="primary", icon="plus", enabled="chosen")),
                    "</div>",
                ),
                section(
                    "Save this cell",
                    toggle(
                        "as-it-stands",
                        "Start from the current state",
                        title="Otherwise robots and bodies keep the start of the cell.",
                    ),
                    buttons(button("Save cell", "save", icon="download")),
                    note(
                        "A cell file (YAML); robots with edits other than parameters are saved in "
                        "files beside it, in one .zip."
                    ),
                    id="save",
                ),
                section("Cells", '<brazo-openings name="cells" event="open"></brazo-openings>'),
                section("Robots", '<brazo-openings name="robots" event="open"></brazo-openings>'),
                section(
                    "Warnings",
                    '<brazo-findings name="findings"></brazo-findings>',
                    open=False,
                ),
            ]
        )

    def values(self) -> Values:
        if self._job is not None and self._job.state == "done":
            self.context.jobs.cancel(self._job.number)  # its result is visible
            self._job = None
        source = self.context.channel.get("source")
        shipped = _shipped()
        return {
            "problem": self._problem,
            "own": [
                {"id": f"{OWN}{n}", "name": n, "about": "", "now": self._is_open(n)}
                for n in self._imported.descriptions
            ],
            "cells": [{**one, "now": one["id"] == source} for one in shipped["cells"]],
            "robots": [{**one, "now": one["id"] == source} for one in shipped["robots"]],
            "standing": [_standing(one) for one in self.sim.cell.robots],
            "chosen": self._chosen,
            "as-it-stands": self._standing,
            "placeable": self._placeable(),
            "findings": self._findings(),
            **{f"place/{n}": v for n, v in zip(PLACES, _shown(self._place), strict=True)},
        }

    def _placeable(self) -> list[list[str]]:
        own = [[f"{OWN}{n}", n] for n in self._imported.descriptions]
        return own + [[f"{ROBOT}{n}", n] for n in choices()["robots"]]

    def _is_open(self, name: str) -> bool:
        return self.sim.cell.path == self._imported.path(name)

    def _findings(self) -> list[str]:
        return _some([self._imported.shown(one) for one in self.sim.findings])

    def _slips(self) -> str:
        """Warning about numbers that are probably in mm or degrees instead of SI; else empty."""
        slips = dict.fromkeys(str(one) for one in self.sim.world.findings if one.slip)
        if not slips:
            return ""
        first = self._imported.shown(next(iter(slips)))
        more = f" ({len(slips) - 1} more under Robots and cells, Warnings)"
        return first + (more if len(slips) > 1 else "")

    # ---- opening ---------------------------------------------------------------------------

    def _open(self, name: str) -> None:
        """Open a shipped cell or robot, or an imported file; other names are ignored.

        A page must not be able to open other files of the computer.
        """
        shipped = {one["id"] for group in _shipped().values() for one in group}
        if name in shipped:
            self._start(name.partition(":")[2], name)
        elif name.startswith(OWN):
            self._start(name.removeprefix(OWN), self._imported.path(name.removeprefix(OWN)))

    def _start(self, title: str, source: Any) -> None:
        if self._job is not None:
            self.context.jobs.cancel(self._job.number)  # only the last request counts
        self._problem = ""
        open_it, imported = self.context.open, self._imported

        def work(job: Job) -> str:
            with self._opening:  # one at a time; jobs that were replaced meanwhile stop here
                job.check()
                try:
                    open_it(source, job.settle, title)
                except BrazoError as error:
                    given = isinstance(source, Path)
                    told = all_mistakes(source, error) if given else [str(error)]
                    return imported.shown("\n".join(_some(told)))
            return ""

        def done(problem: str) -> None:
            if self._job is job:
                self._problem = problem

        self._job = job = self.context.jobs.start(f"Open {title}", work, done)

    def _bring(self, upload: Upload) -> None:
        self._problem = ""
        try:
            found = self._imported.take(upload)
        except BrazoError as error:
            self._problem = self._imported.shown(error)
            return
        if not found:
            self.say(f"{upload.name} imported; now import the robot file that uses it")
        elif len(found) == 1:
            self._start(found[0], self._imported.path(found[0]))
        else:
            self.say(f"{upload.name}: {len(found)} robot or cell files imported; choose one")

    def _dismiss(self) -> None:
        self._problem = ""

    # ---- placing ---------------------------------------------------------------------------

    def _choose(self, name: str) -> None:
        if name in (one[0] for one in self._placeable()):
            source = self._source_of(name)
            self._chosen = name
            base = cell_editing.free_place(self.sim.cell, source)
            self._place = np.array([*base[:3, 3], 0.0])

    def _source_of(self, name: str) -> RobotSource:
        if not name.startswith(OWN):
            return RobotSource.load(name.removeprefix(ROBOT))
        path = self._imported.path(name.removeprefix(OWN))
        try:
            if is_cell_file(path):
                raise BrazoError(f"{path}: a cell, not a robot: open it")
            return RobotSource.load(path)
        except BrazoError as error:
            raise BrazoError(self._imported.shown(error)) from None

    def _set_place(self, i: int, value: float) -> None:
        self._place = self._place.copy()
        self._place[i] = value

    def _place_robot(self) -> None:
        if not self._chosen:
            raise BrazoError("choose a robot to add first")
        require_idle(self.sim)
        base = np.eye(4)
        for part, value in zip((0, 1, 2, 5), self._place, strict=True):
            base = cell_editing.moved(base, part, float(value))
        source = self._source_of(self._chosen)
        cell, name = cell_editing.with_robot(self.sim.cell, source, base)
        sim = cell_editing.carried_over(self.sim, cell)
        blocked = cell_editing.in_the_way(sim, name)
        if blocked:
            sim.player.close()
            raise BrazoError(f"{name} would overlap {blocked}: choose another position")
        self._go_on(sim, name)

    def _remove(self, name: str) -> None:
        unsaved = self.context.unsaved
        lost = [one for one in unsaved.work() if one.robot == name]
        unsaved.ask(f"Removing {name} discards:", lost, lambda: self._take_away(name))

    def _take_away(self, name: str) -> None:
        require_idle(self.sim)
        cell = cell_editing.without_robot(self.sim.cell, name)
        sim = cell_editing.carried_over(self.sim, cell)
        self._go_on(sim, cell.robots[0].name)

    def _go_on(self, sim: Any, selected: str) -> None:
        self.session.replace(sim, selected)
        self.context.channel.put({"robots": list(sim.robots)})
        self.session.select(selected)

    # ---- saving ----------------------------------------------------------------------------

    def _set_standing(self, on: bool) -> None:
        self._standing = on

    def _save(self) -> None:
        files = self._cell_files(self._standing)
        name, content = next(iter(files.items()))
        self._saved = self.sim.cell
        self.context.each_panel(lambda panel: panel.cell_saved())
        if len(files) == 1:
            self.download(name, content)
            return
        self.download(f"{Path(name).stem}.zip", packed(files))
        self.say(f"{name} and its robot files are in one archive: keep them together")

    def _cell_files(self, standing: bool) -> dict[str, bytes]:
        """Return the contents of the cell file, first, and of the files it refers to, by name."""
        cell = cell_editing.present_cell(self.sim, standing)
        imported = self._imported
        files: dict[str, bytes] = {}

        def refer(path: Path) -> str:
            # An imported file is saved with the cell, together with all other imported files.
            inside = imported.name_of(path)
            if inside is None:
                return path.resolve().as_posix()
            files.update(imported.contents())
            return inside

        texts = cell_files(cell, refer)
        if files:  # write again, with the names of the imported files reserved
            tops = {PurePosixPath(key).parts[0] for key in files}
            texts = cell_files(cell, refer, tops)
        return {key: value.encode() for key, value in texts.items()} | files

    def unsaved(self) -> list[Work]:
        if self._opened != self.session.cells or self.session.replay is not None:
            return []
        cell = self.sim.cell
        changed = cell_editing.changes(self._saved, cell)
        if not changed:
            return []
        title = f"Cell {cell.name}: {', '.join(changed)}"
        files = {f"cell/{name}": one for name, one in self._cell_files(False).items()}
        return [Work(title, files)]

    def _base_setter(self, i: int) -> Any:
        part = (0, 1, 2, 5)[i]

        def set_base(name: str, value: float) -> None:
            robot = self.sim.robot(name)
            base = cell_editing.moved(robot.base, part, value)
            self.sim.edit(name, base=base)
            self.session.edited()

        return set_base


@lru_cache(maxsize=1)
def _shipped() -> dict[str, list[dict[str, Any]]]:
    """Shipped cells and robots, with the descriptions from their files."""

    def listed(prefix: str, names: list[str], folder: Any) -> list[dict[str, Any]]:
        found = []
        for name in names:
            fields = read_document(folder / f"{name}.yaml").mapping()
            about = " ".join(fields["about"].text().split()) if "about" in fields else ""
            found.append({"id": f"{prefix}{name}", "name": name, "about": _sentence(about)})
        return found

    named = choices()
    return {
        "cells": listed(CELL, named["cells"], cell_directory()),
        "robots": listed(ROBOT, named["robots"], robot_directory()),
    }


def _sentence(text: str) -> str:
    """First sentence, or clause, of a text."""
    for end in (". ", ": ", "; "):
        text = text.partition(end)[0]
    return text.rstrip(".")


def _standing(robot: Any) -> dict[str, Any]:
    yaw = float(rpy_from_matrix(robot.base[:3, :3])[2])
    place = _shown(np.array([*robot.base[:3, 3], yaw]))
    return {"id": robot.name, "name": robot.name, **dict(zip(PLACES, place, strict=True))}


def _shown(place: np.ndarray) -> list[float]:
    return [*(1000.0 * place[:3]).tolist(), math.degrees(place[3])]


def _some(lines: list[str]) -> list[str]:
    """Return at most `FINDINGS` lines, and the number of the others."""
    more = len(lines) - FINDINGS
    return lines[:FINDINGS] + ([f"and {more} more"] if more > 0 else [])
