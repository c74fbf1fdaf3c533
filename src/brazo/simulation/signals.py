"""The signals of a run, named and with units, computed from raw rows a block at a time.

    t                                   s       the moment the row belongs to
    R.q.J  R.qd.J  R.qdd.J              rad, m  joints of robot R
    R.q_ref.J  R.qd_ref.J  R.qdd_ref.J          where they were asked to be
    R.error.J                                   q_ref − q
    R.torque.J                          N m, N  what the drive gave
    R.external.J                        N m, N  J^T F of all contacts and welds
    R.tool.x y z  qw qx qy qz           m, 1    tool in the world, quaternion with w ≥ 0
    R.contact.x y z                     N       sum of the contact forces on the robot
    R.clamp.opening  R.clamp.force      m, N    fingers, and the force of their drive (closing > 0)
    B.x y z  qw qx qy qz                m, 1    free body B
    energy.kinetic  energy.potential    J       of everything that moves

Deriving a thousand rows at once with the batched kernels costs a step next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from brazo.kinematics.orientation import wxyz_from_matrix
from brazo.simulation.block import Block
from brazo.simulation.robot import SimRobot
from brazo.world import World

Array = np.ndarray
POSE = (("x", "m"), ("y", "m"), ("z", "m"), ("qw", "1"), ("qx", "1"), ("qy", "1"), ("qz", "1"))


class Signals:
    """Columns of one world and its robots, and how to compute them."""

    def __init__(self, world: World, robots: Mapping[str, SimRobot]) -> None:
        self._world = world
        self._parts: list[_RobotSignals] = []
        self.columns: dict[str, str] = {"t": "s"}
        self._references: list[tuple[slice, SimRobot]] = []
        at = 0
        for robot in robots.values():
            place = slice(at, at + 3 * robot.n)
            at = place.stop
            self._references.append((place, robot))
            part = _RobotSignals(robot, place)
            self._parts.append(part)
            self.columns |= part.columns()
        self._reference_size = at
        self._bodies = [int(world.mj_model.joint(b.name).qposadr[0]) for b in world.cell.bodies]
        for body in world.cell.bodies:
            self.columns |= {f"{body.name}.{axis}": unit for axis, unit in POSE}
        self.columns |= {"energy.kinetic": "J", "energy.potential": "J"}

    def block(self, rows: int) -> Block:
        """Room for raw rows."""
        return Block(self._world.mj_model, self._reference_size, 0, 0, rows)

    def references(self) -> list[tuple[slice, Any]]:
        """Where the reference of each robot goes in a raw row."""
        return self._references

    def about(self) -> dict[str, str]:
        """What a recording should know: limits of the joints."""
        limits = {}
        for part in self._parts:
            limits |= part.limits()
        return {"limits": json.dumps(limits)}

    def table(self, block: Block) -> Array:
        """All columns (rows, columns) of the rows filled so far."""
        m = block.filled
        columns: list[Array] = [block.t[:m, None]]
        for part in self._parts:
            columns += part.values(block, m)
        columns += [block.qpos[:m, at : at + 7] for at in self._bodies]
        columns += [block.energy[:m, ::-1]]
        return np.hstack(columns)


class _RobotSignals:
    """The columns of one robot."""

    def __init__(self, robot: SimRobot, place: slice) -> None:
        world = robot.world
        self.robot = robot
        self.arm, self.base = robot.arm, robot.base
        self.place = place
        self.n = robot.n
        self.iq, self.iv, self.drives = world.joint_q, world.joint_v, world.drives
        self.clamp = world.clamp
        self.bodies = world.all_body_ids
        self.shares = world.shares()

    def columns(self) -> dict[str, str]:
        name, arm = self.robot.name, self.arm
        kinds = list(zip(arm.joint_names, arm.joint_kinds, strict=True))
        found: dict[str, str] = {}
        for signal, suffix in (
            ("q", ""), ("qd", "/s"), ("qdd", "/s²"),
            ("q_ref", ""), ("qd_ref", "/s"), ("qdd_ref", "/s²"), ("error", ""),
        ):  # fmt: skip
            for joint, kind in kinds:
                found[f"{name}.{signal}.{joint}"] = ("rad" if kind == "revolute" else "m") + suffix
        for signal in ("torque", "external"):
            for joint, kind in kinds:
                found[f"{name}.{signal}.{joint}"] = "N m" if kind == "revolute" else "N"
        found |= {f"{name}.tool.{axis}": unit for axis, unit in POSE}
        found |= {f"{name}.contact.{axis}": "N" for axis in "xyz"}
        if self.clamp is not None:
            found |= {f"{name}.clamp.opening": "m", f"{name}.clamp.force": "N"}
        return found

    def values(self, block: Block, m: int) -> list[Array]:
        q = np.ascontiguousarray(block.qpos[:m, self.iq])
        reference = block.reference[:m, self.place]
        T = self.base @ self.arm.fk(q) if m else np.empty((0, 4, 4))
        found = [
            q,
            block.qvel[:m, self.iv],
            block.qacc[:m, self.iv],
            reference,
            reference[:, : self.n] - q,
            block.force[:m, self.drives],
            self.external(block, m),
            T[:, :3, 3],
            wxyz_from_matrix(T[:, :3, :3]),
            block.contact[:m, self.bodies, 3:].sum(axis=1),
        ]
        if self.clamp is not None:
            fingers = self.clamp.slide_q
            found.append(block.qpos[:m, fingers].sum(axis=1, keepdims=True))
            found.append(-block.force[:m, [self.clamp.drive_id]])
        return found

    def external(self, block: Block, m: int) -> Array:
        """J^T F: what contacts put on the bodies a joint carries, along that joint's axis."""
        found = np.zeros((m, self.n))
        for joint, dof, carried, share in self.shares:
            wrench = block.contact[:m, carried].sum(axis=1)
            found[:, joint] += share * np.einsum("ij,ij->i", block.axes[:m, dof], wrench)
        return found

    def limits(self) -> dict[str, tuple[float | None, float | None]]:
        """Limits of the recorded signals, null where there is none."""
        found: dict[str, tuple[float | None, float | None]] = {}
        greatest = self.robot.torque_limits
        for i, joint in enumerate(self.arm.joint_names):
            low, high = self.arm.limits[i]
            found[f"{self.robot.name}.q.{joint}"] = _finite(low), _finite(high)
            found[f"{self.robot.name}.torque.{joint}"] = _finite(-greatest[i]), _finite(greatest[i])
        return {name: pair for name, pair in found.items() if pair != (None, None)}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
