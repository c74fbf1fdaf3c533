"""How far a joint can carry the farthest point of a robot: metres for a radian or a metre of it.

For a joint on body b let F(b) be the greatest distance from its anchor to any point it carries, in
whatever pose.  A point is on a solid of b itself, or beyond the anchor of the next body c:

    F(b) = max( |solid| + its radius,  |anchor c − anchor b| + stroke of c + F(c) )

all constants of the model, but for what is in the hand, which lies beyond the anchor of its link.
A revolute joint that turns by Δ then moves no point by more than F(b)·|Δ|, a sliding one by |Δ|;
over all joints

    displacement ≤ Σ wᵢ |Δqᵢ|

which is what lets a motion be checked at finitely many places with nothing missed in between.

A Delta's platform moves with its loops; its w come from its Jacobian over the workspace.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from brazo.model.description import DeltaModel
from brazo.robot import Robot
from brazo.world import World, WorldRobot

Array = np.ndarray
_UNLIMITED = 1.0  # m, the stroke of a slide without limits
_SAMPLES, _SEED = 400, 0
_MARGIN = 1.5  # on what samples of a Delta's Jacobian show


def displacement_weights(
    world: World, robot: WorldRobot, arm: Robot, held: Mapping[int, Array]
) -> Array:
    """w (n,), m per rad or m per m; `held` are engine bodies in the hand, with T_tool_body."""
    model = world.mj_model
    if isinstance(robot.model, DeltaModel):
        J = arm.jacobian(arm.random_q(_SAMPLES, seed=_SEED))[:, :3]
        extra = sum(_size(model, body) for body in held)
        return _MARGIN * np.linalg.norm(J, axis=1).max(axis=0) + robot.model.L1 + extra
    reach = _known.get(robot)
    if reach is None:
        reach = _known[robot] = _Reach(model, robot)
    return reach.weights(
        [_size(model, thing) + _length(reach.from_tip(T)) for thing, T in held.items()]
    )


class _Reach:
    """What of F does not depend on the hand's load: worked out once for a robot of a world."""

    def __init__(self, model: Any, robot: WorldRobot) -> None:
        self._tool = robot.model.tool  # type: ignore[union-attr]
        self._tip_anchor = _anchor(model, robot.tip_id)
        own = set(robot.all_body_ids.tolist())
        farthest: dict[int, float] = {}
        to_tip: dict[int, float] = {}  # the longest way from a body's anchor to that of the tip
        # Children come after their parents among the engine's bodies.
        for body in sorted(own, reverse=True):
            anchor = _anchor(model, body)
            first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
            reach = [0.0] if not count else []
            for g in range(first, first + count):
                reach.append(_length(model.geom_pos[g] - anchor) + float(model.geom_rbound[g]))
            to_tip[body] = 0.0 if body == robot.tip_id else -math.inf
            for child in own:
                if model.body_parentid[child] == body and child != body:
                    joint = _joint(model, child)
                    there = model.body_pos[child] + _turned(
                        model.body_quat[child], _anchor(model, child)
                    )
                    way = _length(there - anchor)
                    way += 0.0 if joint is None else _stroke(model, joint)
                    reach.append(way + farthest[child])
                    to_tip[body] = max(to_tip[body], way + to_tip[child])
            farthest[body] = max(reach)
        # How every joint of the engine moves with each of the robot's own: by putting it there.
        rest = np.zeros(model.nq)
        robot.put(rest, np.zeros(robot.n))
        self._n = robot.n
        self._slides = np.zeros(robot.n)
        self._turns: list[tuple[int, float, float, float]] = []  # joint, share, F, way to the tip
        for i, one in enumerate(np.eye(robot.n)):
            moved = rest.copy()
            robot.put(moved, one)
            for place in np.flatnonzero(moved - rest):
                joint = int(np.flatnonzero(model.jnt_qposadr == place)[0])
                share = abs(float(moved[place] - rest[place]))
                if int(model.jnt_type[joint]) == _HINGE:
                    body = int(model.jnt_bodyid[joint])
                    self._turns.append((i, share, farthest[body], to_tip[body]))
                else:
                    self._slides[i] += share

    def from_tip(self, T: Array) -> Array:
        """Where a body with the pose T in the tool is, from the anchor of the holding link."""
        return (self._tool @ T)[:3, 3] - self._tip_anchor

    def weights(self, loads: list[float]) -> Array:
        """w with loads in the hand that reach this far from the anchor of the link that holds."""
        load = max(loads, default=-math.inf)
        w = self._slides.copy()
        for i, share, farthest, to_tip in self._turns:
            w[i] += share * max(farthest, to_tip + load)
        return w


_known: weakref.WeakKeyDictionary[WorldRobot, _Reach] = weakref.WeakKeyDictionary()


_SLIDE, _HINGE = 2, 3  # the engine's numbers for kinds of joints


def _joint(model: Any, body: int) -> int | None:
    return int(model.body_jntadr[body]) if model.body_jntnum[body] else None


def _anchor(model: Any, body: int) -> Array:
    joint = _joint(model, body)
    return np.zeros(3) if joint is None else np.array(model.jnt_pos[joint])


def _stroke(model: Any, joint: int) -> float:
    if int(model.jnt_type[joint]) != _SLIDE:
        return 0.0
    if not model.jnt_limited[joint]:
        return _UNLIMITED
    zero = float(model.qpos0[model.jnt_qposadr[joint]])
    return max(abs(float(end) - zero) for end in model.jnt_range[joint])


def _length(v: Array) -> float:
    return math.sqrt(float(v @ v))


def _size(model: Any, body: int) -> float:
    """Radius of a ball about a body's origin with all its solids in it."""
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    reach = [
        _length(model.geom_pos[g]) + float(model.geom_rbound[g])
        for g in range(first, first + count)
    ]
    return max(reach, default=0.0)


def _turned(wxyz: Array, v: Array) -> Array:
    w, u = wxyz[0], wxyz[1:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)
