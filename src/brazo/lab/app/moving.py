"""How people move a robot: to joint values, along a line, by a step, while a button is held.

All of it keeps the joints' limits (`limits_of`), the override (a share of every speed) and, in the
reduced mode, 250 mm/s at the tool (ISO 10218's speed for working beside a robot).  What cannot be
done raises `BrazoError` with the reason; the robot then stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rotvec
from brazo.lab.app.jogging import FOR_EVER, Coarse, Held, Inner, Slowed, source_of
from brazo.lab.app.playing import require_no_task
from brazo.lab.scene.snapshot import touched
from brazo.trajectory import (
    CartesianJog,
    GoTo,
    Jog,
    Timing,
    ToolLimits,
    fastest_within,
    follow_path,
    limits_of,
    line,
)
from brazo.trajectory.limits import at_limit

if TYPE_CHECKING:
    from brazo.lab.app.session import Session
    from brazo.robot import Robot
    from brazo.simulation.robot import SimRobot

Frame = Literal["joint", "world", "tool"]
REDUCED = 0.25  # m/s
FULL_SPEED = 1.0  # m/s along a line, not reduced
ANGULAR = 1.5  # rad/s
RAMP = 0.25  # s from rest to full speed along a line
JOG_SHARE = 0.5  # of a joint's greatest speed, at full override


class Mover:
    """Moves robots of a lab; on the lab's thread, but for `Held` itself."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._override = 1.0
        self._reduced = True
        self._sources: dict[str, GoTo] = {}  # by robot, made for the present override
        self._goals: dict[str, np.ndarray] = {}

    @property
    def override(self) -> float:
        """Share of every speed, above 0 up to 1."""
        return self._override

    @override.setter
    def override(self, share: float) -> None:
        if not 0.0 < share <= 1.0:
            raise BrazoError(f"an override of {100 * share:g} %; above 0, up to 100 %")
        self._override = float(share)
        self._sources.clear()

    @property
    def reduced(self) -> bool:
        """Whether the tool keeps below 250 mm/s."""
        return self._reduced

    @reduced.setter
    def reduced(self, on: bool) -> None:
        self._reduced = bool(on)
        self._sources.clear()

    # ---- moves --------------------------------------------------------------------------------

    def go_to(self, robot: SimRobot, q: Any) -> None:
        """Go to joint values from wherever the robot is and however it moves."""
        self._may_move(robot)
        q = within_limits(robot.arm, q)
        with self._session.sim.lock:
            source = self._sources.get(robot.name)
            if source is None or source_of(robot.motion) is not source:
                source = GoTo(limits_of(robot.arm).scaled(self.override), *_state(robot))
                self._sources[robot.name] = source
                robot.follow(self._capped(source, robot.arm))
            source.target(q)
            self._goals[robot.name] = q

    def goal(self, robot: SimRobot) -> np.ndarray:
        """Where the robot is going (n,), as far as it was sent there from here, or stands."""
        source = self._sources.get(robot.name)
        if source is not None and source.moving and source_of(robot.motion) is source:
            return self._goals[robot.name]
        return robot.reference.q

    def move_tool(self, robot: SimRobot, T: np.ndarray, straight: bool) -> None:
        """Bring the tool to a pose (4, 4) in the base, by a joint move or along a line."""
        self._may_move(robot)
        q = reach(robot.arm, T, robot.reference.q)
        if not straight:
            self.go_to(robot, q)
            return
        if robot.moving:
            raise BrazoError(f"{robot.name} still moves: wait until it rests, or stop it first")
        arm, q0 = robot.arm, robot.reference.q
        T0 = arm.fk(q0)
        if np.abs(T0 - T).max() < 1e-9:
            return
        v = self.override * (REDUCED if self.reduced else FULL_SPEED)
        w = self.override * ANGULAR
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
        """Go on by one increment (rad, m) of a joint, or of the tool along or about an axis."""
        if frame == "joint":
            q = self.goal(robot).copy()  # clicks add up
            before, q[axis] = q[axis], np.clip(q[axis] + by, *robot.arm.limits[axis])
            if abs(q[axis] - before) < 1e-9:
                raise BrazoError(at_limit(robot.arm, limits_of(robot.arm), axis, by > 0.0))
            self.go_to(robot, q)
            return
        T = robot.arm.fk(robot.reference.q)
        twist = np.zeros(6)
        twist[axis] = by
        self.move_tool(robot, displaced(T, twist, frame), straight=True)

    # ---- while a button is held ------------------------------------------------------------------

    def hold(
        self, robot: SimRobot, frame: Frame, axis: int, sign: int, known: Collection[str] = ()
    ) -> Held | None:
        """Begin to jog; None while the robot still has to come to rest first.

        It ends where the robot runs into something but what it touches now or what is `known`.
        """
        self._may_move(robot)
        with self._session.sim.lock:
            if robot.moving:
                if not isinstance(source_of(robot.motion), Held):
                    robot.stop()
                return None
            arm, q = robot.arm, robot.reference.q
            limits = limits_of(arm)
            if frame == "joint":
                jog: Any = Jog(limits, q, FOR_EVER)
                speeds = np.zeros(arm.n)
                speeds[axis] = sign * JOG_SHARE * self.override * limits.speed[axis]
                jog.hold(speeds)

                def limit() -> str:
                    return "" if jog.limited is None else at_limit(arm, limits, *jog.limited)
            else:
                v = self.override * (REDUCED if self.reduced else FULL_SPEED)
                most = ToolLimits(speed=v, angular_speed=self.override * ANGULAR)
                jog = CartesianJog(arm, limits, q, most, FOR_EVER)
                velocity = np.zeros(6)
                velocity[axis] = sign * (v if axis < 3 else self.override * ANGULAR)
                jog.hold(velocity, "base" if frame == "world" else "tool")

                def limit() -> str:
                    return jog.reason

            world = self._session.sim.world

            def feels() -> set[str]:  # where force feedback is off it rides through
                return touched(world.contacts(), robot.name) if robot.force_feedback else set()

            held = Held(jog, feels, known, limit)
            # Along a line every step costs milliseconds, which the simulation does not have.
            robot.follow(self._capped(held, arm) if frame == "joint" else Coarse(held))
            return held

    # ---- inside ----------------------------------------------------------------------------------

    def _may_move(self, robot: SimRobot) -> None:
        self._session.require_running()
        require_no_task(self._session.sim, robot)

    def _capped(self, source: Inner, arm: Robot) -> Any:
        return Slowed(source, arm, REDUCED) if self.reduced else source


def within_limits(arm: Robot, q: Any) -> np.ndarray:
    """Joint values (n,) that the robot can have; raises with the joint and its limits."""
    q = np.array(q, dtype=float)
    for i, (value, (low, high)) in enumerate(zip(q, arm.limits, strict=True)):
        if not low - 1e-9 <= value <= high + 1e-9:
            turn = arm.joint_kinds[i] == "revolute"
            scale, unit = (180.0 / np.pi, "°") if turn else (1000.0, " mm")
            raise BrazoError(
                f"{arm.joint_names[i]} cannot go to {scale * value:.2f}{unit}: its limits are "
                f"{scale * low:.2f} to {scale * high:.2f}{unit}"
            )
    return np.clip(q, *arm.limits.T)


def reach(arm: Robot, T: np.ndarray, q0: np.ndarray, branch: str | None = None) -> np.ndarray:
    """Joint values near q0 that bring the tool to T; raises with the reason when none do."""
    found = arm.ik(T, q0=q0, branch=branch)
    if not found.success:
        raise BrazoError(f"{arm.name} cannot reach that pose: {found.reason}")
    return found.q


def displaced(T: np.ndarray, twist: np.ndarray, frame: Frame) -> np.ndarray:
    """A pose moved by a small displacement (6,): linear, then about the axes of base or tool."""
    moved = T.copy()
    R = np.eye(3) if frame == "world" else T[:3, :3]
    moved[:3, 3] += R @ twist[:3]
    moved[:3, :3] = matrix_from_rotvec(R @ twist[3:]) @ T[:3, :3]
    return moved


def _state(robot: SimRobot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    reference = robot.reference
    return reference.q, reference.qd, reference.qdd
