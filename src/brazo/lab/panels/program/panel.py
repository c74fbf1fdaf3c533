"""Program panel: list of steps of each robot, run controls and a text editor.

The text is the program.  It is parsed when the editor loses focus; errors are shown with file and
line.  A run starts from the current state, or after a reset.
"""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brazo.errors import BrazoError
from brazo.lab.app.context import Context
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.program_run import GoOn, Rests, describe_run, program_in
from brazo.lab.app.unsaved import Work
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
from brazo.lab.panels.program.step_text import about, verb
from brazo.program import Execution, Program, parse_program, program_names
from brazo.program.program_file import find_program
from brazo.program.validate import validate
from brazo.simulation import Simulation
from brazo.world import cell_names

if TYPE_CHECKING:
    from brazo.lab.server.transfers import Upload

MOST_STEPS = 2000  # max number of listed steps of a robot
_LINE = re.compile(r":(\d+):|line (\d+)")


class ProgramPanel(Panel):
    """Editor and run controls of one program."""

    id, title, icon, side, order = "program", "Program", "program", "left", 30
    rate = 10.0
    scripts = ("panels/program/program.js",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sim: Simulation | None = None
        self._versions = count(1)
        self._name = ""  # of the file that was loaded; empty for a new program
        self._text = ""
        self._edited = False
        self._saved = ""  # text of the file last loaded or saved
        self._program: Program | None = None
        self._error = ""
        self._doubts = ""  # warnings about numbers that probably lack a unit
        self._steps: dict[str, list[Any]] = {}
        self._execution: Execution | None = None
        self._rests: Rests | None = None
        self.on("choose", self._choose, str)
        self.on("text", self._typed, str, still=True)
        self.on("run", self._run)
        self.on("again", self._again)
        self.on("pause", self._pause, still=True)
        self.on("go-on", lambda: self._go_on(False))
        self.on("step", self._step)
        self.on("end", self._end, still=True)
        self.on("open-cell", self._open_cell)
        self.on("save", self._save)
        self.on_upload("load", self._load, ".yaml", ".yml", most=1 << 20)

    # ---- the program -----------------------------------------------------------------------------

    def simulation_changed(self) -> None:
        if self._sim is not self.sim:
            self._sim, self._execution = self.sim, program_in(self.sim)
            if self._execution is not None:
                self._watch_rests(self._execution)
                self._show_program(self._execution.program)
            elif not self._edited:
                self._first()
        self._read()
        self.refresh()

    def _show_program(self, program: Program) -> None:
        """Show the text of a program that is already running."""
        path = program.path
        if path is not None and path.is_file():
            self._show(path.stem, path.read_text(encoding="utf-8"))
        else:
            self._show("", program.to_yaml())

    def _first(self) -> None:
        """Show the shipped program of this cell, or a template if there is none."""
        cell = self.sim.cell.name
        if cell in program_names():
            self._show(cell, find_program(cell).read_text(encoding="utf-8"))
            return
        robot = next(iter(self.sim.robots), None)
        lines = ["name: my program", "robots:"]
        if robot is not None:
            lines += [f"  {_plain(robot)}:", "    - move_joints: {to: start}", "    - wait: 0.5s"]
        self._show("", "\n".join(lines) + "\n")

    def _show(self, name: str, content: str) -> None:
        """Put the text of a file into the editor."""
        self._name, self._edited, self._saved = name, False, content
        self._set_text(content)

    def _set_text(self, content: str) -> None:
        """Replace the text that Run and Save use; every page shows it, valid or not."""
        self._text = content
        self.put({"text": {"version": next(self._versions), "text": content}})

    def _read(self) -> None:
        """Parse the text and validate the program against the cell."""
        self._program, self._error, self._doubts = None, "", ""
        path = Path(f"{self._name or 'program'}.yaml")
        try:
            program = parse_program(self._text, path)
            self._doubts = "\n".join(f"warning: {one}" for one in program.findings if one.slip)
            self._steps = dict(validate(program, self.sim))
            self._program = program
        except BrazoError as error:
            self._error = str(error)
            self._steps = {}
        found = _LINE.search(self._error)
        line = int(found[1] or found[2]) if found else 0
        self.put({"error": {"line": line, "text": self._error}})

    def _typed(self, content: str) -> None:
        self._edited = True
        self._set_text(content)
        self._execution = None if self._execution is None or self._over else self._execution
        before = list(self._steps)
        self._read()
        if list(self._steps) != before:
            self.refresh()
        self._put_steps()

    def _choose(self, name: str) -> None:
        self._must_rest()
        if name in program_names():
            self._replace(name, find_program(name).read_text(encoding="utf-8"))

    def _load(self, given: Upload) -> None:
        self._must_rest()
        self._replace(Path(given.name).stem, given.text())

    def _replace(self, name: str, content: str) -> None:
        """Replace the program; first offer to save an edited text."""

        def take() -> None:
            self._must_rest()
            self._show(name, content)
            self._execution = None
            self._read()
            self.refresh()
            self._put_steps()

        self.context.unsaved.ask(f"Loading {name} discards:", self.unsaved(), take)

    def _save(self) -> None:
        self.download(f"{self._name or 'program'}.yaml", self._text)
        self._saved = self._text

    def unsaved(self) -> list[Work]:
        found = []
        if self._execution is not None and not self._over:
            found.append(Work(describe_run(self._execution), {}))  # stops when its cell is closed
        if self._text != self._saved and self._text.strip():
            name = f"{self._name or 'program'}.yaml"
            found.append(Work(f"Program {name}, edited", {name: self._text}, kept=True))
        return found

    def _open_cell(self) -> None:
        wanted = self._wanted_cell()

        def open_it() -> None:
            edited, self._edited = self._edited, True  # keeps the text when the cell changes
            self.context.open(f"cell:{wanted}")
            self._edited = edited

        if wanted:
            self.context.unsaved.before_opening(wanted, open_it)

    def _wanted_cell(self) -> str:
        """Return the shipped cell that the program names, if it is not the open one; else ""."""
        found = re.search(r"^cell:[ \t]*(\S.*?)[ \t]*$", self._text, re.MULTILINE)
        name = found[1].strip("'\"") if found else ""
        return name if name in cell_names() and name != self.sim.cell.name else ""

    # ---- display ---------------------------------------------------------------------------------

    def refresh(self) -> None:
        super().refresh()
        self._put_steps()

    def html(self) -> str:
        other = self._wanted_cell()
        about_it = self._program.about if self._program is not None else ""
        return (
            section(
                "Run",
                row(
                    "Program",
                    select(
                        "name",
                        program_names(),
                        label="Program",
                        event="choose",
                        placeholder="Custom program",
                    ),
                ),
                note(about_it.split(". ")[0].split(": ")[0] + ".") if about_it else "",
                self._other_cell_html(other) if other else "",
                buttons(
                    button("Run", "run", look="primary", icon="play", enabled="may-run"),
                    button("Reset and run", "again", icon="restart", enabled="may-run"),
                ),
                buttons(
                    button("Pause", "pause", icon="pause", enabled="may-pause"),
                    button("Resume", "go-on", icon="play", enabled="may-go-on"),
                    button("Step", "step", icon="step", enabled="may-step"),
                    button("Stop", "end", icon="stop", enabled="under-way"),
                ),
                row("State", text("state", wide=True)),
                row("Steps done", text("share", "%")),
                '<brazo-text class="brazo-why" name="why"></brazo-text>',
                id="run",
            )
            + section(
                "Steps",
                *(self._steps_html(robot) for robot in self._steps),
                "" if self._steps else note("The text below is not a valid program for this cell."),
                id="steps",
            )
            + section(
                "Text",
                '<brazo-editor name="text" event="text" error="error" lines="lines" '
                'label="Program text"></brazo-editor>',
                '<brazo-text class="brazo-why" name="problem"></brazo-text>',
                note("Applied when the editor loses focus, or with Ctrl+Enter."),
                buttons(
                    button("Save", "save", icon="download"),
                    upload("Load…", "load", ".yaml", ".yml"),
                ),
                id="text",
            )
        )

    def _steps_html(self, robot: str) -> str:
        safe = escape(robot)
        return (
            f'<div class="brazo-robot-head"><span>{safe}</span>'
            f'<brazo-text name="status/{safe}"></brazo-text></div>'
            f'<brazo-steps name="steps/{safe}" at="at/{safe}" label="Steps of {safe}">'
            "</brazo-steps>"
        )

    def _other_cell_html(self, cell: str) -> str:
        return note(f"This program is for cell {cell}.") + buttons(
            button(f"Open {cell}", "open-cell", icon="folder")
        )

    def _put_steps(self) -> None:
        self.put(
            {
                f"steps/{robot}": [[verb(step), about(step)] for step in steps[:MOST_STEPS]]
                for robot, steps in self._steps.items()
            }
        )

    @property
    def _over(self) -> bool:
        return self._execution is None or self._execution.done

    def values(self) -> Values:
        execution = self._execution
        over = self._over
        paused = execution is not None and execution.paused and not over
        found: Values = {
            "name": self._name if self._name in program_names() and not self._edited else "",
            "may-run": over and self._program is not None,
            "may-pause": not over and not paused,
            "may-go-on": paused,
            "may-step": self._program is not None and (over or paused),
            "under-way": not over,
            "problem": "\n".join(filter(None, (self._error, self._doubts))),
            "state": self._state(execution, paused),
            "why": str(execution.failure) if execution is not None and execution.failure else "",
            "share": "0" if execution is None else f"{100.0 * execution.progress:.0f}",
        }
        states = {} if execution is None else execution.states
        lines = []
        for robot in self._steps:
            state = states.get(robot)
            if state is None:
                found[f"at/{robot}"] = {"index": 0, "status": ""}
                found[f"status/{robot}"] = f"{len(self._steps[robot])} steps"
                continue
            number = min(state.index + 1, state.count)
            status: str = state.status
            assert execution is not None
            if status != "done":
                status = "stopped" if execution.ended else "paused" if paused else status
            kind = status if status != "stopped" else "ended" if execution.ended else "failed"
            found[f"at/{robot}"] = {"index": state.index, "status": kind}
            found[f"status/{robot}"] = f"{status}, {number} of {state.count}"
            if state.place is not None and not over:
                lines.append(state.place.line)
        found["lines"] = lines
        return found

    def _state(self, execution: Execution | None, paused: bool) -> str:
        if execution is None:
            return "not started"
        goals = execution.reached
        done = sum(when is not None for when in goals.values())
        told = f", {done} of {len(goals)} goals" if goals else ""
        if execution.failed:
            return f"failed{told}"
        if execution.ended:
            return f"stopped by user{told}"
        if execution.done:
            when = execution.finished
            return f"done{told}" if when is None else f"done at {when:.2f} s{told}"
        return ("paused" if paused else "running") + told

    # ---- running ---------------------------------------------------------------------------------

    def _must_rest(self) -> None:
        if not self._over:
            raise BrazoError("the program is running: stop it first")

    def _run(self) -> None:
        self._must_rest()
        self._start()
        self.sim.player.play()

    def _start(self) -> Execution:
        self._read()
        if self._program is None:
            raise BrazoError(self._error)
        with self.sim.lock:
            self._execution = self._program.start(self.sim)
            self._watch_rests(self._execution)
        return self._execution

    def _watch_rests(self, execution: Execution) -> None:
        self._rests = Rests(execution)
        self.sim.add_task(self._rests)

    def _again(self) -> None:
        self._must_rest()
        self.context.each_panel(lambda panel: panel.run_again())
        self.context.clock.reset()
        self._run()

    def _pause(self) -> None:
        if self._execution is not None:
            self._execution.pause()

    def _step(self) -> None:
        if self._over:
            with self.sim.lock:
                self._start().step()
        else:
            self._go_on(True)
        self.sim.player.play()

    def _go_on(self, once: bool) -> None:
        execution, sim = self._execution, self.sim
        if execution is None or execution.done:
            raise BrazoError("no program is running")

        def failed(why: str) -> None:
            self.context.post(lambda: self.say(f"cannot resume: {why}", "error"))

        self._bring_back()
        with sim.lock:
            for task in sim.tasks:
                if isinstance(task, GoOn) and task.execution is execution:
                    sim.remove_task(task)
            sim.add_task(GoOn(execution, once, failed))
        if not once:
            sim.player.play()

    def _bring_back(self) -> None:
        """Move robots that were moved during a pause back to where the program stopped them."""
        sim = self.sim
        with sim.lock:
            away = {} if self._rests is None else self._rests.away(sim)
        for name, q in away.items():
            self.context.mover.go_to(sim.robot(name), q)
        if away:
            verb = "moves" if len(away) == 1 else "move"
            self.say(f"{' and '.join(away)} first {verb} back to where the program stopped")

    def _end(self) -> None:
        if self._execution is not None:
            with self.sim.lock:
                self._execution.stop()

    def reset(self) -> None:
        self._execution = None  # the reset removed the task


def _plain(name: str) -> str:
    """Return a name as a YAML key, quoted if necessary."""
    return name if re.fullmatch(r"[A-Za-z_][\w-]*", name) else f'"{name}"'
