"""Collision check of planned motions: one robot and its load against everything else.

A pose is checked on a copy of the world's model with the engine's collision detection, for all
pairs of geoms of which one belongs to the robot or its load.  Each check gives the distance from
the robot to everything else, up to `LOOK` metres.  A motion by Δq displaces no point of the robot
by more than Σ wᵢ|Δqᵢ| (`brazo.program.displacement`).  The next pose to check is the one at which
this bound equals the distance, so no contact can occur between two checks.  The displacement
between two checks is at least `FINE`, so a pair that is closer than `FINE` can penetrate by at most
`FINE` undetected.

Each pair must keep the clearance, with three exceptions.  If a pair is closer than the clearance at
the start of the motion, its distance at the start is the limit.  If it is closer at the end without
touching, its distance at the end is the limit.  If it touches at the start (a bar lying on a
platform before it is lifted), it may stay in contact and penetrate deeper by at most `TOUCHING`.

A held body moves with its robot.  It may touch the fingers, and the link that carries them, of all
robots that hold it.  Other robots are fixed at their current pose, or move along their current
motions.
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
TOUCHING = 0.0002  # m; additional penetration allowed for a pair in contact at the start
_NEAR = 1e-6  # m; tolerance of the distance of a pair that is close at the start or end


def check_clearance(clearance: float) -> None:
    """Raise a `BrazoError` unless a clearance (m) is greater than 0 and at most `LOOK`."""
    if not 0.0 < clearance <= LOOK:
        raise BrazoError(
            f"clearance is {clearance:g} m; must be greater than 0 and at most {LOOK:g} m"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Hit:
    """Two parts that would touch each other or come closer than the clearance."""

    first: str
    second: str
    distance: float  # m, negative: penetration
    point: Array  # (3,) m, world
    q: Array  # (n,) of the robot that moves
    t: float | None = None  # s into the motion

    @property
    def short(self) -> str:
        """Message with the two parts, the distance unless they touch, and the time if known."""
        when = "" if self.t is None else f" at t = {self.t:.2f} s"
        how = (
            "would touch"
            if self.distance <= 0.0
            else f"would come within {1e3 * self.distance:.1f} mm of"
        )
        return f"{self.first} {how} {self.second}{when}"

    def __str__(self) -> str:
        x, y, z = self.point
        joints = ", ".join(f"{value:.3f}" for value in self.q)
        return f"{self.short}, near ({x:.3f}, {y:.3f}, {z:.3f}) m, joints at ({joints})"


@dataclass(frozen=True, slots=True, eq=False)
class MovingRobot:
    """A robot and the bodies it holds; `held` maps body names to poses (4, 4) in the tool frame."""

    robot: WorldRobot
    arm: Robot
    held: Mapping[str, Array]


class Checker:
    """Collision checker for one robot; `others` are robots that may move at the same time.

    `clearance` (m) is the min distance of each pair.  Create a new checker for each motion, because
    a checker contains a copy of the world state at its creation.
    """

    def __init__(
        self,
        world: World,
        mover: MovingRobot,
        others: Sequence[MovingRobot] = (),
        clearance: float = 0.003,
    ) -> None:
        mujoco = engine()
        check_clearance(clearance)
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
        # Only pairs with one of the mover's geoms are checked, with a margin.
        model.geom_margin[:] = 0.0
        model.geom_gap[:] = np.where(mine, LOOK, 0.0)
        model.geom_contype[:] = np.where(mine, 1, 2)
        model.geom_conaffinity[:] = np.where(mine, 3, 0)
        # Min distance of each pair; −inf if it may touch.
        self._min_distance = np.full((model.ngeom, model.ngeom), clearance)
        for name, geoms in zip(mover.held, held, strict=True):
            for holder in world.robots.values():
                if holder is mover.robot or self._holds(others, holder.name, name):
                    self._allow(geoms, self._hand(world, holder))
        self._weights = self._placers[mover.robot.name].weights

    # ---- state -----------------------------------------------------------------------------

    def place_body(self, name: str, T: Array) -> None:
        """Place a free body at a pose T (4, 4) instead of its current pose."""
        at = int(self._model.joint(name).qposadr[0])
        self._data.qpos[at : at + 3] = T[:3, 3]
        engine().mju_mat2Quat(self._data.qpos[at + 3 : at + 7], T[:3, :3].ravel())

    def place_robot(self, name: str, q: Array, opening: float | None = None) -> None:
        """Set the joint values q (n,) and the gripper opening (m) of a robot; move its held bodies.

        Without `opening`, fingers that hold a body are closed until one of them touches it.
        """
        placer = self._placers[name]
        placer.place(self._data.qpos, q)
        gripper = placer.robot.gripper
        if gripper is None:
            return
        slides, low = gripper.slide_q, gripper.description.opening[0]
        if opening is None:
            held = [geom for one in placer.held for geom in self._geoms_of(one)]
            if not held:
                return
            self._kinematics(self._model, self._data)
            distance = engine().mj_geomDistance
            gaps = [
                distance(self._model, self._data, pad, geom, 1.0, None)
                for pad in gripper.pad_ids
                for geom in held
            ]
            now = float(self._data.qpos[slides].sum())
            opening = max(low, now - 2.0 * max(0.0, min(gaps)))
        self._data.qpos[slides] = opening / 2

    def _geoms_of(self, name: str) -> list[int]:
        return [i for i, one in enumerate(self._names) if one == name]

    # ---- single pose -----------------------------------------------------------------------

    def hit(self, q: Array, t: float | None = None) -> Hit | None:
        """Return the pair that violates its min distance most at joint values q (n,), or None.

        `t` (s) is stored in the result.
        """
        self._place(q)
        _, slack = self._slack()
        if not len(slack) or slack.min() >= 0.0:
            return None
        return self._hit(int(slack.argmin()), q, t)

    def distance(self, q: Array, part: str) -> float:
        """Return the distance (m) from the robot at q (n,) to a part; negative if they overlap.

        The result is at most `LOOK`.
        """
        self._place(q)
        contact = self._data.contact
        near = [
            distance
            for (a, b), distance in zip(contact.geom.tolist(), contact.dist.tolist(), strict=True)
            if part in (self._names[a], self._names[b])
        ]
        return min(near, default=LOOK)

    def allow_start(self, q: Array) -> None:
        """Allow the distances at the start q (n,) of pairs that are closer than the clearance.

        The min distance of such a pair is set to its distance at q, minus a small tolerance.
        """
        self._place(q)
        contact = self._data.contact
        for (a, b), distance in zip(contact.geom.tolist(), contact.dist.tolist(), strict=True):
            if distance < self.clearance:
                room = TOUCHING if distance <= TOUCHING else _NEAR
                self._loosen(a, b, distance - room)

    def allow_end(self, q: Array) -> None:
        """Allow the distances at the end q (n,) of pairs that are closer than the clearance.

        The min distance of such a pair is set to its distance at q, minus a small tolerance.  It is
        not changed for pairs that touch at q.
        """
        self._place(q)
        contact = self._data.contact
        for (a, b), distance in zip(contact.geom.tolist(), contact.dist.tolist(), strict=True):
            if 0.0 < distance < self.clearance:
                self._loosen(a, b, max(distance - _NEAR, 0.5 * distance))

    # ---- paths -----------------------------------------------------------------------------

    def length(self, q0: Array, q1: Array) -> float:
        """Upper bound (m) on the displacement of any point of the robot from q0 to q1."""
        return float(self._weights @ np.abs(q1 - q0))

    @property
    def weights(self) -> Array:
        """Weights w (n,) of the bound Σ wᵢ|Δqᵢ| that `length` returns."""
        return self._weights

    def edge(self, q0: Array, q1: Array) -> Hit | None:
        """Return the first collision on the straight joint-space segment from q0 to q1, or None."""
        length = self.length(q0, q1)
        run, delta = 0.0, q1 - q0
        while True:
            share = min(run / length, 1.0) if length > 0.0 else 1.0
            found, free = self._look(q0 + share * delta, None)
            if found is not None or share >= 1.0:
                return found
            run += free

    def motion(self, t: Array, q: Array, others: Mapping[str, Array] | None = None) -> Hit | None:
        """Check a motion with joint values q (m, n) at closely spaced times t (m,) in s.

        Returns the first collision in which parts touch.  If no parts touch, returns the closest of
        the pairs that violate their min distance; None if no pair violates it.  `others` are the
        joint values (m, n') of other robots at the same times, by name.
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
            # The last sample within the free distance; at least one further.
            k = min(max(int(run.searchsorted(run[k] + free, side="right")) - 1, k + 1), last)

    # ---- helpers ---------------------------------------------------------------------------

    def _look(self, q: Array, t: float | None) -> tuple[Hit | None, float]:
        """Return the collision at q, or None, and the displacement (m) until the next check."""
        self._place(q)
        if not self._data.ncon:
            return None, LOOK
        # Lists are faster than arrays for the few pairs here.
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
        """Return the distances (m) of all pairs that the engine reports, and the slack (m) of each.

        The slack is the distance minus the min allowed distance; it is infinite for a pair that may
        touch.
        """
        contact = self._data.contact
        geom, distance = contact.geom, contact.dist
        return distance, distance - self._min_distance[geom[:, 0], geom[:, 1]]

    def _hit(self, i: int, q: Array, t: float | None) -> Hit:
        contact = self._data.contact
        a, b = contact.geom[i].tolist()
        own = f"{self.mover.robot.name}/"
        first, second = self._names[a], self._names[b]
        # First the robot's own part, or the body it holds.
        if second.startswith(own) or (second in self.mover.held and not first.startswith(own)):
            first, second = second, first
        point = np.array(contact.pos[i])
        return Hit(first, second, float(contact.dist[i]), point, np.array(q), t)

    def _loosen(self, a: int, b: int, distance: float) -> None:
        value = min(self._min_distance[a, b], distance)
        self._min_distance[a, b] = self._min_distance[b, a] = value

    def _allow(self, first: Array, second: Array) -> None:
        self._min_distance[first[:, None], second] = -np.inf
        self._min_distance[second[:, None], first] = -np.inf

    @staticmethod
    def _geoms(world: World, name: str) -> Array:
        return np.flatnonzero([label.owner == name for label in world.labels])

    @staticmethod
    def _hand(world: World, robot: WorldRobot) -> Array:
        """Return the geom ids of the fingers and of the link that carries them."""
        fingers = () if robot.gripper is None else robot.gripper.finger_ids
        bodies = world.mj_model.geom_bodyid
        return np.flatnonzero(np.isin(bodies, [robot.tip_id, *fingers]))

    @staticmethod
    def _holds(others: Sequence[MovingRobot], robot: str, body: str) -> bool:
        return any(one.robot.name == robot and body in one.held for one in others)


class _Placer:
    """Writes the joint values of a robot and the poses of its held bodies to `qpos`."""

    def __init__(self, world: World, mover: MovingRobot) -> None:
        self.robot, self._fk, self._base = mover.robot, mover.arm.fk, mover.robot.base
        self.held = tuple(mover.held)
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
    """Return the contacts of the last step between any of the given pairs of names.

    A name is that of a robot, body or fixture (`scara1`), or of a part (`scara1/finger left`).
    """
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
