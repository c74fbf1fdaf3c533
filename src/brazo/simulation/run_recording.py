"""`RunRecording`: starts and ends the recording of a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from brazo.errors import BrazoError
from brazo.recording.recording import Recording
from brazo.simulation.fault_injection import fault_event
from brazo.simulation.recorder import RunRecorder
from brazo.simulation.run_events import Event
from brazo.simulation.signals import Signals
from brazo.world.recorded_cell import recorded_source

if TYPE_CHECKING:
    from brazo.simulation.simulation import Simulation

_OF_STATES = ("control", "fault", "grasped")  # event kinds of lasting states; see `_present`


class RunRecording:
    """Starts and ends recordings; available as `sim.recording`.

    The object is true (`bool(sim.recording)`) while steps are recorded.
    """

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self.recorder: RunRecorder | None = None
        #: The last recording in memory that a change of the cell or Ctrl+C during a run ended.
        self.ended: Recording | None = None

    def __bool__(self) -> bool:
        return self.recorder is not None

    def start(self, path: str | Path | None = None, *, replace: bool = False) -> None:
        """Record every step from now on, in memory or streamed to a .parquet file.

        An existing file is rejected unless `replace` is True.  If the file cannot be written any
        more (full disk), the simulation pauses and logs an event of kind `recording`.  The
        simulation can be resumed without the recording; the data written so far stays readable.
        """
        sim = self._sim
        with sim.lock:
            if self.recorder is not None:
                raise BrazoError("a recording is already running; stop it first")
            self.recorder = RunRecorder(
                Signals(sim.world, sim.robots),
                None if path is None else Path(path),
                describe(sim) | recorded_source(sim.cell),
                sim.meter,
                replace=replace,
                on_failure=self._failed,
            )
            for event in self._present():
                self.recorder.event(event)

    def stop(self) -> Recording:
        """End the recording and return it."""
        with self._sim.lock:
            recorder, self.recorder = self.recorder, None
            if recorder is None:
                raise BrazoError("no recording is running; start one first")
            return recorder.finish()

    def interrupt(self) -> None:
        """End the recording after Ctrl+C; a recording in memory is then available as `ended`."""
        with self._sim.lock:
            recorder = self.recorder
            if recorder is None:  # a change of the cell has ended it
                return
            recording = self.stop()
            if not recorder.streamed:
                self.ended = recording

    def abandon(self) -> None:
        """End the recording without returning it; a streamed file stays readable."""
        with self._sim.lock:
            recorder, self.recorder = self.recorder, None
            if recorder is not None:
                recorder.abandon()

    def rebind(self) -> None:
        """Continue the recording after a change of the world, or end it if its signals changed."""
        sim, recorder = self._sim, self.recorder
        if recorder is None:
            return
        signals = Signals(sim.world, sim.robots)
        if signals.columns == recorder.signals.columns:
            recorder.rebind(signals)
            return
        sim.log("recording", "recording ended: robots or bodies of the cell changed")
        self.recorder = None
        if recorder.streamed:  # converting a long file now would delay the simulation
            recorder.abandon()
        else:
            self.ended = recorder.finish()

    def _failed(self, reason: str) -> None:
        """Pause the simulation and log a write error; called once, from the writer's thread."""
        self._sim.player.pause()
        self._sim.log("recording", reason)

    def _present(self) -> Iterator[Event]:
        """Yield the events with which a recording starts.

        These are events of the current time, such as the start of a program, and events that
        report the current controllers, faults and grasps.
        """
        sim, t = self._sim, self._sim.time
        yield from (e for e in sim.events if e.t == t and e.kind not in _OF_STATES)
        for robot in sim.robots.values():
            yield Event(t, "control", *robot.control.event())
            for fault in robot.faults:
                yield Event(t, "fault", *fault_event(fault, robot.world))
            body = sim.world.observer.held.get(robot.name)
            if body is not None:
                data = {"robot": robot.name, "body": body}
                yield Event(t, "grasped", f"{robot.name} holds {body}", data)


def describe(sim: Simulation) -> dict[str, str]:
    """Return the metadata of a run for recordings and dumps: cell, robots, settings, version."""
    cell = sim.cell
    return {
        "brazo": version("brazo"),
        "cell": cell.name,
        "mode": sim.world.mode,
        "dt": repr(sim.dt),
        "seed": str(sim.seed),
        "robots": ", ".join(f"{r.name} ({r.controller_name})" for r in sim.robots.values()),
        "bodies": ", ".join(body.name for body in cell.bodies),
        # Needed to draw a replay; empty for a cell made in Python.
        "cell_file": "" if cell.path is None else str(cell.path.absolute()),
    }
