"""`StationLab`: a lab whose simulation is one end of a teleoperation link.

Differences from `Lab`:

- It has the panels of a station.
- The cell cannot be changed.  The simulation cannot be paused, single-stepped or reset, and its
  speed is fixed.  Use STOP to stop the robot.
- STOP at the follower enters the state HOLD: the robot brakes and stays at rest.  After STOP at the
  master, the enable switch of every input device counts as released until the operator releases it
  and presses it again.
- A row above the scene always shows the state of the link.  The page is grey if the link is dead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from brazo.errors import BrazoError
from brazo.lab.app.context import PanelContext
from brazo.lab.app.lab import Lab
from brazo.lab.app.panel import Panel
from brazo.lab.app.quantities import fixed
from brazo.lab.stations.status import StationStatus, Watch
from brazo.simulation import Simulation
from brazo.teleop.bilateral.energy_balance import EnergyBalance

STATUS_PERIOD = 0.1  # s, period of the status row


class StationLab(Lab):
    """Lab at one end of a teleoperation link; base class of `MasterLab` and `FollowerLab`."""

    role: ClassVar[str]

    def __init__(
        self,
        sim: Simulation,
        panels: Sequence[Callable[[PanelContext], Panel]],
        host: str,
        port: int,
        token: bool = False,
    ) -> None:
        self.watch = Watch()
        self._beat = 0
        self._over = threading.Event()
        super().__init__(sim, panels, host, port, token=token)
        # On a thread of its own, so that the status is sent even if the simulation has stopped.
        self._teller = threading.Thread(target=self._tell_on, name="brazo station", daemon=True)
        self._teller.start()

    def status(self) -> StationStatus:
        """Return the current status of the link and the follower.

        The simulation's lock must be held.
        """
        raise NotImplementedError

    def time(self) -> float:
        """Return the time (s) since the station started, which is also the time in its log."""
        raise NotImplementedError

    def energy_balance(self) -> EnergyBalance | None:
        """Return the energy balance of the bilateral scheme; None if there is no scheme."""
        return None

    def halt(self) -> str | None:
        """Handle STOP at this end of the link, as described in the module docstring.

        Returns None if motion was stopped, otherwise a message that explains why there was nothing
        to stop.
        """
        raise NotImplementedError

    def stop(self) -> None:
        self._over.set()
        self._teller.join()
        super().stop()

    def _tell_on(self) -> None:
        while not self._over.wait(STATUS_PERIOD):
            self.post(self._tell)

    def _tell(self) -> None:
        """Send the values of the status row above the scene."""
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
        else:  # nothing was stopped: show the message instead of a confirmation
            self.say(unseen)

    def _furnish(self, panels: Sequence[Callable[[PanelContext], Panel]]) -> None:
        super()._furnish(panels)
        self.channel.put({"station/role": self.role, "choices": {"cells": [], "robots": []}})
        for event, kinds, reason in (
            ("play", (), "a station always runs"),
            ("pause", (), "a station cannot be paused"),
            ("step", (int,), "a station cannot run in single steps"),
            ("reset", (), "a station cannot be reset"),
            ("speed", (float,), "the simulation speed of a station cannot be changed"),
        ):
            self.channel.on(event, partial(self._refuse, reason), *kinds)

    def _refuse(self, reason: str, *_: Any) -> None:
        raise BrazoError(f"{reason}; to stop the robot, use STOP (space bar)")

    def _open_shipped(self, name: str) -> None:
        raise BrazoError(
            "the cell of a station cannot be changed: start another station to use another cell"
        )
