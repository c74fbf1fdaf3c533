"""Monitor of a program that runs in the lab, for the shell command `brazo run`.

The simulation starts when the first browser page connects.  The run is recorded like a headless
run.  Its result is printed when it ends, and the lab stays open.  If the program is started again
on the page, that run is monitored too.  The exit code is that of the last run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from brazo.lab.app.program_run import program_in
from brazo.recording.part_file import part_of
from brazo.recording.recording import Recording
from brazo.recording.stream import finish_part

if TYPE_CHECKING:
    from brazo.lab.app.lab import Lab
    from brazo.program import Execution
    from brazo.simulation.run_events import Event

Report = Callable[["Execution", "Recording | None", float], None]


class LabRun:
    """Monitor of a lab that calls `report(execution, recording, time)` at the end of every run.

    `time` (s) is the simulated time at which the program ended; the simulation continues after the
    end.  A program that is not done at the simulated time `until` (s) is stopped.  The first run is
    recorded in `record`, a .parquet file; for later runs `recording` is None.
    """

    def __init__(
        self,
        execution: Execution,
        until: float,
        record: Path,
        report: Report,
        replace: bool = False,
    ) -> None:
        self._execution = execution
        self._until, self._record, self._report = until, record, report
        self._recorded, self._replace = False, replace
        self._reported = False
        self._ended = 0.0  # time (s) of the program's last event, which it logs when it ends
        execution.sim.on_event(self._note)
        execution.sim.recording.start(record, replace=replace)

    def poll(self, lab: Lab) -> None:
        """Check the running program; called several times a second while the lab is open."""
        session = lab.session
        running = program_in(session.sim) if session.replay is None else None
        if running is not None and running is not self._execution:
            self._execution, self._reported = running, False
        execution = self._execution
        sim = execution.sim
        if not execution.done and sim.time > self._until:
            with sim.lock:
                execution.stop(f"not done after {self._until:g} s (--until)")
        if execution.done:
            self._end()

    def close(self) -> None:
        """Report the last run, unless it has been reported; to be called when the lab is closed."""
        self._end()

    def _end(self) -> None:
        if not self._reported:
            self._reported = True
            execution = self._execution
            over = execution.done and self._ended > 0.0
            time = self._ended + execution.sim.dt if over else execution.sim.time
            recording = self._recording()
            if recording is not None and over:
                recording = recording.between(None, self._ended)
            self._report(execution, recording, time)

    def _note(self, event: Event) -> None:
        if event.kind in ("program", "failure"):
            self._ended = event.t

    def _recording(self) -> Recording | None:
        """Close the recording of the first run and return it.

        Return None for later runs, or if nothing was recorded.  The final file is written here,
        because this takes too long for the simulation loop.
        """
        if self._recorded:
            return None
        self._recorded = True
        self._execution.sim.recording.abandon()
        part = part_of(self._record)
        if not part.exists():
            return None
        finish_part(part, self._record, replace=self._replace)
        return Recording.open(self._record)
