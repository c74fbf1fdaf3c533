"""`brazo run`: run a program in a cell, in the lab or headless, with a recording and a report.

Exit codes: 0 all goals reached, 1 the task failed, 2 invalid input, 130 stopped by Ctrl+C.
"""

from __future__ import annotations

import contextlib
import math
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from brazo.cli.drives import DRIVES, cell_with_drives
from brazo.cli.file_kind import cell_of, kind_of
from brazo.cli.interruption import INTERRUPTED, between_steps, print_recorded
from brazo.cli.lab import BROWSER, HOST, PORT, TOKEN
from brazo.cli.output import print_json, print_line, table
from brazo.cli.overwriting import FORCE, require_replaceable
from brazo.cli.unit_warnings import warn, warn_cell, warn_units
from brazo.errors import BrazoError
from brazo.text import one_line

if TYPE_CHECKING:
    from brazo.program import Program
    from brazo.program.summary import Summary
    from brazo.world import Cell

RECORDING, REPORT = "run.parquet", "report.html"
IN_REPORT = ("simulated", "max internal force", "cost")  # rows the report computes itself


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    cell: str = typer.Argument(
        help="A shipped cell's name, a cell file, a program file that names its cell, or a project."
    ),
    program: str = typer.Option(
        None, "--program", "-p", help="A shipped program's name or a program file."
    ),
    headless: bool = typer.Option(False, "--headless", help="Run to the end without a browser."),
    output: Path = typer.Option(
        None,
        "-o",
        "--output",
        help="Folder for run.parquet and report.html; with --seeds one subfolder per seed.",
    ),
    record: Path = typer.Option(
        None, help="Recording file, instead of run.parquet in the output folder."
    ),
    force: bool = FORCE,
    seed: int = typer.Option(0, min=0, help="Random seed of the planner and of --vary."),
    vary: bool = typer.Option(
        False, "--vary", help="Randomise body poses and masses and the pads' friction."
    ),
    seeds: int = typer.Option(
        None, min=1, help="With --vary: number of runs, with consecutive seeds from --seed."
    ),
    grip_force: float = typer.Option(None, help="Grip force of every grasp (N)."),
    contact_response: bool = typer.Option(
        True,
        "--contact-response/--no-contact-response",
        help="Contact forces on robots. Off: robots pass through obstacles; grippers weld bodies.",
    ),
    deprecated_feedback: bool = typer.Option(
        None, "--force-feedback/--no-force-feedback", hidden=True
    ),
    drives: str = DRIVES,
    controller: Path = typer.Option(
        None, "--controller", help="Python file with controllers for the step set_controller."
    ),
    gains: Path = typer.Option(
        None, "--gains", help="File of controllers and gains by robot (YAML)."
    ),
    deprecated_law: Path = typer.Option(None, "--law", hidden=True),
    until: float = typer.Option(600.0, help="Time limit in simulated seconds."),
    json: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
    host: str = HOST,
    port: int = PORT,
    token: bool = TOKEN,
    browser: bool = BROWSER,
) -> None:
    """Run a program in a cell; exit code 0 only if all goals are reached.

    Without --headless the run starts when a page of the lab is open; Ctrl+C closes the lab.  A
    project folder is always run headless, with its cell, controllers and points, and with its last
    opened program unless --program is given.
    """
    from brazo.program.controller_file import controllers_in
    from brazo.project.folder import Project, is_project
    from brazo.world import load_cell

    headless = headless or is_project(cell)
    if seeds is not None and not vary:
        raise BrazoError("--seeds requires --vary")
    if not headless and seeds is not None:
        raise BrazoError("--seeds requires --headless")
    if not (math.isfinite(until) and until > 0.0):
        raise BrazoError(f"--until {until:g}: expected seconds, greater than 0")
    if deprecated_law is not None:
        warn(["--law is deprecated; use --controller"])
    if (own := controller or deprecated_law) is not None:
        _load_controllers(own)
    controllers: dict[str, Any] = {}
    if is_project(cell):
        project = Project(cell)
        nominal, chosen = project.cell(), project.program(program or "")
        controllers = controllers_in(nominal, project.controllers())
        cell = nominal.name
    else:
        cell, wanted = _which(cell, program)
        nominal, chosen = load_cell(cell), _program(cell, wanted)
    if gains is not None:
        controllers |= _gains(gains, nominal)
    warn_units(chosen.findings)
    if headless:  # otherwise the lab prints the warnings of its cell
        warn_cell(nominal)
    _note_mismatch(cell, nominal, chosen, json)
    if deprecated_feedback is not None:
        warn(["--force-feedback is deprecated; use --contact-response"])
        contact_response = deprecated_feedback
    if not contact_response:
        # Without contact forces friction holds nothing, so grippers weld.
        welding = tuple(
            replace(robot, contact_response=False, grasp="weld") for robot in nominal.robots
        )
        nominal = replace(nominal, robots=welding)
    if drives is not None:
        nominal = cell_with_drives(nominal, drives)
    job = _Job(nominal, chosen, vary, grip_force, until, controllers)
    with _stop_reported(json):
        if seeds is not None:
            if record is not None:
                raise BrazoError(
                    "--record writes a single file; for --seeds give a folder instead: -o FOLDER"
                )
            all_seeds = range(seed, seed + seeds)
            folders = [_seed_folder(output, one) for one in all_seeds]
            written = (file for folder in folders for file in _files(folder))
            job.replace = require_replaceable(*written, force=force)
            _many(job, all_seeds, output, json)
            return
        job.replace = require_replaceable(*_files(output, record), force=force)
        if output is not None:
            _folder(output)
        file = _file(output, record)
        if headless:
            summary, files = job.run(seed, file, output, quiet=json)
            _print_summary(summary, files, json)
        else:
            summary = _show(job, seed, file, output, json, host, port, browser, token)
        if not summary.succeeded:
            raise typer.Exit(1)


def _gains(path: Path, cell: Cell) -> dict[str, Any]:
    """Return the controllers in a file, by robot name, for those robots that are in the cell.

    Raises BrazoError if the file has no controller for any robot of the cell.
    """
    from brazo.program.controller_file import controllers_in, load_controllers

    listed = load_controllers(path)
    found = controllers_in(cell, listed)
    if not found:
        robots = ", ".join(robot.name for robot in cell.robots)
        raise BrazoError(
            f"{path}: has no controller for any robot of the cell ({robots}); it has controllers "
            f"for: {', '.join(listed) or 'none'}"
        )
    return dict(found)


class RunStopped(Exception):
    """Raised when Ctrl+C stops a run.

    `time` is the simulated time (s), and `file` is the recording; None if nothing was recorded.
    """

    def __init__(self, time: float, file: Path | None) -> None:
        super().__init__(f"stopped by user at {time:.2f} s")
        self.time = time
        self.file = file if file is not None and file.is_file() else None


class _Job:
    """Cell, program and options of a run."""

    def __init__(
        self,
        cell: Cell,
        program: Program,
        vary: bool,
        grip_force: float | None,
        until: float,
        controllers: dict[str, Any],
    ) -> None:
        self.cell, self.program, self.vary = cell, program, vary
        self.controllers = controllers  # by robot; others have the default
        self.grip_force, self.until = grip_force, until
        self.replace = False  # whether existing files are replaced

    def start(self, seed: int) -> tuple[Any, Any]:
        """Start the program in a new simulation; return (simulation, execution of the program)."""
        from brazo.program.variation import describe, nominal_loads, varied
        from brazo.simulation import Simulation

        cell = varied(self.cell, seed) if self.vary else self.cell
        sim = Simulation(cell, self.controllers, seed=seed)
        execution = self.program.start(
            sim, grip_force=self.grip_force, load=nominal_loads(self.cell)
        )
        if self.vary:
            sim.log("varied", describe(cell, self.cell), seed=seed)
        return sim, execution

    def run(
        self, seed: int, record: Path | None, folder: Path | None, quiet: bool = False
    ) -> tuple[Summary, list[Path]]:
        with between_steps() as check, _progress(quiet) as show:
            sim, execution = self.start(seed)

            def progress(fraction: float, text: str) -> None:
                check()
                if show is not None:
                    show(fraction, text)

            try:
                recording = sim.run(
                    execution, self.until, record=record, replace=self.replace, progress=progress
                )
            except KeyboardInterrupt:
                raise RunStopped(sim.time, record) from None
        if not execution.done:
            execution.stop(f"not done after {self.until:g} s (--until)")
        return self.finish(execution, recording, record, folder)

    def finish(
        self,
        execution: Any,
        recording: Any,
        record: Path | None,
        folder: Path | None,
        time: float | None = None,
    ) -> tuple[Summary, list[Path]]:
        """Write the report of a run to `folder`; return the summary and the files written.

        `record` is the file of the recording.  Without a folder or a recording, no report is
        written.  `time` (s) is the simulated time at which the run ended; by default the current
        time.
        """
        from brazo.program.summary import summarise

        summary = summarise(execution, recording)
        if time is not None:
            summary = replace(summary, time=time)
        files = [] if record is None or recording is None else [record]
        if folder is not None and recording is not None:
            files.append(self._report(summary, recording, folder))
        return summary, files

    def _report(self, summary: Summary, recording: Any, folder: Path) -> Path:
        from brazo.recording.report import write_report

        return write_report(
            recording,
            folder / REPORT,
            self._title,
            verdict=summary.verdict,
            success=summary.succeeded,
            numbers={"Task": {k: v for k, v in summary.rows().items() if k not in IN_REPORT}},
            costs=summary.costs.parts,
        )

    @property
    def _title(self) -> str:
        names = dict.fromkeys((self.cell.name, self.program.name))
        return ": ".join(names)


def _which(cell: str, program: str | None) -> tuple[str, str | None]:
    """Return (cell, program), each as a name or a file; the program may be None.

    The argument `cell` may be a program file that names its cell.  In this case, return that cell
    and the program file.
    """
    kind = kind_of(cell)
    if program is not None and kind_of(program) == "cell":
        raise BrazoError(f"{program}: this is a cell, not a program; use brazo run CELL -p PROGRAM")
    if kind == "robot":
        raise BrazoError(
            f"{cell}: this is a robot, not a cell or a program; open it with brazo lab FILE"
        )
    if kind != "program":
        return cell, program
    if program is not None:
        raise BrazoError(f"{cell}: this is a program, not a cell; use brazo run CELL -p PROGRAM")
    from brazo.program import load_program

    found = load_program(cell)
    return cell_of(found.path, found.cell), cell


def _note_mismatch(cell: str, nominal: Cell, program: Program, quiet: bool) -> None:
    """Print a note if the program was written for another cell, unless `quiet` is True."""
    if program.cell is None or quiet:
        return
    if Path(program.cell).stem not in (nominal.name, Path(cell).stem):
        print_line(f"note: {program.name} was written for cell '{program.cell}', this is '{cell}'")


def _program(cell: str, program: str | None) -> Program:
    """Return the program with this name or file.

    By default, return the shipped program with the name of the cell.
    """
    from brazo.program import load_program, program_names

    if program is not None:
        return load_program(program)
    name = Path(cell).stem
    if name in program_names():
        return load_program(name)
    raise BrazoError(
        f"no program is shipped for cell '{cell}'; use --program with a file or one of "
        f"{', '.join(program_names())}"
    )


def _load_controllers(path: Path) -> None:
    """Execute a user's Python file; the controller classes in it are registered by name.

    Raises BrazoError if the file registers no controller.
    """
    from brazo.cli.user_code import load_module
    from brazo.control import Controller, controllers

    module = load_module(path)
    own = [name for name, kind in controllers().items() if kind.__module__ == module.__name__]
    if not own:
        for name, found in vars(module).items():
            if (
                isinstance(found, type)
                and issubclass(found, Controller)
                and found.__module__ == (module.__name__)
            ):
                missing = ", ".join(sorted(found.__abstractmethods__))
                raise BrazoError(f"{path}: controller class {name} does not define {missing}")
        raise BrazoError(
            f"{path}: no controller found; define a subclass of brazo.control.Controller"
        )


def _show(
    job: _Job,
    seed: int,
    file: Path | None,
    folder: Path | None,
    json: bool,
    host: str,
    port: int,
    browser: bool,
    token: bool,
) -> Summary:
    """Run the program in the lab and print a summary whenever a run ends.

    Returns the summary of the last run when the lab is closed.
    """
    from brazo.cli.lab_run import LabRun
    from brazo.lab.serving import serve

    found: list[tuple[Summary, list[Path]]] = []

    def report(execution: Any, recording: Any, time: float) -> None:
        found.append(job.finish(execution, recording, file, folder, time))
        if not json:  # one document, at the end
            _print_summary(*found[-1], json)

    with tempfile.TemporaryDirectory(prefix="brazo-run-") as scratch:
        sim, execution = job.start(seed)
        record = file or Path(scratch) / RECORDING
        run = LabRun(execution, job.until, record, report, job.replace)
        with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
            serve(sim, host, port, browser, wait=True, poll=run.poll, token=token)
        run.close()
    if json:
        _print_summary(*found[-1], json)
    return found[-1][0]


def _many(job: _Job, seeds: range, output: Path | None, json: bool) -> None:
    """Run the program once per seed and print a table of the results.

    Each run is written to its own subfolder of `output`; without `output`, no files are written.
    The exit code is 1 if a run fails.
    """
    found = []
    for seed in seeds:
        folder = _seed_folder(output, seed)
        if folder is not None:
            _folder(folder)
        summary, files = job.run(seed, _file(folder, None), folder, quiet=True)
        found.append((seed, summary, files))
        if not json:
            where = f" ({folder})" if folder is not None else ""
            print_line(f"seed {seed}: {summary.verdict}{where}")
    good = sum(summary.succeeded for _, summary, _ in found)
    if json:
        runs = [{"seed": n, **s.plain(), "files": [str(f) for f in files]} for n, s, files in found]
        print_json({"succeeded": good, "runs": runs})
    else:
        rows = [
            (
                str(seed),
                "yes" if summary.succeeded else "no",
                f"{summary.reached} of {len(summary.goals)}",
                f"{len(summary.collisions)}",
                "" if summary.internal_force is None else f"{summary.internal_force:.2f}",
                f"{summary.time:.2f}",
            )
            for seed, summary, _ in found
        ]
        columns = ("seed", "done", "goals", "unintended contacts", "internal force [N]", "time [s]")
        table(f"{good} of {len(found)} runs reached every goal", columns, rows)
    if good < len(found):
        raise typer.Exit(1)


def _print_summary(summary: Summary, files: list[Path], json: bool) -> None:
    if json:
        print_json({**summary.plain(), "files": [str(file) for file in files]})
        return
    print_line(f"{summary.program}: {summary.verdict}", None if summary.succeeded else "bold red")
    rows = summary.rows()
    wide = max(len(name) for name in rows)
    for name, value in rows.items():
        print_line(f"  {name:<{wide}}  {value}")
    for file in files:
        print_line(f"wrote {file}")
    for file in files:
        if file.suffix == ".parquet":
            print_line(f"replay: brazo replay {shlex.quote(str(file))}")


@contextlib.contextmanager
def _stop_reported(json: bool) -> Iterator[None]:
    """If Ctrl+C stops the `with` block, print the recording file and exit with code 130."""
    try:
        yield
    except RunStopped as stopped:
        if json:
            files = [] if stopped.file is None else [str(stopped.file)]
            print_json({"stopped": True, "time": stopped.time, "files": files})
        else:
            print_line(f"{stopped} (simulated)", style="bold red")
            if stopped.file is not None:
                print_recorded(stopped.file)
        raise typer.Exit(INTERRUPTED) from None


def _folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrazoError(f"{path}: the folder cannot be created: {error.strerror}") from error


def _file(folder: Path | None, record: Path | None) -> Path | None:
    if record is not None:
        return record
    return None if folder is None else folder / RECORDING


def _files(folder: Path | None, record: Path | None = None) -> list[Path | None]:
    """Return the paths of the recording and the report of a run; None for a file not written."""
    return [_file(folder, record), None if folder is None else folder / REPORT]


def _seed_folder(output: Path | None, seed: int) -> Path | None:
    return None if output is None else output / f"seed-{seed}"


@contextlib.contextmanager
def _progress(quiet: bool) -> Iterator[Any]:
    """Show a progress bar on stderr; yield a function `show(fraction, text)`.

    If `quiet` is True or stderr is not a terminal, no bar is shown and None is yielded.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.description}", markup=False),
    )
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=1.0)

        def show(fraction: float, text: str) -> None:
            done = 0.0 if math.isnan(fraction) else fraction
            bar.update(task, completed=done, description=f"{one_line(text)} simulated")

        yield show
