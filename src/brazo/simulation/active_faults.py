"""`ActiveFaults`: the active faults of one robot, applied in the order of injection."""

from __future__ import annotations

import numpy as np

from brazo.simulation.faults import Effect, Fault
from brazo.world import WorldRobot

Array = np.ndarray


class ActiveFaults:
    """The active faults of one robot, which change its measurements and drive commands."""

    def __init__(self) -> None:
        self._active: list[tuple[Fault, Effect]] = []
        self.in_step = False  # a fault acts in every step
        self.on_sensors = False  # a fault changes the encoder readings

    @property
    def faults(self) -> list[Fault]:
        """Return the active faults in the order of injection."""
        return [fault for fault, _ in self._active]

    def add(self, fault: Fault, robot: WorldRobot, dt: float, rng: np.random.Generator) -> None:
        """Activate a fault; `rng` generates its random noise."""
        fault.begin(robot)
        self._active.append((fault, fault.effect(robot, dt, rng)))
        self.apply(robot)

    def clear(self, robot: WorldRobot, fault: Fault | None = None) -> list[Fault]:
        """Clear `fault`, or all faults if it is None; return the cleared faults."""
        cleared = [one for one, _ in self._active if fault is None or one == fault]
        self._active = [(one, effect) for one, effect in self._active if one not in cleared]
        for one in cleared:
            one.end(robot)
        self.apply(robot)
        return cleared

    def apply(self, robot: WorldRobot) -> None:
        """Set the drive gains of the robot and the flags `on_sensors` and `in_step`.

        Call this method also after a state of the engine was restored, because drive gains are not
        part of that state.
        """
        self.on_sensors = any(fault.on_sensors for fault in self.faults)
        self.in_step = self.on_sensors or any(fault.on_command for fault in self.faults)
        gain = np.ones(robot.n)
        for fault, _ in self._active:
            fault.weaken(gain, robot)
        robot.drive_gain = gain

    def measured(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the positions and velocities (n,) that the faulty encoders measure."""
        q, qd = q.copy(), qd.copy()
        for fault, effect in self._active:
            if fault.on_sensors:
                effect.sense(q, qd)
        return q, qd

    def delivered(self, tau: Array) -> Array:
        """Return the torques (n,) that reach the drives when the controller commands `tau`."""
        for fault, effect in self._active:
            if fault.on_command:
                tau = effect.command(tau)
        return tau
