"""`FollowerStation`: a simulated robot that follows the master.

In every step of the simulation, the next reference of the robot is computed from the newest command
received over the link.  The safety rules use wall-clock time, the motion uses simulation time.  If
the simulation is slower than real time, the robot moves slowly but does not jump.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.orientation import wxyz_from_matrix
from brazo.recording.names import SIMULATED
from brazo.recording.stream import Recorder
from brazo.teleop.devices.device import joint_units
from brazo.teleop.follow.follower import ASK, SCENE, Follower, FollowerStep
from brazo.teleop.follow.safety import Cause, Rules, SafetyState, Transition
from brazo.teleop.follow.touch import Touch
from brazo.teleop.link.follower_link import FollowerLink
from brazo.teleop.mapping.base import Mapping, in_words
from brazo.teleop.mapping.pose_map import PoseMap
from brazo.teleop.stations.scene_name import scene_name
from brazo.teleop.stations.station_log import StationLog
from brazo.trajectory.base import Sample
from brazo.trajectory.limits import Limits, limits_of
from brazo.world.recorded_cell import recorded_source

if TYPE_CHECKING:
    from brazo.robot import Robot
    from brazo.simulation import Simulation
    from brazo.teleop.bilateral.energy_balance import EnergyBalance

EVERY = 2  # steps between two reports, and two recorded rows
BY_HAND = 0.25  # fraction of full speed for motion commanded at the follower itself


class FollowerStation:
    """A robot of a simulation that follows the commands received over a link.

    `robot` is its name; it is required if the cell has several robots.  The default `mapping` is a
    `PoseMap`, for which `master` is the model of the master robot.  `record` is the path of the
    recording, or None; an existing file is overwritten only if `replace` is True.
    """

    def __init__(
        self,
        sim: Simulation,
        link: FollowerLink,
        robot: str | None = None,
        mapping: Mapping | None = None,
        *,
        master: Robot | None = None,
        limits: Limits | None = None,
        rules: Rules | None = None,
        record: str | Path | None = None,
        replace: bool = False,
    ) -> None:
        if robot is None and len(sim.robots) > 1:
            raise BrazoError(
                f"specify which robot of the cell is the follower: {', '.join(sim.robots)}"
            )
        self.sim, self.link = sim, link
        self.robot = sim.robots[robot or next(iter(sim.robots))]
        arm = self.robot.arm
        self.limits = limits or limits_of(arm)
        self.mapping = mapping or PoseMap(arm, self.limits, master)
        self.log = StationLog()
        self._begin = self.log.begin
        self.follower = Follower(
            self.limits,
            self.mapping,
            self.robot.reference.q,
            rules,
            self._begin,
            self._on_transition,
        )
        self.by_hand = True  # whether the robot can be moved at the follower itself
        self.step: FollowerStep | None = None
        self.obstacle = ""  # reason of the station not to start following
        self._touch = Touch(sim.world, self.robot.name)
        self.wrench = np.zeros(6)  # on the tool, in base axes
        self._count = 0
        self._grip: float | None = None
        self._master = self._left = ""  # current and previous master
        self._recorder = None
        self._failed = False  # the recorder's failure was logged
        if record is not None:
            columns = {"t": "s", "state": "", "share": "", "age": "s", "latency": "s", "seq": ""}
            columns |= {"accepted": "", "acted": ""}  # numbers of commands so far
            columns |= {SIMULATED: "s"}  # t is wall-clock time
            columns |= {f"tool.{axis}": "m" for axis in "xyz"}
            columns |= {f"target.{axis}": "m" for axis in "xyz"}
            columns |= {f"force.{axis}": "N" for axis in "xyz"}
            for part in ("reference", "q"):
                names = [f"{part}.{name}" for name in arm.joint_names]
                columns |= dict(zip(names, joint_units(arm), strict=True))
            about = {
                "station": "follower",
                "robot": self.robot.name,
                "clock_start": repr(self._begin),
                "stale": repr(self.follower.safety.rules.stale),
            }
            if len(sim.robots) == 1:
                about |= recorded_source(sim.cell)
            self._recorder = Recorder(record, columns, about, wait=False, replace=replace)

    def start(self, play: bool = True) -> FollowerStation:
        """Start listening; start the simulation if `play`, otherwise the caller must step it."""
        self.link.start()
        self.robot.follow(self)
        if play:
            self.sim.player.play()
        return self

    def close(self) -> None:
        """Pause the simulation, close the link and finish the recording."""
        self.sim.player.pause()
        self.robot.hold()
        self.link.close()
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None

    def __enter__(self) -> FollowerStation:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def moving(self) -> bool:
        """Whether the reference of the robot is moving."""
        return self.follower.tracker.moving

    @property
    def begin(self) -> float:
        """Start time of the station (s), by the clock of `time.perf_counter`."""
        return self._begin

    def stop(self, detail: str = "") -> None:
        """Change to HOLD and brake to rest.

        To resume, the operator must release the enable switch and engage again.
        """
        with self.sim.lock:
            held = self.follower.safety.state is SafetyState.HOLD
            self.follower.stop(time.perf_counter(), detail)
            if held:  # there is no change of state that would be logged
                self._event("teleop", f"{Cause.STOP.value}, already in HOLD: {detail or 'STOP'}")

    def target_by_hand(self) -> np.ndarray:
        """Return the current joint target (n,), or the reference if there is no target.

        The result may be modified and passed to `move_to`.
        """
        with self.sim.lock:
            goal = self.follower.tracker.goal
            return np.array(self.follower.tracker.state.q if goal is None else goal)

    @property
    def energy_balance(self) -> EnergyBalance | None:
        """Energies of the bilateral scheme; None if there is no force feedback."""
        return None

    def move_to(self, q: Any, share: float = BY_HAND) -> None:
        """Move the robot to q (n,) at the fraction `share` of full speed.

        Raise an error while the robot follows a master.
        """
        with self.sim.lock:
            if self.follower.safety.moving:
                raise BrazoError(
                    f"the master '{self.link.master}' moves this robot: press STOP first"
                )
            self.follower.tracker.target(q, None, share)

    def next(self) -> Sample:
        """Return the reference of the next step; called by the simulation."""
        now = time.perf_counter()
        view = self.link.view()
        self.step = step = self._as_is(self.follower.step(now, view, self.obstacle, self.sim.dt))
        self._count += 1
        if self._count % EVERY == 0:
            self._tell(step)
        if step.grip != self._grip:
            self._grip = step.grip
            self._clamp(step.grip)
        return step.sample

    def _as_is(self, step: FollowerStep) -> FollowerStep:
        """Return the step to report and record.

        Stations with force feedback override this method: forces move the robot, so the sample of
        the step is replaced by the current joint positions.
        """
        return step

    def _tell(self, step: FollowerStep) -> None:
        for setting in self.link.settings():
            if setting.name == ASK and setting.value == SCENE:
                scene = {"name": scene_name(self.sim.cell), "robot": self.robot.name}
                self.link.answer(setting, True, json.dumps({SCENE: scene}, separators=(",", ":")))
                continue
            done, text = self.follower.set(setting)
            self.link.answer(setting, done, text)
            asked = done and setting.name == ASK
            self._event("setting", in_words(self.mapping.settings()) if asked else text)
        if self.link.master != self._master:
            before, self._master = self._master, self.link.master
            if before:
                self._event("link", f"link to '{before}' lost")
            if self._master:
                back = "reconnected" if self._master == self._left else "connected"
                self._event("link", f"'{self._master}' {back}")
            self._left = before
        T = np.linalg.inv(self.robot.base) @ self.robot.tool()
        pose = (*T[:3, 3].tolist(), *wxyz_from_matrix(T[:3, :3]).tolist())
        self.wrench = self._touch.wrench()
        wrench = tuple(self.wrench.tolist())
        self.link.publish(self.follower.report(step, pose, wrench, self._extra()))
        if self._recorder is not None:
            self._write(step, T[:3, 3])
            if self._recorder.failure and not self._failed:
                self._failed = True
                self._event("recording", self._recorder.failure)

    def _extra(self) -> tuple[float, ...]:
        """Return numbers of the bilateral scheme to send to the master; empty without a scheme."""
        return ()

    def _write(self, step: FollowerStep, tool: Any) -> None:
        assert self._recorder is not None
        latest = self.link.view().latest
        latency = np.nan if latest is None else latest.received - latest.sent
        target = self.robot.arm.fk(step.sample.q)[:3, 3]
        age = step.age if np.isfinite(step.age) else np.nan
        row = [step.t - self._begin, float(step.state), step.share, age, latency, float(step.seq)]
        row += [float(self.link.counts["accepted"]), float(self.follower.acted), self.sim.time]
        places = (*tool, *target, *self.wrench[:3])
        self._recorder.append([*row, *places, *step.sample.q, *self.robot.world.q])

    def _clamp(self, grip: float | None) -> None:
        if grip is None or self.robot.world.gripper is None:
            return
        if grip >= 0.5:
            self.robot.grip()
        else:
            self.robot.open()

    def _on_transition(self, transition: Transition) -> None:
        self._event("teleop", str(transition), transition.t - self._begin)
        self.sim.log("teleop", str(transition), robot=self.robot.name)

    def _event(self, kind: str, text: str, t: float | None = None) -> None:
        t = self.log.add(text, t)
        if self._recorder is not None:
            self._recorder.event(t, kind, text)
