"""Recorded signals of a run: names, units and computation from raw rows.

R and S are names of robots, J is the name of a joint, B the name of a free body.

    t                                   s       time of the row
    R.q.J  R.qd.J  R.qdd.J              rad, m  joint position, velocity (/s), acceleration (/s²)
    R.q_ref.J  R.qd_ref.J  R.qdd_ref.J          references of the joint
    R.error.J                                   q_ref − q
    R.measured.J                                encoder reading of q, which a fault may change
    R.torque.J                          N m, N  torque delivered by the drive
    R.current.J  R.voltage.J  R.duty.J  A, V, 1 drive model only; voltage, duty constant in a step
    R.external.J                        N m, N  Jᵀ F of all contacts and welds
    R.tool.x y z qw qx qy qz            m, 1    pose of the tool in the world
    R.tool_ref.x y z                    m       tool position in the world at the reference q_ref
    R.contact.x y z                     N       sum of the contact and weld forces on the robot
    R.energy.kinetic  .potential        J       of the robot alone
    R.gripper.opening  R.gripper.force      m, N    gripper opening and drive force (closing > 0)
    R.grasp.body                        1       number of the held free body, from 1; 0 for none
    R.grasp.force                       N       the smaller of the two pad forces
    B.x y z qw qx qy qz                 m, 1    pose of the free body in the world
    distance.R-S                        m       min distance of two robots (see below)
    internal.R-S.x y z  .along          N       internal force in a dual grasp (see below)
    energy.kinetic  energy.potential    J       of all moving bodies

Quaternions are continuous: q and −q describe the same orientation, and the one closest to the
previous row is used.

A distance is computed every `DISTANCE_EVERY` seconds and repeated in the rows between; distances
above `FARTHEST` are recorded as `FARTHEST`.

**Internal force.**  Let f_R and f_S be the forces of the two hands on a body that both hold.  Their
sum moves the body.  Half their difference f = (f_R − f_S)/2 causes no motion, only internal load.
`along` is f · u, where u is the unit vector from the tool of R to the tool of S.  It is positive if
the robots press the body together and negative if they pull it apart.  All four signals are 0
unless both hands hold the same body.

Signals are computed for up to 1000 rows at once, which takes very little time per step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.simulation.clock import exact_times
from brazo.simulation.raw_rows import RawRows
from brazo.simulation.robot import SimRobot
from brazo.simulation.robot_signals import POSE, RobotSignals
from brazo.world import World
from brazo.world.distances import Nearest

Array = np.ndarray
DISTANCE_EVERY = 0.04  # s; a distance is computed at this interval and held in between
FARTHEST = 2.0  # m; larger distances are recorded as this value


class Signals:
    """Names, units and computation of the recorded signals of one world."""

    def __init__(self, world: World, robots: Mapping[str, SimRobot]) -> None:
        self._world, self._model = world, world.mj_model
        self._actors = list(robots.values())
        self._robots = [RobotSignals(robot) for robot in self._actors]
        at = 0
        for robot in self._robots:
            robot.start(at)
            at += robot.n
        self._pairs = list(combinations(self._robots, 2))
        self._hands = [
            (a, b) for a, b in self._pairs if a.gripper and b.gripper and world.cell.bodies
        ]
        self._nearest = [
            Nearest(world.mj_model, world.labels, (a.name, b.name), FARTHEST)
            for a, b in self._pairs
        ]
        self._every = max(1, round(DISTANCE_EVERY / world.dt))
        self._since = 0
        self._distance = np.full(len(self._pairs), np.nan)
        self._scratch: Any = None  # engine data for past states
        self._bodies = [int(world.mj_model.joint(b.name).qposadr[0]) for b in world.cell.bodies]
        self.columns: dict[str, str] = {"t": "s"}
        for robot in self._robots:
            self.columns |= robot.columns()
        for body in world.cell.bodies:
            self.columns |= {f"{body.name}.{axis}": unit for axis, unit in POSE}
        self.columns |= {f"distance.{a.name}-{b.name}": "m" for a, b in self._pairs}
        for a, b in self._hands:
            self.columns |= {f"internal.{a.name}-{b.name}.{x}": "N" for x in (*"xyz", "along")}
        self.columns |= {"energy.kinetic": "J", "energy.potential": "J"}

    def continue_from(self, earlier: Signals) -> None:
        """Continue the signals of `earlier` after an edit of the world.

        The last distances and the signs of quaternions are taken over, so that these signals have
        no discontinuity.
        """
        self._since, self._distance = earlier._since, earlier._distance
        for mine, its in zip(self._robots, earlier._robots, strict=True):
            mine.last_wxyz = its.last_wxyz

    def block(self, rows: int) -> RawRows:
        """Return an empty block for `rows` raw rows."""
        return RawRows(self._world, self._actors, rows)

    def about(self) -> dict[str, str]:
        """Return metadata for a recording: the limits of its signals, as JSON."""
        limits: dict[str, tuple[float | None, float | None]] = {}
        for robot in self._robots:
            limits |= robot.limits()
        return {"limits": json.dumps(limits)}

    def table(self, block: RawRows) -> Array:
        """Return all signals of the filled rows of a block, shape (rows, signals)."""
        m = block.filled
        columns: list[Array] = [exact_times(block.t[:m], self._world.dt)[:, None]]
        for robot in self._robots:
            columns += robot.values(block, m)
        columns += [block.qpos[:m, at : at + 7] for at in self._bodies]
        columns += [self._distances(block, m)]
        columns += [_internal(a, b, block, m) for a, b in self._hands]
        kinetic, potential = block.energy[:m, 1], block.energy[:m, 0]
        kinetic = kinetic - sum(robot.borrowed_energy(block, m) for robot in self._robots)
        columns += [kinetic[:, None], potential[:, None]]
        return np.hstack(columns)

    def _distances(self, block: RawRows, m: int) -> Array:
        """Return the min distance of each pair of robots, shape (m, pairs), in metres.

        A distance is computed every `DISTANCE_EVERY` seconds and repeated in the rows between.
        Distances depend only on the recorded positions, so they are computed after the steps.
        """
        found = np.empty((m, len(self._pairs)))
        if not self._pairs:
            return found
        if self._scratch is None:
            self._scratch = engine().MjData(self._model)
        data = self._scratch
        for k in range(-self._since % self._every, m, self._every):
            data.qpos[:] = block.qpos[k]
            engine().mj_kinematics(self._model, data)
            found[k:] = [nearest.value(data) for nearest in self._nearest]
        first = -self._since % self._every
        found[:first] = self._distance
        self._since += m
        if m:
            self._distance = found[-1]
        return found


def _internal(first: RobotSignals, second: RobotSignals, block: RawRows, m: int) -> Array:
    """Return the internal force (m, 4) in N between two hands: x, y, z and `along`."""
    found = np.zeros((m, 4))
    one, other = first.held(block, m), second.held(block, m)
    rows = np.flatnonzero((one == other) & (one >= 0))
    if len(rows):
        f = 0.5 * (first.hand_force(block, rows) - second.hand_force(block, rows))
        u = second.tool_position[rows] - first.tool_position[rows]
        length = np.linalg.norm(u, axis=1, keepdims=True)
        u = np.divide(u, length, out=np.zeros_like(u), where=length > 0.0)
        found[rows, :3] = f
        found[rows, 3] = (f * u).sum(axis=1)
    return found
