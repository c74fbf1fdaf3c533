"""Time display of the page, and handlers of its play, pause, step, reset and speed controls.

The displayed values are updated at most ten times per second while the simulation runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Literal

from brazo.errors import BrazoError
from brazo.lab.app.quantities import fixed
from brazo.lab.app.session import Session
from brazo.lab.scene.shown import Shown
from brazo.lab.scene.snapshot import SceneSnapshot
from brazo.lab.server.channel import PageChannel
from brazo.lab.server.notices import Notices
from brazo.simulation.player import Player

EVERY = 0.1  # s, update interval of the display
MOST_STEPS = 10_000


class Clock:
    """Handles the playback controls of the pages and publishes the simulation time.

    It controls the player of the simulation or replay that is shown.
    """

    def __init__(
        self,
        session: Session,
        channel: PageChannel,
        notices: Notices,
        each_panel: Callable[[Callable[[Any], Any]], None],
    ) -> None:
        self._session, self._channel, self._notices = session, channel, notices
        self._each_panel = each_panel
        self._due = 0.0
        self._said: BaseException | None = None
        self._stop: Literal["", "braking", "at rest"] = ""  # since STOP, until robots move again
        on = channel.on
        on("play", lambda: self._player.play())
        on("pause", lambda: self._player.pause(), still=True)
        on("step", self.step, int)
        on("reset", self.reset)
        on("speed", self.set_speed, float)

    @property
    def _player(self) -> Player:
        return self._session.shown.player

    def restart(self) -> None:
        """Clear the STOP indicator, and publish the time with the next update of the pages.

        Called after the simulation was replaced.
        """
        self._due, self._stop = 0.0, ""

    def stopped(self) -> None:
        """Show the STOP indicator until a robot moves again; thread-safe."""
        self._due, self._stop = 0.0, "braking"

    def step(self, n: int) -> None:
        """Pause, then advance by `n` simulation steps or replay rows, from 1 to `MOST_STEPS`."""
        if not 1 <= n <= MOST_STEPS:
            raise BrazoError(f"cannot step {n} times: enter a number from 1 to {MOST_STEPS}")
        self._player.step(n)

    def reset(self) -> None:
        """Reset the simulation or replay to its start.

        If it was running, it continues to run from the start.
        """
        running = self._player.running
        self._player.reset()
        self._each_panel(lambda panel: panel.reset())
        if running:
            self._player.play()

    def set_speed(self, speed: float) -> None:
        """Set the ratio of simulated time to wall-clock time, from 0 to 4."""
        self._player.speed = speed

    def update(self, snapshot: SceneSnapshot) -> None:
        """Publish the time, playback speed, active faults and number of collisions.

        The time and the collisions are those of `snapshot`.  While the simulation runs, values are
        published at most ten times per second.  An error that stopped the simulation is shown to
        the user once.
        """
        now = time.monotonic()
        running = self._player.running
        if self._player.error is not None and self._player.error is not self._said:
            self._said = self._player.error
            self._notices.say(f"simulation stopped: {self._said}", "error")
        if now < self._due and running:
            return
        self._due = now + EVERY
        shown = self._session.shown
        moving = shown.moving
        if self._stop == "braking" and not moving:
            self._stop = "at rest"
        elif self._stop == "at rest" and moving:
            self._stop = ""
        factor = self._player.real_time_factor if running else 0.0
        self._channel.put(
            {
                "clock/time": fixed(snapshot.time, 2),
                "clock/running": running,
                "clock/speed": self._player.speed,
                "clock/factor": fixed(factor if math.isfinite(factor) else 0.0, 2),
                "clock/step": f"{1e3 * shown.dt:g}",
                "clock/collisions": snapshot.collisions(),
                "clock/moving": moving,
                "clock/stopped": bool(self._stop) and self._session.replay is None,
                "clock/faults": _faults(shown),
            }
        )


def _faults(sim: Shown) -> list[str]:
    """Descriptions of the active faults of all robots; empty for a replay."""
    return [
        fault.text_for(robot.world)
        for robot in sim.robots.values()
        for fault in getattr(robot, "faults", ())
    ]
