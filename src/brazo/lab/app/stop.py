"""STOP: a dedicated thread that handles the STOP button, and the braking of a simulation."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from brazo.lab.app.program_run import program_in
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.server.repeats import Repeats
from brazo.operate import StopAll
from brazo.simulation import Simulation

log = logging.getLogger(__name__)
log.addFilter(Repeats())


class Stopper:
    """Calls `stop()` on a dedicated thread after `press` is called.

    If `press` is called several times before the thread starts the call, `stop()` is called once.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._pressed = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._wait, name="brazo stop", daemon=True)
        self._thread.start()

    def press(self) -> None:
        """Trigger a call of `stop` and return immediately."""
        self._pressed.set()

    def close(self) -> None:
        """End the dedicated thread."""
        self._closed = True
        self._pressed.set()
        self._thread.join()

    def _wait(self) -> None:
        while True:
            self._pressed.wait()
            self._pressed.clear()
            if self._closed:
                return
            try:
                self._stop()
            except Exception:  # the thread must survive to handle the next press
                log.exception("could not stop")


class Brakes:
    """Brakes the robots of a simulation as quickly as their limits allow; thread-safe."""

    def __init__(self) -> None:
        self._stop_all = StopAll()

    def apply(self, sim: Simulation | RecordingReplay) -> str | None:
        """Brake the robots and pause the program of a simulation, or pause a replay.

        Returns a message for the user if nothing was moving, otherwise None.
        """
        if isinstance(sim, RecordingReplay):
            still = not sim.player.running
            sim.player.pause()
            return "Nothing was moving." if still else None
        with sim.lock:
            program, still = program_in(sim), not sim.moving
            ran = program is not None and not (program.paused or program.done)
            self._stop_all.stop(sim)
            sim.log("stop", "stopped by the user")
        if not still:
            return None
        return "Nothing was moving; the program is paused." if ran else "Nothing was moving."
