"""How each kind of step is done: generators that yield when they want to be asked again.

A motion is planned when its step starts, from where the robot is asked to be then, with everything
else where it is: other robots along the motions they are making, bodies in clamps as part of the
arms that hold them.  It is checked along its whole way before it begins; one that would touch
something is refused, with both parts, place and time.  Where that something is another robot under
way, the robot waits until that one has come to rest, and looks again.  A robot without force
feedback would ride through, so for it the check only warns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from brazo.control import laws
from brazo.errors import BrazoError
from brazo.kinematics.orientation import angle_between, matrix_from_rpy
from brazo.program import steps as s
from brazo.program.choice import Candidate, choose
from brazo.program.collision import Checker, Hit, Mover, touching_now
from brazo.program.curve_fields import laid_out
from brazo.program.frames import asked_tool, frame_pose, in_hand, target_pose, to_base
from brazo.program.motions import MakePath, along, pace_limits, straight, through
from brazo.program.planner import NoWay
from brazo.program.validate import IDEAL
from brazo.program.watch import ANYTHING
from brazo.simulation import SimRobot
from brazo.trajectory import CartesianPath, Timing, Trajectory, line

if TYPE_CHECKING:
    from brazo.program.execution import Execution

Array = np.ndarray
CHECK_DT = 0.002  # s, between the poses a motion is checked at, at most
POLL = 0.01  # s, between two looks at a condition
OVERLAPS = (1.0, 0.5, 0.25, 0.0)
_THERE, _TURNED = 1e-6, 1e-6  # m, rad: the tool is where it should be
_ELSEWHERE = 1e-6  # rad, m: the reference is not where the motion ends
_OPEN = 0.001  # m short of the wanted opening


class Actions:
    """What one robot can do."""

    def __init__(self, execution: Execution, robot: SimRobot) -> None:
        self.execution = execution
        self.sim = execution.sim
        self.robot = robot
        self.limits = pace_limits(robot.arm)
        self._planned = 0

    def of(self, step: s.Step) -> Iterator[float]:
        """The generator that does a step."""
        match step:
            case s.MoveJoints():
                return self._move_joints(step)
            case s.MoveTo():
                return self._move_to(step)
            case s.Line():
                return self._line(step)
            case s.FollowPath():
                return self._path(step)
            case s.Grip():
                return self._grip(step)
            case s.Release():
                return self._release(step)
            case s.Wait():
                return self._until(self.sim.time + step.time)
            case s.WaitUntil():
                return self._wait_until(step)
            case s.Sync():
                return self._sync(step)
            case s.SetSignal():
                return self._set_signal(step)
            case s.SetController():
                return self._set_controller(step)
            case s.Note():
                return self._note(step)
            case _:
                raise BrazoError(f"no such step: {step}")

    # ---- motion ----------------------------------------------------------------------------

    def _move_joints(self, step: s.MoveJoints) -> Iterator[float]:
        there = [Candidate(self._joint_values(step), "", 0.0)]
        yield from self._go(lambda: self._to(there, step.pace, step.plan))

    def _joint_values(self, step: s.MoveJoints) -> Array:
        if not isinstance(step.to, str):
            return np.array(step.to)
        if step.to == "start":
            return np.array(self.robot.world.start)
        return np.array(self.robot.arm.poses[step.to])

    def _move_to(self, step: s.MoveTo) -> Iterator[float]:
        T = to_base(self.robot, self._target(step.target))
        choice = choose(
            self.robot.arm,
            T,
            self.robot.reference.q,
            self.limits.speed,
            branch=step.branch,
            orientation=step.orientation,
            either_way=step.either_way,
        )
        if not choice.candidates:
            raise BrazoError(choice.reason)
        ways = choice.candidates
        yield from self._go(lambda: self._to(ways, step.pace, step.plan, choice.refused))

    def _line(self, step: s.Line) -> Iterator[float]:
        T0, T1 = asked_tool(self.robot), self._target(step.target)
        if _same(T0, T1):
            return
        T0, T1 = to_base(self.robot, T0), to_base(self.robot, T1)
        yield from self._along(lambda timing: line(T0, T1, timing), step)

    def _path(self, step: s.FollowPath) -> Iterator[float]:
        T = to_base(self.robot, frame_pose(self.sim, self.robot, step.frame))
        R = to_base(self.robot, asked_tool(self.robot))[:3, :3]
        if step.rpy is not None:
            R = T[:3, :3] @ matrix_from_rpy(step.rpy)

        def make(timing: Timing) -> CartesianPath:
            return laid_out(step.curve, step.values, T, R, timing)

        begin = make(Timing(duration=1.0)).pose(0.0)
        if not _same(to_base(self.robot, asked_tool(self.robot)), begin):
            q0 = self.robot.reference.q
            choice = choose(
                self.robot.arm, begin, q0, self.limits.speed, orientation=step.orientation
            )
            if not choice.candidates:
                raise BrazoError(f"the beginning of the path: {choice.reason}")
            pace, ways = s.Pace(speed=step.pace.speed), choice.candidates
            yield from self._go(lambda: self._to(ways, pace, step.plan))
        yield from self._along(make, step)

    def _along(self, make: MakePath, step: s.Line | s.FollowPath) -> Iterator[float]:
        q0, speed = self.robot.reference.q, self.execution.program.speed
        motion = along(self.robot.arm, make, q0, self.limits, step.pace, speed, step.orientation)

        def checked() -> Trajectory:
            if step.plan != "unchecked":
                checker = self._checker(q0, motion.sample(motion.end).q)
                self._refuse(self._hit(checker, motion))
            return motion

        yield from self._go(checked)

    def _go(self, plan: Callable[[], Trajectory]) -> Iterator[float]:
        """Plan a motion, giving way to robots that are under way, and do it."""
        while True:
            try:
                motion = plan()
                break
            except _GiveWay as wait:
                other = self.sim.robots[wait.robot]
                text = f"{self.robot.name} waits for {wait.robot}: {wait}"
                self.sim.log("waits", text, robot=self.robot.name, for_=wait.robot)
                while other.moving:
                    yield self.sim.time + max(other.remaining - 1.5 * self.sim.dt, 0.0)
        yield from self._follow(motion)

    def _to(
        self,
        candidates: list[Candidate] | tuple[Candidate, ...],
        pace: s.Pace,
        plan: s.Plan,
        refused: tuple[str, ...] = (),
    ) -> Trajectory:
        """A motion to the first candidate there is a way to."""
        q0, speed = self.robot.reference.q, self.execution.program.speed
        complaints: list[str] = []
        first: BrazoError | None = None
        for candidate in candidates:
            try:
                motion = self._way(q0, candidate.q, pace, speed, plan)
            except _GiveWay:
                raise
            except BrazoError as error:
                first = first or error
                complaints.append(f"{candidate.name or 'this way'}: {error}")
                continue
            if len(candidates) + len(refused) > 1:
                others = [*complaints, *refused]
                why = f" ({'; '.join(others)})" if others else ""
                text = f"{self.robot.name}: branch {candidate.name or 'nearest'}{why}"
                self.sim.log("choice", text, robot=self.robot.name, branch=candidate.name)
            return motion
        assert first is not None
        raise first if len(complaints) == 1 else BrazoError("; ".join(complaints))

    def _way(self, q0: Array, q1: Array, pace: s.Pace, speed: float, plan: s.Plan) -> Trajectory:
        motion = straight(q0, q1, self.limits, pace, speed)
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
        way = self.execution.planner.plan(
            checker, self.robot.arm, q0, q1, salt=_salt(self.robot.name, self._planned)
        )
        motions = [through(way, self.limits, pace, speed, overlap) for overlap in OVERLAPS]
        for motion in sorted(motions, key=lambda one: one.duration):
            hit = self._hit(checker, motion)
            if hit is None:
                text = f"{self.robot.name}: a way round, {len(way) - 2} poses in between"
                self.sim.log("plan", text, robot=self.robot.name, poses=len(way))
                return motion
        raise NoWay(f"a way was found, but the motion along it is not free: {hit}")

    def _follow(self, motion: Trajectory) -> Iterator[float]:
        self.robot.move(motion)
        self.execution.motions[self.robot.name] = motion, self.sim.time
        while self.robot.moving:
            yield self.sim.time + max(self.robot.remaining - 1.5 * self.sim.dt, 0.0)
        away = np.abs(self.robot.reference.q - motion.sample(motion.end).q)
        if away.max() > _ELSEWHERE:
            raise BrazoError("the motion was broken off: something else stopped or moved the robot")

    def _target(self, target: s.Target) -> Array:
        held = self.execution.watch.held.get(self.robot.name)
        return target_pose(self.sim, self.robot, target, held)

    # ---- looking ahead ---------------------------------------------------------------------

    def _checker(self, q0: Array, q1: Array) -> Checker:
        """For a motion from q0 to q1, with everything where it is now."""
        movers = {name: self._mover(robot) for name, robot in self.sim.robots.items()}
        mine = movers.pop(self.robot.name)
        clearance = self.execution.program.clearance
        checker = Checker(self.sim.world, mine, list(movers.values()), clearance)
        checker.allow_start(q0)
        checker.allow_end(q1)
        return checker

    def _mover(self, robot: SimRobot) -> Mover:
        body = self.execution.watch.held.get(robot.name)
        held = {} if body is None else {body: in_hand(self.sim, robot, body)}
        return Mover(robot.world, robot.arm, held)

    def _hit(self, checker: Checker, motion: Trajectory) -> Hit | None:
        table = motion.table(min(CHECK_DT, max(motion.duration / 50, 1e-6)))
        others = {}
        now = self.sim.time
        for name, (other, began) in self.execution.motions.items():
            if name in self._moving():
                others[name] = other.sample(other.start + now - began + table.t - motion.start).q
        return checker.motion(table.t - motion.start, table.q, others)

    def _moving(self) -> list[str]:
        """Other robots that are under way."""
        motions = self.execution.motions
        return [n for n in motions if n != self.robot.name and self.sim.robots[n].moving]

    def _mover_of(self, hit: Hit) -> str | None:
        """The robot under way that is hit, or that holds what is."""
        parts = (hit.first, hit.second)
        for name in self._moving():
            held = self.execution.watch.held.get(name)
            if any(part.startswith(f"{name}/") or part == held for part in parts):
                return name
        return None

    def _refuse(self, hit: Hit | None) -> None:
        if hit is None:
            return
        other = self._mover_of(hit)
        if other is not None:
            raise _GiveWay(str(hit), other)
        if self.robot.world.force_feedback:
            raise BrazoError(str(hit))
        self.sim.log("warning", f"{hit}; force feedback is off: {self.robot.name} rides through")

    # ---- the clamp -------------------------------------------------------------------------

    def _grip(self, step: s.Grip) -> Iterator[float]:
        execution, name, sim = self.execution, self.robot.name, self.sim
        watch = execution.watch
        watch.wanted[name] = step.body or ANYTHING
        force = step.force if execution.grip_force is None else execution.grip_force
        self.robot.grip(force)
        begin, since = sim.time, None
        while True:
            held = watch.held.get(name)
            if held is None:
                since = None
            elif since is None:
                since = sim.time
            if since is not None and sim.time - since >= step.settle - 0.5 * sim.dt:
                break
            if sim.time - begin > step.timeout:
                raise BrazoError(f"nothing is held after {step.timeout:g} s: {self._why_empty()}")
            yield 0.0
        assert held is not None
        if step.body is not None and held != step.body:
            raise BrazoError(f"holds '{held}', not '{step.body}'")
        watch.wanted[name] = held
        watch.means_to_hold(name, held)
        execution.share_load(held)

    def _why_empty(self) -> str:
        grasp = self.sim.world.grasp(self.robot.name)
        clamp = self.robot.world.clamp
        assert clamp is not None
        if grasp.body is None:
            touched = sorted({*grasp.left, *grasp.right})
            what = f"only one pad touches {touched[0]}" if touched else "no pad touches anything"
            return f"{what}, the clamp is open by {1e3 * clamp.opening:.1f} mm"
        if not grasp.suitable:
            return (
                f"{grasp.body} lies askew, {np.degrees(grasp.angle):.1f}° off the fingers "
                f"(allowed {np.degrees(self.sim.cell.clamp.angle):.0f}°)"
            )
        least = self.sim.cell.clamp.hold_force
        return f"the pads press {grasp.body} with {grasp.force:.1f} N, wanted {least:g} N"

    def _release(self, step: s.Release) -> Iterator[float]:
        watch, name, sim = self.execution.watch, self.robot.name, self.sim
        body = watch.carried(name)
        watch.means_to_let_go(name)
        self.robot.carry(None)
        if body is not None:
            self.execution.share_load(body)
        self.robot.open(step.opening)
        clamp = self.robot.world.clamp
        assert clamp is not None
        wanted = clamp.gripper.opening[1] if step.opening is None else step.opening
        begin = sim.time
        while watch.held.get(name) is not None or clamp.opening < wanted - _OPEN:
            if sim.time - begin > step.timeout:
                raise BrazoError(
                    f"the clamp is open by {1e3 * clamp.opening:.1f} mm after {step.timeout:g} s, "
                    f"wanted {1e3 * wanted:.1f} mm"
                )
            yield 0.0
        watch.wanted[name] = None

    # ---- waiting and talking ---------------------------------------------------------------

    def _until(self, time: float) -> Iterator[float]:
        while self.sim.time < time - 0.5 * self.sim.dt:
            yield time - 0.5 * self.sim.dt

    def _wait_until(self, step: s.WaitUntil) -> Iterator[float]:
        begin = self.sim.time
        while not self._so(step.condition):
            if self.sim.time - begin > step.timeout:
                raise BrazoError(f"{step.timeout:g} s have passed and {_not_so(step.condition)}")
            yield self.sim.time + POLL - 0.5 * self.sim.dt

    def _so(self, condition: s.Condition) -> bool:
        watch = self.execution.watch
        match condition:
            case s.Held(body, by, off):
                return (watch.held.get(by or self.robot.name) == body) != off
            case s.Touching(first, second):
                return bool(touching_now(self.sim.world, [(first, second)]))
            case s.Signal(name):
                return name in self.execution.signals
            case s.At(time):
                return self.sim.time >= time - 0.5 * self.sim.dt
            case s.Through(body, chute):
                return any(
                    passage.done and (goal.body, goal.chute) == (body, chute)
                    for goal, passage in watch.passages.items()
                )

    def _sync(self, step: s.Sync) -> Iterator[float]:
        meetings = self.execution.meetings
        number, begin = meetings.come(step.name, self.robot.name), self.sim.time
        while not meetings.met(step.name, number):
            if self.sim.time - begin > step.timeout:
                who = ", ".join(meetings.missing(step.name))
                raise BrazoError(f"'{step.name}': {step.timeout:g} s have passed without {who}")
            yield 0.0

    def _set_signal(self, step: s.SetSignal) -> Iterator[float]:
        self.execution.signal(step.name, step.on)
        text = f"{self.robot.name}: {step.name} {'on' if step.on else 'off'}"
        self.sim.log("signal", text, robot=self.robot.name, signal=step.name, on=step.on)
        yield from ()

    def _note(self, step: s.Note) -> Iterator[float]:
        self.sim.log("note", step.text, robot=self.robot.name)
        yield from ()

    def _set_controller(self, step: s.SetController) -> Iterator[float]:
        gains = dict(step.gains)
        if step.law == IDEAL:
            self.robot.controller = IDEAL
        elif step.law is not None:
            try:
                law = laws()[step.law](**gains)
            except TypeError as error:
                raise BrazoError(f"{step.law}: {error}") from None
            self.robot.controller = law
        else:
            law = self.robot.controller
            if law is None:
                raise BrazoError(f"robot '{self.robot.name}' has no law whose gains could be set")
            for name, value in gains.items():
                law.gains[name] = value
        yield from ()


class _GiveWay(BrazoError):
    """Another robot is in the way, and moving."""

    def __init__(self, message: str, robot: str) -> None:
        super().__init__(message)
        self.robot = robot


def _same(T0: Array, T1: Array) -> bool:
    near = float(np.linalg.norm(T0[:3, 3] - T1[:3, 3])) < _THERE
    return near and float(angle_between(T0[:3, :3], T1[:3, :3])) < _TURNED


def _salt(name: str, count: int) -> int:
    """A number for a question of a robot, the same in every run."""
    return sum(ord(letter) * 31**i for i, letter in enumerate(name)) % 2**31 + count


def _not_so(condition: s.Condition) -> str:
    match condition:
        case s.Held(body, by, off):
            return f"{by or 'the clamp'} {'still holds' if off else 'does not hold'} {body}"
        case s.Touching(first, second):
            return f"{first} and {second} do not touch"
        case s.Signal(name):
            return f"nobody has raised '{name}'"
        case s.At(time):
            return f"it is not {time:g} s yet"
        case s.Through(body, chute):
            return f"{body} has not gone through {chute}"
