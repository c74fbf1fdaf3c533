"""Execution of program steps.  Each step runs as a generator that yields the time of its next poll.

This module executes gripper, wait, sync, signal and controller steps.  Motion steps are in
`brazo.program.moves`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from brazo.control import controllers
from brazo.errors import BrazoError
from brazo.program import steps as s
from brazo.program.collision import touching_now
from brazo.program.controller_options import make_controller
from brazo.program.monitor import ANYTHING
from brazo.program.moves import Moves
from brazo.program.validate import IDEAL
from brazo.simulation import SimRobot

if TYPE_CHECKING:
    from brazo.program.execution import Execution

POLL = 0.01  # s, between two checks of a condition
_OPEN = 0.001  # m, tolerance of the opening


class UntilGrasp(float):
    """Time (s) of the next poll of a step; a change of a grasp causes an earlier poll."""


class Actions:
    """Executor of the steps of one robot."""

    def __init__(self, execution: Execution, robot: SimRobot) -> None:
        self.execution = execution
        self.sim = execution.sim
        self.robot = robot
        self.moves = Moves(execution, robot)

    def of(self, step: s.Step) -> Iterator[float]:
        """Return the generator that executes a step; it yields the time (s) of its next poll."""
        match step:
            case s.MoveJoints() | s.MoveTo() | s.Line() | s.FollowPath():
                return self.moves.of(step)
            case s.Grip():
                return self._grip(step)
            case s.Release():
                return self._release(step)
            case s.Wait():
                return self._wait(step)
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
                raise BrazoError(f"unknown kind of step: {step}")

    # ---- gripper ---------------------------------------------------------------------------

    def _grip(self, step: s.Grip) -> Iterator[float]:
        execution, name, sim = self.execution, self.robot.name, self.sim
        monitor = execution.monitor
        monitor.wanted[name] = step.body or ANYTHING
        force = step.force if execution.grip_force is None else execution.grip_force
        self.robot.grip(force)
        begin, since = execution.clock, None
        while True:
            held = monitor.held.get(name)
            if held is None:
                since = None
            elif since is None:
                since = sim.time
            if since is not None and sim.time - since >= step.settle - 0.5 * sim.dt:
                break
            if execution.clock - begin > step.timeout:
                raise BrazoError(f"no grasp after {step.timeout:g} s: {self._why_no_grasp()}")
            over = begin + step.timeout if since is None else since + step.settle
            yield UntilGrasp(over - sim.dt)
        assert held is not None
        if step.body is not None and held != step.body:
            raise BrazoError(f"the gripper holds '{held}', not '{step.body}'")
        monitor.wanted[name] = held
        monitor.expect_held(name, held)
        execution.share_load(held)

    def _why_no_grasp(self) -> str:
        grasp = self.sim.world.grasp(self.robot.name)
        gripper = self.robot.world.gripper
        assert gripper is not None
        if grasp.body is None:
            left, right = (", ".join(sorted(pad)) for pad in (grasp.left, grasp.right))
            if left and right:
                what = f"the left pad touches {left}, the right pad {right}"
            elif left or right:
                what = f"only one pad touches {left or right}"
            else:
                what = "no pad is in contact"
            return f"{what}, gripper opening {1e3 * gripper.opening:.1f} mm"
        if not grasp.suitable:
            return (
                f"{grasp.body} is rotated by {np.degrees(grasp.angle):.1f}° relative to the "
                "fingers "
                f"(max {np.degrees(self.sim.cell.gripper.angle):.0f}°)"
            )
        minimum = self.sim.cell.gripper.hold_force
        return f"the pads press {grasp.body} with {grasp.force:.1f} N, min {minimum:g} N"

    def _release(self, step: s.Release) -> Iterator[float]:
        monitor, name, sim = self.execution.monitor, self.robot.name, self.sim
        body = monitor.carried(name)
        monitor.expect_released(name)
        self.robot.carry(None)
        if body is not None:
            self.execution.share_load(body)
        self.robot.open(step.opening)
        gripper = self.robot.world.gripper
        assert gripper is not None
        wanted = gripper.description.opening[1] if step.opening is None else step.opening
        begin = self.execution.clock
        while monitor.held.get(name) is not None or gripper.opening < wanted - _OPEN:
            if self.execution.clock - begin > step.timeout:
                held = monitor.held.get(name)
                if held is not None and gripper.opening >= wanted - _OPEN:
                    raise BrazoError(
                        f"the gripper still holds {held} {step.timeout:g} s after the start of the "
                        f"release, at an opening of {1e3 * gripper.opening:.1f} mm; use a larger "
                        "opening"
                    )
                raise BrazoError(
                    f"the gripper opening is {1e3 * gripper.opening:.1f} mm after "
                    f"{step.timeout:g} s; the target is {1e3 * wanted:.1f} mm"
                )
            # Half the time the fingers need at their maximum speed, so that no step is missed.
            distance = wanted - _OPEN - gripper.opening
            yield UntilGrasp(sim.time + 0.5 * distance / sim.cell.gripper.closing_speed)
        monitor.wanted[name] = None

    # ---- waits, syncs, signals ------------------------------------------------------------

    def _wait(self, step: s.Wait) -> Iterator[float]:
        end = self.execution.clock + step.time - 0.5 * self.sim.dt
        while (clock := self.execution.clock) < end:
            yield end + (self.sim.time - clock)  # simulation time continues during pauses

    def _wait_until(self, step: s.WaitUntil) -> Iterator[float]:
        begin = self.execution.clock
        while not self._met(step.condition):
            if self.execution.clock - begin > step.timeout:
                raise BrazoError(f"timeout after {step.timeout:g} s: {_not_met(step.condition)}")
            yield self.sim.time + POLL - 0.5 * self.sim.dt

    def _met(self, condition: s.Condition) -> bool:
        monitor = self.execution.monitor
        match condition:
            case s.Held(body, by, off):
                return (monitor.held.get(by or self.robot.name) == body) != off
            case s.Touching(first, second):
                return bool(touching_now(self.sim.world, [(first, second)]))
            case s.Signal(name):
                return name in self.execution.signals
            case s.At(time):
                return self.sim.time >= time - 0.5 * self.sim.dt
            case s.Through(body, chute):
                return any(
                    passage.done and (goal.body, goal.chute) == (body, chute)
                    for goal, passage in monitor.passages.items()
                )

    def _sync(self, step: s.Sync) -> Iterator[float]:
        syncs = self.execution.syncs
        number, begin = syncs.arrive(step.name, self.robot.name), self.execution.clock
        while not syncs.complete(step.name, number):
            if self.execution.clock - begin > step.timeout:
                who = ", ".join(syncs.missing(step.name))
                raise BrazoError(
                    f"sync '{step.name}': timeout after {step.timeout:g} s, waiting for {who}"
                )
            yield begin + step.timeout  # the last robot to arrive wakes the others
        self.execution.wake(syncs.members(step.name))

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
        if step.controller == IDEAL:
            self.robot.controller = IDEAL
        elif step.controller is not None:
            self.robot.controller = make_controller(controllers()[step.controller], gains)
        else:
            controller = self.robot.controller
            if controller is None:
                raise BrazoError(
                    f"robot '{self.robot.name}' has no controller, so no gains can be set; "
                    "give 'controller' as well"
                )
            for name, value in gains.items():
                controller.gains[name] = value
        yield from ()


def _not_met(condition: s.Condition) -> str:
    match condition:
        case s.Held(body, by, off):
            return f"{by or 'the gripper'} {'still holds' if off else 'does not hold'} {body}"
        case s.Touching(first, second):
            return f"{first} and {second} are not in contact"
        case s.Signal(name):
            return f"signal '{name}' is off"
        case s.At(time):
            return f"t = {time:g} s is not reached"
        case s.Through(body, chute):
            return f"{body} has not passed through {chute}"
