"""The signals of a run, named and with units, computed from raw rows a block at a time.

    t                                   s       the moment the row belongs to
    R.q.J  R.qd.J  R.qdd.J              rad, m  joints of robot R
    R.q_ref.J  R.qd_ref.J  R.qdd_ref.J          where they were asked to be
    R.error.J                                   q_ref − q
    R.measured.J                                what the encoder says of q; a fault may make it lie
    R.torque.J                          N m, N  what the drive gave
    R.external.J                        N m, N  J^T F of all contacts and welds
    R.tool.x y z qw qx qy qz            m, 1    tool in the world
    R.contact.x y z                     N       sum of the contact and weld forces on the robot
    R.energy.kinetic  .potential        J       of the robot alone
    R.clamp.opening  R.clamp.force      m, N    fingers, and the force of their drive (closing > 0)
    R.grasp.body                        1       which free body is held, 1 for the first; 0 none
    R.grasp.force                       N       on the pad that presses less
    B.x y z qw qx qy qz                 m, 1    free body B
    distance.R-S                        m       least distance of two robots (see `DISTANCE_EVERY`)
    internal.R-S.x y z  .along          N       internal force while both hold one body (see below)
    energy.kinetic  energy.potential    J       of everything that moves

Quaternions never jump: of the two of an orientation the one near the row before is taken.

**Internal force.**  Let f_R and f_S be the forces the two hands put on the body they both hold.
Their sum moves it; their half difference f = (f_R − f_S)/2 moves nothing and only loads it.
`along` is f · u with u the unit vector from the tool of R to that of S: positive when the robots
press the body together, negative when they pull.  All four are 0 while not both hold one body.

Deriving a thousand rows at once with the batched kernels costs a step next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.simulation.block import Block
from brazo.simulation.clock import moments
from brazo.simulation.robot import SimRobot
from brazo.simulation.robot_signals import POSE, RobotSignals
from brazo.world import World

Array = np.ndarray
DISTANCE_EVERY = 0.04  # s; a distance is asked for this often and kept in between
FARTHEST = 2.0  # m; a greater distance is recorded as this one


class Signals:
    """Columns of one world and its robots, and how to compute them."""

    def __init__(self, world: World, robots: Mapping[str, SimRobot]) -> None:
        self._world, self._model = world, world.mj_model
        self._actors = list(robots.values())
        self._robots = [RobotSignals(robot) for robot in self._actors]
        at = 0
        for robot in self._robots:
            robot.start(at)
            at += robot.n
        self._pairs = list(combinations(self._robots, 2))
        self._hands = [(a, b) for a, b in self._pairs if a.clamp and b.clamp and world.cell.bodies]
        self._nearest = [world.nearest(a.name, b.name, FARTHEST) for a, b in self._pairs]
        self._every = max(1, round(DISTANCE_EVERY / world.dt))
        self._since = 0
        self._distance = np.full(len(self._pairs), np.nan)
        self._scratch: Any = None  # the engine's data of other moments
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

    def go_on(self, earlier: Signals) -> None:
        """Continue the rows of an edited world without a jump."""
        self._since, self._distance = earlier._since, earlier._distance
        for mine, its in zip(self._robots, earlier._robots, strict=True):
            mine.last_wxyz = its.last_wxyz

    def block(self, rows: int) -> Block:
        """Room for raw rows."""
        return Block(self._world, self._actors, rows)

    def about(self) -> dict[str, str]:
        """What a recording should know: limits of the joints."""
        limits: dict[str, tuple[float | None, float | None]] = {}
        for robot in self._robots:
            limits |= robot.limits()
        return {"limits": json.dumps(limits)}

    def table(self, block: Block) -> Array:
        """All columns (rows, columns) of the rows filled so far."""
        m = block.filled
        columns: list[Array] = [moments(block.t[:m], self._world.dt)[:, None]]
        for robot in self._robots:
            columns += robot.values(block, m)
        columns += [block.qpos[:m, at : at + 7] for at in self._bodies]
        columns += [self._distances(block, m)]
        columns += [_internal(a, b, block, m) for a, b in self._hands]
        kinetic, potential = block.energy[:m, 1], block.energy[:m, 0]
        kinetic = kinetic - sum(robot.borrowed_energy(block, m) for robot in self._robots)
        columns += [kinetic[:, None], potential[:, None]]
        return np.hstack(columns)

    def _distances(self, block: Block, m: int) -> Array:
        """Least distances (m, pairs) of the robots: computed every so many rows, kept in between.

        They follow from the positions alone, so no step has to wait for them.
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


def _internal(first: RobotSignals, second: RobotSignals, block: Block, m: int) -> Array:
    """Half the difference (rows, 4) of the forces of two hands on one body; x, y, z, along."""
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
