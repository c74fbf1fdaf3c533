"""Program panel: edits a program with buttons or as text, and runs it.

Buttons edit the steps in the text (`brazo.lab.panels.program.builder`).  Typed text is parsed when
the editor loses focus or on Ctrl+Enter.  Errors are shown at their steps and lines.  A run starts
from the current state, after a reset, or at a selected step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.panel import Panel, Values
from brazo.lab.app.point_program import through
from brazo.lab.app.program_run import describe_run, program_in
from brazo.lab.app.unsaved import Work
from brazo.lab.panels.common.html import section
from brazo.lab.panels.program.builder import Builder, Selected
from brazo.lab.panels.program.completion import completion
from brazo.lab.panels.program.edited_program import EditedProgram, State
from brazo.lab.panels.program.form import fields_of
from brazo.lab.panels.program.layout import (
    builder_html,
    form_html,
    run_html,
    text_html,
    tracks_html,
)
from brazo.lab.panels.program.point_names import renamed, with_points_block
from brazo.lab.panels.program.previews import DryRun, Previews
from brazo.lab.panels.program.run_control import RunControl
from brazo.lab.panels.program.step_text import about, verb
from brazo.lab.panels.program.stored_programs import StoredPrograms
from brazo.lab.server.channel import Typed
from brazo.program import Execution, Program, load_program, program_names
from brazo.program import steps as s
from brazo.program.element_names import with_element_renamed
from brazo.program.frames import frame_names
from brazo.program.program_file import find_program
from brazo.program.step_paths import StepPath, outline
from brazo.project.folder import Project
from brazo.simulation import Simulation
from brazo.world import cell_names
from brazo.world.cell_writer import file_name

if TYPE_CHECKING:
    from brazo.lab.server.transfers import Upload

MOST_STEPS = 2000  # max number of listed steps of a robot
NEW = "name: my program\nrobots: {}\n"


class ProgramPanel(Panel):
    """Panel with the editor and the run controls of one program."""

    id, title, icon, side, order = "program", "Program", "program", "left", 30
    rate = 10.0
    scripts = ("panels/program/program.js",)

    def __init__(self, context: PanelContext) -> None:
        super().__init__(context)
        self._sim: Simulation | None = None
        self._versions = count(1)
        self.document = EditedProgram()
        self.control = RunControl(context, self.say)
        self._stored = StoredPrograms(context.saving)
        self._opened = -1  # value of `session.cells` for which the text was chosen
        self._renames: dict[tuple[str, str], tuple[str, str]] = {}  # texts before and after
        self._builder = Builder(context, self)
        self._previews = Previews(context, self._previewed)
        self._dry_run = DryRun(context, self._put_steps)
        self._ghost: Selected | None = None  # step whose target is drawn
        self._hovered: Selected | None = None
        context.points.on_change(self._points_changed)
        context.points.on_rename(self._point_renamed)
        context.session.on_rename(self._elements_renamed, every=True)
        self.on("choose", self._choose, str)
        self.on("text", self._typed, str, still=True)
        self.on("run", self._run)
        self.on("again", self._again)
        self.on("pause", self.control.pause, still=True)
        self.on("go-on", lambda: self.control.go_on(False))
        self.on("step", self._step)
        self.on("end", self.control.end, still=True)
        self.on("open-cell", self._open_cell)
        self.on("open", self._open_shipped, str)
        self.on("save", self._save)
        self.on("from-points", self._from_points)
        self.on("new", self._new)
        self.on("robot", context.session.select, str)
        self.on("add", self._edit(self._builder.add), str)
        self.on("pick", self._pick, str, list, still=True)
        self.on("hover", self._hover, str, list, still=True, passive=True)
        self.on("hover-end", self._hover_end, still=True, passive=True)
        self.on("field", self._edit(self._builder.set_field), str, Typed)
        self.on("move", self._edit(self._builder.move), str, list, list, str)
        self.on("shift", self._edit(self._builder.shift), int)
        self.on("delete", self._edit(self._builder.delete))
        self.on("duplicate", self._edit(self._builder.duplicate))
        self.on("touch-up", self._edit(self._builder.touch_up))
        self.on("arc-point", self._edit(self._builder.set_arc_point), int)
        self.on("teach-in", self._set_teach_in, str)
        self.on("break", self._toggle_break, str, list, still=True)
        self.on("from-here", self._from_here)
        self.on("dry-run", self._start_dry_run)
        self.on_upload("load", self._load, ".yaml", ".yml", most=1 << 20)

    # ---- the program -----------------------------------------------------------------------------

    def simulation_changed(self) -> None:
        if self._sim is not self.sim:
            other, self._opened = self._opened != self.session.cells, self.session.cells
            self._sim = self.sim
            execution = self.control.find()
            if other:
                self._stored.opened()
            if execution is not None:
                self._show_program(execution.program)
            elif other and not self.document.edited:
                self._first()
        self._read()
        self.refresh()

    def _show_program(self, program: Program) -> None:
        """Show the text of an already running program in the editor."""
        path = program.path
        if path is not None and path.is_file():
            self._show(path.stem, path.read_text(encoding="utf-8"), path.parent)
        else:
            self._show("", program.to_yaml())

    def _first(self) -> None:
        """Load the shipped program of this cell, or an empty program if there is none."""
        cell = self.sim.cell.name
        if cell in program_names():
            self._show(cell, find_program(cell).read_text(encoding="utf-8"))
            return
        self._show("", NEW)

    def _show(self, name: str, content: str, folder: Path | None = None) -> None:
        """Load the text of a program into the editor; `folder` is the folder of its file."""
        self.document.load(name, content, folder)
        self._put_text()

    def _set_text(self, content: str) -> None:
        """Replace the program text in the editors of all pages, even if it is invalid."""
        self.document.text = content
        self._put_text()

    def _put_text(self) -> None:
        self.put({"text": {"version": next(self._versions), "text": self.document.text}})

    def _read(self) -> None:
        """Parse and validate the program text again, and show its errors."""
        document = self.document
        document.read(self.sim, self.context.points.lists(), self._stored.folder)
        self._dry_run.forget()
        self.put({"error": {"line": document.error_line, "lines": document.errors_by_line()}})
        if document.source is not None:
            self._previews.request(document.flat, self.sim, document.speed)
        self._builder.forget_missing()
        self._put_completion()

    # ---- for the builder: see `brazo.lab.panels.program.builder.Edited` -------------------------

    @property
    def text(self) -> str:
        """The program text."""
        return self.document.text

    @property
    def source(self) -> Program | None:
        """The parsed program; None while the text cannot be parsed."""
        return self.document.source

    def own_points(self, robot: str) -> Collection[str]:
        """Names of the robot's points that are defined in the program text."""
        return self.document.own.get(robot, ())

    def state(self) -> State:
        """State for undo: name and text of the program, and whether the text was edited."""
        return self.document.state

    def restore_state(self, state: State) -> None:
        """Restore the program from a value that `state` returned."""
        self._restore_text(state)

    def take_text(self, text: str) -> None:
        """Replace the program text."""
        self._take_text(text)

    def reached(self, at: Selected) -> np.ndarray | None:
        """Joint values (n,) of the robot after the step `at`; None if unknown."""
        index = self.document.index(at.robot, at.path)
        return None if index is None else self._previews.target(at.robot, index)

    def _edit(self, change: Callable[..., None]) -> Callable[..., None]:
        """Return an event handler that calls `change` to edit the steps.

        The handler raises `BrazoError` while the program is running or paused.
        """

        def handle(*given: Any) -> None:
            self.control.require_over()
            change(*given)
            self.control.forget()
            self._show_ghost()

        return handle

    def _pick(self, robot: str, path: list[Any]) -> None:
        self._builder.select(robot, path)
        self._show_ghost()

    def _hover(self, robot: str, path: list[Any]) -> None:
        self._hovered = Selected(robot, tuple(path))
        self._show_ghost()

    def _hover_end(self) -> None:
        self._hovered = None
        self._show_ghost()

    def _previewed(self) -> None:
        self._show_ghost()
        self._put_steps()

    def _show_ghost(self) -> None:
        """Draw the target of the step under the pointer, or else of the selected step.

        The target is drawn only while the panel is visible and no program runs.
        """
        ghost = self.context.scene.target
        at = self._hovered or self._builder.selected
        q = None if at is None or not self.control.over else self.reached(at)
        if at is None or q is None or not self._visible:
            if self._ghost is not None:
                ghost.hide()
            self._ghost = None
            return
        robot = self.sim.robots[at.robot]
        ghost.show(robot.arm, robot.base, q)
        self._ghost = at

    @property
    def _visible(self) -> bool:
        return any(self.id in page.shown for page in self.context.channel.pages)

    def _set_teach_in(self, frame: str) -> None:
        if not frame or frame in self._frames():
            self._builder.teach_in = frame

    def _frames(self) -> list[str]:
        """Names of the frames in which a pose can be taught."""
        return [name for name in frame_names(self.sim) if name != "tool"]

    def _put_completion(self) -> None:
        self.put({"completion": completion(self.sim, self.context.points.lists())})

    def _new(self) -> None:
        """Add an empty program to the project and open it in the editor."""
        self.control.require_over()
        name = self._stored.new_name(self.document.name)
        self._replace(name, NEW, edited=True)

    def _typed(self, content: str) -> None:
        self.context.history.record(
            f"edit program {self.document.name}".strip(),
            lambda: self._take_text(content),
            self.state,
            self._restore_text,
        )

    def _restore_text(self, state: State) -> None:
        self.document.name, content, edited = state
        self._take_text(content)
        self.document.edited = edited

    def _take_text(self, content: str) -> None:
        self.document.edited = True
        self._set_text(content)
        if self.control.over:
            self.control.forget()
        before = self._tracks()
        self._read()
        if self._tracks() != before:
            self.refresh()
        self._put_steps()

    def _choose(self, name: str) -> None:
        self.control.require_over()
        if name in self._stored.names():
            self.context.saving.save()
            self._replace(name, self._stored.text(name))

    def kept(self) -> Mapping[str, str]:
        document, saving = self.document, self.context.saving
        if not document.name and not document.edited:
            saving.program = ""
            return {}
        saving.program = file_name(document.name or "program")
        return self._stored.files(document.name, document.text)

    def restore(self, project: Project) -> None:
        name = project.head.program
        if program_in(self.sim) is not None:
            return
        if name in self._stored.names():
            self._show(name, self._stored.text(name))
        else:
            self._first()
        self._read()
        self.refresh()

    def _points_changed(self, _robot: str) -> None:
        if self._sim is self.session.shown:
            self._read()
            self._put_steps()

    def _point_renamed(self, robot: str, old: str, new: str) -> None:
        """Update the program text after a point of the project was renamed."""
        if self.document.program is None or self._sim is not self.session.shown:
            return
        if old in self.own_points(robot):
            return  # the steps mean the point in the text
        content = renamed(self.document.text, self.document.program.steps.get(robot, ()), old, new)
        if content != self.document.text:
            edited = self.document.edited
            self._set_text(content)
            self.document.edited = edited or bool(self.document.name)

    def _elements_renamed(self, renamed: Mapping[str, str]) -> None:
        """Update the project's programs after robots or other elements of the cell were renamed.

        `renamed` maps old names to new names.
        """
        if self._sim is not self.session.shown:
            return
        for old, new in renamed.items():
            before, edited = self.document.text, self.document.edited
            undone, done = self._renames.pop((new, old), ("", ""))
            content = undone if done == before else with_element_renamed(before, old, new)
            self._stored.rename_element(old, new, self.document.name)
            self._builder.robot_renamed(old, new)
            self._renames[old, new] = (before, content)
            if content != before:
                self._set_text(content)
                self.document.edited = edited or bool(self.document.name)
        if self.control.over:
            self.control.forget()

    def _from_points(self) -> None:
        """Replace the text by a program that moves the selected robot through its points."""
        self.control.require_over()
        robot = self.session.robot.name
        points = list(self.context.points.of(robot))
        if not points:
            raise BrazoError(f"{robot} has no points: teach points in the pendant first")
        text = Program(f"{robot} points", steps={robot: through(points)}).to_yaml()
        name = self._stored.free_name(f"{robot}-points", text)
        self.context.history.record(
            f"program through points of {robot}",
            lambda: self._restore_text((name, text, True)),
            self.state,
            self._restore_text,
        )
        self.refresh()

    def _load(self, given: Upload) -> None:
        self.control.require_over()
        name, content = Path(given.name).stem, given.text()
        self._replace(self._stored.free_name(name, content), content)

    def _replace(self, name: str, content: str, edited: bool = False) -> None:
        """Load another program; ask the user first if unsaved work would be lost."""

        def take() -> None:
            self.control.require_over()
            self._show(name, content)
            self.document.edited = edited
            self.control.forget()
            self._read()
            self.refresh()
            self._put_steps()

        lost = [] if self.context.saving.keeps else self.unsaved()
        self.context.unsaved.ask(f"Loading {name} discards:", lost, take)

    def _save(self) -> None:
        shared = self.context.points.lists()
        content = self.document.text
        if self.document.program is not None:
            content = with_points_block(content, self.document.program.steps, shared)
        self.download(f"{self.document.name or 'program'}.yaml", content)
        self.document.saved = self.document.text

    def unsaved(self) -> list[Work]:
        found = []
        if self.control.execution is not None and not self.control.over:
            # It stops when its cell is closed.
            found.append(Work(describe_run(self.control.execution), {}))
        if self.document.text != self.document.saved and self.document.text.strip():
            name = f"{self.document.name or 'program'}.yaml"
            found.append(Work(f"Program {name}, edited", {name: self.document.text}, kept=True))
        return found

    def _open_cell(self) -> None:
        wanted = self.document.wanted_cell(self.sim)

        def open_it() -> None:
            (name, content, edited), saved = self.state(), self.document.saved
            self.document.edited = True  # keeps the text when the cell changes
            try:
                self.context.open(f"cell:{wanted}")
            finally:
                self.document.edited = edited
            if self.document.text != content:  # the project of that cell has shown its own program
                name = self._stored.free_name(name or "program", content)
                self._restore_text((name, content, edited))
                self.document.saved = saved
                self.refresh()

        if wanted:
            self.context.unsaved.before_opening(wanted, open_it)

    def _open_shipped(self, name: str) -> None:
        """Open the cell of a shipped program, and load the program into the editor."""
        if name not in program_names():
            return
        cell = load_program(name).cell or ""
        if cell not in cell_names() or cell == self.sim.cell.name:
            return self._choose(name)

        def open_it() -> None:
            self.context.open(f"cell:{cell}")
            self._choose(name)

        self.context.unsaved.before_opening(cell, open_it)

    # ---- display ---------------------------------------------------------------------------------

    def refresh(self) -> None:
        super().refresh()
        self._put_steps()

    def html(self) -> str:
        program = self.document.program
        return (
            run_html(
                self._stored.names(),
                "" if program is None else program.about,
                self.document.wanted_cell(self.sim),
            )
            + section("Add step", builder_html(list(self.sim.robots), self._frames()), id="add")
            + section("Steps", tracks_html(self._tracks()), id="steps")
            + section("Selected step", form_html(), id="form")
            + text_html()
        )

    def _tracks(self) -> list[str]:
        """Names of the robots in the cell, then of other robots that the program names."""
        named_robots = () if self.document.source is None else self.document.source.steps
        return list(dict.fromkeys([*self.sim.robots, *named_robots]))

    def _put_steps(self) -> None:
        self.put({f"steps/{robot}": self._rows(robot) for robot in self._tracks()})

    def _rows(self, robot: str) -> list[dict[str, Any]]:
        """Rows of the step list of one robot, as sent to the page."""
        steps = () if self.document.source is None else self.document.source.steps.get(robot, ())
        lines, last = self.document.errors_by_line(), self.document.last.get(robot, {})
        index, why = self._previews.errors().get(robot, (-1, ""))
        unreachable = self.document.paths[robot][index] if why else None
        hits = self._hits(robot)
        rows = []
        for path, step in list(outline(steps))[:MOST_STEPS]:
            line = 0 if step.place is None else step.place.line
            rows.append(
                {
                    "path": list(path),
                    "verb": verb(step),
                    "text": about(step),
                    "error": lines.get(line, "")
                    or (why if path == unreachable else "")
                    or hits.get(path, ""),
                    "last": last.get(path, -1),
                    "loop": isinstance(step, s.Repeat | s.ForEach),
                    "break": Selected(robot, path) in self._builder.breaks,
                    "selected": Selected(robot, path) == self._builder.selected,
                }
            )
        return rows

    def _hits(self, robot: str) -> dict[StepPath, str]:
        """Messages about collisions that the dry run found, by path of the step."""
        paths, found = self.document.paths.get(robot, ()), self._dry_run.hits.get(robot, {})
        known = {index: path for index, path in enumerate(paths) if index in found}
        return {path: self._dry_run.error(robot, index) for index, path in known.items()}

    def _form(self) -> Values:
        """Page value with the form of the selected step; an empty form if no step is selected."""
        at, step = self._builder.selected, self._builder.step
        if at is None or step is None or at.robot not in self.sim.robots:
            return {"title": "", "fields": []}
        line = 0 if step.place is None else step.place.line
        index = self.document.index(at.robot, at.path)
        error = self.document.errors_by_line().get(line, "")
        if not error and index is not None and not isinstance(step, s.Repeat | s.ForEach):
            error = self._previews.error(at.robot, index)
            error = error or self._hits(at.robot).get(at.path, "")
        arc = isinstance(step, s.FollowPath) and step.curve == "arc"
        return {
            "title": f"{at.robot}: {verb(step)} {about(step)}".strip(),
            "key": f"{at.robot} {at.path}",
            "fields": [one.shown() for one in fields_of(step, self._builder.names())],
            "error": error,
            "teach": isinstance(step, s.MoveJoints | s.MoveTo | s.Line),
            "arc": arc,
        }

    def values(self) -> Values:
        document, control = self.document, self.control
        execution, over, paused = control.execution, control.over, control.paused
        selected, runs = self._builder.selected, document.program is not None
        found: Values = {
            "name": self._shown_name(),
            "robot": self.session.selection.robot,
            "teach-in": self._builder.teach_in,
            "form": self._form(),
            "may-edit": over and selected is not None,
            "may-build": over and document.source is not None,
            "may-from-here": over and runs and selected is not None,
            "may-run": over and runs,
            "may-pause": not over and not paused,
            "may-go-on": paused,
            "may-step": runs and (over or paused),
            "active": not over,
            "problem": "\n".join(filter(None, (document.error, document.doubts))),
            "state": control.state,
            "why": str(execution.failure) if execution is not None and execution.failure else "",
            "share": "0" if execution is None else f"{100.0 * execution.progress:.0f}",
            "lines": control.lines(),
        }
        for robot in self._tracks():
            found[f"steps/{robot}"] = self._rows(robot)
            index, kind, status = control.track(robot) or self._track_at_rest(robot)
            found[f"at/{robot}"] = self._at_index(robot, index, kind)
            found[f"status/{robot}"] = status
        return found

    def _track_at_rest(self, robot: str) -> tuple[int, str, str]:
        """State of a robot that no running program uses; same format as `RunControl.track`.

        During a dry run, this is the state of the robot's ghost (transparent copy).
        """
        count = len(self.document.paths.get(robot, ()))
        if robot in self._dry_run.at:
            index = self._dry_run.at[robot]
            return index, "running", f"dry run, {min(index + 1, count)} of {count}"
        return 0, "", "no steps" if not count else "1 step" if count == 1 else f"{count} steps"

    def _at_index(self, robot: str, index: int, status: str) -> Values:
        paths = self.document.paths.get(robot, []) if status else []
        path = list(paths[min(index, len(paths) - 1)]) if paths else []
        return {"flat": index, "path": path, "status": status}

    def _shown_name(self) -> str:
        kept = self.document.name in self._stored.names() and self.context.saving.keeps
        shipped = self.document.name in program_names() and not self.document.edited
        return self.document.name if kept or shipped else ""

    # ---- running ---------------------------------------------------------------------------------

    def _run(self) -> None:
        self.control.require_over()
        self._start()
        self.sim.player.play()

    def _start(self, first: dict[str, int] | None = None) -> Execution:
        program = self._runnable()
        self._dry_run.stop()
        return self.control.start(program, first, self._builder.breaks, self.document.paths)

    def _runnable(self) -> Program:
        self._read()
        if self.document.program is None:
            raise BrazoError(self.document.error or "the program has no steps: add a step first")
        return self.document.program

    def _step(self) -> None:
        if self.control.over:
            with self.sim.lock:
                self._start().step()
        else:
            self.control.go_on(True)
        self.sim.player.play()

    def _from_here(self) -> None:
        self.control.require_over()
        self._start(self._first_at(self._builder.selected))
        self.sim.player.play()

    def _first_at(self, at: Selected | None) -> dict[str, int]:
        """Argument `first` of `RunControl.start` for a run that starts at the selected step."""
        index = None if at is None else self.document.index(at.robot, at.path)
        if at is None or index is None:
            raise BrazoError("select a step first")
        return {at.robot: index}

    def _start_dry_run(self) -> None:
        self.control.require_over()
        program = self._runnable()
        selected = self._builder.selected
        self._builder.selected = None  # its ghost would cover the others
        self._show_ghost()
        self._builder.selected = selected
        self._dry_run.start(self.document.flat, self.sim, program.speed, program.clearance)

    def _toggle_break(self, robot: str, path: list[Any]) -> None:
        self._builder.toggle_break(robot, path)
        self.control.set_breakpoints(self._builder.breaks, self.document.paths)

    def _again(self) -> None:
        self.control.require_over()
        self.context.each_panel(lambda panel: panel.run_again())
        self.context.clock.reset()
        self._run()

    def stopped(self) -> None:
        self._dry_run.stop()

    def reset(self) -> None:
        self._dry_run.stop()
        self.control.reset()

    def follow(self) -> None:
        """Report the end of a run, and show the run state in the top bar; called every frame."""
        document, over = self.document, self.control.over
        if self._ghost is not None and not (over and self._visible):
            self._show_ghost()
        self.control.report_end()
        state, share = self.control.bar()
        self.put(
            {
                "/run": {
                    "state": state,
                    "share": int(100.0 * share),
                    "may": over and document.program is not None,
                    "name": "" if document.program is None else document.program.name,
                    "demo": document.name in program_names() and not document.edited,
                }
            }
        )
