"""Equations panel: symbolic or numeric equations of motion of the selected robot, and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.unsaved import packed
from brazo.lab.panels.common.choice import robot_choice
from brazo.lab.panels.common.html import button, buttons, note, row, segments, select, text
from brazo.lab.panels.equations.derivation import EXPORTS, Sheet, derive

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job

PARAMETERS = {"symbolic": "Symbolic", "numeric": "Numeric"}
FORMS = {
    "auto": "automatic",
    "expanded": "expanded",
    "recursive": "recursive, with shared terms",
}
TITLES = {"latex": "LaTeX", "c": "C", "python": "Python", "octave": "Octave"}


class EquationsPanel(Panel):
    """Panel with the equations of motion (M, C and G) of the selected robot."""

    id, title, icon, side, order = "equations", "Equations", "fx", "right", 60
    rate = 4.0
    scripts = ("panels/equations/equations.js",)

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self.parameters, self.form = "symbolic", "auto"
        self._sheets: dict[tuple[str, ...], tuple[Any, Sheet]] = {}  # with their models
        self._job: Job | None = None
        self.on("robot", context.session.select, str)
        self.on_setting("parameters", "parameters", PARAMETERS)
        self.on_setting("form", "form", FORMS)
        self.on("derive", self._derive)
        self.on("export", self._export, str)

    def html(self) -> str:
        robots = list(self.sim.robots)
        if not robots:
            return note("There is no robot in this cell.")
        return "".join(
            [
                robot_choice(robots),
                row("Constants", segments("parameters", PARAMETERS, label="Constants")),
                row("Form", select("form", FORMS, label="Form")),
                buttons(button("Derive", "derive", look="primary", icon="fx", enabled="free")),
                buttons(
                    *(
                        button(title, "export", name, title=f"Save as {title}", enabled="derived")
                        for name, title in TITLES.items()
                    )
                ),
                f'<p class="brazo-note">{text("state", wide=True)}</p>',
                '<brazo-sheet name="sheet"></brazo-sheet>',
            ]
        )

    def values(self) -> Values:
        if not self.sim.robots:
            return {}
        sheet = self._sheet()
        running = self._job is not None and self._job.state == "running"
        if self._job is not None and self._job.state == "done":
            self.context.jobs.cancel(self._job.number)  # the sheet shows its result
            self._job = None
        return {
            "robot": self.session.robot.name,
            "parameters": self.parameters,
            "form": self.form,
            "free": not running,
            "derived": sheet is not None,
            "sheet": "" if sheet is None else sheet.html,
            "state": "" if sheet is not None else self._advice(running),
        }

    def _advice(self, running: bool) -> str:
        if running:
            return "Derivation running. It can be cancelled in the list of jobs."
        if any(key[0] == self.session.robot.name for key in self._sheets):
            return "The robot or the options changed: derive again."
        return "Press Derive to derive the equations of motion (Lagrange–Euler)."

    def selection_changed(self) -> None:
        self.refresh()

    # ---- internal --------------------------------------------------------------------------

    def _key(self) -> tuple[str, ...]:
        return (self.session.robot.name, self.parameters, self.form)

    def _sheet(self) -> Sheet | None:
        """Derived equations for the current model and options; None if not derived yet."""
        model, sheet = self._sheets.get(self._key(), (None, None))
        return sheet if model is self.session.robot.arm.model else None

    def _derive(self) -> None:
        if self._job is not None and self._job.state == "running":
            raise BrazoError("a derivation is already running: wait, or cancel it first")
        robot, key = self.session.robot, self._key()
        model = robot.arm.model
        arguments = (model.without_solids(), self.parameters, self.form)

        def done(sheet: Sheet) -> None:
            self._sheets = {k: v for k, v in self._sheets.items() if v[0] is model}
            self._sheets[key] = (model, sheet)

        title = f"Equations of {robot.name}"
        self._job = self.context.jobs.start_process(title, derive, arguments, done)

    def _export(self, which: str) -> None:
        sheet = self._sheet()
        if sheet is None:
            raise BrazoError("no equations to export: press Derive first")
        if which not in EXPORTS:
            return
        files = sheet.files[which]
        if len(files) == 1:
            self.download(*next(iter(files.items())))
        else:
            first = next(iter(files)).partition(".")[0].partition("_")[0]
            self.download(f"{first}-{which}.zip", packed(files))
