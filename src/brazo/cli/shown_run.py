"""A program run in the lab and followed from the shell.

Time begins with the first page.  The run is recorded as a headless one is; when it is over its
outcome is told at once and the lab stays open.  A program that is started anew on the page is
followed, too: the outcome that counts is the last one's.
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
    from brazo.simulation.events import Event

Tell = Callable[["Execution", "Recording | None", float], None]


class ShownRun:
    """Watches a lab; `tell(execution, recording, time)` is called once for every run that ends.

    `time` is when it was over, which the simulation was not: it goes on.  The first run is
    recorded to `record`, a .parquet file; later ones are not.
    """

    def __init__(
        self, execution: Execution, until: float, record: Path, tell: Tell, replace: bool = False
    ) -> None:
        self._execution = execution
        self._until, self._record, self._tell = until, record, tell
        self._recorded, self._replace = False, replace
        self._told = False
        self._ended = 0.0  # when a program last said something of itself: at its end it does
        execution.sim.on_event(self._note)
        execution.sim.start_recording(record, replace=replace)

    def look(self, lab: Lab) -> None:
        """Some times a second while the lab is open."""
        running = program_in(lab.sim)
        if running is not None and running is not self._execution:
            self._execution, self._told = running, False
        execution = self._execution
        sim = execution.sim
        if not execution.done and sim.time > self._until:
            with sim.lock:
                execution.stop(f"not done after {self._until:g} s (--until)")
        if execution.done:
            self._end()

    def close(self) -> None:
        """The lab is closed: what is not over by now is not done."""
        self._end()

    def _end(self) -> None:
        if not self._told:
            self._told = True
            execution = self._execution
            over = execution.done and self._ended > 0.0
            time = self._ended + execution.sim.dt if over else execution.sim.time
            recording = self._recording()
            if recording is not None and over:
                recording = recording.between(None, self._ended)
            self._tell(execution, recording, time)

    def _note(self, event: Event) -> None:
        if event.kind in ("program", "failure"):
            self._ended = event.t

    def _recording(self) -> Recording | None:
        """What was recorded, the first time; made of the stream beside the loop, not in it."""
        if self._recorded:
            return None
        self._recorded = True
        self._execution.sim.abandon_recording()
        part = part_of(self._record)
        if not part.exists():
            return None
        finish_part(part, self._record, replace=self._replace)
        return Recording.open(self._record)
