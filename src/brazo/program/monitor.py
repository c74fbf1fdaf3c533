"""Monitoring of a running program: grasps, slips, unintended contacts, passages through chutes.

Whether a body is held follows from the grasp events of the world.  A body that a robot should hold
counts as dropped in two cases: the gripper has not held the body for `LOST` seconds, or the body
has moved in the gripper by more than the slip limits.  The second case includes a bar that rotates
between the pads while it touches both of them.

Contacts of fingers with the body that their robot grips, holds or is releasing are intended.  Every
other contact of a robot is reported, with both parts, point, force and time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.deprecation import warn_renamed
from brazo.program.conditions import in_hand
from brazo.program.frames import position_text
from brazo.program.goal_monitor import GoalMonitor
from brazo.program.passage import Passage
from brazo.program.program import Goal
from brazo.simulation import Simulation
from brazo.simulation.clock import exact_time, steps_before
from brazo.simulation.conditions import Condition
from brazo.world import Contact, GraspEvent
from brazo.world.contacts import ContactClass

Array = np.ndarray
LOST = 0.05  # s
SLIP, SLIP_TURN = 0.010, math.radians(10.0)  # m, rad
EVERY = 0.01  # s, between two updates
ANYTHING = "*"
TOUCHES: tuple[ContactClass, ...] = ("robot-robot", "self", "robot-fixture", "robot-object")


@dataclass(frozen=True, slots=True, eq=False)
class Collision:
    """An unintended contact of a robot."""

    time: float  # s
    first: str
    second: str
    kind: str
    point: Array  # (3,) m
    force: float  # N, at the start of the contact
    passes_through: bool  # contact response is off

    @property
    def rides_through(self) -> bool:
        """Deprecated name of `passes_through`."""
        warn_renamed("rides_through", "passes_through")
        return self.passes_through

    def __str__(self) -> str:
        felt = "passes through" if self.passes_through else f"{self.force:.1f} N"
        return (
            f"{self.first} touched {self.second} at t = {self.time:.3f} s, "
            f"at {position_text(self.point)} ({felt})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Drop:
    """Body that left the gripper, or slipped in it, without a release."""

    time: float
    robot: str
    body: str
    position: Array  # (3,) m, of the body
    how: str

    def __str__(self) -> str:
        return (
            f"{self.robot} dropped {self.body} at t = {self.time:.2f} s, {self.body} at "
            f"{position_text(self.position)}: {self.how}"
        )


def _body_ids(sim: Simulation) -> dict[str, int]:
    return {body.name: int(sim.world.mj_model.body(body.name).id) for body in sim.cell.bodies}


class Monitor:
    """Monitor of one execution, which uses the events and the state of the world.

    `alive()` returns whether the execution is still a task of the simulation.
    """

    def __init__(self, sim: Simulation, goals: Iterable[Goal], alive: Callable[[], bool]) -> None:
        self._sim = sim
        self._alive = alive
        world = sim.world
        self.held: dict[str, str | None] = {
            name: world.grasp(name).held
            for name, robot in world.robots.items()
            if robot.gripper is not None
        }
        # Bodies the fingers may touch; a program may start with a body in the gripper.
        self.wanted: dict[str, str | None] = {**dict.fromkeys(sim.robots), **self.held}
        self.collisions: list[Collision] = []
        self.drops: list[Drop] = []
        self.grasps = 0  # number of grasps and releases
        self._expected: dict[str, tuple[str, Array]] = {}  # robot: body, T_hand_body when gripped
        self._lost: dict[str, float] = {}
        self._first = round(sim.time / sim.dt)  # step of the first update
        self._every = steps_before(EVERY, sim.dt)
        self.next_update = sim.time  # s
        self._conditions: dict[object, tuple[Any, object, Condition]] = {}
        bodies = {body.name: body for body in sim.cell.bodies}
        self._ids = _body_ids(sim)
        chutes = {chute.name: chute for chute in sim.cell.chutes}
        self.passages: dict[Goal, Passage] = {}
        self.goal_monitors: dict[Goal, GoalMonitor] = {}
        for goal in goals:
            if goal.chute is None:
                self.goal_monitors[goal] = GoalMonitor(world, goal)
            else:
                self.passages[goal] = Passage(world, bodies[goal.body], chutes[goal.chute])
        self._subscriptions = [
            world.on_grasp(self._on_grasp),
            world.on_contact(
                lambda event: self._on_contact(event.phase, event.time, event.contact), TOUCHES
            ),
        ]
        self._initial_contacts()

    def cell_changed(self) -> None:
        """Continue after the cell was edited.

        The edited cell must still have every body and chute of the goals.
        """
        sim = self._sim
        self._ids = _body_ids(sim)
        self.wanted = {name: self.wanted.get(name) for name in sim.robots}
        grippers = [n for n, robot in sim.world.robots.items() if robot.gripper is not None]
        self.held = {name: sim.world.grasp(name).held for name in grippers}
        for robot, (body, _) in list(self._expected.items()):
            if robot not in self.held or body not in self._ids:
                self.expect_released(robot)
        bodies = {body.name: body for body in sim.cell.bodies}
        chutes = {chute.name: chute for chute in sim.cell.chutes}
        for goal, passage in self.passages.items():
            if goal.chute is not None:
                passage.bind(sim.world, bodies[goal.body], chutes[goal.chute])

    def close(self) -> None:
        """Cancel the event subscriptions."""
        for subscription in self._subscriptions:
            subscription.cancel()

    # ---- expected grasps -------------------------------------------------------------------

    def expect_held(self, robot: str, body: str) -> None:
        """Expect a robot to hold a body; losing the body counts as a drop from now on."""
        self._expected[robot] = body, self._in_hand(robot, body)
        self._lost.pop(robot, None)

    def expect_released(self, robot: str) -> None:
        self._expected.pop(robot, None)
        self._lost.pop(robot, None)

    def holders(self, body: str) -> list[str]:
        """Return the robots that should hold a body."""
        return [robot for robot, (name, _) in self._expected.items() if name == body]

    def carried(self, robot: str) -> str | None:
        """Return the body that a robot should hold, or None."""
        expected = self._expected.get(robot)
        return None if expected is None else expected[0]

    def reached(self, goal: Goal) -> float | None:
        """Return the time (s) since which a goal has been met; None if it is not met now.

        For a goal with a chute, this is the time at which the body had passed through the chute.
        """
        return (self.goal_monitors[goal] if goal.chute is None else self.passages[goal]).time

    # ---- updates ---------------------------------------------------------------------------

    def update(self) -> None:
        """Check passages, goals and grasps.

        Checks are made every `EVERY` seconds from the start; calls in between have no effect.
        """
        now, dt = self._sim.time, self._sim.dt
        if now < self.next_update:
            return
        step = round(now / dt)
        late = (step - self._first) % self._every  # updates are omitted while `conditions` hold
        self.next_update = exact_time((step + self._every - late) * dt, dt)
        if late:
            return
        data = self._sim.world.mj_data
        for passage in self.passages.values():
            if passage.update(data):
                self._sim.log(
                    "through",
                    f"{passage.body.name} passed through {passage.chute.name}",
                    body=passage.body.name,
                    chute=passage.chute.name,
                )
        for goal in self.goal_monitors.values():
            goal.update(now, self.held.values())
        for robot, (body, T) in list(self._expected.items()):
            how = self._dropped(robot, body, T, now)
            if how:
                self._drop(robot, body, how)

    def conditions(self) -> list[Condition] | None:
        """Return a list of conditions; while all of them hold, `update` need not be called.

        Returns None if `update` has to be called every `EVERY` seconds.
        """
        if self.goal_monitors or self._lost:
            return None
        found = []
        for passage in self.passages.values():
            if passage.inside and not passage.done:
                return None
            if not passage.done:
                found.append(self._condition(passage, None, passage.outside))
        for robot, (body, T) in self._expected.items():
            hand, thing = self._sim.world.robots[robot].tip_id, self._ids[body]

            def kept(data: Any, hand: int = hand, thing: int = thing, T: Array = T) -> Condition:
                at_hand, at_body = ((data.xpos[i], data.xmat[i]) for i in (hand, thing))
                return in_hand(at_hand, at_body, T, SLIP, SLIP_TURN)

            found.append(self._condition(robot, T, kept))
        return found if all(one.holds for one in found) else None

    def _condition(self, key: object, T: object, make: Callable[[Any], Condition]) -> Condition:
        """Return the condition cached under `key`; create it with `make(data)` if necessary.

        It is created again if the engine's data or the array T has been replaced.
        """
        data, known = self._sim.world.mj_data, self._conditions.get(key)
        if known is None or known[0] is not data or known[1] is not T:
            known = self._conditions[key] = data, T, make(data)
        return known[2]

    def _dropped(self, robot: str, body: str, T: Array, now: float) -> str | None:
        since = self._lost.get(robot)
        if since is not None and now - since >= LOST:
            return "the gripper no longer holds it"
        shift, turn = self._moved(robot, body, T)
        if shift <= SLIP and turn <= SLIP_TURN:
            return None
        return f"it slipped by {1e3 * shift:.0f} mm and {math.degrees(turn):.0f}° in the gripper"

    def _moved(self, robot: str, body: str, T: Array) -> tuple[float, float]:
        """Return the shift (m) and rotation (rad) of a body in the hand, relative to the pose T.

        T (3, 4) is the pose returned by `_in_hand` when the body was gripped.  Plain floats are
        used, because NumPy is several times slower for such small matrices.
        """
        data = self._sim.world.mj_data
        hand, thing = self._sim.world.robots[robot].tip_id, self._ids[body]
        R, B = data.xmat[hand].tolist(), data.xmat[thing].tolist()
        x, y, z = (data.xpos[thing] - data.xpos[hand]).tolist()
        shift2 = trace = 0.0
        for i, (t0, t1, t2, t3) in enumerate(T.tolist()):
            a, b, c = R[i], R[3 + i], R[6 + i]
            shift2 += (a * x + b * y + c * z - t3) ** 2
            trace += (a * B[0] + b * B[3] + c * B[6]) * t0
            trace += (a * B[1] + b * B[4] + c * B[7]) * t1
            trace += (a * B[2] + b * B[5] + c * B[8]) * t2
        # The trace of a turn by φ is 1 + 2 cos φ.
        return math.sqrt(shift2), math.acos(min(max((trace - 1.0) / 2.0, -1.0), 1.0))

    def _drop(self, robot: str, body: str, how: str) -> None:
        sim = self._sim
        self.expect_released(robot)
        gripper = sim.world.robots[robot].gripper
        assert gripper is not None
        mode, value = gripper.command
        if mode == "force":
            how += f", gripped with {value:g} N"
        drop = Drop(sim.time, robot, body, sim.world.pose(body)[:3, 3].copy(), how)
        self.drops.append(drop)
        sim.log("dropped", str(drop), robot=robot, body=body, position=drop.position.tolist())

    def _in_hand(self, robot: str, body: str) -> Array:
        """Return the pose (3, 4) of a body relative to the last link of a robot.

        The poses of both are those at the start of the last step.
        """
        data = self._sim.world.mj_data
        hand, thing = self._sim.world.robots[robot].tip_id, self._ids[body]
        R = data.xmat[hand].reshape(3, 3).T
        found = np.empty((3, 4))
        found[:, :3] = R @ data.xmat[thing].reshape(3, 3)
        found[:, 3] = R @ (data.xpos[thing] - data.xpos[hand])
        return found

    # ---- events ----------------------------------------------------------------------------

    def _active(self) -> bool:
        """Return whether the execution is still active; if not, close the monitor.

        `Simulation.reset` removes an execution without notifying it.
        """
        if self._alive():
            return True
        self.close()
        return False

    def _on_grasp(self, event: GraspEvent) -> None:
        if not self._active():
            return
        self.held[event.robot] = event.body if event.phase == "grasped" else None
        self.grasps += 1
        expected = self.carried(event.robot)
        if expected == event.body:
            if event.phase == "released":
                self._lost.setdefault(event.robot, event.time)
            else:
                self._lost.pop(event.robot, None)

    def _initial_contacts(self) -> None:
        """Report the contacts that exist when the program starts, as if they began at this time.

        If the program starts after t = 0, contacts of fingers with bodies are not reported, because
        fingers may still touch a body that they have just released.
        """
        pairs: set[tuple[str, str]] = set()
        for contact in self._sim.world.contacts():
            pair = (contact.first, contact.second)
            if contact.kind not in TOUCHES or not contact.touching or pair in pairs:
                continue
            pairs.add(pair)
            finger = contact.kind == "robot-object" and "/finger" in contact.first
            if not (finger and self._sim.time > 0.0):
                self._report_contact(self._sim.time, contact)

    def _on_contact(self, phase: str, time: float, contact: Contact) -> None:
        if phase == "begin" and self._active():
            self._report_contact(time, contact)

    def _report_contact(self, time: float, contact: Contact) -> None:
        robots = [n.partition("/")[0] for n in (contact.first, contact.second) if "/" in n]
        robots = [name for name in robots if name in self._sim.robots]
        if contact.kind == "robot-object":
            robot, _, part = contact.first.partition("/")
            wanted = self.wanted[robot]
            if part.startswith("finger") and wanted in (contact.second, ANYTHING):
                return
        through = any(not self._sim.world.robots[name].contact_response for name in robots)
        collision = Collision(
            time,
            contact.first,
            contact.second,
            contact.kind,
            np.array(contact.point),
            float(np.linalg.norm(contact.force)),
            through,
        )
        self.collisions.append(collision)
        self._sim.log(
            "warning" if through else "collision",
            str(collision),
            first=collision.first,
            second=collision.second,
            between=collision.kind,
            point=collision.point.tolist(),
            force=collision.force,
        )
