"""Recovery from locked joints: the other joints move the tool along the rest of its path.

The target poses are the tool poses of the joint reference.  The locked joints are fixed, and
inverse kinematics gives the values of the other joints for each pose.  J_p and J_o are the position
and orientation rows of the Jacobian, with the columns of the joints that are not locked.  e_p and
e_o are the position and orientation errors.  Position has priority; orientation is solved in the
remaining null space:

    Δq = J_p⁺ e_p + N (J_o N)⁺ (e_o − J_o J_p⁺ e_p)        N = 1 − J_p⁺ J_p

A redundant arm can reach the poses exactly.  Other arms approach the poses as closely as possible,
and `Recovery` contains the remaining error.  A quintic polynomial connects the current state of the
robot to the tool path.
The timing of the tool path is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import rotvec_from_matrix
from brazo.kinematics.result import joint_text
from brazo.robot import Robot
from brazo.simulation.joint_lock_monitor import LockMonitor, LockRule
from brazo.simulation.motion import Sampled
from brazo.simulation.robot import SimRobot
from brazo.simulation.simulation import Simulation
from brazo.trajectory import Trajectory, quintic_via_points
from brazo.trajectory.check import check

Array = np.ndarray
GRID = 0.02  # s between two poses to solve
BRIDGES = (0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.5, 4.0)  # s; the first one within the limits is used
ITERATIONS = 60
PATIENCE = 3  # iterations without improvement
ENOUGH = 1e-9  # m, rad
DAMPING = 1e-8
LONGEST_STEP = 0.2  # rad or m, per iteration


@dataclass(frozen=True, slots=True, eq=False)
class Recovery:
    """Motion that completes a tool path with some joints locked."""

    trajectory: Trajectory
    bridge: float  # s until the tool is back on its path
    position_error: float  # m, max distance from the path after that
    angle_error: float  # rad, max angle from the target orientation after that
    planning: float  # s, computing time


class FaultTolerance:
    """A task that detects locked joints of a robot and compensates with the other joints.

    Usage: `sim.tasks.add(FaultTolerance(sim.robots["scara2"]))`.  Detection and recovery are logged
    as events.
    """

    def __init__(self, robot: SimRobot, rule: LockRule | None = None) -> None:
        self._robot = robot
        self._rule = rule
        self._monitor: LockMonitor | None = None
        self.locked: dict[int, float] = {}  # joint index: position
        self.recoveries: list[Recovery] = []

    def tick(self, sim: Simulation) -> bool:
        """Check for newly locked joints and start a recovery if there are any; return True."""
        if self._monitor is None:
            self._monitor = LockMonitor(self._robot, sim.dt, self._rule)
        found = [joint for joint in self._monitor.update() if joint not in self.locked]
        if found:
            self._recover(sim, found)
        return True

    def _recover(self, sim: Simulation, found: list[int]) -> None:
        robot = self._robot
        q = robot.world.q if robot.control.measured is None else robot.control.measured[0]
        for joint in found:
            name = robot.arm.joint_names[joint]
            self.locked[joint] = float(q[joint])
            where = joint_text(robot.arm.joint_kinds[joint], float(q[joint]))
            text = f"{robot.name}: '{name}' is locked at {where}"
            sim.log("fault detected", text, robot=robot.name, joint=name)
        try:
            recovery = plan_recovery(robot, self.locked, sim.dt)
        except BrazoError as error:
            robot.stop()
            sim.log("recovery failed", f"{robot.name}: {error}", robot=robot.name)
            return
        self.recoveries.append(recovery)
        robot.move(recovery.trajectory, jump=True)
        sim.log(
            "recovery",
            f"{robot.name}: the other joints compensate within {recovery.bridge:g} s; tool error "
            f"at most {1e3 * recovery.position_error:.2f} mm",
            robot=robot.name,
            bridge=recovery.bridge,
            position_error=recovery.position_error,
            angle_error=recovery.angle_error,
        )


def plan_recovery(robot: SimRobot, locked: Mapping[int, float], dt: float) -> Recovery:
    """Plan the rest of the robot's motion with some joints locked.

    `locked` maps the index of each locked joint to its position (rad or m), and `dt` (s) is the
    step size.  If the robot does not follow a trajectory, its current reference is the target.
    Raises `BrazoError` if the other joints cannot complete the motion within their limits.
    """
    begin = perf_counter()
    arm, motion = robot.arm, robot.motion
    rows = motion.rest_of_table() if isinstance(motion, Sampled) else motion.row[None]
    n = robot.n
    if not set(locked) < set(range(n)):
        raise BrazoError(
            f"locked joints {sorted(locked)}: expected indices from 0 to {n - 1}, and at least one "
            "joint that is not locked"
        )
    free = [i for i in range(n) if i not in locked]
    q, qd = robot.q, robot.qd
    q[list(locked)], qd[list(locked)] = list(locked.values()), 0.0
    every, last = max(1, round(GRID / dt)), len(rows) - 1
    first = min(round(BRIDGES[0] / dt), last)
    picked = np.unique([*range(first, last, every), last])
    solved, errors = _along(arm, arm.fk(rows[picked, :n].copy()), rows[first, :n], locked, free)
    speeds = np.gradient(solved, picked * dt, axis=0) if len(picked) > 1 else 0.0 * solved
    speeds[-1] = 0.0
    reason = ""
    for bridge in BRIDGES:
        k = min(int(np.searchsorted(picked, round(bridge / dt))), len(picked) - 1)
        t = max(bridge, picked[k] * dt) + (picked[k:] - picked[k]) * dt
        trajectory = quintic_via_points(
            np.append(0.0, t),
            np.vstack([q, solved[k:]]),
            np.vstack([qd, speeds[k:]]),
            [np.zeros(n), *[None] * len(t)],
        )
        wrong = [v for v in check(trajectory, arm) if v.joint not in locked]
        if not wrong:
            position, angle = errors[k:].max(axis=0).tolist()
            return Recovery(trajectory, float(t[0]), position, angle, perf_counter() - begin)
        reason = str(wrong[0])
    raise BrazoError(f"the other joints cannot complete the motion within their limits: {reason}")


def _along(
    arm: Robot, poses: Array, q0: Array, locked: Mapping[int, float], free: list[int]
) -> tuple[Array, Array]:
    """Solve inverse kinematics for each of the poses (k, 4, 4).

    Each search starts at the previous solution, the first one at `q0` (n,).  Only the joints with
    the indices `free` move.  Return the joint values (k, n) and the remaining position (m) and
    angle (rad) errors (k, 2).
    """
    q = np.array(q0)
    q[list(locked)] = list(locked.values())
    found, errors = [], []
    for T in poses:
        q, error = solve_with(arm, T, q, free)
        found.append(q)
        errors.append(error)
    return np.array(found), np.array(errors)


def solve_with(arm: Robot, T: Array, q0: Array, free: list[int]) -> tuple[Array, Array]:
    """Solve inverse kinematics for the pose T (4, 4); only the joints with indices `free` move.

    The search starts at `q0` (n,).  Position has priority over orientation.  Return the joint
    values (n,) with the smallest sum of errors, and their errors (2,): position (m), angle (rad).
    """
    q = np.array(q0)
    best, error, stuck = q.copy(), np.full(2, np.inf), 0
    for _ in range(ITERATIONS):
        here = arm.fk(q)
        p = T[:3, 3] - here[:3, 3]
        o = rotvec_from_matrix(T[:3, :3] @ here[:3, :3].T)
        now = np.array([np.linalg.norm(p), np.linalg.norm(o)])
        stuck = 0 if now.sum() < 0.999 * error.sum() else stuck + 1
        if now.sum() < error.sum():
            best, error = q.copy(), now
        J = arm.jacobian(q)[:, free]
        J_p, J_o = J[:3], J[3:]
        inverse = _pinv(J_p)
        step = inverse @ p
        N = np.eye(len(free)) - inverse @ J_p
        step = step + N @ (_pinv(J_o @ N) @ (o - J_o @ step))
        size = np.abs(step).max()
        if size < ENOUGH or stuck > PATIENCE:
            break
        q[free] += step * min(1.0, LONGEST_STEP / size)
    return best, error


def _pinv(A: Array) -> Array:
    """Return the damped pseudoinverse of A."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    return Vt.T @ ((s / (s * s + DAMPING))[:, None] * U.T)
