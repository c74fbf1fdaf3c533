"""Time as the bars of the page show it, and the buttons that rule it: play, pause, step, reset.

Numbers for people change ten times a second, whatever the simulation does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from brazo.errors import BrazoError
from brazo.lab.app.quantities import fixed
from brazo.lab.app.session import Session
from brazo.lab.scene.snapshot import Snapshot
from brazo.lab.server.channel import Channel
from brazo.lab.server.notices import Notices
from brazo.simulation.player import Player

EVERY = 0.1  # s
MOST_STEPS = 10_000


class Clock:
    """The lab's hold on the simulation's player."""

    def __init__(
        self,
        session: Session,
        channel: Channel,
        notices: Notices,
        each_panel: Callable[[Callable[[Any], Any]], None],
    ) -> None:
        self._session, self._channel, self._notices = session, channel, notices
        self._each_panel = each_panel
        self._due = 0.0
        self._said: BaseException | None = None
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
        """There is another simulation: show its time with the next frame."""
        self._due = 0.0

    def step(self, n: int) -> None:
        """Let n steps pass, paused."""
        if not 1 <= n <= MOST_STEPS:
            raise BrazoError(f"cannot step {n} times; from 1 to {MOST_STEPS}")
        self._player.step(n)

    def reset(self) -> None:
        """Back to the start; goes on running if it did."""
        running = self._player.running
        self._player.reset()
        self._each_panel(lambda panel: panel.reset())
        if running:
            self._player.play()

    def set_speed(self, speed: float) -> None:
        """How fast time passes, 0 to 4 times that of the wall."""
        self._player.speed = speed

    def update(self, snapshot: Snapshot) -> None:
        """Show the time."""
        now = time.monotonic()
        running = self._player.running
        if self._player.error is not None and self._player.error is not self._said:
            self._said = self._player.error
            self._notices.say(f"simulation stopped: {self._said}", "error")
        if now < self._due and running:
            return
        self._due = now + EVERY
        factor = self._player.real_time_factor if running else 0.0
        self._channel.put(
            {
                "clock/time": fixed(snapshot.time, 2),
                "clock/running": running,
                "clock/speed": self._player.speed,
                "clock/factor": fixed(factor if math.isfinite(factor) else 0.0, 2),
                "clock/step": f"{1e3 * self._session.shown.dt:g}",
                "clock/collisions": snapshot.collisions(),
                "clock/moving": self._session.shown.moving,
            }
        )
