"""Motion steps: planning, collision check and execution.

A motion is planned when its step starts, from the robot's reference pose and the current state of
the cell.  The whole motion is checked for collisions before it starts, unless the plan of the step
is `unchecked`.  The check assumes that other robots continue their current motions, and that held
bodies move with the arm that holds them.  A motion that would collide is refused; the message
contains both colliding parts, the position and the time.  If the obstacle is another robot in
motion, the robot waits until that robot is at rest and plans again.  With contact response off, the
robot passes through any other obstacle: for a direct motion, the collision is only logged as a
warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from brazo.control.base import torque_limits
from brazo.errors import BrazoError
from brazo.kinematics.orientation import angle_between, matrix_from_rpy
from brazo.program import steps as s
from brazo.program.collision import Checker, Hit, MovingRobot
from brazo.program.frames import frame_pose, in_hand, reference_tool, target_pose, to_base
from brazo.program.ik_candidates import JointCandidate, ik_candidates
from brazo.program.motions import MakePath, along, motion_limits, straight, through
from brazo.program.planner import NoPath
from brazo.simulation import SimRobot
from brazo.trajectory import CartesianPath, PathInfeasible, Timing, Trajectory, line
from brazo.trajectory.curve_fields import curve_in_base, svg_of

if TYPE_CHECKING:
    from brazo.program.execution import Execution

Array = np.ndarray
MotionStep = s.MoveJoints | s.MoveTo | s.Line | s.FollowPath
CHECK_DT = 0.002  # s, max time between two poses of the collision check
OVERLAPS = (1.0, 0.5, 0.25, 0.0)
POLL = 0.01  # s, between two checks of whether the tool has arrived
MAX_ANGLE = np.radians(5.0)  # rad, orientation error of a tool that has arrived
_SAME_POSITION, _SAME_ANGLE = 1e-6, 1e-6  # m, rad: the tool is already at its target
_SAME_START = 1e-9  # rad, m
_OFF_TARGET = 1e-6  # rad, m: the reference is not at the end of the motion


class _Starts:
    """Cache of the motions along a path, by start configuration; each motion is planned once."""

    def __init__(self, plan: Callable[[Array], Trajectory]) -> None:
        self._plan = plan
        self._known: list[tuple[Array, Trajectory | PathInfeasible]] = []

    def accept(self, start: JointCandidate) -> None:
        """Raise `PathInfeasible` if the arm cannot follow the whole path from this start."""
        found = self._find(start.q)
        if found is None:
            try:
                found = self._plan(start.q)
            except PathInfeasible as error:
                found = error
            self._known.append((start.q, found))
        if isinstance(found, PathInfeasible):
            raise found

    def motion_from(self, q: Array) -> Trajectory | None:
        """Return the motion that `accept` planned from joint values q (n,), or None."""
        found = self._find(q)
        return None if isinstance(found, PathInfeasible) else found

    def _find(self, q: Array) -> Trajectory | PathInfeasible | None:
        return next((one for q0, one in self._known if np.abs(q - q0).max() < _SAME_START), None)


class Moves:
    """Executor of the motion steps of one robot."""

    def __init__(self, execution: Execution, robot: SimRobot) -> None:
        self.execution = execution
        self.sim = execution.sim
        self.robot = robot
        self.limits = motion_limits(robot.arm)
        self._planned = 0

    def of(self, step: MotionStep) -> Iterator[float]:
        """Return the generator that executes a step; it yields the time (s) of its next poll."""
        match step:
            case s.MoveJoints():
                return self._move_joints(step)
            case s.MoveTo():
                return self._move_to(step)
            case s.Line():
                return self._line(step)
            case s.FollowPath():
                return self._path(step)

    def _move_joints(self, step: s.MoveJoints) -> Iterator[float]:
        there = [JointCandidate(self._joint_values(step), "", 0.0)]
        yield from self._go(lambda: self._to(there, step.speed, step.plan), step.tolerance)

    def _joint_values(self, step: s.MoveJoints) -> Array:
        if not isinstance(step.to, str):
            return np.array(step.to)
        if step.to == "start":
            return np.array(self.robot.world.start)
        return np.array(self.robot.arm.poses[step.to])

    def _move_to(self, step: s.MoveTo) -> Iterator[float]:
        T = to_base(self.robot, self._target(step.target))
        candidates = ik_candidates(
            self.robot.arm,
            T,
            self.robot.reference.q,
            self.limits.speed,
            branch=step.branch,
            orientation=step.orientation,
            gripper_symmetric=step.gripper_symmetric,
        )
        if not candidates.found:
            raise BrazoError(candidates.reason)
        found, rejected = candidates.found, candidates.rejected
        yield from self._go(
            lambda: self._to(found, step.speed, step.plan, rejected), step.tolerance
        )

    def _line(self, step: s.Line) -> Iterator[float]:
        T0, T1 = reference_tool(self.robot), self._target(step.target)
        if _same(T0, T1):
            return
        T0, T1 = to_base(self.robot, T0), to_base(self.robot, T1)
        yield from self._along(lambda timing: line(T0, T1, timing), step)

    def _path(self, step: s.FollowPath) -> Iterator[float]:
        T = frame_pose(self.sim, self.robot, step.frame)
        if self.execution.frame_errors is not None:
            T = self.execution.frame_errors.apply(self.robot, step.frame, T)
        T = to_base(self.robot, T)
        R = to_base(self.robot, reference_tool(self.robot))[:3, :3]
        if step.rpy is not None:
            R = T[:3, :3] @ matrix_from_rpy(step.rpy)

        drawing = svg_of(step.curve, step.values, step.folder)

        def make(timing: Timing) -> CartesianPath:
            return curve_in_base(step.curve, step.values, T, R, timing, drawing=drawing)

        starts: _Starts | None = None
        begin = make(Timing(duration=1.0)).pose(0.0)
        if not _same(to_base(self.robot, reference_tool(self.robot)), begin):
            q0 = self.robot.reference.q
            candidates = ik_candidates(
                self.robot.arm, begin, q0, self.limits.speed, orientation=step.orientation
            )
            if not candidates.found:
                raise BrazoError(f"start of the path: {candidates.reason}")
            speed, found = s.Speed(fraction=step.speed.fraction), candidates.found
            if len(found) > 1:
                starts = _Starts(lambda q0: self._motion_along(make, q0, step))
            accept = None if starts is None else starts.accept
            yield from self._go(
                lambda: self._to(found, speed, step.plan, accept=accept), step.tolerance
            )
        known = None if starts is None else starts.motion_from(self.robot.reference.q)
        yield from self._along(make, step, known)

    def _motion_along(self, make: MakePath, q0: Array, step: s.Line | s.FollowPath) -> Trajectory:
        arm, default = self.robot.arm, self.execution.program.speed
        return along(arm, make, q0, self.limits, step.speed, default, step.orientation)

    def _along(
        self, make: MakePath, step: s.Line | s.FollowPath, known: Trajectory | None = None
    ) -> Iterator[float]:
        """Move along the path of a step; `known` is the motion if it is already planned."""
        q0 = self.robot.reference.q
        motion = self._motion_along(make, q0, step) if known is None else known

        def checked() -> Trajectory:
            if step.plan != "unchecked":
                checker = self._checker(q0, motion.sample(motion.end).q)
                self._refuse(self._hit(checker, motion))
            return motion

        yield from self._go(checked, step.tolerance)

    def _go(self, plan: Callable[[], Trajectory], tolerance: s.Tolerance) -> Iterator[float]:
        """Call `plan` to plan a motion, and execute it.

        While a moving robot blocks the path, wait for that robot and plan again.
        """
        while True:
            try:
                motion = plan()
                break
            except _BlockedByRobot as wait:
                other = self.sim.robots[wait.robot]
                text = f"{self.robot.name} waits for {wait.robot}: {wait}"
                self.sim.log("waits", text, robot=self.robot.name, for_=wait.robot)
                while other.moving:
                    yield self.sim.time + max(other.motion.remaining - 1.5 * self.sim.dt, 0.0)
        yield from self._follow(motion)
        yield from self._arrive(tolerance)

    def _to(
        self,
        candidates: list[JointCandidate] | tuple[JointCandidate, ...],
        speed: s.Speed,
        plan: s.Plan,
        rejected: tuple[str, ...] = (),
        accept: Callable[[JointCandidate], None] | None = None,
    ) -> Trajectory:
        """Return a motion to the first candidate with a collision-free path.

        `accept(candidate)` raises `PathInfeasible` if the next motion cannot start at a candidate.
        `rejected` are the reasons why other IK solutions are not candidates, for the log.
        """
        q0, default = self.robot.reference.q, self.execution.program.speed
        errors: list[str] = []
        first: BrazoError | None = None
        infeasible: list[PathInfeasible] = []
        for candidate in candidates:
            try:
                if accept is not None:
                    accept(candidate)
            except PathInfeasible as error:
                infeasible.append(error)
                errors.append(f"{candidate.name or 'this solution'}: {error}")
                continue
            try:
                motion = self._path_to(q0, candidate.q, speed, default, plan)
            except _BlockedByRobot:
                raise
            except BrazoError as error:
                first = first or error
                errors.append(f"{candidate.name or 'this solution'}: {error}")
                continue
            if len(candidates) + len(rejected) > 1:
                others = [*errors, *rejected]
                why = f" ({'; '.join(others)})" if others else ""
                text = f"{self.robot.name}: branch {candidate.name or 'nearest'}{why}"
                self.sim.log("choice", text, robot=self.robot.name, branch=candidate.name)
            return motion
        if first is None:
            raise max(infeasible, key=lambda error: error.t)
        raise first if len(errors) == 1 else BrazoError("; ".join(errors))

    def _path_to(
        self, q0: Array, q1: Array, speed: s.Speed, default: float, plan: s.Plan
    ) -> Trajectory:
        motion = straight(q0, q1, self.limits, speed, default)
        if plan == "unchecked":
            return motion
        checker = self._checker(q0, q1)
        hit = self._hit(checker, motion)
        if hit is None:
            return motion
        if plan == "direct" or self._mover_of(hit) is not None:
            self._refuse(hit)
            return motion
        self._planned += 1
        path = self.execution.planner.plan(
            checker, self.robot.arm, q0, q1, salt=_salt(self.robot.name, self._planned)
        )
        motions = [through(path, self.limits, speed, default, overlap) for overlap in OVERLAPS]
        for motion in sorted(motions, key=lambda one: one.duration):
            hit = self._hit(checker, motion)
            if hit is None:
                text = f"{self.robot.name}: path around obstacles through {len(path) - 2} poses"
                self.sim.log("plan", text, robot=self.robot.name, poses=len(path))
                return motion
        raise NoPath(f"a path was found, but the motion along it collides: {hit}")

    def _follow(self, motion: Trajectory) -> Iterator[float]:
        self.robot.move(motion)
        self.execution.motions[self.robot.name] = motion, self.sim.time
        while self.robot.moving:
            yield self.sim.time + max(self.robot.motion.remaining - 1.5 * self.sim.dt, 0.0)
        away = np.abs(self.robot.reference.q - motion.sample(motion.end).q)
        if away.max() > _OFF_TARGET:
            raise BrazoError(
                "the motion was interrupted: the robot was stopped or moved by another command"
            )

    def _arrive(self, tolerance: s.Tolerance) -> Iterator[float]:
        """Wait until the tool is within tolerance of the end of the motion.

        Raises `BrazoError` after the timeout, which does not include pauses.
        """
        due = self.execution.clock
        while True:
            target, tool = reference_tool(self.robot), self.robot.tool()
            away = float(np.linalg.norm(tool[:3, 3] - target[:3, 3]))
            turned = float(angle_between(tool[:3, :3], target[:3, :3]))
            if away <= tolerance.within and turned <= MAX_ANGLE:
                return
            if self.execution.clock - due > tolerance.timeout:
                raise BrazoError(
                    f"{self.robot.name} is {1e3 * away:.1f} mm and {np.degrees(turned):.1f}° from "
                    f"its target {tolerance.timeout:g} s after the planned end of the motion "
                    f"(allowed {1e3 * tolerance.within:g} mm, {np.degrees(MAX_ANGLE):.0f}°): "
                    f"{self._cause_of_error()}"
                )
            yield self.sim.time + POLL - 0.5 * self.sim.dt

    def _cause_of_error(self) -> str:
        found, held = self._cause_in_drives(), self.execution.monitor.held.get(self.robot.name)
        mine = [c for c in self.sim.world.contacts().of(self.robot.name) if c.touching]
        names = dict.fromkeys(name for c in mine for name in (c.first, c.second))
        others = [n for n in names if not n.startswith(f"{self.robot.name}/") and n != held]
        return f"{found}; it touches {', '.join(others)}" if others else found

    def _cause_in_drives(self) -> str:
        robot = self.robot
        names = robot.arm.joint_names
        saturated = np.abs(robot.torque) >= 0.999 * torque_limits(robot.arm)
        if saturated.any():
            full = [name for name, one in zip(names, saturated, strict=True) if one]
            some = "drives of " + " and ".join(full) + " are" if len(full) > 1 else ""
            return f"the {some or f'drive of {full[0]} is'} saturated"
        far = int(np.argmax(np.abs(robot.reference.q - robot.q)))
        return (
            f"controller {robot.controller_name} has a steady-state error at {names[far]}; no "
            "drive is saturated"
        )

    def _target(self, target: s.Target) -> Array:
        held = self.execution.monitor.held.get(self.robot.name)
        return target_pose(self.sim, self.robot, target, held, self.execution.frame_errors)

    # ---- collision check --------------------------------------------------------------------

    def _checker(self, q0: Array, q1: Array) -> Checker:
        """Return a checker for a motion from q0 to q1 in the current state of the cell."""
        movers = {name: self._mover(robot) for name, robot in self.sim.robots.items()}
        mine = movers.pop(self.robot.name)
        clearance = self.execution.program.clearance
        checker = Checker(self.sim.world, mine, list(movers.values()), clearance)
        checker.allow_start(q0)
        checker.allow_end(q1)
        return checker

    def _mover(self, robot: SimRobot) -> MovingRobot:
        body = self.execution.monitor.held.get(robot.name)
        held = {} if body is None else {body: in_hand(self.sim, robot, body)}
        return MovingRobot(robot.world, robot.arm, held)

    def _hit(self, checker: Checker, motion: Trajectory) -> Hit | None:
        table = motion.table(min(CHECK_DT, max(motion.duration / 50, 1e-6)))
        others = {}
        now = self.sim.time
        for name, (other, began) in self.execution.motions.items():
            if name in self._moving():
                others[name] = other.sample(other.start + now - began + table.t - motion.start).q
        return checker.motion(table.t - motion.start, table.q, others)

    def _moving(self) -> list[str]:
        """Return the names of other robots in motion."""
        motions = self.execution.motions
        return [n for n in motions if n != self.robot.name and self.sim.robots[n].moving]

    def _mover_of(self, hit: Hit) -> str | None:
        """Return the name of the other robot in a collision if that robot moves; otherwise None.

        A body that the other robot holds counts as part of it.
        """
        parts = (hit.first, hit.second)
        for name in self._moving():
            held = self.execution.monitor.held.get(name)
            if any(part.startswith(f"{name}/") or part == held for part in parts):
                return name
        return None

    def _refuse(self, hit: Hit | None) -> None:
        if hit is None:
            return
        other = self._mover_of(hit)
        if other is not None:
            raise _BlockedByRobot(str(hit), other)
        if self.robot.world.contact_response:
            raise BrazoError(str(hit))
        self.sim.log("warning", f"{hit}; contact response is off: {self.robot.name} passes through")


class _BlockedByRobot(BrazoError):
    """Raised when another robot, which is moving, blocks the path; `robot` is its name."""

    def __init__(self, message: str, robot: str) -> None:
        super().__init__(message)
        self.robot = robot


def _same(T0: Array, T1: Array) -> bool:
    near = float(np.linalg.norm(T0[:3, 3] - T1[:3, 3])) < _SAME_POSITION
    return near and float(angle_between(T0[:3, :3], T1[:3, :3])) < _SAME_ANGLE


def _salt(name: str, count: int) -> int:
    """Return the planner's `salt` for the planning problem with number `count` of a robot.

    The result is the same in every run of the program.
    """
    return sum(ord(letter) * 31**i for i, letter in enumerate(name)) % 2**31 + count
