"""Body pairs of one robot that are excluded from collision detection.

Bodies up to two joints apart overlap at their joints by design.  Other bodies may overlap as drawn
in nearly every pose; such a contact carries no information and would block the robot.  It is
excluded, and a warning reports it.  The criterion is contact in the start pose, or in more than
half of 300 random poses.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.model.description import DeltaModel, Finding, TreeModel
from brazo.world.plan import RobotPlan
from brazo.world.robot_source import kinds_of, limits_of

if TYPE_CHECKING:
    from brazo.world.build import Built

POSES = 300
OFTEN = 0.5
APART = 2  # joints

Pair = tuple[str, str]


def near_neighbours(plan: RobotPlan) -> list[Pair]:
    """Return the pairs of adjacent bodies of a robot; all pairs for a Delta."""
    model = plan.robot.model
    names = [body.name for body in plan.bodies]
    fingers = [finger.name for finger in plan.clamp.fingers] if plan.clamp else []
    pairs: list[Pair] = list(combinations(fingers, 2))
    if isinstance(model, DeltaModel):
        # Arms, rods and platform overlap at their ball joints; only the joint limits matter there.
        return [*combinations(names, 2), *pairs, *((n, f) for n in names for f in fingers)]
    assert isinstance(model, TreeModel)
    for i in range(len(names)):
        pairs += [(names[k], names[i]) for k in _carriers(model, i)]
    for finger in fingers:
        near = [model.tip, *_carriers(model, model.tip)]
        pairs += [(names[k], finger) for k in near]
    return pairs


def _carriers(model: TreeModel, i: int) -> list[int]:
    found = []
    for _ in range(APART):
        i = model.bodies[i].parent
        if i < 0:
            break
        found.append(i)
    return found


def always_touching(built: Built) -> tuple[tuple[Pair, ...], list[Finding]]:
    """Return body pairs of a single robot that touch at the start or in most random poses."""
    (plan,) = built.robots
    robot = plan.robot
    if not isinstance(robot.model, TreeModel):
        return (), []
    mujoco, m = engine(), built.model
    m.geom_gap[:] = 0.0
    d = mujoco.MjData(m)
    addresses = [int(m.joint(member.element.name).qposadr[0]) for member in plan.members]
    scale = np.array([member.multiplier for member in plan.members])
    offset = np.array([member.offset for member in plan.members])
    which = np.array([member.coordinate for member in plan.members], int)
    at_start = _touching(mujoco, m, d, addresses, scale * robot.start[which] + offset)
    count: Counter[int] = Counter()
    for values in scale * _samples(robot.model)[:, which] + offset:
        count.update(_touching(mujoco, m, d, addresses, values))
    pairs, findings = [], []
    for code in sorted({*at_start, *count}):
        share = count[code] / POSES
        first, second = divmod(code, m.nbody)
        pair = (m.body(first).name, m.body(second).name)
        if code in at_start:
            reason = "touch in the start pose"
        elif share > OFTEN:
            reason = f"touch in {share:.0%} of {POSES} random poses"
        else:
            continue
        pairs.append(pair)
        findings.append(
            Finding(
                f"robot '{robot.name}': '{pair[0]}' and '{pair[1]}' {reason}: their contacts are "
                "left out",
                robot.model.path,
            )
        )
    return tuple(pairs), findings


def _samples(model: TreeModel) -> np.ndarray:
    limits = limits_of(model)
    reach = np.array([np.pi if kind == "revolute" else 1.0 for kind in kinds_of(model)])
    low = np.where(np.isfinite(limits[:, 0]), limits[:, 0], -reach)
    high = np.where(np.isfinite(limits[:, 1]), limits[:, 1], reach)
    return np.random.default_rng(0).uniform(low, high, (POSES, len(limits)))


def _touching(mujoco: Any, m: Any, d: Any, addresses: list[int], values: np.ndarray) -> set[int]:
    """Return the body pairs in contact, each encoded as one integer."""
    d.qpos[addresses] = values
    mujoco.mj_kinematics(m, d)
    mujoco.mj_collision(m, d)
    if not d.ncon:
        return set()
    contact = d.contact
    bodies = m.geom_bodyid[contact.geom[contact.dist < 0.0]]
    return set((bodies.min(axis=1) * m.nbody + bodies.max(axis=1)).tolist())
