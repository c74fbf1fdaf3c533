"""Raw copies of the engine's arrays, one row per step.

A row belongs to the time t at which a step starts.  Positions, velocities and references are copied
before the step.  The engine computes accelerations, forces and contacts from them during the step;
these are copied after the step (in `exact` mode, they are computed and copied before the step).
All values of a row are therefore consistent: M q̈ + C q̇ + G = τ + τ_ext holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from brazo.formats.mjcf.engine import engine

if TYPE_CHECKING:
    from brazo.simulation.robot import SimRobot
    from brazo.world import World

Array = np.ndarray
ROWS = 1000


class RawRows:
    """A block for `rows` raw rows of one compiled world; the first `filled` rows are in use."""

    def __init__(self, world: World, robots: list[SimRobot], rows: int) -> None:
        model = world.mj_model
        self.world = world
        self.rows = rows
        self.filled = 0
        self._robots: list[tuple[SimRobot, slice, slice]] = []
        at = 0
        for robot in robots:
            self._robots.append((robot, slice(3 * at, 3 * (at + robot.n)), slice(at, at + robot.n)))
            at += robot.n
        self._looped = [(r, joints) for r, _, joints in self._robots if r.world.loops]
        self.external = np.zeros((rows, at if self._looped else 0))
        self.t = np.zeros(rows)
        self.qpos = np.zeros((rows, model.nq))
        self.qvel = np.zeros((rows, model.nv))
        self.reference = np.zeros((rows, 3 * at))
        self.measured = np.full((rows, at), np.nan)  # nan without encoder faults
        self.qacc = np.zeros((rows, model.nv))
        self.force = np.zeros((rows, model.nu))
        # Bodies and degrees of freedom up to the last one of a robot; free bodies have higher ids.
        bodies = 1 + max([int(r.world.engine.bodies.max()) for r in robots], default=0)
        dofs = 1 + max([int(r.world.engine.member_v.max()) for r in robots], default=-1)
        self.contact = np.zeros((rows, bodies, 6))  # moment, force about the tree's centre of mass
        self.axes = np.zeros((rows, dofs, 6))  # motion axes of the joints, about the same points
        self.sensors = np.zeros((rows, model.nsensordata))
        self.energy = np.zeros((rows, 2))
        self.grips = np.zeros((rows, *world.observer.grips.shape))
        self.drives: dict[str, Array] = {}  # by robot with real drives: current, voltage, duty
        # The engine's arrays keep their addresses as long as the model exists.
        data = world.mj_data
        self._model, self._data = model, data
        self._sum_contacts = engine().mj_rnePostConstraint  # by body, into `cfrc_ext`
        self._sources: tuple[tuple[Array, Array], ...] = (
            (self.qacc, data.qacc),
            (self.force, data.actuator_force),
            (self.contact, data.cfrc_ext[:bodies]),
            (self.axes, data.cdof[:dofs]),
            (self.sensors, data.sensordata),
            (self.energy, data.energy),
            (self.grips, world.observer.grips),
        )
        for robot in robots:
            if (drives := robot.control.drives) is not None:
                kept = self.drives[robot.name] = np.zeros((rows, len(drives.signals)))
                self._sources += ((kept, drives.signals),)
        self._qpos, self._qvel = data.qpos, data.qvel

    @property
    def copies(self) -> tuple[list[tuple[Array, Array]], list[tuple[Array, Array]]]:
        """Pairs (column, engine array) to copy before a step, and pairs to copy after a step."""
        return [(self.qpos, self._qpos), (self.qvel, self._qvel)], list(self._sources)

    @property
    def plain(self) -> bool:
        """Whether rows are filled by copying arrays, without computing anything.

        For robots with closed kinematic loops, external torques have to be computed.
        """
        return not self._looped

    @property
    def full(self) -> bool:
        return self.filled == self.rows

    def before(self) -> None:
        """Store the state from which a step starts."""
        k = self.filled
        self.t[k] = self._data.time
        self.qpos[k] = self._qpos
        self.qvel[k] = self._qvel
        row = self.reference[k]
        for robot, place, joints in self._robots:
            row[place] = robot.motion.row
            if robot.control.measured is not None:
                self.measured[k, joints] = robot.control.measured[0]

    def after(self) -> None:
        """Store the results of the step; the row is then complete."""
        k = self.filled
        self._sum_contacts(self._model, self._data)
        for kept, source in self._sources:
            kept[k] = source
        for robot, joints in self._looped:
            # The map from contact forces to joint torques depends on the current pose.
            touched = self._data.cfrc_ext[robot.world.engine.bodies].any()
            self.external[k, joints] = robot.world.external_torque() if touched else 0.0
        self.filled = k + 1

    def clear(self) -> None:
        """Remove all rows."""
        self.measured[: self.filled] = np.nan
        self.filled = 0
