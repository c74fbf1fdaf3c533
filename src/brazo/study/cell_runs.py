"""Runs of one chunk of a `CellStudy`, each in its own simulation.

Runs are not recorded, so one native call can make many steps.  A run ends as soon as its result is
known: the program is done or has failed, or the limit of time or collisions is exceeded.  For each
run that is not successful, the reason is stored.  A run that raises an exception has no metrics and
does not affect the other runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from brazo.errors import BrazoError
from brazo.program import Execution, Failure
from brazo.program.variation import nominal_loads
from brazo.simulation import Simulation
from brazo.simulation.clock import MAX_BATCH
from brazo.study.cell_factors import vary_cell
from brazo.study.cell_study import CellStudy
from brazo.study.plan import ChunkTable, RunChunk


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Metrics of a run by column name, and the reason if the run was not successful."""

    metrics: dict[str, float]
    reason: str | None = None
    step: str = ""  # program step that failed, or "error", "limit" or "time limit"


def compute_cell_runs(study: CellStudy, number: int) -> ChunkTable:
    """Compute the runs of chunk `number`."""
    chunk = study.chunks[number]
    columns = study.empty_columns(chunk)
    columns["success"] = np.zeros(len(chunk.rows))
    failures = []
    for i in range(len(chunk.rows)):
        try:
            found = run_cell(study, chunk, i)
        except BrazoError as error:
            found = RunOutcome({}, str(error), "error")
        except Exception as error:  # of a controller in Python
            found = RunOutcome({}, f"{type(error).__name__}: {error}", "error")
        for name, value in found.metrics.items():
            columns[name][i] = value
        if found.reason is None:
            columns["success"][i] = 1.0
        else:
            run = float(chunk.first + i)
            failures.append({"t": run, "text": found.reason, "step": found.step})
    return ChunkTable(columns, failures)


def run_cell(study: CellStudy, chunk: RunChunk, i: int) -> RunOutcome:
    """Simulate run `i` of a chunk and return its outcome."""
    row = chunk.rows[i : i + 1]
    seed = int(study.run_seeds(row, chunk.repetitions[i : i + 1])[0])
    values = list(study.cases.values())[chunk.group.case] | {
        name: float(column[row[0]]) for name, column in study.rows.items()
    }
    choice = list(study.controllers.values())[chunk.group.controller]
    varied = vary_cell(study.cell, values, seed)
    robots = [robot.name for robot in study.cell.robots]
    own = {} if choice is None else {name: choice.make() for name in robots}
    sim = Simulation(varied.cell, own, seed=seed)
    sim.dump_folder = None
    execution = study.program.start(
        sim,
        grip_force=varied.grip_force,
        load=nominal_loads(study.cell),
        frame_errors=varied.frame_errors,
    )
    steps = _simulate(sim, execution, study)
    monitor = execution.monitor
    metrics = {
        "time": sim.time,
        "steps": float(steps),
        "collisions": float(len(monitor.collisions)),
        "drops": float(len(monitor.drops)),
        "goals": float(sum(when is not None for when in execution.reached.values())),
    }
    for name, when in zip(study.goal_columns, execution.reached.values(), strict=True):
        metrics[name] = math.nan if when is None else when
    return _judged(study, execution, metrics)


def _simulate(sim: Simulation, execution: Execution, study: CellStudy) -> int:
    """Make steps until the result of the run is known; return the number of steps."""
    end = min(study.until, study.success.get("time", math.inf)) + 0.5 * sim.dt
    touches = study.success.get("collisions", math.inf)
    steps = 0
    while not execution.done and sim.time < end:
        with sim.lock.inner:
            steps += sim.step_locked(MAX_BATCH)
        if len(execution.monitor.collisions) > touches:
            break
    return steps


def _failed(failure: Failure) -> tuple[str, str]:
    """Return the reason of a failure and the program step that failed, both as text.

    File names are given without folders, because folders differ between computers.
    """
    place = failure.place
    where = "" if place is None else f"line {place.line}"
    if place is not None and place.path is not None:
        where = f"{place.path.name}:{place.line}"
    verb = failure.step.partition("(")[2].rstrip(")") or failure.step
    step = ", ".join(filter(None, (failure.robot, verb, where)))
    who = f"{failure.robot}, {failure.step}" if failure.robot else failure.step
    return ": ".join(filter(None, (where, who, failure.why))), step


def _judged(study: CellStudy, execution: Execution, metrics: dict[str, float]) -> RunOutcome:
    failure = execution.failure
    if failure is not None:
        metrics["failed_at"] = failure.time
        return RunOutcome(metrics, *_failed(failure))
    for name, limit in study.success.items():
        if not metrics[name] <= limit:
            metrics["failed_at"] = metrics["time"]
            return RunOutcome(metrics, f"{name} = {metrics[name]:g}, limit {limit:g}", "limit")
    if not execution.done:
        metrics["failed_at"] = metrics["time"]
        return RunOutcome(metrics, f"not done after {metrics['time']:g} s", "time limit")
    return RunOutcome(metrics)
