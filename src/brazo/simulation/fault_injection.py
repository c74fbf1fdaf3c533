"""`FaultInjection`: activates and clears faults of the robots, at once or at a given time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.simulation.faults import Fault
from brazo.world import WorldRobot

if TYPE_CHECKING:
    from brazo.simulation.simulation import Simulation


class FaultInjection:
    """Injects, schedules and clears the faults of a simulation; available as `sim.faults`.

    `SimRobot.faults` lists the active faults of a robot.
    """

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._scheduled: list[tuple[float, Fault]] = []
        self._injected = 0  # number of faults so far

    @property
    def scheduled(self) -> tuple[tuple[float, Fault], ...]:
        """Scheduled faults as pairs (time in s, fault), earliest first."""
        return tuple(self._scheduled)

    def inject(self, fault: Fault, at: float | None = None) -> None:
        """Activate a fault now, or at the simulation time `at` (s)."""
        sim = self._sim
        with sim.lock:
            if not isinstance(fault, Fault):
                raise BrazoError(
                    f"a fault must be an object of brazo.simulation.faults, not {fault!r}"
                )
            fault.check(sim.robots[fault.robot].world, sim.dt)
            if at is None:
                self._activate(fault)
            elif not np.isfinite(at) or at < sim.time - 0.5 * sim.dt:
                raise BrazoError(
                    f"cannot inject a fault at {at:g} s: expected a finite time, not before the "
                    f"current time {sim.time:g} s"
                )
            else:
                self._scheduled.append((float(at), fault))
                self._scheduled.sort(key=lambda entry: entry[0])

    def clear(self, robot: str | None = None, fault: Fault | None = None) -> None:
        """Clear active and scheduled faults.

        `robot` is the name of a robot, and `fault` is the fault to clear.  By default, all faults
        of all robots are cleared.
        """
        sim = self._sim
        with sim.lock:
            names = list(sim.robots) if robot is None else [sim.robots[robot].name]
            self._scheduled = [
                (at, one)
                for at, one in self._scheduled
                if one.robot not in names or fault not in (None, one)
            ]
            for name in names:
                for cleared in sim.robots[name].control.clear(fault):
                    text, data = fault_event(cleared, sim.robots[name].world)
                    sim.log("fault cleared", text, **data)

    @property
    def due(self) -> float:
        """Time (s) half a step before the next scheduled fault; infinite if none is scheduled.

        The fault begins in the first step that starts at or after this time.
        """
        # A fault begins in the step nearest to its time.
        return self._scheduled[0][0] - 0.5 * self._sim.dt if self._scheduled else np.inf

    def activate_due(self) -> None:
        """Activate the scheduled faults that begin in the current step."""
        while self._scheduled and self._scheduled[0][0] <= self._sim.time + 0.5 * self._sim.dt:
            self._activate(self._scheduled.pop(0)[1])

    def _activate(self, fault: Fault) -> None:
        # Each fault has its own stream of random numbers, which is the same in every run.
        rng = np.random.default_rng([self._sim.seed, self._injected])
        self._injected += 1
        robot = self._sim.robots[fault.robot]
        robot.control.inject(fault, rng)
        text, data = fault_event(fault, robot.world)
        self._sim.log("fault", text, **data)

    def save(self) -> tuple[tuple[tuple[float, Fault], ...], int]:
        """Return the scheduled faults and the number of faults injected so far."""
        return self.scheduled, self._injected

    def restore(self, scheduled: tuple[tuple[float, Fault], ...] = (), injected: int = 0) -> None:
        """Restore the values returned by `save`; by default, remove all scheduled faults."""
        self._scheduled, self._injected = list(scheduled), injected


def fault_event(fault: Fault, robot: WorldRobot) -> tuple[str, dict[str, Any]]:
    """Return the text and the data of the event that reports a fault of a robot."""
    return fault.text_for(robot), {"robot": fault.robot, "fault": type(fault).__name__}
