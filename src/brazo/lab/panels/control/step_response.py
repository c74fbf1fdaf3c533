"""Step response of one joint, sampled at every simulation step.

With the step amplitude `size` and the normalized response r(t) = (q(t) − q₀)/size:

    rise        time from r = 0.1 to r = 0.9
    error       mean of size − (q − q₀) over the last 10 % of the samples

Overshoot, settling time and peak torque are defined in `brazo.recording.metrics`.

The step is small, stays within the joint limits and starts at rest.  After the measurement, the
joint moves back to its start position.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.metrics import BAND, overshoot, peak, settling_time
from brazo.simulation.robot_control import IDEAL
from brazo.trajectory import Piecewise, jerk_limited, limits_of

if TYPE_CHECKING:
    from brazo.simulation import Simulation
    from brazo.simulation.robot import SimRobot

SECONDS = 1.5  # duration of the measurement
LARGEST = {"revolute": math.radians(10.0), "prismatic": 0.05}  # rad, m; max amplitude
USUAL = {"revolute": math.radians(2.0), "prismatic": 0.005}  # rad, m; default amplitude


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """Measured step response of one joint, with the step at t = 0."""

    robot: str
    joint: int
    controller: str
    size: float  # step amplitude, rad or m
    t: np.ndarray  # (m,) s
    q: np.ndarray  # (m,) relative to the start, rad or m
    torque: np.ndarray  # (m,) N m or N

    @property
    def overshoot(self) -> float:
        """Overshoot as a fraction of the step amplitude."""
        return overshoot(self.q, np.array([0.0, self.size]))

    @property
    def rise(self) -> float:
        """Rise time (s) from 10 % to 90 % of the step; NaN if 90 % was not reached."""
        done = self.q / self.size
        if done.max() < 0.9:
            return math.nan
        return float(self.t[np.argmax(done >= 0.9)] - self.t[np.argmax(done >= 0.1)])

    @property
    def settling(self) -> float:
        """Settling time (s) to ±2 % of the amplitude; NaN if the response did not settle."""
        return settling_time(self.t, self.size - self.q, BAND * abs(self.size))

    @property
    def error(self) -> float:
        """Steady-state error (rad or m)."""
        return float(self.size - self.q[-max(len(self.q) // 10, 1) :].mean())

    @property
    def peak_torque(self) -> float:
        """Max absolute torque (N m or N)."""
        return float(peak(self.torque))


class StepTest:
    """Simulation task that commands a step of one joint and records the response.

    `size` is the step amplitude (rad or m); its sign is reversed if the joint would otherwise
    exceed a limit.  `done(response)` is called at the end; the response is None if the test was
    interrupted.  `BrazoError` is raised if the amplitude is not allowed, the robot is moving or the
    robot has no feedback controller.
    """

    paused = False
    what = "a step response"

    def __init__(
        self,
        sim: Simulation,
        robot: SimRobot,
        joint: int,
        size: float,
        done: Callable[[Response | None], None],
    ) -> None:
        arm = robot.arm
        kind = arm.joint_kinds[joint]
        if not 0.0 < abs(size) <= LARGEST[kind] * (1.0 + 1e-9):
            given, most = (
                f"{math.degrees(x):g}°" if kind == "revolute" else f"{1e3 * x:g} mm"
                for x in (size, LARGEST[kind])
            )
            raise BrazoError(
                f"step amplitude {given}: its magnitude must be above 0 and at most {most}"
            )
        if robot.controller_name in (IDEAL, "none"):
            raise BrazoError(f"{robot.name} has no feedback controller: choose one first")
        if robot.moving or np.abs(robot.qd).max() > 1e-2:
            raise BrazoError(f"{robot.name} is moving: wait until it is at rest")
        self.motions = {robot.name: None}  # reserves the robot for this task
        self._robot, self._joint, self._done = robot, joint, done
        self._from = robot.reference.q
        low, high = arm.limits[joint]
        self._size = size
        if not low <= self._from[joint] + size <= high:
            self._size = -size
        if not low <= self._from[joint] + self._size <= high:
            raise BrazoError(
                f"{arm.joint_names[joint]} would exceed a position limit: use a smaller step"
            )
        self._rows: list[tuple[float, float, float]] = []
        self._motion: object = None
        self._over = False

    def pause(self) -> None:
        """Abort the test on STOP, without commanding another motion."""
        self._over = True

    def tick(self, sim: Simulation) -> bool:
        robot, i = self._robot, self._joint
        if self._motion is None and not self._over:
            to = self._from.copy()
            to[i] += self._size
            # A constant reference at the target, so that it changes in one step.
            robot.move(Piecewise([0.0, 2.0 * SECONDS], to[None, None]), jump=True)
            self._motion, self._start = robot.motion, sim.time
        if self._over or robot.motion is not self._motion:
            self._done(None)
            return False
        t = sim.time - self._start
        self._rows.append((t, float(robot.world.q[i]), float(robot.world.drive_torque[i])))
        if t < SECONDS - 0.5 * sim.dt:
            return True
        robot.move(jerk_limited(robot.motion.q.copy(), self._from, limits_of(robot.arm)))
        self._done(self._response())
        return False

    def _response(self) -> Response:
        t, q, torque = np.array(self._rows).T
        torque = np.append(torque[1:], torque[-1])  # each was applied in the step before
        robot = self._robot
        return Response(
            robot.name, self._joint, robot.controller_name, self._size, t, q - q[0], torque
        )
