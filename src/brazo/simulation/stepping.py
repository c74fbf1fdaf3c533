"""`Stepper`: makes the steps of a simulation.

Order within the step at time t:

    faults → tasks → controllers → drives → world from t to t + dt → recording → next references
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from brazo.errors import BrazoError
from brazo.simulation.clock import MAX_BATCH, exact_time, steps_before
from brazo.simulation.dump import save_dump
from brazo.simulation.native import NativeSteps
from brazo.simulation.run_recording import describe
from brazo.world import Diverged

if TYPE_CHECKING:
    from brazo.simulation.simulation import Simulation


class Stepper:
    """Makes the steps of one simulation."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self.native = NativeSteps(sim)
        self._stepping = False
        self._restored = 0

    def discard(self) -> None:
        """Discard the results of the step in progress; call this when a state is restored."""
        self._restored += 1

    def make(self, most: int) -> int:
        """Make one or more steps; return the number of steps.

        At most `most` steps are made.  Fewer are made if a task or fault is due, an event occurs,
        or the steps cannot be made in machine code.
        """
        if self._stepping:
            raise BrazoError(
                "step was called by a callback inside a step; call it after the callback returns"
            )
        self._stepping = True
        try:
            return self._step(most)
        finally:
            self._stepping = False

    def _step(self, most: int) -> int:
        sim = self._sim
        meter, recording = sim.meter, sim.recording
        begin = perf_counter()
        sim.faults.activate_due()
        if not sim.tasks.run(sim):
            most = 1  # the caller may be waiting for the end of a task
        if most > 1:
            most = min(most, self._steps_to_due())
        timed = meter.samples
        ticked = perf_counter()
        world, restored = sim.world, self._restored
        robots = sim.robots.values()
        made = self.native.make(most, timed) if sim.native else 0
        incomplete = made > 0 and self.native.incomplete
        acted = kept = ticked
        if not made:
            t = world.mj_data.time
            for robot in robots:
                robot.control.act(t)
            acted = perf_counter() if timed else 0.0
            if recording.recorder is not None:
                recording.recorder.before()
            kept = perf_counter() if timed else 0.0
        try:
            if incomplete:
                world.stepper.observe()
            elif not made:
                world.stepper.advance()
        except Diverged as error:
            raise self._diverged(error) from None
        finally:
            meter.steps += made or 1
        if self._restored != restored:
            return made or 1  # a callback restored a state: the results of this step are outdated
        moved, derived = perf_counter(), meter.deriving
        if recording.recorder is not None:
            recording.recorder.after()
        written = perf_counter()
        if incomplete or not made:
            for robot in robots:
                robot.control.advance()
        end = perf_counter()
        meter.tasks += ticked - begin
        meter.whole += end - begin
        meter.control += end - written
        meter.recording += written - moved - (meter.deriving - derived)
        if timed and not incomplete:
            parts = self.native.parts() if made else (acted - ticked, kept - acted, moved - kept)
            meter.sample(*parts)
        return made or 1

    def _steps_to_due(self) -> int:
        """Return the number of steps that start before the next task or fault is due."""
        sim = self._sim
        now, dt = sim.time, sim.dt
        due = min(sim.tasks.due(now), sim.faults.due)
        steps = steps_before(due - now, dt)
        # Due to rounding, a time such as now + 0.01 may be slightly after the step it refers to.
        if steps < MAX_BATCH and exact_time(now + steps * dt, dt) < due:
            steps += 1
        return steps

    def _diverged(self, error: Diverged) -> Diverged:
        """Write a dump of the last steps; return the error with the path of the dump added.

        If dumps are switched off, `error` is returned unchanged.
        """
        sim = self._sim
        ring, folder = sim.world.stepper.last_steps, sim.dump_folder
        if ring is None or folder is None:
            return error
        found = save_dump(
            folder, sim.cell.name, sim.world.mj_model, ring.states(), error, describe(sim)
        )
        dump = None if found.dump is None else str(found.dump)
        sim.log("diverged", str(found), where=error.where, dump=dump)
        return found
