"""Kinematic preview of a program: pose and time of each robot at each step, without physics.

Robots follow their motions exactly, and bodies in a gripper move with the tool.  There are no
forces: a grip always holds, and a step that waits for a contact or a chute ends at once.  Steps are
executed in order of time.  Robots wait for syncs, signals and grasps as in a run.  Collisions are
found afterwards (`brazo.program.preview_collisions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import matrix_from_rpy
from brazo.program import steps as s
from brazo.program.frames import frame_pose, reference_tool, require_held, to_base, tool_at
from brazo.program.ik_candidates import ik_candidates
from brazo.program.motions import MakePath, along, motion_limits, straight
from brazo.simulation import SimRobot, Simulation
from brazo.trajectory import CartesianPath, Limits, Timing, Trajectory, line
from brazo.trajectory.curve_fields import curve_in_base, svg_of

Array = np.ndarray
GRIP_TIME = 0.5  # s, assumed time of a grip or release
_NEAR = 1e-9  # m, rad: the tool is already at its target


@dataclass(frozen=True, slots=True, eq=False)
class PreviewStep:
    """Step of a robot in a preview.

    `start` and `end` are times (s), and `q` (n,) are the joint values at the end.  If the step
    cannot be executed, `error` is the reason.
    """

    start: float
    end: float
    q: Array
    motions: tuple[Trajectory, ...] = ()  # one after the other; none if the robot rests
    error: str = ""
    held: str | None = None  # body in the gripper
    T_tool_body: Array | None = None  # (4, 4), of that body
    opening: float | None = None  # m; None if the gripper was closed by a grip, or without gripper

    def at(self, time: float) -> Array:
        """Return the joint values (n,) at a time (s)."""
        left = time - self.start
        for motion in self.motions:
            if left < motion.duration:
                return motion.sample(motion.start + left).q
            left -= motion.duration
        return self.q

    def table(self, times: Array) -> Array:
        """Return the joint values (m, n) at times (m,) in s."""
        left, found = times - self.start, np.tile(self.q, (len(times), 1))
        for motion in self.motions:
            inside = (left >= 0.0) & (left < motion.duration)
            if inside.any():
                found[inside] = motion.sample(motion.start + left[inside]).q
            left = np.where(left < motion.duration, -1.0, left - motion.duration)
        return found


@dataclass(slots=True, eq=False)
class _Track:
    """State of one robot while the preview is computed."""

    robot: SimRobot
    steps: Sequence[s.Step]
    limits: Limits
    q: Array
    held: str | None
    T_tool_body: Array
    opening: float | None = None
    time: float = 0.0
    done: list[PreviewStep] = field(default_factory=list)

    @property
    def tool(self) -> Array:
        return self.robot.base @ self.robot.arm.fk(np.ascontiguousarray(self.q))

    @property
    def step(self) -> s.Step | None:
        failed = bool(self.done) and bool(self.done[-1].error)
        return None if failed or len(self.done) >= len(self.steps) else self.steps[len(self.done)]

    def computed(
        self, end: float, motions: tuple[Trajectory, ...] = (), error: str = ""
    ) -> PreviewStep:
        """Return a step from the current time to `end` (s), with the current state of the robot."""
        hand = (self.held, self.T_tool_body, self.opening)
        return PreviewStep(self.time, end, self.q, motions, error, *hand)


class Preview:
    """Kinematic execution of the steps of a program, from the current state of a simulation.

    Parameters
    ----------
    flat
        Steps of each robot with all loops unrolled, from `brazo.program.validate.validate`.
    sim
        The simulation; it is only read, under its lock.
    speed
        Default speed, as a fraction of the drives' limits.
    timed
        Whether motions are planned; if False, steps take no time and only targets are computed.
    """

    def __init__(
        self,
        flat: Mapping[str, Sequence[s.Step]],
        sim: Simulation,
        speed: float = 0.5,
        timed: bool = True,
    ) -> None:
        self._sim, self._speed, self._timed = sim, speed, timed
        self._signals: set[str] = set()
        with sim.lock:
            self._bodies = {one.name: np.array(sim.world.pose(one.name)) for one in sim.cell.bodies}
            self._first_bodies = dict(self._bodies)
            self._tracks = {n: self._track(n, steps) for n, steps in flat.items()}
        self._start = {name: track.computed(0.0) for name, track in self._tracks.items()}
        self._members: dict[str, set[str]] = {}
        for name, track in self._tracks.items():
            for step in track.steps:
                if isinstance(step, s.Sync):
                    self._members.setdefault(step.name, set()).add(name)
        while self._advance():
            pass

    @property
    def steps(self) -> dict[str, list[PreviewStep]]:
        """Computed steps by robot; only the last step of a robot can have an `error`."""
        return {name: track.done for name, track in self._tracks.items()}

    @property
    def duration(self) -> float:
        """Time (s) at which the last robot finishes."""
        return max((track.time for track in self._tracks.values()), default=0.0)

    def at(self, time: float) -> dict[str, Array]:
        """Return the joint values (n,) of each robot at a time (s)."""
        found = {}
        for name, track in self._tracks.items():
            q = self._start[name].q
            for one in track.done:
                if one.start > time:
                    break
                q = one.at(time)
            found[name] = q
        return found

    def step_at(self, robot: str, time: float) -> int:
        """Return the index of the step that a robot executes at a time (s).

        Steps are counted after loops are unrolled.  After the last step, the result is the number
        of steps.
        """
        done = self._tracks[robot].done
        return sum(one.end <= time and not one.error for one in done)

    def step(self, robot: str, index: int) -> s.Step:
        """Return step `index` of a robot, counted after loops are unrolled."""
        return self._tracks[robot].steps[index]

    def state(self, robot: str, time: float) -> PreviewStep:
        """Return the step of a robot at a time (s).

        Before the first step, the result contains the start state of the robot.
        """
        found = self._start[robot]
        for one in self._tracks[robot].done:
            if one.start > time:
                break
            found = one
        return found

    def table(self, robot: str, times: Array) -> Array:
        """Return the joint values (m, n) of a robot at ascending times (m,) in s."""
        found = np.tile(self._start[robot].q, (len(times), 1))
        for one in self._tracks[robot].done:
            after = times >= one.start
            if not after.any():
                break
            found[after] = one.table(times[after])
        return found

    def grasp_times(self, start: float, end: float) -> list[float]:
        """Return the times (s) between `start` and `end` at which any robot grips or releases."""
        return [
            one.start
            for name, track in self._tracks.items()
            for before, one in zip([self._start[name], *track.done], track.done, strict=False)
            if before.held != one.held and start < one.start < end
        ]

    def bodies(self, time: float) -> dict[str, Array]:
        """Return the poses (4, 4) of the bodies at a time (s), by name."""
        found, since = dict(self._first_bodies), dict.fromkeys(self._first_bodies, -1.0)
        for name, track in self._tracks.items():
            for one in (self._start[name], *track.done):
                until = min(one.end, time)
                if one.start <= time and one.held is not None and until >= since[one.held]:
                    assert one.T_tool_body is not None
                    arm, base = track.robot.arm, track.robot.base
                    tool = base @ arm.fk(np.ascontiguousarray(one.at(until)))
                    found[one.held], since[one.held] = tool @ one.T_tool_body, until
        return found

    def released(self, time: float) -> set[str]:
        """Return the bodies that were held earlier and that no robot holds at a time (s)."""
        before = {
            one.held
            for name, track in self._tracks.items()
            for one in (self._start[name], *track.done)
            if one.held is not None and one.start <= time
        }
        return before - {self.state(name, time).held for name in self._tracks}

    # ---- carrying out --------------------------------------------------------------------------

    def _track(self, name: str, steps: Sequence[s.Step]) -> _Track:
        robot = self._sim.robots[name]
        held = self._sim.world.grasp(name).held if robot.world.gripper is not None else None
        hand = np.eye(4)
        if held is not None:
            hand = np.linalg.inv(reference_tool(robot)) @ self._bodies[held]
        limits, q = motion_limits(robot.arm), np.array(robot.reference.q)
        opening = None if robot.world.gripper is None else robot.world.gripper.opening
        return _Track(robot, steps, limits, q, held, hand, opening)

    def _advance(self) -> bool:
        """Compute the next step in order of time; return False when no robot can continue."""
        active = [track for track in self._tracks.values() if track.step is not None]
        for track in sorted(active, key=lambda one: one.time):
            if self._carry_out(track):
                return True
        for track in active:  # all wait: for something that is not part of the preview
            if isinstance(track.step, s.WaitUntil):
                self._finish(track)
                return True
        for track in active:
            self._fail(track, "the robot waits for an event that never occurs")
        return False

    def _carry_out(self, track: _Track) -> bool:
        """Compute the next step of a robot; return False if the robot has to wait."""
        step = track.step
        match step:
            case s.MoveJoints() | s.MoveTo() | s.Line() | s.FollowPath():
                try:
                    self._move(track, step)
                except BrazoError as error:
                    self._fail(track, str(error))
            case s.Grip():
                if step.body is not None and step.body not in self._bodies:
                    self._fail(track, f"no body '{step.body}'; {_known(self._bodies)}")
                    return True
                track.held = step.body or self._nearest(track)
                track.opening = None
                if track.held is not None:
                    track.T_tool_body = np.linalg.inv(track.tool) @ self._bodies[track.held]
                self._finish(track, GRIP_TIME)
            case s.Release():
                track.held = None
                if (gripper := track.robot.world.gripper) is not None:
                    track.opening = step.opening or gripper.description.opening[1]
                self._finish(track, GRIP_TIME)
            case s.Wait():
                self._finish(track, step.time)
            case s.WaitUntil():
                return self._wait_until(track, step.condition)
            case s.Sync():
                return self._sync(step.name)
            case s.SetSignal():
                (self._signals.add if step.on else self._signals.discard)(step.name)
                self._finish(track)
            case _:
                self._finish(track)
        return True

    def _finish(self, track: _Track, time: float = 0.0, *motions: Trajectory) -> None:
        end = track.time + (time if self._timed else 0.0)
        track.done.append(track.computed(end, motions))
        track.time = end

    def _fail(self, track: _Track, why: str) -> None:
        track.done.append(track.computed(track.time, error=why))

    def _nearest(self, track: _Track) -> str | None:
        """Return the name of the body whose origin is nearest to the tool; None without bodies."""
        at = track.tool[:3, 3]
        far = {name: float(np.linalg.norm(T[:3, 3] - at)) for name, T in self._bodies.items()}
        return min(far, key=lambda name: far[name], default=None)

    def _wait_until(self, track: _Track, condition: s.Condition) -> bool:
        match condition:
            case s.Held(body, by, off):
                holder = self._tracks.get(by or track.robot.name)
                if holder is None or (holder.held == body) == off:
                    return False
                track.time = max(track.time, holder.time)
            case s.Signal(name):
                if name not in self._signals:
                    return False
            case s.At(time):
                self._finish(track, max(0.0, time - self._sim.time - track.time))
                return True
            case _:
                pass  # contacts and chutes need physics
        self._finish(track)
        return True

    def _sync(self, name: str) -> bool:
        members = [self._tracks[one] for one in self._members[name]]
        waiting = [one for one in members if _at_sync(one, name)]
        if len(waiting) < len(members):
            return False
        time = max(one.time for one in members)
        for one in members:
            self._finish(one, time - one.time)
            one.time = time
        return True

    # ---- motions -------------------------------------------------------------------------------

    def _frame(self, track: _Track, name: str) -> Array:
        if name == "tool":
            return track.tool
        return self._bodies[name] if name in self._bodies else self._fixed(track, name)

    def _fixed(self, track: _Track, name: str) -> Array:
        with self._sim.lock:
            return np.array(frame_pose(self._sim, track.robot, name))

    def _target(self, track: _Track, target: s.Target) -> Array:
        """Return the target pose (4, 4) of the tool in the robot's base frame."""
        hand = np.eye(4)
        if target.point and target.xyz is None:  # the values of known points are given
            raise BrazoError(f"no point '{target.point}'")
        if target.of is not None:
            require_held(target.of, track.held)
            hand = track.T_tool_body
        T = tool_at(target, self._frame(track, target.frame), track.tool, hand)
        return to_base(track.robot, T)

    def _move(self, track: _Track, step: s.MoveJoints | s.MoveTo | s.Line | s.FollowPath) -> None:
        match step:
            case s.MoveJoints():
                motions = self._straight(track, self._joint_values(track, step), step.speed)
            case s.MoveTo():
                T = self._target(track, step.target)
                q = self._solution(track, T, step.orientation, step.branch, step.gripper_symmetric)
                motions = self._straight(track, q, step.speed)
            case s.Line():
                T0, T1 = to_base(track.robot, track.tool), self._target(track, step.target)
                motions = []
                if np.abs(T1 - T0).max() > _NEAR:
                    motions = self._along(track, lambda timing: line(T0, T1, timing), step)
            case s.FollowPath():
                motions = self._follow(track, step)
        if track.held is not None:
            self._bodies[track.held] = track.tool @ track.T_tool_body
        self._finish(track, sum(one.duration for one in motions), *motions)

    def _straight(self, track: _Track, q: Array, speed: s.Speed) -> list[Trajectory]:
        """Move the joints to q (n,); return the motion in a list, which is empty if not timed."""
        q0, track.q = track.q, np.array(q)
        return [straight(q0, q, track.limits, speed, self._speed)] if self._timed else []

    def _along(
        self, track: _Track, make: MakePath, step: s.Line | s.FollowPath
    ) -> list[Trajectory]:
        """Move the tool along a path; return the motion in a list, which is empty if not timed."""
        if not self._timed:
            track.q = self._solution(track, make(Timing(duration=1.0)).pose(1.0), step.orientation)
            return []
        arm, limits = track.robot.arm, track.limits
        motion = along(arm, make, track.q, limits, step.speed, self._speed, step.orientation)
        track.q = np.array(motion.sample(motion.end).q)
        return [motion]

    def _follow(self, track: _Track, step: s.FollowPath) -> list[Trajectory]:
        """Move to the start of a curve and along the curve; return the motions.

        The list is empty if the preview is not timed.
        """
        T = to_base(track.robot, self._frame(track, step.frame))
        R = to_base(track.robot, track.tool)[:3, :3]
        if step.rpy is not None:
            R = T[:3, :3] @ matrix_from_rpy(step.rpy)

        drawing = svg_of(step.curve, step.values, step.folder)

        def make(timing: Timing) -> CartesianPath:
            return curve_in_base(step.curve, step.values, T, R, timing, drawing=drawing)

        begin = self._solution(track, make(Timing(duration=1.0)).pose(0.0), step.orientation)
        first = self._straight(track, begin, s.Speed(step.speed.fraction))
        return [*first, *self._along(track, make, step)]

    def _joint_values(self, track: _Track, step: s.MoveJoints) -> Array:
        if not isinstance(step.to, str):
            if len(step.to) != track.robot.n:
                raise BrazoError(f"{len(step.to)} joint values; expected {track.robot.n}")
            return np.array(step.to)
        if step.to == "start":
            return np.array(track.robot.world.start)
        poses = track.robot.arm.poses
        if step.to not in poses:
            raise BrazoError(f"no point or pose '{step.to}'; {_known(['start', *poses])}")
        return np.array(poses[step.to])

    def _solution(
        self,
        track: _Track,
        T: Array,
        orientation: s.Orientation,
        branch: str | None = None,
        symmetric: bool = False,
    ) -> Array:
        found = ik_candidates(
            track.robot.arm,
            T,
            track.q,
            track.limits.speed,
            branch=branch,
            orientation=orientation,
            gripper_symmetric=symmetric,
        )
        if not found.found:
            raise BrazoError(found.reason)
        return found.found[0].q


def _known(names: Iterable[str]) -> str:
    return f"there are: {', '.join(names) or 'none'}"


def _at_sync(track: _Track, name: str) -> bool:
    return isinstance(track.step, s.Sync) and track.step.name == name
