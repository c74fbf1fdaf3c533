"""Upper bound on the displacement of any point of a robot, as a weight for each joint.

For a joint of body b let F(b) be the max distance from its anchor to any point it moves, over all
poses.  A point is on a geom of b itself, or beyond the anchor of a child body c:

    F(b) = max( |geom| + its radius,  |anchor c − anchor b| + stroke of c + F(c) )

These are constants of the model, except for held bodies, which are beyond the anchor of the link
that holds them.  A revolute joint that rotates by Δ displaces no point by more than F(b)·|Δ|, a
prismatic joint by |Δ|; over all joints

    displacement ≤ Σ wᵢ |Δqᵢ|

so a motion can be checked at a finite number of poses without missing a collision between them.

For a Delta, w is taken from the Jacobian over the workspace.
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
_UNLIMITED = 1.0  # m, stroke assumed for a prismatic joint without limits
_SAMPLES, _SEED = 400, 0
_MARGIN = 1.5  # safety factor on the sampled Jacobian of a Delta


def displacement_weights(
    world: World, robot: WorldRobot, arm: Robot, held: Mapping[int, Array]
) -> Array:
    """Weights w (n,), m/rad or m/m; `held` are MuJoCo body ids of held bodies, with T_tool_body."""
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
    """The part of F that does not depend on held bodies; computed once per robot of a world."""

    def __init__(self, model: Any, robot: WorldRobot) -> None:
        self._tool = robot.model.tool  # type: ignore[union-attr]
        self._tip_anchor = _anchor(model, robot.tip_id)
        own = set(robot.engine.bodies.tolist())
        farthest: dict[int, float] = {}
        to_tip: dict[int, float] = {}  # max distance from a body's anchor to that of the tip
        # MuJoCo orders bodies with parents before children.
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
                    distance = _length(there - anchor)
                    distance += 0.0 if joint is None else _stroke(model, joint)
                    reach.append(distance + farthest[child])
                    to_tip[body] = max(to_tip[body], distance + to_tip[child])
            farthest[body] = max(reach)
        # How each MuJoCo joint depends on each of the robot's joints, by setting it.
        rest = np.zeros(model.nq)
        robot.put(rest, np.zeros(robot.n))
        self._slides = np.zeros(robot.n)
        self._turns: list[
            tuple[int, float, float, float]
        ] = []  # joint, ratio, F, distance to the tip
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
        """Position of a body with pose T in the tool, from the anchor of the link."""
        return (self._tool @ T)[:3, 3] - self._tip_anchor

    def weights(self, loads: list[float]) -> Array:
        """Weights w (n,) if held bodies extend up to `loads` (m) from the anchor of the link."""
        load = max(loads, default=-math.inf)
        w = self._slides.copy()
        for i, share, farthest, to_tip in self._turns:
            w[i] += share * max(farthest, to_tip + load)
        return w


_known: weakref.WeakKeyDictionary[WorldRobot, _Reach] = weakref.WeakKeyDictionary()


_SLIDE, _HINGE = 2, 3  # mjtJoint


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
    """Radius of a sphere about a body's origin that contains all its geoms."""
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
