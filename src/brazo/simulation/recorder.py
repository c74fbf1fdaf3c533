"""`RunRecorder`: records every step of a run.

Raw rows are collected in a block.  A full block is converted to columns and stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter

from brazo.recording.recording import Recording
from brazo.recording.stream import FLUSH_EVERY, MemoryRecorder, Recorder
from brazo.simulation.costs import Meter
from brazo.simulation.raw_rows import ROWS
from brazo.simulation.run_events import Event
from brazo.simulation.signals import Signals


class RunRecorder:
    """Recorder of a run, in memory or streamed to a .parquet file."""

    def __init__(
        self,
        signals: Signals,
        path: Path | None,
        about: Mapping[str, str],
        meter: Meter,
        *,
        replace: bool = False,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        self.signals = signals
        self._meter = meter
        self._controllers: dict[str, list[str]] = {}  # by robot: its controllers, with start times
        description = {**about, **signals.about()}
        self._sink: Recorder | MemoryRecorder = (
            MemoryRecorder(signals.columns, description)
            if path is None
            else Recorder(
                Path(path), signals.columns, description, replace=replace, on_failure=on_failure
            )
        )
        self.streamed = path is not None
        self._derived = perf_counter()
        self.block = signals.block(ROWS)
        self._open = False  # a row is incomplete; an edit during a step discards it
        self._exact = self.block.world.mode == "exact"

    def event(self, event: Event) -> None:
        """Store an event."""
        if event.kind == "control":
            used = self._controllers.setdefault(str(event.data["robot"]), [])
            controller = str(event.data["law"])
            used.append(f"{controller} from {event.t:g} s" if used else controller)
        self._sink.event(event.t, event.kind, event.text, **event.data)

    @property
    def room(self) -> int:
        """Number of rows that native steps may fill in the current block."""
        return self.block.rows - self.block.filled

    def filled(self, rows: int, half: bool) -> None:
        """Count `rows` rows written by native steps; if `half`, the last row is incomplete."""
        self.block.filled += rows - half
        self._open = half

    def before(self) -> None:
        """Store the state at the start of a step; call this before the step."""
        self.block.before()
        self._open = True
        if self._exact:
            # A Runge–Kutta step ends with the forces of its last stage, not with those of this row.
            self.block.world.stepper.prepare_row()
            self._complete()

    def after(self) -> None:
        """Store the results of a step; call this after the step."""
        if self._open:
            self._complete()
        # A kill then loses at most the rows of the last `FLUSH_EVERY` seconds of a streamed file.
        if self.block.full or (self.streamed and perf_counter() - self._derived > FLUSH_EVERY):
            self._derive()

    def pause(self) -> None:
        """Store all rows, because no step will follow for some time.

        During a step, while a row is incomplete, this has no effect.
        """
        if not self._open:
            self.flush()

    @property
    def failure(self) -> str:
        """Reason why the file can no longer be written; empty if writing is possible."""
        return self._sink.failure if isinstance(self._sink, Recorder) else ""

    @property
    def reason(self) -> str:
        """File name and system error message of a write error; empty if there was none."""
        return self._sink.reason if isinstance(self._sink, Recorder) else ""

    def _complete(self) -> None:
        self.block.after()
        self._open = False

    def flush(self) -> None:
        """Convert the raw rows to columns and store them; call this between two steps."""
        self._meter.whole += self._derive()

    def _derive(self) -> float:
        begin = perf_counter()
        block = self.block
        if block.filled:
            self._sink.append_block(self.signals.table(block), own=True)
            block.clear()
        self._derived = perf_counter()
        spent = self._derived - begin
        self._meter.deriving += spent
        return spent

    def rebind(self, signals: Signals) -> None:
        """Continue with the signals of an edited world, which must have the same columns."""
        self.flush()
        self._open = False
        signals.continue_from(self.signals)
        self.signals = signals
        self.block = signals.block(ROWS)

    def finish(self) -> Recording:
        """End the recording and return it."""
        self.flush()
        robots = ", ".join(f"{name} ({', '.join(x)})" for name, x in self._controllers.items())
        return self._sink.recording({"robots": robots} if robots else {})

    def abandon(self) -> None:
        """End the recording without returning it; a streamed file stays readable."""
        self.flush()
        if isinstance(self._sink, Recorder):
            self._sink.abandon()
