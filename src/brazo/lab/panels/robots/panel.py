"""Robots panel: open shipped or imported robots and cells.

Errors in files are shown with file and line, until the user dismisses them or opens another file.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brazo.body.meshes import SUFFIXES
from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.imported_files import TAKEN
from brazo.lab.app.opening import all_mistakes
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.shipped import shipped
from brazo.lab.panels.common.html import (
    note,
    section,
    upload,
)
from brazo.lab.panels.robots.cad_section import CadSection
from brazo.lab.server.transfers import Upload

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job

OWN = "file:"  # prefix of the id of an imported file
FINDINGS = 12  # max number of listed warnings or errors


class RobotsPanel(Panel):
    """Panel that imports files, and opens shipped and imported robots and cells."""

    id, title, icon, side, order = "robots", "Robots and cells", "robot", "left", 50
    tab = "Robots"
    rate = 4.0
    needs_robot = False
    scripts = ("panels/robots/robots.js",)

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._imported = context.imported
        self._problem = ""
        self._job: Job | None = None
        self._opening = threading.Lock()
        self.on("open", self._open, str)
        self.on("dismiss", self._dismiss)
        self.on_upload("bring", self._bring, *TAKEN)
        self._cad = CadSection(context, self._open_imported, self._set_problem)
        for event, (handler, kind) in self._cad.handlers().items():
            self.on(event, handler, kind)
        self.on_number("cad-density", self._cad.set_density)
        self.on_number("cad-mass", self._cad.set_mass)
        self.on_upload("cad", self._cad.start, *SUFFIXES)

    def simulation_changed(self) -> None:
        self.put({"slips": self._slips()})
        self.refresh()

    # ---- display ---------------------------------------------------------------------------

    def html(self) -> str:
        return "".join(
            [
                '<brazo-problem name="problem" event="dismiss"></brazo-problem>',
                section(
                    "Your files",
                    upload("Import robot or cell…", "bring", *TAKEN),
                    note(
                        "YAML, URDF, xacro or MJCF, by click or drag and drop. Import meshes (STL, "
                        "OBJ, glTF, COLLADA, VRML, STEP) first, or all files in one .zip."
                    ),
                    '<brazo-openings name="own" event="open"></brazo-openings>',
                ),
                self._cad.html(),
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
        return {
            "problem": self._problem,
            "own": [
                {"id": f"{OWN}{n}", "name": n, "about": "", "now": self._is_open(n)}
                for n in self._imported.descriptions
            ],
            "cells": [{**one, "now": one["id"] == source} for one in shipped()["cells"]],
            "robots": [{**one, "now": one["id"] == source} for one in shipped()["robots"]],
            "findings": self._findings(),
            **self._cad.values(),
        }

    def _is_open(self, name: str) -> bool:
        return self.sim.cell.path == self._imported.path(name)

    def _findings(self) -> list[str]:
        return _some([self._imported.shown(one) for one in self.sim.findings])

    def _slips(self) -> str:
        """Warning about numbers in the opened files that are probably in mm or degrees, not SI.

        Empty if there are none.
        """
        slips = dict.fromkeys(str(one) for one in self.sim.world.findings if one.slip)
        if not slips:
            return ""
        first = self._imported.shown(next(iter(slips)))
        more = f" ({len(slips) - 1} more under Robots and cells, Warnings)"
        return first + (more if len(slips) > 1 else "")

    # ---- opening ---------------------------------------------------------------------------

    def _open(self, name: str) -> None:
        """Open a shipped cell or robot, or an imported file.

        Other names are ignored: a page must not be able to open arbitrary files of the computer.
        """
        if name in {one["id"] for kind in ("cells", "robots") for one in shipped()[kind]}:
            self._start(name.partition(":")[2], name)
        elif name.startswith(OWN):
            self._start(name.removeprefix(OWN), self._imported.path(name.removeprefix(OWN)))

    def _start(self, title: str, source: Any) -> None:
        if self._job is not None:
            self.context.jobs.cancel(self._job.number)  # only the last request counts
        self._problem = ""
        open_it, imported = self.context.open, self._imported

        def work(job: Job) -> str:
            with self._opening:  # one at a time; jobs that have been replaced stop here
                job.check()
                try:
                    open_it(source, job.settle, title)
                except BrazoError as error:
                    given = isinstance(source, Path)
                    mistakes = all_mistakes(source, error) if given else [str(error)]
                    return imported.shown("\n".join(_some(mistakes)))
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
            self.say(f"{upload.name} imported. Now import the robot file that uses it.")
        elif len(found) == 1:
            self._start(found[0], self._imported.path(found[0]))
        else:
            self.say(f"{upload.name}: {len(found)} robot or cell files imported. Choose one.")

    def _open_imported(self, name: str) -> None:
        self._start(name, self._imported.path(name))

    def _set_problem(self, text: str) -> None:
        self._problem = text

    def _dismiss(self) -> None:
        self._problem = ""


def _some(lines: list[str]) -> list[str]:
    """Return the first `FINDINGS` lines, and a line "and N more" if there are more."""
    more = len(lines) - FINDINGS
    return lines[:FINDINGS] + ([f"and {more} more"] if more > 0 else [])
