"""Would a motion touch anything?  One robot and what it holds, against all else, ahead of time.

Poses are checked on a copy of the world's model: kinematics, then the engine's collision detection,
restricted to the relevant pairs, with a margin of `LOOK` metres.  Each check gives the distance of
the robot to everything else, up to `LOOK`.  A motion displaces no point by more than Σ wᵢ|Δqᵢ|
(`brazo.program.displacement`), so the next pose to check is that far along the motion: no contact
can occur between two checks.  Steps are never shorter than `FINE`; a pair closer than that can
penetrate by at most `FINE` undetected.

A pair must keep the clearance.  One that is closer at the beginning may stay as close as it is, and
one that is closer at the end may come as close as it ends; neither may touch, unless it touches
already (a bar lying on its platform when it is lifted): then it may not sink in deeper.

What a robot holds moves with it, and may touch its fingers and those of other robots that hold it,
too.  Other robots stand where they are, or move along the motions they are known to make.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.program.displacement import displacement_weights
from brazo.robot import Robot
from brazo.world import World, WorldRobot

Array = np.ndarray
LOOK = 0.02  # m
FINE = 0.0005  # m
TOUCHING = 0.0002  # m; what touches already may be this much deeper
_NEAR = 1e-6  # m; a pair close at the start or end may be this much closer in between


@dataclass(frozen=True, slots=True, eq=False)
class Hit:
    """Two parts that would touch, or come too close."""

    first: str
    second: str
    distance: float  # m, negative inside
    point: Array  # (3,) m, world
    q: Array  # (n,) of the robot that moves
    t: float | None = None  # s into the motion

    def __str__(self) -> str:
        x, y, z = self.point
        when = "" if self.t is None else f" at t = {self.t:.2f} s"
        how = (
            "would touch"
            if self.distance <= 0.0
            else f"would come within {1e3 * self.distance:.1f} mm of"
        )
        joints = ", ".join(f"{value:.3f}" for value in self.q)
        return (
            f"{self.first} {how} {self.second}{when}, near ({x:.3f}, {y:.3f}, {z:.3f}) m, "
            f"joints at ({joints})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Mover:
    """A robot and what is in its hand: body names with their pose in the tool, T_tool_body."""

    robot: WorldRobot
    arm: Robot
    held: Mapping[str, Array]


class Checker:
    """Looks ahead for one robot; `others` are robots that may move meanwhile.

    Take a new one for every motion: it keeps the world as it is now.
    """

    def __init__(
        self,
        world: World,
        mover: Mover,
        others: Sequence[Mover] = (),
        clearance: float = 0.003,
    ) -> None:
        mujoco = engine()
        if not 0.0 < clearance <= LOOK:
            raise BrazoError(f"clearance is {clearance:g} m; wanted above 0, at most {LOOK:g}")
        self.mover = mover
        self.clearance = clearance
        self._names = [label.name for label in world.labels]
        self._model = model = copy.deepcopy(world.mj_model)
        model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)  # off in exact worlds
        self._data = mujoco.MjData(model)
        self._data.qpos[:] = world.mj_data.qpos
        self._collision, self._kinematics = mujoco.mj_collision, mujoco.mj_kinematics
        self._placers = {m.robot.name: _Placer(world, m) for m in (mover, *others)}
        mine = np.zeros(model.ngeom, bool)
        mine[mover.robot.geom_ids] = True
        held = [self._geoms(world, name) for name in mover.held]
        for geoms in held:
            mine[geoms] = True
        # Only pairs with one of the mover's solids are searched, and these reach out.
        model.geom_margin[:] = 0.0
        model.geom_gap[:] = np.where(mine, LOOK, 0.0)
        model.geom_contype[:] = np.where(mine, 1, 2)
        model.geom_conaffinity[:] = np.where(mine, 3, 0)
        # What each pair must keep; −inf where it may touch.
        self._least = np.full((model.ngeom, model.ngeom), clearance)
        for name, geoms in zip(mover.held, held, strict=True):
            for holder in world.robots.values():
                if holder is mover.robot or self._holds(others, holder.name, name):
                    self._allow(geoms, self._hand(world, holder))
        self._weights = self._placers[mover.robot.name].weights

    # ---- one pose --------------------------------------------------------------------------

    def hit(self, q: Array, t: float | None = None) -> Hit | None:
        """What the robot would touch at joint values q."""
        self._place(q)
        _, slack = self._slack()
        if not len(slack) or slack.min() >= 0.0:
            return None
        return self._hit(int(slack.argmin()), q, t)

    def allow_start(self, q: Array) -> None:
        """Let pairs that are close now stay as close."""
        self._place(q)
        contact = self._data.contact
        for (a, b), distance in zip(contact.geom.tolist(), contact.dist.tolist(), strict=True):
            if distance < self.clearance:
                room = TOUCHING if distance <= TOUCHING else _NEAR
                self._loosen(a, b, distance - room)

    def allow_end(self, q: Array) -> None:
        """Let pairs that come close, but do not touch, at the end come as close."""
        self._place(q)
        contact = self._data.contact
        for (a, b), distance in zip(contact.geom.tolist(), contact.dist.tolist(), strict=True):
            if 0.0 < distance < self.clearance:
                self._loosen(a, b, max(distance - _NEAR, 0.5 * distance))

    # ---- ways ------------------------------------------------------------------------------

    def length(self, q0: Array, q1: Array) -> float:
        """What no point of the robot moves farther than (m), from q0 to q1."""
        return float(self._weights @ np.abs(q1 - q0))

    @property
    def weights(self) -> Array:
        """w (n,) of `length`."""
        return self._weights

    def edge(self, q0: Array, q1: Array) -> Hit | None:
        """The first thing touched on the straight way in joint space."""
        length = self.length(q0, q1)
        run, way = 0.0, q1 - q0
        while True:
            share = min(run / length, 1.0) if length > 0.0 else 1.0
            found, free = self._look(q0 + share * way, None)
            if found is not None or share >= 1.0:
                return found
            run += free

    def motion(self, t: Array, q: Array, others: Mapping[str, Array] | None = None) -> Hit | None:
        """What stands in the way of a motion, q (m, n) at times t (m,), close to each other.

        The first touch; where nothing touches but something comes too close, the closest moment.
        `others` are the joint values (m, n') of other robots at the same times.
        """
        steps = np.abs(np.diff(q, axis=0)) @ self._weights
        for name, values in (others or {}).items():
            steps = steps + np.abs(np.diff(values, axis=0)) @ self._placers[name].weights
        run = np.concatenate([[0.0], np.cumsum(steps)])
        k, last, closest = 0, len(t) - 1, None
        while True:
            for name, values in (others or {}).items():
                self._placers[name].place(self._data.qpos, values[k])
            found, free = self._look(q[k], float(t[k]))
            if found is not None:
                if found.distance <= 0.0:
                    return found
                if closest is None or found.distance < closest.distance:
                    closest = found
                free = max(found.distance, FINE)
            if k == last:
                return closest
            # The last moment within reach; at least one on.
            k = min(max(int(run.searchsorted(run[k] + free, side="right")) - 1, k + 1), last)

    # ---- inside ----------------------------------------------------------------------------

    def _look(self, q: Array, t: float | None) -> tuple[Hit | None, float]:
        """What is touched at q, and how far the robot may safely go from there."""
        self._place(q)
        if not self._data.ncon:
            return None, LOOK
        # Lists: there are only a few, and this is done thousands of times.
        distance, slack = (values.tolist() for values in self._slack())
        worst = min(slack)
        if worst < 0.0:
            return self._hit(slack.index(worst), q, t), 0.0
        free = min([d for d, s in zip(distance, slack, strict=True) if s < math.inf], default=LOOK)
        return None, min(max(free, FINE), LOOK)

    def _place(self, q: Array) -> None:
        self._placers[self.mover.robot.name].place(self._data.qpos, q)
        self._kinematics(self._model, self._data)
        self._collision(self._model, self._data)

    def _slack(self) -> tuple[Array, Array]:
        """How far every pair that is near is apart, and what it has to spare: infinite where it
        may touch."""
        contact = self._data.contact
        geom, distance = contact.geom, contact.dist
        return distance, distance - self._least[geom[:, 0], geom[:, 1]]

    def _hit(self, i: int, q: Array, t: float | None) -> Hit:
        contact = self._data.contact
        a, b = contact.geom[i].tolist()
        own = f"{self.mover.robot.name}/"
        first, second = self._names[a], self._names[b]
        # The robot's own part first, or what it holds.
        if second.startswith(own) or (second in self.mover.held and not first.startswith(own)):
            first, second = second, first
        point = np.array(contact.pos[i])
        return Hit(first, second, float(contact.dist[i]), point, np.array(q), t)

    def _loosen(self, a: int, b: int, distance: float) -> None:
        least = min(self._least[a, b], distance)
        self._least[a, b] = self._least[b, a] = least

    def _allow(self, first: Array, second: Array) -> None:
        self._least[np.ix_(first, second)] = -np.inf
        self._least[np.ix_(second, first)] = -np.inf

    @staticmethod
    def _geoms(world: World, name: str) -> Array:
        return np.flatnonzero([label.owner == name for label in world.labels])

    @staticmethod
    def _hand(world: World, robot: WorldRobot) -> Array:
        """Solids of the fingers, and of the link that carries them."""
        fingers = () if robot.clamp is None else robot.clamp.finger_ids
        bodies = world.mj_model.geom_bodyid
        return np.flatnonzero(np.isin(bodies, [robot.tip_id, *fingers]))

    @staticmethod
    def _holds(others: Sequence[Mover], robot: str, body: str) -> bool:
        return any(one.robot.name == robot and body in one.held for one in others)


class _Placer:
    """Writes a robot's joint values, and where that puts what it holds, into positions."""

    def __init__(self, world: World, mover: Mover) -> None:
        self.robot, self._fk, self._base = mover.robot, mover.arm.fk, mover.robot.base
        model = world.mj_model
        self._quat_of = engine().mju_mat2Quat
        self._held = [(int(model.joint(name).qposadr[0]), T) for name, T in mover.held.items()]
        bodies = {int(model.body(name).id): T for name, T in mover.held.items()}
        self.weights = displacement_weights(world, mover.robot, mover.arm, bodies)

    def place(self, qpos: Array, q: Array) -> None:
        self.robot.put(qpos, q)
        if self._held:
            tool = self._base @ self._fk(np.ascontiguousarray(q))
            for at, T in self._held:
                pose = tool @ T
                qpos[at : at + 3] = pose[:3, 3]
                self._quat_of(qpos[at + 3 : at + 7], pose[:3, :3].ravel())


def touching_now(world: World, pairs: Sequence[tuple[str, str]]) -> list[Any]:
    """Contacts of the last step between the named owners or parts."""
    found = []
    for contact in world.contacts():
        if contact.touching:
            names = (contact.first, contact.second)
            for a, b in pairs:
                if any(_is(x, a) and _is(y, b) for x, y in (names, names[::-1])):
                    found.append(contact)
    return found


def _is(part: str, name: str) -> bool:
    return part == name or part.startswith(f"{name}/")
