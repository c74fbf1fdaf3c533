"""The program being edited: its text, and the steps and errors that result from parsing it.

The text is parsed and validated against the open cell, and all loops are unrolled.
Steps, errors and runs therefore always refer to the same version of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from brazo.errors import BrazoError
from brazo.formats.document import parse_document
from brazo.operate import Point
from brazo.program import Program
from brazo.program import steps as s
from brazo.program.point_targets import named, resolved
from brazo.program.program_file import read_program
from brazo.program.step_paths import StepPath, expanded_paths
from brazo.program.text_edits import has_steps
from brazo.program.validate import flattened, validate
from brazo.project.folder import with_points
from brazo.simulation import Simulation
from brazo.world import cell_names

_LINE = re.compile(r":(\d+):|line (\d+)")
_HEAD = re.compile(r"^\S*:\d+: ")

State = tuple[str, str, bool]  # name, text and whether it was edited


class EditedProgram:
    """Text of one program, its parsed steps, and its expanded steps (with all loops unrolled)."""

    def __init__(self) -> None:
        self.name = ""  # of the file that was loaded; empty for a new program
        self.text = ""
        self.edited = False
        self.saved = ""  # text of the file last loaded or saved
        self.program: Program | None = None  # None if it cannot run in this cell
        self.source: Program | None = None  # None if the text cannot be read
        self.folder: Path | None = None  # of the file that was loaded, if not of the project
        self.own: dict[str, set[str]] = {}  # names of the points in the text, by robot
        self.error = ""
        self.doubts = ""  # warnings about numbers that probably lack a unit
        self.flat: dict[str, list[s.Step]] = {}  # expanded steps, also of an invalid program
        self.paths: dict[str, list[StepPath]] = {}  # of the expanded steps
        self.last: dict[str, dict[StepPath, int]] = {}  # index of the last expanded step

    def load(self, name: str, text: str, folder: Path | None = None) -> None:
        """Replace the text by that of a file; call `read` to parse it.

        `folder` is the folder of the file; None if it is the project's folder of programs.
        """
        self.folder = folder
        self.name, self.text, self.edited, self.saved = name, text, False, text

    @property
    def state(self) -> State:
        """Name, text, and whether the text was edited, for undo."""
        return self.name, self.text, self.edited

    def read(
        self,
        sim: Simulation,
        points: Mapping[str, Sequence[Point]],
        folder: Path | None = None,
    ) -> None:
        """Parse the text, validate the program against the cell, and unroll its loops.

        `points` are the project's points by robot, `folder` is the project's folder of programs.
        File names in the text are relative to the folder that was given to `load`, or else to
        `folder`.  Errors are not raised but stored in `error`.
        """
        self.program, self.source, self.error, self.doubts = None, None, "", ""
        self.own = {}
        path = Path(f"{self.name or 'program'}.yaml")
        try:
            root = parse_document(self.text, path)
            root.folder = self.folder or folder
            program = read_program(root)
            self.own = {name: set(named(some)) for name, some in program.points.items()}
            program.points = with_points(program.points, points)
            self.doubts = "\n".join(f"warning: {one}" for one in program.findings if one.slip)
            self.source = program
            self.program = program if validate(program, sim) else None
        except BrazoError as error:
            if self.source is None and not has_steps(self.text):
                self.source = Program("new")  # nothing to run yet
            else:
                self.error = str(error)
        self._expand(sim)

    def _expand(self, sim: Simulation) -> None:
        self.flat, self.paths, self.last = {}, {}, {}
        steps_of = {} if self.source is None else self.source.steps
        for name, steps in steps_of.items():
            if name not in sim.robots:
                continue
            assert self.source is not None
            points = named(self.source.points.get(name, ()))
            try:
                flat = [resolved(one, points, sim.robots[name].arm) for one in flattened(steps)]
            except BrazoError:
                continue
            self.flat[name], self.paths[name] = flat, list(expanded_paths(steps))
            self.last[name] = {
                path[:depth]: i
                for i, path in enumerate(self.paths[name])
                for depth in range(1, len(path) + 1)
            }

    @property
    def speed(self) -> float:
        """Default speed of motions, as a fraction of the velocity limits."""
        return Program("new").speed if self.source is None else self.source.speed

    @property
    def error_line(self) -> int:
        """Line number of the first error; 0 if there is no error or its line is unknown."""
        found = _LINE.search(self.error)
        return int(found[1] or found[2]) if found else 0

    def errors_by_line(self) -> dict[int, str]:
        """First error message of each line, by line number, without the prefix "file:line: "."""
        errors: dict[int, str] = {}
        for one in self.error.splitlines():
            found = _LINE.search(one)
            if found:
                errors.setdefault(int(found[1] or found[2]), _HEAD.sub("", one))
        return errors

    def index(self, robot: str, at: StepPath) -> int | None:
        """Index of the step at a path, or of the first step in the loop at a path.

        The index counts the steps after all loops are unrolled.  None if there is no such step.
        """
        paths, depth = self.paths.get(robot, ()), len(at)
        return next((i for i, path in enumerate(paths) if path[:depth] == at), None)

    def wanted_cell(self, sim: Simulation) -> str:
        """Name of the shipped cell that the program is for, if another cell is open; else ""."""
        found = re.search(r"^cell:[ \t]*(\S.*?)[ \t]*$", self.text, re.MULTILINE)
        name = found[1].strip("'\"") if found else ""
        return name if name in cell_names() and name != sim.cell.name else ""
