"""`Mover`: joint moves, linear moves, step jog and hold-to-run jog of the robots of a simulation.

Every motion respects the joint limits (`limits_of`) and the override (a fraction of every speed).
In reduced mode, the tool speed is at most 250 mm/s (the reduced speed of ISO 10218).  A request
that is not feasible raises `BrazoError` with the reason, and the robot continues its current
motion.

A jog moves single joints (`"joint"`), or the tool along and about the axes of a frame: `"world"`,
`"base"` of the robot, `"tool"`, or a frame of the cell by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rotvec
from brazo.operate.contacts import touched
from brazo.operate.held_motion import HeldMotion, source_of
from brazo.operate.hold_to_run import HoldToRun
from brazo.operate.playing import require_no_task
from brazo.operate.resampled import Resampled
from brazo.operate.speed_cap import LiveMotion, SpeedCapped, share_within
from brazo.operate.tool_jog import ToolJog
from brazo.trajectory import (
    GoTo,
    Jog,
    NullSpaceJog,
    Timing,
    ToolLimits,
    fastest_within,
    follow_path,
    limits_of,
    line,
    quintic_via_points,
)
from brazo.trajectory.jog import jog_limits
from brazo.trajectory.limits import at_limit

if TYPE_CHECKING:
    from brazo.robot import Robot
    from brazo.simulation import Simulation
    from brazo.simulation.robot import SimRobot
    from brazo.world import Contacts

Frame = str
Shares = Callable[[int], np.ndarray]  # velocities (n,) of the axes of a jog, -1 to 1
FRAMES = ("joint", "world", "base", "tool")  # besides the frames of the cell
REDUCED = 0.25  # m/s
FULL_SPEED = 1.0  # m/s along a line, not reduced
ANGULAR = 1.5  # rad/s
RAMP = 0.25  # s from rest to full speed along a line
ELBOW = 6  # axis of a jog in a frame: the elbow of a redundant arm
SWING_KNOTS = 41  # points of a step of the elbow at which the tool is exactly at rest
ELBOW_SPEED = 0.5  # rad/s, norm of the joint velocities
JOG_SHARE = 0.5  # of a joint's max speed, at full override


class Mover:
    """Moves the robots of a simulation.  Not thread-safe: use on one thread.

    `simulation()` returns the current simulation.  `require_running()` raises if it is paused.
    """

    def __init__(
        self, simulation: Callable[[], Simulation], require_running: Callable[[], None]
    ) -> None:
        self._simulation, self._require_running = simulation, require_running
        self._override = 1.0
        self._reduced = True
        self._sources: dict[str, GoTo] = {}  # by robot, for the current override
        self._goals: dict[str, np.ndarray] = {}

    @property
    def override(self) -> float:
        """Factor applied to every speed, above 0 and at most 1."""
        return self._override

    @override.setter
    def override(self, share: float) -> None:
        if not 0.0 < share <= 1.0:
            raise BrazoError(f"override {100 * share:g} %: must be above 0 % and at most 100 %")
        self._override = float(share)
        self._sources.clear()

    @property
    def reduced(self) -> bool:
        """Whether the tool speed is limited to 250 mm/s."""
        return self._reduced

    @reduced.setter
    def reduced(self, on: bool) -> None:
        self._reduced = bool(on)
        self._sources.clear()

    # ---- moves --------------------------------------------------------------------------------

    def go_to(self, robot: SimRobot, q: Any) -> None:
        """Start a joint move to q (n,), in rad and m; the robot may be moving."""
        self._may_move(robot)
        q = within_limits(robot.arm, q)
        with self._simulation().lock:
            source = self._sources.get(robot.name)
            if source is None or source_of(robot.motion) is not source:
                source = GoTo(limits_of(robot.arm).scaled(self.override), *_state(robot))
                self._sources[robot.name] = source
                robot.follow(self._capped(source, robot.arm))
            source.target(q)
            self._goals[robot.name] = q

    def goal(self, robot: SimRobot) -> np.ndarray:
        """Return the target (n,) of the current joint move, or else the current reference."""
        source = self._sources.get(robot.name)
        if source is not None and source.moving and source_of(robot.motion) is source:
            return self._goals[robot.name]
        return robot.reference.q

    def move_tool(self, robot: SimRobot, T: np.ndarray, straight: bool) -> None:
        """Move the tool to the pose T (4, 4) in the base frame.

        If `straight` is true, it is a linear move (MoveL), otherwise a joint move (MoveJ).
        """
        self._may_move(robot)
        q = reach(robot.arm, T, robot.reference.q)
        if not straight:
            self.go_to(robot, q)
            return
        if robot.moving:
            raise BrazoError(f"{robot.name} is moving: wait until it stops, or stop it first")
        arm, q0 = robot.arm, robot.reference.q
        T0 = arm.fk(q0)
        if np.abs(T0 - T).max() < 1e-9:
            return
        v, w = self._tool_speeds()
        timing = Timing(
            "trapezoid",
            speed=v,
            acceleration=v / RAMP,
            angular_speed=w,
            angular_acceleration=w / RAMP,
        )
        kind = "full" if arm.mobility == 6 else "nearest"
        motion = follow_path(arm, line(T0, T, timing), q0=q0, orientation=kind)
        robot.move(fastest_within(motion, arm, limits_of(arm).scaled(self.override)))

    def step(self, robot: SimRobot, frame: Frame, axis: int, by: float) -> None:
        """Move a joint, or the tool along or about an axis of a frame, by one increment.

        `by` is in rad or m.  `axis` is the index of the joint, or of the axis: linear x, y, z (0 to
        2), angular x, y, z (3 to 5), or the elbow of a redundant arm (6).
        """
        if frame == "joint":
            q = self.goal(robot).copy()  # repeated clicks add up
            before, q[axis] = q[axis], np.clip(q[axis] + by, *robot.arm.limits[axis])
            if abs(q[axis] - before) < 1e-9:
                raise BrazoError(at_limit(robot.arm, limits_of(robot.arm), axis, by > 0.0))
            self.go_to(robot, q)
            return
        if axis == ELBOW:
            self._swing(robot, by)
            return
        T = robot.arm.fk(robot.reference.q)
        R = T[:3, :3] if frame == "tool" else self.frame_pose(robot, frame)[:3, :3]
        twist = np.zeros(6)
        twist[axis] = by
        self.move_tool(robot, displaced(T, twist, R), straight=True)

    def _swing(self, robot: SimRobot, by: float) -> None:
        """Move the elbow of a redundant arm while the tool stays at rest.

        `by` is the path length of the motion in joint space (rad).
        """
        self._may_move(robot)
        if robot.moving:
            raise BrazoError(f"{robot.name} is moving: wait until it stops, or stop it first")
        arm, limits = robot.arm, limits_of(robot.arm)
        jog = NullSpaceJog(arm, limits, robot.reference.q)
        x = np.linspace(0.0, 1.0, SWING_KNOTS)
        shares = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)  # from rest to rest
        q = np.array([within_limits(arm, jog.at(by * share)) for share in shares])
        motion = quintic_via_points(x, q, rule="smooth")
        robot.move(fastest_within(motion, arm, limits.scaled(self.override)))

    def frame_pose(self, robot: SimRobot, frame: Frame) -> np.ndarray:
        """Return the pose (4, 4) of the frame named `frame` in the robot's base frame."""
        if frame == "base":
            return np.eye(4)
        if frame == "tool":
            return robot.arm.fk(robot.reference.q)
        T = np.eye(4)
        if frame != "world":
            frames = {known.name: known.pose for known in self._simulation().cell.frames}
            if frame not in frames:
                names = ", ".join([*FRAMES[1:], *frames])
                raise BrazoError(f"no frame '{frame}' in this cell; frames: {names}")
            T = frames[frame]
        return np.linalg.inv(robot.base) @ T

    # ---- hold-to-run jog -------------------------------------------------------------------------

    def jog(
        self,
        robot: SimRobot,
        frame: Frame,
        shares: Shares,
        switch: HoldToRun,
        press: int,
        known: Collection[str] = (),
    ) -> HeldMotion | None:
        """Start a jog that runs while press number `press` of the switch is held.

        If the robot moves, no jog starts: the robot brakes, and the result is None.

        `shares(n)` is called in every update and returns n velocities, as fractions of the jog
        speed.  If `frame` is `"joint"`, there is one velocity for each joint.  Otherwise there are
        7: three linear and three angular velocities of the tool, and the velocity of the elbow of a
        redundant arm.

        The jog ends at the first unintended contact (see `brazo.operate.contacts.touched`), except
        for contacts that exist at the start or are listed in `known`.  If the contact response of
        the robot is off, contacts do not end the jog.
        """
        self._may_move(robot)
        with self._simulation().lock:
            if robot.moving:
                if not isinstance(source_of(robot.motion), HeldMotion):
                    robot.stop()
                return None
            arm = robot.arm
            jog, steer, limit = (
                self._joint_jog(robot, shares)
                if frame == "joint"
                else self._tool_jog(robot, frame, shares)
            )
            world = self._simulation().world

            def contacts() -> set[str]:  # without contact response it passes through
                return touched(world.contacts(), robot.name) if robot.contact_response else set()

            held = HeldMotion(jog, switch, press, contacts, known, limit, steer)
            # Along a line every update takes milliseconds, more than the time of a simulation step.
            robot.follow(self._capped(held, arm) if frame == "joint" else Resampled(held))
            return held

    def _joint_jog(
        self, robot: SimRobot, shares: Shares
    ) -> tuple[Jog, Callable[[], None], Callable[[], str]]:
        arm, limits = robot.arm, jog_limits(robot.arm)
        jog = Jog(limits, robot.reference.q)
        most = JOG_SHARE * self.override * limits.speed
        share = 1.0  # of the jog speed, at reduced speed

        def steer() -> None:
            nonlocal share
            speeds = most * shares(arm.n)
            if self.reduced:
                # A jog that runs faster than the tool may move would first have to brake to that
                # speed after a release.  The share changes rarely, so that the speed is constant.
                largest = share_within(arm, jog.state.q, speeds, REDUCED)
                if largest == 1.0:
                    share = 1.0
                elif not 0.88 * largest <= share <= 0.96 * largest:
                    share = 0.92 * largest
            jog.run(share * speeds)

        def limit() -> str:
            return "" if jog.limited is None else at_limit(arm, limits, *jog.limited)

        return jog, steer, limit

    def _tool_jog(
        self, robot: SimRobot, frame: Frame, shares: Shares
    ) -> tuple[ToolJog, Callable[[], None], Callable[[], str]]:
        v, w = self._tool_speeds()
        most = ToolLimits(speed=v, angular_speed=w)
        jog = ToolJog(robot.arm, jog_limits(robot.arm), robot.reference.q, most)
        swing = ELBOW_SPEED * self.override if is_redundant(robot.arm) else 0.0
        R = np.eye(3) if frame == "tool" else self.frame_pose(robot, frame)[:3, :3]

        def steer() -> None:
            asked = shares(ELBOW + 1)
            linear, angular = (_within_one(part) for part in asked[:ELBOW].reshape(2, 3))
            velocity = np.concatenate([R @ (v * linear), R @ (w * angular)])
            jog.run(velocity, "tool" if frame == "tool" else "base", swing * asked[ELBOW])

        return jog, steer, lambda: jog.reason

    def contacts(self) -> Contacts:
        """Return the current contacts of the simulation."""
        sim = self._simulation()
        with sim.lock:
            return sim.world.contacts()

    # ---- helpers ---------------------------------------------------------------------------------

    def _may_move(self, robot: SimRobot) -> None:
        self._require_running()
        require_no_task(self._simulation(), robot)

    def _capped(self, source: LiveMotion, arm: Robot) -> Any:
        return SpeedCapped(source, arm, REDUCED) if self.reduced else source

    def _tool_speeds(self) -> tuple[float, float]:
        """Return the maximum linear (m/s) and angular (rad/s) speed of the tool."""
        return self.override * (REDUCED if self.reduced else FULL_SPEED), self.override * ANGULAR


def is_redundant(arm: Robot) -> bool:
    """Return whether the joints of the arm can move while the tool stays at rest."""
    return arm.n > arm.mobility


def within_limits(arm: Robot, q: Any) -> np.ndarray:
    """Return the joint values q (n,), clipped to the joint limits.

    Raises `BrazoError` if a value exceeds its limits by more than a rounding error.
    """
    q = np.array(q, dtype=float)
    for i, (value, (low, high)) in enumerate(zip(q, arm.limits, strict=True)):
        if not low - 1e-9 <= value <= high + 1e-9:
            turn = arm.joint_kinds[i] == "revolute"
            scale, unit = (180.0 / np.pi, "°") if turn else (1000.0, " mm")
            raise BrazoError(
                f"{arm.joint_names[i]} cannot move to {scale * value:.2f}{unit}: its limits are "
                f"{scale * low:.2f} to {scale * high:.2f}{unit}"
            )
    return np.clip(q, *arm.limits.T)


def reach(arm: Robot, T: np.ndarray, q0: np.ndarray, branch: str | None = None) -> np.ndarray:
    """Return joint values (n,) near `q0` at which the tool has the pose T (4, 4) in the base frame.

    If `branch` is given, only the IK branch with this name is used.  Raises `BrazoError` with the
    reason if there is no solution.
    """
    found = arm.ik(T, q0=q0, branch=branch)
    if not found.success:
        raise BrazoError(f"{arm.name} cannot reach the target pose: {found.reason}")
    return found.q


def displaced(T: np.ndarray, twist: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return the pose T (4, 4) displaced by a translation, and by a rotation about its origin.

    `twist` (6,) is the translation (m) followed by the rotation vector (rad), in the axes that are
    the columns of R (3, 3).
    """
    moved = T.copy()
    moved[:3, 3] += R @ twist[:3]
    moved[:3, :3] = matrix_from_rotvec(R @ twist[3:]) @ T[:3, :3]
    return moved


def _within_one(shares: np.ndarray) -> np.ndarray:
    """Return the vector `shares` (3,), scaled to length 1 if it is longer than 1."""
    return shares / max(1.0, float(np.linalg.norm(shares)))


def _state(robot: SimRobot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    reference = robot.reference
    return reference.q, reference.qd, reference.qdd
