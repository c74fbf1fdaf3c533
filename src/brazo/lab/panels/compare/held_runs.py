"""Runs in memory that the Compare panel compares, numbered in the order of addition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np

from brazo.errors import BrazoError
from brazo.operate.playing import Playing
from brazo.recording.comparison import ComparedRun, compared_run, unused
from brazo.recording.metrics import MotionMetrics, metrics_of
from brazo.recording.recording import Recording
from brazo.recording.source import open_source
from brazo.text import one_line

MOST_RUNS = 24
LONGEST_NAME = 40  # characters
MOST_VALUES = 4_000_000  # of a file (32 MB); more are read at a lower rate


@dataclass(eq=False)
class HeldRun:
    """Recording of one run, kept in memory by the Compare panel, with its cached metrics."""

    number: int
    name: str
    recording: Recording
    began: float = np.nan  # s, time of the simulation; NaN for a file
    motion: object = None  # equal for two runs of the same trajectory or program
    playing: Playing | None = None
    saved: bool = False  # whether it is in a file
    named: bool = False  # whether the user named it
    _compared: dict[str, ComparedRun | None] = field(default_factory=dict)
    _metrics: dict[str, list[MotionMetrics]] = field(default_factory=dict)

    def compared(self, robot: str) -> ComparedRun | None:
        """Data of one robot in this run; None if the run has no data of this robot."""
        if robot not in self._compared:
            try:
                self._compared[robot] = compared_run(self.name, self.recording, robot)
            except BrazoError:
                self._compared[robot] = None
        return self._compared[robot]

    def metrics(self, robot: str) -> list[MotionMetrics]:
        """Metrics of one robot; empty if the run has no data of this robot."""
        if robot not in self._metrics:
            run = self.compared(robot)
            self._metrics[robot] = [] if run is None else metrics_of(run.robot)
        return self._metrics[robot]

    def rename(self, name: str) -> None:
        """Change the name of the run, and mark the name as chosen by the user."""
        self.name, self.named = name, True
        self._compared.clear()


RunsState = tuple[tuple[HeldRun, str, bool], ...]  # runs in order, name, whether the user chose it


class HeldRuns:
    """Collection of runs, indexed by their numbers; holds at most `MOST_RUNS`."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._runs: dict[int, HeldRun] = {}

    def __iter__(self) -> Iterator[HeldRun]:
        return iter(tuple(self._runs.values()))

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, number: int) -> HeldRun:
        if number not in self._runs:
            raise BrazoError("this run no longer exists")
        return self._runs[number]

    def add(self, name: str, recording: Recording, **more: object) -> HeldRun:
        """Add a run and return it; `more` are other fields of `HeldRun`.

        If the collection is full, the oldest run that is neither named by the user nor saved is
        removed.  Raises `BrazoError` if there is no such run.
        """
        if len(self._runs) >= MOST_RUNS:
            spare = next((one for one in self if not one.named and not one.saved), None)
            if spare is None:
                raise BrazoError(f"at most {MOST_RUNS} runs can be compared: remove some first")
            self.remove(spare.number)
        number = self.next_number()
        run = HeldRun(number, self._free(name), recording, **more)  # type: ignore[arg-type]
        self._runs[number] = run
        return run

    def next_number(self) -> int:
        """Return an unused run number."""
        return next(self._numbers)

    @property
    def state(self) -> RunsState:
        """Snapshot of the runs, their order and their names, for undo."""
        return tuple((run, run.name, run.named) for run in self)

    def restore(self, state: RunsState) -> None:
        """Restore a snapshot that was taken with `state`."""
        self._runs = {run.number: run for run, _, _ in state}
        for run, name, named in state:
            if run.name != name:
                run.rename(name)
            run.named = named

    def remove(self, number: int) -> None:
        """Remove the run with this number; raises `BrazoError` if it does not exist."""
        del self._runs[self[number].number]

    def clear(self) -> None:
        """Remove all runs."""
        self._runs.clear()

    def rename(self, number: int, name: str) -> None:
        """Rename a run; a number is appended if another run has this name.

        The name is cut to `LONGEST_NAME` characters.  Raises `BrazoError` if the name is empty.
        """
        run = self[number]
        if not name.strip():
            raise BrazoError("the name of a run cannot be empty")
        if name.strip() != run.name:
            run.rename(self._free(name))

    def _free(self, name: str) -> str:
        short = one_line(name.strip())[:LONGEST_NAME]
        return unused(short, {one.name: one for one in self})


def read_run(path: Path) -> Recording:
    """Read a recording; downsample it to about `MOST_VALUES` values if it has more."""
    source = open_source(path)
    most = MOST_VALUES // max(1, len(source.units))
    if source.rows > most:
        blocks = [t for (t,) in source.read([source.time])]
        seconds = float(blocks[-1][-1] - blocks[0][0])
        if seconds > 0.0:
            source = source.at_rate(most / seconds)
    return Recording(source.columns(), list(source.events), source.about, source.notes)
