"""`WorldRobot`: one robot of a world, with access to its state in the engine's arrays.

`q`, `qd` and `torque` are views of the engine's memory if the joints are evenly spaced in it, as
for every serial robot and every Delta.  They are read without copying, and writing into `torque`
commands the drives.  With a model of real drives, `torque` is a separate array.  After
`World.edit`, arrays obtained before the edit are no longer valid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.arrays import float_array
from brazo.deprecation import renamed_attributes, renamed_property
from brazo.errors import BrazoError
from brazo.model.description import Array, Model
from brazo.world.delta import closed_pose
from brazo.world.engine_indices import EngineIndices
from brazo.world.gripper import WorldGripper
from brazo.world.robot_elements import RobotElements
from brazo.world.wrenches import loop_map

if TYPE_CHECKING:
    from brazo.world.world import World

RIGID = 1e-4  # mobility of a locked joint relative to a free one
THROUGH = 10.0  # m; penetration depth below which no force acts when the contact response is off


class WorldRobot:
    """A robot in a world; created by `World`."""

    def __init__(self, world: World, elements: RobotElements) -> None:
        self._world = world
        self.name: str = elements.robot.name
        self.model: Model = elements.robot.model
        self.base: Array = elements.robot.base
        self.start: Array = elements.robot.start
        self.joint_names: tuple[str, ...] = self.model.joint_names
        self.gripper: WorldGripper | None = world.compiled.gripper_of(self.name)
        self._elements = elements
        self._feedback = True
        model, data = world.mj_model, world.mj_data
        self.engine = EngineIndices(world, elements, self.gripper)
        self._free = [k for k, member in enumerate(elements.members) if member.coordinate is None]
        self._which = np.array([member.coordinate or 0 for member in elements.members], int)
        self._scale = np.array([member.multiplier for member in elements.members])
        self._offset = np.array([member.offset for member in elements.members])
        self._iq, self._iv = self.engine.joint_q, self.engine.joint_v
        self._drives = self.engine.drives
        self._loops = [int(equality.id) for equality in elements.loops]
        self._mobility = np.array(model.dof_invweight0[self._iv])
        self._locks = np.array([int(equality.id) for equality in elements.locks], int)
        self.body_ids = np.array([int(body.id) for body in elements.bodies], int)
        self.tip_id = int(elements.tip.id)
        self.geom_ids = np.flatnonzero([label.owner == self.name for label in world.labels])
        self._gap = np.array(model.geom_gap[self.geom_ids])
        self._q, self._qd = _view(data.qpos, self._iq), _view(data.qvel, self._iv)
        self._torque = self._command = _view(data.ctrl, self._drives)

    def __repr__(self) -> str:
        return f"<brazo robot {self.name} in a world: {len(self.joint_names)} joints>"

    @property
    def n(self) -> int:
        """Number of joints (length of q)."""
        return len(self.joint_names)

    @property
    def q(self) -> Array:
        """Joint positions (n,), rad and m."""
        return self._world.mj_data.qpos[self._iq] if self._q is None else self._q

    @property
    def qd(self) -> Array:
        """Joint velocities (n,), rad/s and m/s."""
        return self._world.mj_data.qvel[self._iv] if self._qd is None else self._qd

    @property
    def qdd(self) -> Array:
        """Joint accelerations (n,) in the last step, rad/s² and m/s²."""
        return self._world.mj_data.qacc[self._iv]

    @property
    def torque(self) -> Array:
        """Commanded drive torques (n,), N m and N; writable."""
        assert self._command is not None  # drives are made in the order of q
        return self._command

    @property
    def live(self) -> tuple[Array, Array] | None:
        """Views of q and qd (n,) in the engine's memory, valid until the next edit of the world.

        None if the joints are not evenly spaced in memory.
        """
        return None if self._q is None or self._qd is None else (self._q, self._qd)

    def separate_command(self) -> Array:
        """Make `torque` a separate array; return a view of the engine's drive torques (n,).

        A model of real drives reads the commanded torques from `torque`, and writes the torques
        that the drives deliver to the returned view.
        """
        assert self._torque is not None
        self._command = self._torque.copy()
        return self._torque

    def set_torque(self, torque: Any) -> None:
        """Set the commanded drive torques (n,), N m and N; raise `BrazoError` if not finite."""
        self.torque[:] = self._checked(torque, "torque")

    @property
    def drive_torque(self) -> Array:
        """Torques (n,) that the drives applied in the last step, N m and N."""
        return self._world.mj_data.actuator_force[self._drives]

    @property
    def loops(self) -> bool:
        """Whether the robot has closed kinematic loops, such as a Delta."""
        return bool(self._loops)

    def set_state(self, q: Any, qd: Any = None) -> None:
        """Set the joint positions q (n,) and velocities qd (n,); the default of `qd` is 0.

        Mimic joints and passive joints of loops are set accordingly.
        """
        world = self._world
        q = self._checked(q, "q")
        qd = np.zeros(self.n) if qd is None else self._checked(qd, "qd")
        data = world.mj_data
        self.put(data.qpos, q)
        if self._loops:
            world.forward()
            data.qvel[self.engine.member_v] = self._followers()[self.engine.member_v] @ qd
        else:
            data.qvel[self.engine.member_v] = self._scale * qd[self._which]
        world.forward()

    def put(self, qpos: Array, q: Array) -> None:
        """Write the joint positions q (n,) into `qpos`, the array of an `MjData` of this world.

        The positions of mimic joints and passive joints of loops are written as well.
        """
        if self._loops:
            qpos[self.engine.member_q[self._free]] = closed_pose(self.model, q)
            qpos[self._iq] = q
        else:
            qpos[self.engine.member_q] = self._scale * q[self._which] + self._offset

    def guide(self, q: Array, qd: Array) -> None:
        """Set the joint positions and velocities (n,) for the next step, faster than `set_state`.

        The values are not checked, and frames and contacts are not recomputed.  Exception: for a
        robot with loops, `set_state` is called.
        """
        if self._loops:
            self.set_state(q, qd)
            return
        data = self._world.mj_data
        self.put(data.qpos, q)
        data.qvel[self.engine.member_v] = self._scale * qd[self._which]

    def lock(self, joint: int) -> None:
        """Lock the joint with index `joint` at its current position; forces do not move it."""
        model, at = self._world.mj_model, self._locks[joint]
        where = self.q[joint] - model.qpos0[self._iq[joint]]
        model.eq_data[at, :5] = where, 0.0, 0.0, 0.0, 0.0
        self._world.mj_data.eq_active[at] = 1
        self.stiffen()

    def unlock(self, joint: int) -> None:
        """Release the lock of the joint with index `joint`."""
        self._world.mj_data.eq_active[self._locks[joint]] = 0
        self.stiffen()

    def stiffen(self) -> None:
        """Make locks rigid by reducing the nominal mobility `dof_invweight0` of locked joints.

        The compliance that the engine gives to a constraint is proportional to this mobility.  The
        mobility is part of the model, not of the engine's state, so this method must be called
        again after a state is restored.
        """
        softer = np.where(self.locked, RIGID, 1.0)
        self._world.mj_model.dof_invweight0[self._iv] = softer * self._mobility

    @property
    def locked(self) -> Array:
        """Mask (n,) of the locked joints."""
        return self._world.mj_data.eq_active[self._locks].astype(bool)

    @property
    def drive_gain(self) -> Array:
        """Fraction (n,) of the commanded torque that each drive delivers; 1 without a fault."""
        return self._world.mj_model.actuator_gainprm[self._drives, 0]

    @drive_gain.setter
    def drive_gain(self, gain: Any) -> None:
        gain = np.broadcast_to(np.asarray(gain, dtype=float), (self.n,))
        if not (np.isfinite(gain).all() and (gain >= 0.0).all()):
            raise BrazoError(f"drive_gain of '{self.name}': values must be finite and 0 or more")
        self._world.mj_model.actuator_gainprm[self._drives, 0] = gain

    @property
    def contact_response(self) -> bool:
        """Whether contacts of the robot cause forces; can be set at any time.

        If False, contacts are still detected and reported, but no force acts on the robot or on the
        other body: the robot passes through other bodies.
        """
        return self._feedback

    @contact_response.setter
    def contact_response(self, on: bool) -> None:
        model = self._world.mj_model
        # Forces act below the margin; from there to margin + gap contacts are only listed.
        model.geom_margin[self.geom_ids] = 0.0 if on else -THROUGH
        model.geom_gap[self.geom_ids] = self._gap + (0.0 if on else THROUGH)
        self._feedback = bool(on)

    def frames(self) -> Array:
        """Return the poses (bodies, 4, 4) of the robot's bodies in the world, base first."""
        return self._world.poses()[self.drawn]

    @property
    def drawn(self) -> Array:
        """Indices in `World.drawn` of the robot's bodies, base first, without fingers."""
        return self._world.compiled.body_poses.of(self.name)

    def tool(self) -> Array:
        """Return the pose (4, 4) of the tool in the world."""
        T = self._world.compiled.body_poses.body(self._world.mj_data, self.tip_id)
        return T @ self.model.tool

    def contact_wrenches(self) -> Array:
        """Return the contact force (N) and moment (N m) on each body, shape (bodies, 6).

        Values are in world axes; moments are about the origin of the body frame.  Bodies are in the
        order of `frames`.  The wrench of a link includes those of fingers mounted on it.  For the
        two rods of a Delta's parallelogram, the first row contains the sum and the second is zero.
        """
        world, compiled = self._world, self._world.compiled
        wrench = compiled.wrenches.on_links(world.contacts(), self.tip_id, self.gripper)
        return compiled.body_poses.by_drawn(wrench, self.name)

    def external_torque(self) -> Array:
        """Return the joint torques Jᵀ F (n,) of all contact and weld forces F, in N m and N."""
        world = self._world
        total = world.compiled.wrenches.on_joints(world.contacts())
        if self._loops:
            return self._followers().T @ total
        scale = np.zeros((len(self.engine.member_v), self.n))
        for row, member in enumerate(self._elements.members):
            assert member.coordinate is not None
            scale[row, member.coordinate] = member.multiplier
        return scale.T @ total[self.engine.member_v]

    if not TYPE_CHECKING:
        __getattr__ = renamed_attributes(
            {
                "all_body_ids": "engine.bodies",
                "clamp": "gripper",
                "drives": "engine.drives",
                "gripper_row": "engine.gripper_row",
                "joint_q": "engine.joint_q",
                "joint_v": "engine.joint_v",
                "members": "engine.members",
                "shares": "engine.shares",
            }
        )
        force_feedback = renamed_property("force_feedback", "contact_response")

    def _followers(self) -> Array:
        world = self._world
        own, every = self._iv.tolist(), self.engine.member_v.tolist()
        return loop_map(world.mj_model, world.mj_data, self._loops, own, every)

    def _checked(self, values: Any, what: str) -> Array:
        array = float_array(values, f"{what} of '{self.name}'")
        if array.shape != (self.n,):
            raise BrazoError(
                f"{what} of '{self.name}' has shape {array.shape}; expected ({self.n},)"
            )
        if not np.isfinite(array).all():
            raise BrazoError(f"{what} of '{self.name}': every value must be finite")
        return array


def _view(array: Array, indices: Array) -> Array | None:
    """Return a view of `array[indices]`; None if the indices do not increase by equal steps."""
    if len(indices) == 1:
        return array[indices[0] : indices[0] + 1]
    steps = np.diff(indices)
    if len(indices) == 0 or (steps != steps[0]).any() or steps[0] <= 0:
        return None
    return array[indices[0] : indices[-1] + 1 : steps[0]]
