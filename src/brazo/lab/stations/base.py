"""`StationLab`: a lab whose simulation is one end of a link.

It differs from the lab in three things.  Its windows are those of a station.  Its cell is the
station's and stays, and time cannot be paused: a robot that follows a hand has no pause button but
STOP, in the station's own way: HOLD at the follower; at the master the switch is let go, whatever
device it belongs to, until it is released and pressed anew.
A row above the scene always shows what is known of the link: a page whose link is dead is grey.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from brazo.errors import BrazoError
from brazo.lab.app.context import Context
from brazo.lab.app.lab import Lab
from brazo.lab.app.panel import Panel
from brazo.lab.app.quantities import fixed
from brazo.lab.stations.status import StationStatus, Watch
from brazo.simulation import Simulation
from brazo.teleop.bilateral.account import Account

TOLD_EVERY = 0.1  # s


class StationLab(Lab):
    """A lab at one end of a link; its subclasses say which."""

    role: ClassVar[str]

    def __init__(
        self,
        sim: Simulation,
        panels: Sequence[Callable[[Context], Panel]],
        host: str,
        port: int,
        token: bool = False,
    ) -> None:
        self.watch = Watch()
        self._beat = 0
        self._over = threading.Event()
        super().__init__(sim, panels, host, port, token=token)
        # By a clock of its own: a simulation that stands still must not keep it from being said.
        self._teller = threading.Thread(target=self._tell_on, name="brazo station", daemon=True)
        self._teller.start()

    def status(self) -> StationStatus:
        """What is known now; with the simulation's lock held."""
        raise NotImplementedError

    def time(self) -> float:
        """Seconds since the station began: the time of everything it says."""
        raise NotImplementedError

    def account(self) -> Account | None:
        """The energies of a bilateral scheme; None without one."""
        return None

    def halt(self) -> str | None:
        """What STOP means for the station's own robot; what to say where nothing was stopped."""
        raise NotImplementedError

    def stop(self) -> None:
        self._over.set()
        self._teller.join()
        super().stop()

    def _tell_on(self) -> None:
        while not self._over.wait(TOLD_EVERY):
            self.post(self._tell)

    def _tell(self) -> None:
        """Show the row above the scene."""
        self._beat += 1
        with self.sim.lock:
            state = self.status()
        self.channel.put(
            {
                "station/now": {
                    "link": state.link,
                    "about": state.about,
                    "stopped": state.stopped,
                    "state": state.state,
                    "cause": state.cause,
                    "warning": state.warnings[0] if state.warnings else "",
                    "trip": fixed(1e3 * state.round_trip, 1) if state.round_trip >= 0.0 else "–",
                    "beat": self._beat,
                },
                "station/time": fixed(self.time(), 1),
            }
        )

    def _after_stop(self, unseen: str | None = None) -> None:
        if unseen is None or self.channel.overtaken:
            super()._after_stop(unseen)
        else:  # no sign that it worked where it had nothing to do
            self.say(unseen)

    def _furnish(self, panels: Sequence[Callable[[Context], Panel]]) -> None:
        super()._furnish(panels)
        self.channel.put({"station/role": self.role, "choices": {"cells": [], "robots": []}})
        for event, kinds in (
            ("play", ()), ("pause", ()), ("step", (int,)), ("reset", ()), ("speed", (float,))
        ):  # fmt: skip
            self.channel.on(event, self._time_goes_on, *kinds)

    def _time_goes_on(self, *_: Any) -> None:
        raise BrazoError("a station cannot be paused; STOP (space bar) stops its robot")

    def _open_shipped(self, name: str) -> None:
        raise BrazoError("a station has one robot: start another station for another robot")
