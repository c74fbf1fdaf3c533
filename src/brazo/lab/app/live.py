"""The last minute of every signal, for live plots and displays.

A background task copies one row of raw engine data into a block every `EVERY` seconds of simulated
time.  A copy takes about 6 µs.  The lab's thread exchanges the filled block for an empty one, which
does not delay a step.  It then computes the signals (`brazo.simulation.signals`) of all new rows at
once, without holding the simulation's lock.  The cost for the simulation loop does not depend on
which plots are visible.

    live = context.live
    live.collect()                      on the lab's thread
    live.rows(first, ["t", "scara1.q.elbow"])

Rows have consecutive numbers that are never reused.  The rows `first` to `end - 1` are available.
When time moves backwards or another simulation is opened, all rows are dropped and `epoch` is
incremented.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from brazo.lab.app.session import Session
from brazo.simulation import Simulation
from brazo.simulation.raw_rows import RawRows
from brazo.simulation.signals import Signals

EVERY = 0.01  # s, sampling interval
KEPT = 60.0  # s, time span of the rows kept
BLOCK = 500  # max number of uncollected rows; further rows are dropped


class LiveSignals:
    """Signals of the last minute of the simulation.  Use only on the lab's thread."""

    def __init__(self, session: Session, post: Callable[[Callable[[], None]], None]) -> None:
        self._session, self._post = session, post
        self.columns: dict[str, str] = {}  # name -> unit; the first is the time
        self.epoch = 0
        self.first = self.end = 0  # number of the oldest row, and of the next new row
        self._at: dict[str, int] = {}
        self._task: _Sampler | None = None
        self._signals: Signals | None = None
        self._size = 0
        self._table = np.empty((0, 0))
        self._used = 0  # rows of the table in use
        self.last_t = -np.inf

    def collect(self) -> None:
        """Compute and store the signals of the rows sampled since the last call."""
        sim = self._session.sim
        task = self._task
        if task is None or task.sim is not sim or task.model is not sim.world.mj_model:
            self._attach(sim)
            return
        if task not in sim.tasks:  # removed when an older state was restored
            sim.tasks.add(task)
        with sim.lock:
            block = task.take()
        if block.filled:
            assert self._signals is not None
            rows = self._signals.table(block)
            block.clear()
            self._append(rows)

    def close(self) -> None:
        """Remove the sampling task from the simulation."""
        if self._task is not None:
            self._task.sim.tasks.remove(self._task)

    def rows(self, start: int, names: Sequence[str]) -> np.ndarray:
        """Values of the signals `names` in all rows from row number `start` on.

        The result has one row per sample and one column per name.  Rows that are no longer stored
        are omitted.
        """
        begin = self._used - (self.end - max(start, self.first))
        return self._table[begin : self._used, [self._at[name] for name in names]]

    def window(self, seconds: float, names: Sequence[str]) -> np.ndarray:
        """Values of the signals `names` in the last `seconds`, with one column per name."""
        return self.rows(self.end - round(seconds / self.every), names)

    @property
    def every(self) -> float:
        """Simulated time between two rows (s)."""
        return self._task.every * self._task.sim.dt if self._task is not None else EVERY

    def _attach(self, sim: Simulation) -> None:
        old = self._task
        if old is not None:
            old.sim.tasks.remove(old)
        signals = Signals(sim.world, sim.robots)
        edited = old is not None and old.sim is sim and signals.columns == self.columns
        if edited and self._signals is not None:
            signals.continue_from(self._signals)
        self._signals = signals
        self._task = _Sampler(sim, signals, lambda: self._post(self.collect))
        if not edited:
            self.columns = signals.columns
            self._at = {name: i for i, name in enumerate(signals.columns)}
            self._size = round(KEPT / self.every)
            # Twice the size needed, so that rows are moved to the front only once per minute.
            self._table = np.empty((2 * self._size, len(signals.columns)))
            self._drop()
        sim.tasks.add(self._task)

    def _drop(self) -> None:
        self.epoch += 1
        self.first = self.end
        self._used = 0
        self.last_t = -np.inf

    def _append(self, rows: np.ndarray) -> None:
        t = rows[:, 0]
        back = np.flatnonzero(np.diff(t, prepend=self.last_t) < 0.0)
        if len(back):
            rows = rows[back[-1] :]
            self._drop()
        rows = rows[-self._size :]
        if self._used + len(rows) > len(self._table):
            kept = self._size - len(rows)
            self._table[:kept] = self._table[self._used - kept : self._used]
            self._used = kept
        self._table[self._used : self._used + len(rows)] = rows
        self._used += len(rows)
        self.end += len(rows)
        self.first = max(self.first, self.end - self._size)
        self.last_t = float(rows[-1, 0])


class _Sampler:
    """Simulation task that copies rows of raw engine data.

    The simulation calls `tick` before a step.  The first half of a row is the state before this
    step.  The second half contains the quantities that the step computes, and is copied in the next
    call of `tick`.  The simulation may run the steps between two samples as one batch.
    """

    background = True

    def __init__(self, sim: Simulation, signals: Signals, full: Callable[[], None]) -> None:
        self.sim = sim
        self.model = sim.world.mj_model
        self.every = max(1, round(EVERY / sim.dt))
        self._signals = signals
        self._block, self._spare = signals.block(BLOCK), signals.block(BLOCK)
        self._full = full
        self._asked = False
        self._half = False
        self._last = np.inf  # s, time of the last tick
        #: Time (s) of the next sample, or of the step that completes the current one.
        self.due = 0.0

    def tick(self, sim: Simulation) -> None:
        t, block, same_model = sim.time, self._block, sim.world.mj_model is self.model
        if self._half:
            self._half = False
            # Discard the row if the model was replaced or time moved backwards in between.
            if same_model and t > block.t[block.filled]:
                block.after()
            self.due = self._next
        if t < self._last:  # the first tick, or time moved backwards
            self.due = t
        self._last = t
        if t < self.due - 0.5 * sim.dt:
            return
        self._next = self.due = t + self.every * sim.dt
        if block.full:
            if not self._asked:  # no panel collects the rows: request it
                self._asked = True
                self._full()
        elif same_model:
            block.before()
            self._half = True
            self.due = t

    def take(self) -> RawRows:
        """Return the block of sampled rows and continue with the spare block.

        The caller must hold the simulation's lock.
        """
        self._block, self._spare = self._spare, self._block
        if self._half:  # an incomplete row is sampled again in the next step
            self.due = 0.0
        self._half = self._asked = False
        return self._spare
