"""Recorded signals of one robot, computed from blocks of raw engine data (`RawRows`)."""

from __future__ import annotations

import numpy as np

from brazo.control.base import torque_limits
from brazo.errors import BrazoError
from brazo.kinematics.orientation import wxyz_from_matrix
from brazo.simulation.raw_rows import RawRows
from brazo.simulation.robot import SimRobot

Array = np.ndarray
POSE = (("x", "m"), ("y", "m"), ("z", "m"), ("qw", "1"), ("qx", "1"), ("qy", "1"), ("qz", "1"))
_MOTION = (
    ("q", ""), ("qd", "/s"), ("qdd", "/s²"),
    ("q_ref", ""), ("qd_ref", "/s"), ("qdd_ref", "/s²"), ("error", ""), ("measured", ""),
)  # fmt: skip
DRIVE_SIGNALS = (("current", "A"), ("voltage", "V"), ("duty", "1"))  # of joints with real drives


class RobotSignals:
    """Recorded signals of one robot in a compiled world.

    A new object is created after each edit of the world.
    """

    def __init__(self, robot: SimRobot) -> None:
        world = robot.world
        self.name, self.n = robot.name, robot.n
        self._arm, self._base = robot.arm, robot.base
        self._torque_limits = torque_limits(robot.arm)
        at = world.engine
        self._iq, self._iv, self._drives = at.joint_q, at.joint_v, at.drives
        self._members, self._armature = at.members()
        self._bodies, self._gripper_row = at.bodies, at.gripper_row
        self._loops = world.loops
        self._carried, self._to_joints = at.shares()
        self.gripper = world.gripper
        self._hand = np.array(
            [world.tip_id, *(world.gripper.finger_ids if world.gripper else ())], int
        )
        drives = robot.control.drives
        self._driven = () if drives is None else drives.joints
        self.last_wxyz: Array | None = None
        self.tool_position = np.zeros((0, 3))

    def start(self, at: int) -> None:
        """Set `at`, the index of this robot's first joint in arrays of the joints of all robots."""
        self._joints = slice(at, at + self.n)
        self._reference = slice(3 * at, 3 * (at + self.n))

    def columns(self) -> dict[str, str]:
        """Return a mapping from signal names to units, in the order of `values`."""
        name, found = self.name, {}
        kinds = list(zip(self._arm.joint_names, self._arm.joint_kinds, strict=True))
        for signal, suffix in _MOTION:
            for joint, kind in kinds:
                found[f"{name}.{signal}.{joint}"] = ("rad" if kind == "revolute" else "m") + suffix
        for signal in ("torque", "external"):
            for joint, kind in kinds:
                found[f"{name}.{signal}.{joint}"] = "N m" if kind == "revolute" else "N"
        found |= {f"{name}.tool.{axis}": unit for axis, unit in POSE}
        found |= {f"{name}.tool_ref.{axis}": "m" for axis in "xyz"}
        found |= {f"{name}.contact.{axis}": "N" for axis in "xyz"}
        if self._arm.has_dynamics:
            found |= {f"{name}.energy.kinetic": "J", f"{name}.energy.potential": "J"}
        for signal, unit in DRIVE_SIGNALS:
            found |= {f"{name}.{signal}.{kinds[i][0]}": unit for i in self._driven}
        if self.gripper is not None:
            found |= {f"{name}.gripper.opening": "m", f"{name}.gripper.force": "N"}
            found |= {f"{name}.grasp.body": "1", f"{name}.grasp.force": "N"}
        return found

    def values(self, block: RawRows, m: int) -> list[Array]:
        """Return the signals of the first m rows of a block, as arrays with m rows each."""
        q = np.ascontiguousarray(block.qpos[:m, self._iq])
        qd = np.ascontiguousarray(block.qvel[:m, self._iv])
        reference = block.reference[:m, self._reference]
        measured = block.measured[:m, self._joints]
        T = self._base @ self._arm.fk(q)
        self.tool_position = T[:, :3, 3]
        found = [
            q,
            qd,
            # A robot without masses follows its reference exactly, including the acceleration.
            block.qacc[:m, self._iv] if self._arm.has_dynamics else reference[:, 2 * self.n :],
            reference,
            reference[:, : self.n] - q,
            np.where(np.isnan(measured), q, measured),
            block.force[:m, self._drives],
            self._external(block, m),
            self.tool_position,
            self._continuous(wxyz_from_matrix(T[:, :3, :3])),
            self._reference_tool(reference[:, : self.n]),
            block.contact[:m, self._bodies, 3:].sum(axis=1),
        ]
        if self._arm.has_dynamics:
            found.append(self._arm.energy(q, qd))
        if self._driven:
            found.append(block.drives[self.name][:m])
        if self.gripper is not None:
            found.append(block.qpos[:m, self.gripper.slide_q].sum(axis=1, keepdims=True))
            found.append(-block.force[:m, [self.gripper.drive_id]])
            found.append(block.grips[:m, self._gripper_row, :2] + (1.0, 0.0))
        return found

    def held(self, block: RawRows, m: int) -> Array:
        """Return the index (m,) of the held body in each of the first m rows; -1 for no body."""
        return block.grips[:m, self._gripper_row, 0].astype(int)

    def hand_force(self, block: RawRows, rows: Array) -> Array:
        """Return the force (k, 3) of the hand on the held body, in N and world axes.

        `rows` (k,) are row indices in the block.  Contact sensors do not measure weld forces.  For
        a welded body, the result is therefore minus the total external force on the hand.
        """
        assert self.gripper is not None and self.gripper.sensors is not None
        body = block.grips[rows, self._gripper_row, 0].astype(int)
        force = self.gripper.sensors.forces(block.sensors[rows], body)
        welded = block.grips[rows, self._gripper_row, 2] > 0.0
        if welded.any():
            felt = -block.contact[rows][:, self._hand, 3:].sum(axis=1)
            force = np.where(welded[:, None], felt, force)
        return force

    def limits(self) -> dict[str, tuple[float | None, float | None]]:
        """Return the lower and upper limit of each limited signal; None means unlimited."""
        found: dict[str, tuple[float | None, float | None]] = {}
        for i, joint in enumerate(self._arm.joint_names):
            low, high = self._arm.limits[i]
            found[f"{self.name}.q.{joint}"] = _finite(low), _finite(high)
            greatest = self._torque_limits[i]
            found[f"{self.name}.torque.{joint}"] = _finite(-greatest), _finite(greatest)
        return {name: pair for name, pair in found.items() if pair != (None, None)}

    def borrowed_energy(self, block: RawRows, m: int) -> Array | float:
        """Return the kinetic energy (m,), J, of the artificial inertias of a robot without masses.

        The engine includes this energy in its total energy.  It is 0 for a robot with known masses.
        """
        if self._arm.has_dynamics:
            return 0.0
        rates = block.qvel[:m, self._members]
        return 0.5 * (rates * rates) @ self._armature

    def _external(self, block: RawRows, m: int) -> Array:
        """Return the joint torques Jᵀ F (m, n) of all contact and weld forces F, in N m and N."""
        if self._loops:
            return block.external[:m, self._joints]
        felt = block.contact[:m, self._bodies]
        if not felt.any():
            return np.zeros((m, self.n))
        wrench = self._carried @ felt  # (m, members, 6)
        return (block.axes[:m, self._members] * wrench).sum(axis=2) @ self._to_joints

    def _reference_tool(self, q_ref: Array) -> Array:
        """Return the tool positions (m, 3) in the world at the reference joint positions (m, n).

        If the rods of a Delta do not meet at one of the references, all positions are nan.
        """
        try:
            return (self._base @ self._arm.fk(q_ref))[:, :3, 3]
        except BrazoError:
            return np.full((len(q_ref), 3), np.nan)

    def _continuous(self, wxyz: Array) -> Array:
        """Return the quaternions (m, 4) with signs such that neighbouring rows are close."""
        if not len(wxyz):
            return wxyz
        before = np.vstack([wxyz[:1] if self.last_wxyz is None else self.last_wxyz, wxyz[:-1]])
        turned = np.where((wxyz * before).sum(axis=1) < 0.0, -1.0, 1.0)
        found = wxyz * np.cumprod(turned)[:, None]
        self.last_wxyz = found[-1:]
        return found


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
