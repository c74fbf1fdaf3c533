"""How each kind of step is done: generators that yield the time at which to ask them again.

Motions are in `brazo.program.moves`; here are the clamp, waiting, meeting, and laws.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from brazo.control import laws
from brazo.errors import BrazoError
from brazo.program import steps as s
from brazo.program.collision import touching_now
from brazo.program.moves import Moves
from brazo.program.validate import IDEAL
from brazo.program.watch import ANYTHING
from brazo.simulation import SimRobot

if TYPE_CHECKING:
    from brazo.program.execution import Execution

POLL = 0.01  # s, between two looks at a condition
_OPEN = 0.001  # m short of the wanted opening


class UntilGrasp(float):
    """A time (s) at which to ask a step again, or earlier when a gripper takes hold or lets go."""


class Actions:
    """What one robot can do."""

    def __init__(self, execution: Execution, robot: SimRobot) -> None:
        self.execution = execution
        self.sim = execution.sim
        self.robot = robot
        self.moves = Moves(execution, robot)

    def of(self, step: s.Step) -> Iterator[float]:
        """The generator that does a step."""
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
                raise BrazoError(f"no such step: {step}")

    # ---- the clamp -------------------------------------------------------------------------

    def _grip(self, step: s.Grip) -> Iterator[float]:
        execution, name, sim = self.execution, self.robot.name, self.sim
        watch = execution.watch
        watch.wanted[name] = step.body or ANYTHING
        force = step.force if execution.grip_force is None else execution.grip_force
        self.robot.grip(force)
        begin, since = execution.clock, None
        while True:
            held = watch.held.get(name)
            if held is None:
                since = None
            elif since is None:
                since = sim.time
            if since is not None and sim.time - since >= step.settle - 0.5 * sim.dt:
                break
            if execution.clock - begin > step.timeout:
                raise BrazoError(f"nothing is held after {step.timeout:g} s: {self._why_empty()}")
            over = begin + step.timeout if since is None else since + step.settle
            yield UntilGrasp(over - sim.dt)
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
        begin = self.execution.clock
        while watch.held.get(name) is not None or clamp.opening < wanted - _OPEN:
            if self.execution.clock - begin > step.timeout:
                raise BrazoError(
                    f"the clamp is open by {1e3 * clamp.opening:.1f} mm after {step.timeout:g} s, "
                    f"wanted {1e3 * wanted:.1f} mm"
                )
            # Half the time the fingers need at their top speed, so that no step is missed.
            way = wanted - _OPEN - clamp.opening
            yield UntilGrasp(sim.time + 0.5 * way / sim.cell.clamp.closing_speed)
        watch.wanted[name] = None

    # ---- waiting and talking ---------------------------------------------------------------

    def _wait(self, step: s.Wait) -> Iterator[float]:
        end = self.execution.clock + step.time - 0.5 * self.sim.dt
        while (clock := self.execution.clock) < end:
            yield end + (self.sim.time - clock)  # the simulation's time goes on in pauses

    def _wait_until(self, step: s.WaitUntil) -> Iterator[float]:
        begin = self.execution.clock
        while not self._so(step.condition):
            if self.execution.clock - begin > step.timeout:
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
        number, begin = meetings.come(step.name, self.robot.name), self.execution.clock
        while not meetings.met(step.name, number):
            if self.execution.clock - begin > step.timeout:
                who = ", ".join(meetings.missing(step.name))
                raise BrazoError(f"'{step.name}': {step.timeout:g} s have passed without {who}")
            yield begin + step.timeout  # whoever comes last wakes the others
        self.execution.wake(meetings.members(step.name))

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
