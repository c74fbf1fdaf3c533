"""`Player`: runs a simulation in real time, in a separate thread.

A player starts at wall-clock time w₀ and simulation time s₀ with the speed v (0 to 4).  At
wall-clock time w the simulation time should be s₀ + v (w − w₀).  The thread makes the steps that
are due, then sleeps until the next step is due.  A lag of more than `LAG` is counted as a missed
deadline, and the schedule restarts from the current time.  A slow machine therefore shows slow
motion instead of catching up in bursts.
"""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter
from typing import Any, Protocol

from brazo.errors import BrazoError
from brazo.simulation.clock import steps_before
from brazo.simulation.step_lock import StepLock

FASTEST = 4.0
SLICE = 0.02  # s of wall-clock time before the schedule is checked again
LAG = 0.1  # s
TICK = 0.002  # s, the shortest sleep
WINDOW = 0.5  # s, averaging window of the real-time factor


class Played(Protocol):
    """An object that a `Player` can run: a simulation or a replay."""

    lock: StepLock

    @property
    def recording(self) -> Any:
        """The recording to notify of a pause; None if the object never records."""
        ...

    @property
    def time(self) -> float:
        """Current simulation time (s)."""
        ...

    @property
    def dt(self) -> float:
        """Step size (s)."""
        ...

    def step(self, n: int = 1) -> None:
        """Make `n` steps."""
        ...

    def step_locked(self, most: int = 1) -> int:
        """Make 1 to `most` steps and return their number; the caller must hold `lock`."""
        ...

    def reset(self) -> None:
        """Return to the start."""
        ...

    def log(self, kind: str, text: str) -> object:
        """Log an event."""
        ...


class Player:
    """Player of a simulation or a replay, available as `sim.player`."""

    def __init__(self, sim: Played) -> None:
        self._sim = sim
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._playing = False
        self._closed = False
        self._speed = 1.0
        self._start = (0.0, 0.0)  # wall-clock and simulation time at which the schedule starts
        self._passed: deque[tuple[float, float]] = deque()
        self.overruns = 0  # number of missed deadlines
        self.error: BaseException | None = None  # the error that stopped the player

    @property
    def running(self) -> bool:
        """Whether the player is running; at speed 0 it runs, but time does not advance."""
        return self._playing

    @property
    def speed(self) -> float:
        """Speed relative to real time, 0 to 4."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        value = float(value)
        if not 0.0 <= value <= FASTEST:
            raise BrazoError(
                f"speed {100 * value:g} % of real time: must be from 0 to {100 * FASTEST:g} %"
            )
        with self._wake:
            self._speed = value
            self._restart_schedule()
            self._wake.notify_all()

    @property
    def real_time_factor(self) -> float:
        """Ratio of simulated to wall-clock time in the last half second; 0 if not running."""
        with self._wake:
            if not self._playing or not self._passed:
                return 0.0
            wall, passed = self._passed[0]
            elapsed = perf_counter() - wall
            return (self._sim.time - passed) / elapsed if elapsed > 1e-3 else 0.0

    def play(self) -> None:
        """Start running."""
        with self._wake:
            if self._playing:
                return
            if self._closed:
                raise BrazoError("the player was closed; create another simulation")
            self.error = None
            self._playing = True
            self._restart_schedule()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="brazo player", daemon=True)
                self._thread.start()
            self._wake.notify_all()

    def pause(self) -> None:
        """Pause; when this call returns, no step is in progress and none will start."""
        with self._sim.lock:
            self._playing = False
            if self._sim.recording:  # so that a kill during the pause loses no data
                self._sim.recording.recorder.pause()
        with self._wake:
            self._passed.clear()
            self._wake.notify_all()

    def step(self, n: int = 1) -> None:
        """Pause, then make `n` steps."""
        self.pause()
        self._sim.step(n)

    def reset(self) -> None:
        """Pause, then return to the start."""
        self.pause()
        self.overruns = 0
        self.error = None
        self._sim.reset()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the player is paused or stopped by an error.

        Return False if it is still running after `timeout` seconds.
        """
        with self._wake:
            return self._wake.wait_for(lambda: not self._playing, timeout)

    def close(self) -> None:
        """Pause and end the thread."""
        self.pause()
        with self._wake:
            self._closed = True
            self._wake.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    # ---- player thread ---------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._playing or self._closed)
                if self._closed:
                    return
            try:
                while self._playing:
                    self._catch_up()
                    self._sleep()
            except BaseException as error:
                self._fail(error)

    def _catch_up(self) -> None:
        """Make the steps that are due; stop after `SLICE` seconds of wall-clock time."""
        sim, end = self._sim, perf_counter() + SLICE
        half = 0.5 * sim.dt
        while (late := self._due(now := perf_counter()) - sim.time - half) > 0.0 and now < end:
            with sim.lock.inner:
                if not self._playing:
                    return
                sim.step_locked(steps_before(late, sim.dt))
            sim.lock.hand_over()

    def _sleep(self) -> None:
        """Sleep until the next step is due or the speed or play state changes.

        Return at once if steps are due; count a missed deadline if they are too late.
        """
        with self._wake:
            if not self._playing:
                return
            now = perf_counter()
            self._passed.append((now, self._sim.time))
            while now - self._passed[0][0] > WINDOW:
                self._passed.popleft()
            if self._speed == 0.0:
                self._wake.wait()
                return
            early = (self._sim.time + 0.5 * self._sim.dt - self._due(now)) / self._speed
            if early > 0.0:
                self._wake.wait(max(early, TICK))
            elif -early > LAG:
                self.overruns += 1
                self._start = now, self._sim.time

    def _due(self, now: float) -> float:
        wall, start = self._start
        return start + self._speed * (now - wall)

    def _restart_schedule(self) -> None:
        """Restart the schedule at the current time."""
        self._start = perf_counter(), self._sim.time
        self._passed.clear()

    def _fail(self, error: BaseException) -> None:
        with self._wake:
            self._playing = False
            self.error = error
            self._passed.clear()
            self._wake.notify_all()
        self._sim.log("error", str(error) or type(error).__name__)
