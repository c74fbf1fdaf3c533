"""`brazo study tune`: tune the gains of a controller."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from brazo import units
from brazo.cli.interruption import INTERRUPTED
from brazo.cli.output import print_json, print_line, progress_bar, table
from brazo.cli.unit_warnings import load_robot
from brazo.errors import BrazoError

DATABASE, REPORT, CONTROLLERS = "tuning.db", "tuning.html", "controllers.yaml"


def tune(
    robot: str = typer.Argument(help="A shipped robot's name or a robot file."),
    controller: str = typer.Option("PID", help="Name of the controller."),
    start: Path = typer.Option(
        None, help="File of controllers (YAML) with the gains to start from."
    ),
    task: list[str] = typer.Option(
        ["sines"], help="Trajectory of the search: sines, quintic, step, or a file of via points."
    ),
    held_out: list[str] = typer.Option(["quintic"], help="Trajectory of the final comparison."),
    objective: list[str] = typer.Option(
        ["error"], help="What is minimised: error, energy, peak_torque, jerk; may be repeated."
    ),
    gains: str = typer.Option(
        None, help="Gains that are tuned, e.g. 'kp kd'; default: all above 0 except tf and kt."
    ),
    shared: bool = typer.Option(False, "--shared", help="Use one factor for all joints."),
    rule: str = typer.Option(
        None,
        help="Use a design rule instead of a search: pole-placement, ziegler-nichols, "
        "tyreus-luyben, bryson.",
    ),
    trials: int = typer.Option(600, min=0, help="Number of candidates."),
    batch: int = typer.Option(32, min=1, help="Candidates that are simulated together."),
    span: float = typer.Option(100.0, help="Search from 1/span to span times the start gains."),
    payload: str = typer.Option(
        None, help="Mass in the case 'payload', e.g. 2kg; default: 1/10 of the robot's mass."
    ),
    delay: str = typer.Option(
        None, help="Delay in the case 'delay', e.g. 2ms; default: one period."
    ),
    duration: str = typer.Option("2s", help="Length of a run."),
    dt: str = typer.Option("1ms", help="Control period."),
    seed: int = typer.Option(0, min=0, help="Random seed."),
    sampler: str = typer.Option(None, help="Optimiser: cmaes, nsga2, tpe or random."),
    storage: str = typer.Option(
        None, help="Database URL of the trials; default: tuning.db in the output folder."
    ),
    name: str = typer.Option(
        None, help="Name of the search in the database; default: robot and controller."
    ),
    write: Path = typer.Option(
        None, help="File of controllers, or project folder, into which the gains are written."
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder of the results; default: ROBOT-CONTROLLER-tuning."
    ),
    json: bool = typer.Option(False, "--json", help="Print JSON (SI)."),
) -> None:
    """Tune a controller for a robot; the same command continues an interrupted search.

    Writes controllers.yaml, a report and the trials.  Gains that fail the stability check are not
    written.
    """
    from brazo.study.tuning import tune as run
    from brazo.study.tuning import tuning_cases

    arm = load_robot(robot)
    period = _quantity(dt, units.TIME, "--dt")
    wait = None if delay is None else _quantity(delay, units.TIME, "--delay")
    mass = None if payload is None else _quantity(payload, units.MASS, "--payload")
    chosen = _controller(controller, start, arm)
    cases = _cases(tuning_cases(arm, period, wait), mass)
    folder = Path(f"{arm.name}-{chosen.name}-tuning") if out is None else out
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrazoError(f"{folder}: cannot be created: {error.strerror or error}") from None
    if rule is None:
        storage = storage or f"sqlite:///{(folder / DATABASE).as_posix()}"
    target = folder / CONTROLLERS if write is None else _target(write)
    with _stopped(), _shown(f"{arm.name}: {chosen.name}") as show:
        result = run(
            arm,
            chosen,
            task,
            held_out=held_out,
            rule=rule,
            objectives=objective,
            gains=None if gains is None else gains.replace(",", " ").split(),
            per_joint=not shared,
            span=span,
            cases=cases,
            trials=trials,
            batch=batch,
            duration=_quantity(duration, units.TIME, "--duration"),
            dt=period,
            seed=seed,
            sampler=sampler,
            storage=storage,
            name=name,
            progress=show,
        )
    written = result.write(target)
    report = result.to_html(folder / REPORT)
    if json:
        print_json(_numbers(result, written, report))
        return
    _print(result)
    print_line(f"gains: {written}")
    print_line(f"report: {report}")


def _print(result: Any) -> None:
    from brazo.study.tuning.report import (
        comparison_head,
        comparison_rows,
        error_rows,
        gain_rows,
        verdict,
    )

    table("Gains", ("gain", "unit", "before", "after", "ratio"), gain_rows(result), left=2)
    held = ", ".join(result.held_out)
    table(f"RMS error on {held}", ("", "before", "after", "change"), error_rows(result))
    table("Comparison", comparison_head(result), comparison_rows(result), left=2)
    if result.front:
        rows = [
            (each.name, *(f"{each.scores[one]:.4f}" for one in result.objectives))
            for each in result.front
        ]
        head = ("gains", *(f"{one}/start" for one in result.objectives))
        table("Trade-offs", head, rows)
    print_line(verdict(result), style="green" if result.improved else "yellow")


def _numbers(result: Any, written: Path, report: Path) -> dict[str, Any]:
    def numbers(each: Any) -> dict[str, Any]:
        return {
            "name": each.name,
            "gains": each.gains,
            "scores": each.scores,
            "stable": each.check.stable,
            "reason": each.check.reason,
            "delay_margin": each.delay_margin,
            "rms_error": each.errors["rms_error"],
            "rms_error.tool": each.errors["rms_error.tool"],
            "energy": each.errors["energy"],
        }

    return {
        "robot": result.robot.name,
        "controller": result.controller.name,
        "improved": result.improved,
        "improvement": result.improvement,
        "candidates": len(result.history),
        "rejected": result.rejected,
        "before": numbers(result.before),
        "after": numbers(result.after),
        "rules": [numbers(each) for each in result.rules],
        "front": [numbers(each) for each in result.front],
        "gains": str(written),
        "report": str(report),
    }


def _quantity(text: str, dimension: Any, what: str) -> float:
    from brazo.cli.kinematics import number_of

    value = number_of(text, dimension, what)
    if not math.isfinite(value) or value < 0.0:
        raise BrazoError(f"{what} {text}: expected a finite value of at least 0")
    return value


def _controller(name: str, start: Path | None, arm: Any) -> Any:
    from brazo.control import Controller
    from brazo.program.controller_file import load_controllers
    from brazo.study.scenario import ControllerChoice

    if start is None:
        return ControllerChoice(name).make()
    listed = load_controllers(start)
    found = listed.get(arm.name)
    if not isinstance(found, Controller):
        raise BrazoError(
            f"{start}: no controller for robot '{arm.name}'; it has controllers for: "
            f"{', '.join(listed) or 'none'}"
        )
    return found


def _cases(cases: list[Any], payload: float | None) -> list[Any]:
    from dataclasses import replace

    if payload is None:
        return cases
    return [replace(case, payload=payload) if case.payload else case for case in cases]


def _target(path: Path) -> Path:
    from brazo.project.folder import is_project

    if is_project(str(path)):
        return path / CONTROLLERS
    if path.is_dir():
        raise BrazoError(
            f"--write {path}: this folder is not a project; give a file, e.g. gains.yaml"
        )
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise BrazoError(f"--write {path}: the name of a controller file must end in .yaml")
    return path


@contextlib.contextmanager
def _shown(text: str) -> Iterator[Callable[[Any], None]]:
    with progress_bar(text) as bar:
        yield lambda now: bar(now.done / now.total)


@contextlib.contextmanager
def _stopped() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print("stopped by user; the same command continues", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
