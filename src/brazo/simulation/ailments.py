"""The faults of one robot at work, and the order in which they act."""

from __future__ import annotations

import numpy as np

from brazo.simulation.faults import Effect, Fault
from brazo.world import WorldRobot

Array = np.ndarray


class Ailments:
    """All active faults of a robot: they change what its law sees and what its drives are told."""

    def __init__(self) -> None:
        self._active: list[tuple[Fault, Effect]] = []
        self.acts = False  # in every step
        self.blinds = False  # an encoder does not tell the truth

    @property
    def faults(self) -> list[Fault]:
        """What is wrong, in the order in which it went wrong."""
        return [fault for fault, _ in self._active]

    def add(self, fault: Fault, robot: WorldRobot, dt: float, rng: np.random.Generator) -> None:
        """Make something go wrong."""
        fault.begin(robot)
        self._active.append((fault, fault.effect(robot, dt, rng)))
        self.renew(robot)

    def clear(self, robot: WorldRobot, fault: Fault | None = None) -> list[Fault]:
        """Undo one fault, or all of them; those that are gone now."""
        gone = [one for one, _ in self._active if fault is None or one == fault]
        self._active = [(one, effect) for one, effect in self._active if one not in gone]
        for one in gone:
            one.end(robot)
        self.renew(robot)
        return gone

    def renew(self, robot: WorldRobot) -> None:
        """Set the drives' gains, which are no part of the engine's state."""
        self.blinds = any(fault.on_sensors for fault in self.faults)
        self.acts = self.blinds or any(fault.on_command for fault in self.faults)
        gain = np.ones(robot.n)
        for fault, _ in self._active:
            fault.weaken(gain, robot)
        robot.drive_gain = gain

    def measured(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """What the law sees instead of q and q̇."""
        q, qd = q.copy(), qd.copy()
        for fault, effect in self._active:
            if fault.on_sensors:
                effect.sense(q, qd)
        return q, qd

    def told(self, tau: Array) -> Array:
        """What the drives hear instead of τ."""
        for fault, effect in self._active:
            if fault.on_command:
                tau = effect.command(tau)
        return tau
