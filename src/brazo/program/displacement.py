"""Upper bound on the displacement of any point of a robot, as a weight for each joint.

The anchor of a body is the position of its joint.  F(b) is an upper bound, over all poses, on the
distance from the anchor of body b to any point that its joint moves.  Such a point is on a geom of
b, or it belongs to a child body c of b:

    F(b) = max( distance of the geom + its radius,  |anchor c − anchor b| + stroke of c + F(c) )

where the radius is that of the bounding sphere, and the stroke is that of a prismatic joint.  F
depends only on the model and on the held bodies, which count as part of the link that holds them.
A revolute joint that rotates by Δ displaces no point by more than F(b)·|Δ|, a prismatic joint by no
more than |Δ|.  Joint i therefore has the weight wᵢ = F(b) if it is revolute, and wᵢ = 1 if it is
prismatic.  Each mimic joint of joint i adds its own weight times |multiplier|.  The sum over all
joints is the bound

    displacement ≤ Σ wᵢ |Δqᵢ|

so a motion can be checked at a finite number of poses without missing a collision between them.

For a Delta robot, wᵢ is estimated from a random sample of poses: 1.5 times the max norm of column i
of the Jacobian, plus the length of the drive arm and the sizes of the held bodies.
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
    """Return the weights w (n,) in m/rad or m/m; see the module docstring.

    `held` maps the MuJoCo ids of held bodies to their poses T_tool_body (4, 4).
    """
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
    """The distances F of the module docstring for a robot without held bodies."""

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
        """Return the position (3,) of a held body, relative to the anchor of the tip link.

        T (4, 4) is the pose of the body in the tool frame.
        """
        return (self._tool @ T)[:3, 3] - self._tip_anchor

    def weights(self, loads: list[float]) -> Array:
        """Return the weights w (n,), including held bodies.

        `loads` are the max distances (m) of the held bodies from the anchor of the tip link.
        """
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
    """Return the radius (m) of a sphere about the origin of a body that contains all its geoms."""
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
