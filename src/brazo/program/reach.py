"""How far a joint can carry the farthest point of a robot: metres for a radian or a metre of it.

For a joint on body b let F(b) be the greatest distance from its anchor to any point it carries, in
whatever pose.  A point is on a solid of b itself, or beyond the anchor of the next body c:

    F(b) = max( |solid| + its radius,  |anchor c − anchor b| + stroke of c + F(c) )

all constants of the model.  A revolute joint that turns by Δ then moves no point by more than
F(b)·|Δ|, a sliding one by |Δ|; over all joints

    displacement ≤ Σ wᵢ |Δqᵢ|

which is what lets a motion be checked at finitely many places with nothing missed in between.

A Delta's platform moves with its loops; its w come from its Jacobian over the workspace.
"""

from __future__ import annotations

import math
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
    if isinstance(robot.model, DeltaModel):
        J = arm.jacobian(arm.random_q(_SAMPLES, seed=_SEED))[:, :3]
        extra = sum(_size(world.mj_model, body) for body in held)
        return _MARGIN * np.linalg.norm(J, axis=1).max(axis=0) + robot.model.L1 + extra
    model = world.mj_model
    own = set(robot.all_body_ids.tolist())
    farthest: dict[int, float] = {}
    # Children come after their parents among the engine's bodies.
    for body in sorted(own, reverse=True):
        anchor = _anchor(model, body)
        reach = (
            [
                float(np.linalg.norm(model.geom_pos[g] - anchor)) + float(model.geom_rbound[g])
                for g in range(
                    model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body]
                )
            ]
            if model.body_geomnum[body]
            else [0.0]
        )
        if body == robot.tip_id:
            tool = robot.model.tool  # type: ignore[union-attr]
            for thing, T in held.items():
                at = (tool @ T)[:3, 3]
                reach.append(float(np.linalg.norm(at - anchor)) + _size(model, thing))
        for child in own:
            if model.body_parentid[child] == body and child != body:
                joint = _joint(model, child)
                there = model.body_pos[child] + _turned(
                    model.body_quat[child], _anchor(model, child)
                )
                way = float(np.linalg.norm(there - anchor))
                reach.append(
                    way + (0.0 if joint is None else _stroke(model, joint)) + farthest[child]
                )
        farthest[body] = max(reach)
    # How every joint of the engine moves with each of the robot's own: by putting it there.
    rest = np.zeros(model.nq)
    robot.put(rest, np.zeros(robot.n))
    w = np.zeros(robot.n)
    for i, one in enumerate(np.eye(robot.n)):
        moved = rest.copy()
        robot.put(moved, one)
        for place in np.flatnonzero(moved - rest):
            joint = int(np.flatnonzero(model.jnt_qposadr == place)[0])
            turns = int(model.jnt_type[joint]) == _HINGE
            share = abs(float(moved[place] - rest[place]))
            w[i] += share * (farthest[int(model.jnt_bodyid[joint])] if turns else 1.0)
    return w


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


def _size(model: Any, body: int) -> float:
    """Radius of a ball about a body's origin with all its solids in it."""
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    reach = [
        math.sqrt(float(model.geom_pos[g] @ model.geom_pos[g])) + float(model.geom_rbound[g])
        for g in range(first, first + count)
    ]
    return max(reach, default=0.0)


def _turned(wxyz: Array, v: Array) -> Array:
    w, u = wxyz[0], wxyz[1:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)
