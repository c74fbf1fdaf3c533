"""`CellStudy`: many runs of a program in a cell, with simulated contacts.

    study = brazo.study.CellStudy(
        "cooperative",
        factors={"measured_position_error": uniform(0.0, 0.01), "pad_friction": uniform(0.2, 1.2)},
        samples=200,
        sampling="latin-hypercube",
    )
    results = study.run("results/cooperative")
    print(results.success())              # with the Wilson interval

Each run is a separate `brazo.Simulation` without recording.  A run ends when the program ends, or
when a limit of time or collisions is exceeded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from brazo.checks import positive
from brazo.errors import BrazoError
from brazo.program import Program, load_program, program_names
from brazo.program.steps import FollowPath
from brazo.program.validate import flattened
from brazo.study.cell_factors import check_values, factor_dimension, factor_unit
from brazo.study.factors import Factor, Sampling
from brazo.study.plan import ChunkTable, RunGroup, StudyPlan
from brazo.study.scenario import ControllerChoice, named_controllers
from brazo.world import Cell, load_cell
from brazo.world.cell_writer import cell_files

#: Metrics of a run besides the time of each goal.
METRICS = {"time": "s", "goals": "", "collisions": "", "drops": "", "steps": ""}
DEFAULT = "default"  # the controllers of the cell
_PARTS = 64  # approximate number of chunks, if `_MAX_CHUNK` does not limit their size
_MAX_CHUNK = 16  # runs; a process that is killed loses at most the runs of one chunk


class CellStudy(StudyPlan):
    """Study of a program in a cell; `brazo.study.load_study` reads one from a file.

    Parameters
    ----------
    cell : name, path or `Cell`.
    program : name, path or `Program`; default: the shipped program of the cell.
    cases : factor values of each case, by case name, e.g. {"oily": {"pad_friction": 0.2}}.
    controllers : controllers to compare, by name; each is used for all robots of the cell.
        Default: the controllers of the cell.
    factors : factors that vary, by name; see `brazo.study.cell_factors`.
    samples, sampling, repetitions, seed : as for `brazo.Study`.
    until : time limit of a run (s).
    success : max values of metrics, by name, e.g. {"time": 40.0, "collisions": 0}.  A run is
        successful if the program ends without a failure before `until` and each of these metrics is
        at most its max value.
    """

    GROUPS = ("case", "controller")

    def __init__(
        self,
        cell: str | Path | Cell,
        program: str | Path | Program | None = None,
        *,
        name: str = "study",
        about: str = "",
        cases: Mapping[str, Mapping[str, float]] | None = None,
        controllers: Mapping[str, ControllerChoice] | Sequence[str] | None = None,
        factors: Mapping[str, Factor] | None = None,
        samples: int = 1,
        sampling: Sampling = "random",
        repetitions: int = 1,
        seed: int = 0,
        until: float = 120.0,
        success: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(name, about, factors, samples, sampling, repetitions, seed, success)
        self.cell = cell if isinstance(cell, Cell) else load_cell(cell)
        self.program = _program(program, self.cell)
        self.cases = {k: dict(v) for k, v in (cases or {"nominal": {}}).items()}
        self.controllers: dict[str, ControllerChoice | None] = {DEFAULT: None}
        if controllers is not None:
            self.controllers = named_controllers(controllers)
        self.until = until
        self._check()

    def __repr__(self) -> str:
        return f"<brazo.study.CellStudy {self.name}: {self.runs} runs of {self.program.name}>"

    @cached_property
    def groups(self) -> list[RunGroup]:
        """All combinations of case and controller."""
        return [
            RunGroup(0, 0, s, c)
            for s in range(len(self.cases))
            for c in range(len(self.controllers))
        ]

    def chunk_size(self, group: RunGroup) -> int:
        """Return the number of runs per chunk."""
        return max(1, min(_MAX_CHUNK, self.runs // _PARTS))

    def compiled(self, group: RunGroup) -> bool:
        """Return False: the runs are simulations in worker processes, not machine code."""
        return False

    def compute(self, number: int) -> ChunkTable:
        """Compute the runs of chunk `number`."""
        from brazo.study.cell_runs import compute_cell_runs

        return compute_cell_runs(self, number)

    @property
    def goal_columns(self) -> list[str]:
        """Names of the columns with the times (s) at which the goals are reached."""
        return [f"time.{goal}" for goal in self.program.goals]

    @cached_property
    def columns(self) -> dict[str, str]:
        """Units of the result columns, by column name."""
        found = {"run": "", "case": "", "controller": "", "row": "", "repetition": ""}
        found |= {name: factor_unit(self.cell, name) for name in self.factors}
        found |= {"success": "", "failed_at": "s"}
        return found | METRICS | dict.fromkeys(self.goal_columns, "s")

    @property
    def names(self) -> dict[str, Any]:
        """Data for reports, by key, such as the names of the cases and controllers.

        The columns "case" and "controller" of the results have indices into these lists of names.
        """
        return {
            "kind": "cell",
            "cell": self.cell.name,
            "program": self.program.name,
            "step": self.cell.step,
            "goals": [str(goal) for goal in self.program.goals],
            "cases": list(self.cases),
            "controllers": list(self.controllers),
            "factors": list(self.factors),
            "success": self.success,
            "runs": self.runs,
        }

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the inputs of the study, which identifies its results."""
        from importlib.metadata import version

        content = {
            "versions": [version("brazo"), version("mujoco")],
            "cell": cell_key(self.cell),
            "program": self.program.to_yaml(),
            "drawings": _drawings_key(self.program),
            "cases": self.cases,
            "controllers": {
                k: None if v is None else [v.kind, sorted(v.options.items())]
                for k, v in self.controllers.items()
            },
            "factors": {k: [f.kind, f.values] for k, f in self.factors.items()},
            "numbers": [
                self.samples, self.sampling, self.repetitions, self.seed, self.until, self.success,
            ],
        }  # fmt: skip
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    # ---- checks ----------------------------------------------------------------------------

    def _check(self) -> None:
        for what, parts in (("cases", self.cases), ("controllers", self.controllers)):
            if not parts:
                raise BrazoError(f"study: no {what}; give at least one")
        self.check_numbers()
        positive(self.until, "study: until")
        for name, factor in self.factors.items():
            factor_dimension(self.cell, name)
            # A normal distribution has no limits: what was drawn from it counts.
            possible = self.rows[name] if factor.kind == "normal" else np.array(factor.values)
            check_values(name, possible)
        for case, fixed in self.cases.items():
            for name, value in fixed.items():
                factor_dimension(self.cell, name)
                check_values(name, np.array([value]))
                if name in self.factors:
                    raise BrazoError(
                        f"'{name}' is both a factor and a value of case '{case}'; remove one"
                    )
        self.check_success()


def _program(given: str | Path | Program | None, cell: Cell) -> Program:
    if isinstance(given, Program):
        return given
    if given is None:
        if cell.name not in program_names():
            raise BrazoError(f"no program is shipped for cell '{cell.name}'; specify one")
        given = cell.name
    return load_program(given)


def cell_key(cell: Cell) -> dict[str, str]:
    """Return the text of each file of a cell, by file name, to compare cells.

    References to robot and mesh files are replaced by file name and hash, so that the text does not
    depend on folders.
    """
    return cell_files(cell, _file_key, beside=True)


def _drawings_key(program: Program) -> list[str]:
    """Return name and hash of each SVG file that a program uses."""
    paths = {
        (one.folder or Path()) / one.values["file"]
        for steps in program.steps.values()
        for one in flattened(steps)
        if isinstance(one, FollowPath) and "file" in one.values
    }
    return sorted(_file_key(path) for path in paths)


def _file_key(path: Path) -> str:
    """Return name and hash of a robot, mesh or SVG file, without its folder."""
    content = path.read_bytes() if path.is_file() else b""
    return f"{path.name} {hashlib.sha256(content).hexdigest()}"
