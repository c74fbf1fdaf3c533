"""What is watched while a program runs: grasps, slips, touches nobody wanted, ways through chutes.

*Held* follows the world's grasp events.  A body a robot is meant to hold counts as dropped when its
clamp has not held it for `LOST` seconds, or when it has shifted or turned in the clamp by more than
a slip may be: a bar that swings down between the pads is touched by both, and yet not held.

Wanted touches are those of fingers with the body their robot grips, holds or has just let go of;
every other touch of a robot is reported with both parts, point, force and time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from brazo.program.frames import position_text
from brazo.program.passage import Passage
from brazo.program.program import Goal
from brazo.program.standing import Standing
from brazo.simulation import Simulation
from brazo.world import Contact, GraspEvent
from brazo.world.contacts import ContactClass

Array = np.ndarray
LOST = 0.05  # s
SLIP, SLIP_TURN = 0.010, math.radians(10.0)  # m, rad
EVERY = 0.01  # s, between two looks
ANYTHING = "*"
TOUCHES: tuple[ContactClass, ...] = ("robot-robot", "self", "robot-fixture", "robot-object")


@dataclass(frozen=True, slots=True, eq=False)
class Collision:
    """A touch nobody wanted."""

    time: float  # s
    first: str
    second: str
    kind: str
    point: Array  # (3,) m
    force: float  # N, when it began
    rides_through: bool  # a robot without force feedback: nothing pushed

    def __str__(self) -> str:
        felt = "rides through" if self.rides_through else f"{self.force:.1f} N"
        return (
            f"{self.first} touched {self.second} at t = {self.time:.3f} s, "
            f"at {position_text(self.point)} ({felt})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Drop:
    """A body that left the clamp, or moved in it, without being told to."""

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


class Watch:
    """Watches one execution: `look` polls, the world's events come in between."""

    def __init__(self, sim: Simulation, goals: Iterable[Goal], alive: Callable[[], bool]) -> None:
        self._sim = sim
        self._alive = alive
        world = sim.world
        self.held: dict[str, str | None] = {
            name: world.grasp(name).held
            for name, robot in world.robots.items()
            if robot.clamp is not None
        }
        # What fingers may touch; a program may begin with something in the clamp.
        self.wanted: dict[str, str | None] = {**dict.fromkeys(sim.robots), **self.held}
        self.collisions: list[Collision] = []
        self.drops: list[Drop] = []
        self.grasps = 0  # how often a gripper took hold or let go
        self._meant: dict[str, tuple[str, Array]] = {}  # robot: body, T_hand_body when gripped
        self._lost: dict[str, float] = {}
        self.due = sim.time  # s, of the next look
        bodies = {body.name: body for body in sim.cell.bodies}
        self._ids = {name: int(world.mj_model.body(name).id) for name in bodies}
        chutes = {chute.name: chute for chute in sim.cell.chutes}
        self.passages: dict[Goal, Passage] = {}
        self.standing: dict[Goal, Standing] = {}
        for goal in goals:
            if goal.chute is None:
                self.standing[goal] = Standing(world, goal)
            else:
                self.passages[goal] = Passage(world, bodies[goal.body], chutes[goal.chute])
        self._subscriptions = [
            world.on_grasp(self._on_grasp),
            world.on_contact(
                lambda event: self._on_contact(event.phase, event.time, event.contact), TOUCHES
            ),
        ]
        self._touching_already()

    def close(self) -> None:
        """Listen no more."""
        for subscription in self._subscriptions:
            subscription.cancel()

    # ---- what is meant ---------------------------------------------------------------------

    def means_to_hold(self, robot: str, body: str) -> None:
        """From now on a loss of this body is a drop."""
        self._meant[robot] = body, self._in_hand(robot, body)
        self._lost.pop(robot, None)

    def means_to_let_go(self, robot: str) -> None:
        self._meant.pop(robot, None)
        self._lost.pop(robot, None)

    def holders(self, body: str) -> list[str]:
        """Robots that hold a body and mean to."""
        return [robot for robot, (name, _) in self._meant.items() if name == body]

    def carried(self, robot: str) -> str | None:
        """What a robot means to hold."""
        meant = self._meant.get(robot)
        return None if meant is None else meant[0]

    def reached(self, goal: Goal) -> float | None:
        """When a goal was reached, or since when it has been so; None where it is not."""
        return (self.standing[goal] if goal.chute is None else self.passages[goal]).time

    # ---- looking ---------------------------------------------------------------------------

    def look(self) -> None:
        """Look at the present moment, now and then."""
        now = self._sim.time
        if now < self.due:
            return
        self.due = now + EVERY
        data = self._sim.world.mj_data
        for passage in self.passages.values():
            if passage.look(data):
                self._sim.log(
                    "through",
                    f"{passage.body.name} slid through {passage.chute.name}",
                    body=passage.body.name,
                    chute=passage.chute.name,
                )
        for standing in self.standing.values():
            standing.look(now, self.held.values())
        for robot, (body, T) in list(self._meant.items()):
            how = self._dropped(robot, body, T, now)
            if how:
                self._drop(robot, body, how)

    def _dropped(self, robot: str, body: str, T: Array, now: float) -> str | None:
        since = self._lost.get(robot)
        if since is not None and now - since >= LOST:
            return "the clamp holds it no more"
        shift, turn = self._moved(robot, body, T)
        if shift <= SLIP and turn <= SLIP_TURN:
            return None
        return f"it slipped {1e3 * shift:.0f} mm and {math.degrees(turn):.0f}° in the clamp"

    def _moved(self, robot: str, body: str, T: Array) -> tuple[float, float]:
        """How far (m) a body has shifted in the hand since it was at T there, and turned (rad).

        In plain floats: for a few small matrices that is several times as fast as NumPy.
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
        self.means_to_let_go(robot)
        clamp = sim.world.robots[robot].clamp
        assert clamp is not None
        mode, value = clamp.command
        if mode == "force":
            how += f", gripped with {value:g} N"
        drop = Drop(sim.time, robot, body, sim.world.pose(body)[:3, 3].copy(), how)
        self.drops.append(drop)
        sim.log("dropped", str(drop), robot=robot, body=body, position=drop.position.tolist())

    def _in_hand(self, robot: str, body: str) -> Array:
        """Turn and place (3, 4) of a body in the hand, at the moment of the last step."""
        data = self._sim.world.mj_data
        hand, thing = self._sim.world.robots[robot].tip_id, self._ids[body]
        R = data.xmat[hand].reshape(3, 3).T
        found = np.empty((3, 4))
        found[:, :3] = R @ data.xmat[thing].reshape(3, 3)
        found[:, 3] = R @ (data.xpos[thing] - data.xpos[hand])
        return found

    # ---- events ----------------------------------------------------------------------------

    def _listens(self) -> bool:
        """Whether the execution still is at work; a reset of the simulation ends it silently."""
        if self._alive():
            return True
        self.close()
        return False

    def _on_grasp(self, event: GraspEvent) -> None:
        if not self._listens():
            return
        self.held[event.robot] = event.body if event.phase == "grasped" else None
        self.grasps += 1
        meant = self.carried(event.robot)
        if meant == event.body:
            if event.phase == "released":
                self._lost.setdefault(event.robot, event.time)
            else:
                self._lost.pop(event.robot, None)

    def _touching_already(self) -> None:
        """What touches when the program begins has begun to touch then.

        Except for fingers in a run under way: they may lie at what they have just let go of.
        """
        pairs: set[tuple[str, str]] = set()
        for contact in self._sim.world.contacts():
            pair = (contact.first, contact.second)
            if contact.kind not in TOUCHES or not contact.touching or pair in pairs:
                continue
            pairs.add(pair)
            finger = contact.kind == "robot-object" and "/finger" in contact.first
            if not (finger and self._sim.time > 0.0):
                self._note_touch(self._sim.time, contact)

    def _on_contact(self, phase: str, time: float, contact: Contact) -> None:
        if phase == "begin" and self._listens():
            self._note_touch(time, contact)

    def _note_touch(self, time: float, contact: Contact) -> None:
        robots = [n.partition("/")[0] for n in (contact.first, contact.second) if "/" in n]
        robots = [name for name in robots if name in self._sim.robots]
        if contact.kind == "robot-object":
            robot, _, part = contact.first.partition("/")
            wanted = self.wanted[robot]
            if part.startswith("finger") and wanted in (contact.second, ANYTHING):
                return
        through = any(not self._sim.world.robots[name].force_feedback for name in robots)
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
