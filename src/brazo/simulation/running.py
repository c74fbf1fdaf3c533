"""Recorded runs of a simulation; implementation of `Simulation.run`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.recording import Recording
from brazo.simulation.clock import MAX_BATCH, steps_before

if TYPE_CHECKING:
    from brazo.simulation.simulation import Simulation

Progress = Callable[[float, str], object]
REPORT_EVERY = 0.1  # s of wall-clock time


def run(
    sim: Simulation,
    program: Any,
    until: float | None,
    record: str | Path | None,
    progress: Progress | None,
    replace: bool = False,
) -> Recording:
    """Run and record a simulation; the arguments are those of `Simulation.run`."""
    if until is not None and not np.isfinite(until):
        raise BrazoError(f"until = {until}: expected a finite time in seconds")
    if until is not None and until < sim.time - 0.5 * sim.dt:
        raise BrazoError(f"until = {until:g} s: must not be before the current time {sim.time:g} s")
    sim.player.pause()
    execution: Any = None
    if program is not None:
        starts = getattr(program, "start", None)
        execution = starts(sim) if callable(starts) else program
        if execution not in sim.tasks:
            sim.tasks.add(execution)
    sim.recording.start(record, replace=replace)
    begin, reported = sim.time, 0.0
    # Half a step of tolerance, because times are accumulated steps.
    last = np.inf if until is None else until - 0.5 * sim.dt
    try:
        while sim.world.mj_data.time <= last and not _over(sim, execution, until):
            if sim.recording.recorder is not None and sim.recording.recorder.failure:
                break
            with sim.lock.inner:
                sim.step_locked(_steps_ahead(sim, execution, last))
            sim.lock.hand_over()
            if progress is not None and (now := perf_counter()) - reported > REPORT_EVERY:
                reported = now
                progress(*_progress(sim, execution, begin, until))
    except (KeyboardInterrupt, SystemExit):  # Ctrl+C, SIGTERM
        sim.recording.interrupt()
        raise
    except BaseException:
        sim.recording.abandon()
        raise
    if progress is not None:
        progress(1.0, f"{sim.time:.2f} s")
    return sim.recording.stop()


def _over(sim: Simulation, execution: Any, until: float | None) -> bool:
    if execution is not None:
        return execution not in sim.tasks or bool(getattr(execution, "done", False))
    return until is None and not sim.moving and not sim.tasks.foreground


def _steps_ahead(sim: Simulation, execution: Any, last: float) -> int:
    """Return the number of steps to make before checking again whether the run is over."""
    if math.isfinite(last):
        return steps_before(last - sim.world.mj_data.time, sim.dt)
    if execution is None and not sim.tasks.foreground:
        # The run ends when no robot moves.
        return steps_before(max(robot.motion.remaining for robot in sim.robots.values()), sim.dt)
    return MAX_BATCH


def _progress(
    sim: Simulation, execution: Any, begin: float, until: float | None
) -> tuple[float, str]:
    fraction = getattr(execution, "progress", None)
    if fraction is None:
        fraction = float("nan")
        if until is not None and until > begin:
            fraction = (sim.time - begin) / (until - begin)
    return float(fraction), f"{sim.time:.2f} s"
