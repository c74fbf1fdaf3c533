"""Body pairs of one robot that are excluded from collision detection.

Bodies that are at most two joints apart overlap at their joints by design.  Such a pair is always
excluded.  Any other pair is excluded if its bodies touch in the start pose or in more than half of
300 random poses: such a contact is an error of the geometry and would block the robot.  A warning
is then issued for the pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.formats.mjcf.layout import near_carriers
from brazo.model.description import Finding, Model
from brazo.world.cell import Cell, CellRobot
from brazo.world.robot_elements import RobotElements

if TYPE_CHECKING:
    from brazo.world.build import Built

POSES = 300
OFTEN = 0.5

Pair = tuple[str, str]
Pairs = tuple[Pair, ...]


class ExcludedPairs:
    """Cache of the body pairs that `always_touching` returns for each robot.

    The pairs of a robot are computed again when its model changes.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[Model, Pairs, list[Finding]]] = {}

    def of(self, cell: Cell, alone: Callable[[Cell, CellRobot], Built]) -> dict[str, Pairs]:
        """Return the excluded pairs of body names, by robot name.

        `alone(cell, robot)` compiles a model that contains only this robot.
        """
        earlier, self._found = self._found, {}
        for robot in cell.robots:
            known = earlier.get(robot.name)
            if known is None or known[0] is not robot.model:
                known = (robot.model, *always_touching(alone(cell, robot)))
            self._found[robot.name] = known
        return {name: pairs for name, (_, pairs, _) in self._found.items()}

    @property
    def findings(self) -> list[Finding]:
        """Warnings that report the excluded pairs."""
        return [finding for _, _, findings in self._found.values() for finding in findings]


def near_neighbours(elements: RobotElements) -> list[Pair]:
    """Return the pairs of bodies that are at most two joints apart; for a Delta, all pairs.

    A finger counts as a part of the last link.
    """
    model = elements.robot.model
    names = [body.name for body in elements.bodies]
    fingers = [finger.name for finger in elements.gripper.fingers] if elements.gripper else []
    pairs: list[Pair] = list(combinations(fingers, 2))
    if model.closed_loops:
        # Arms, rods and platform overlap at their ball joints; only the joint limits matter there.
        return [*combinations(names, 2), *pairs, *((n, f) for n in names for f in fingers)]
    model = model.require_tree()
    for i in range(len(names)):
        pairs += [(names[k], names[i]) for k in near_carriers(model, i)]
    for finger in fingers:
        near = [model.tip, *near_carriers(model, model.tip)]
        pairs += [(names[k], finger) for k in near]
    return pairs


def always_touching(built: Built) -> tuple[Pairs, list[Finding]]:
    """Return the body pairs that touch in the start pose or in most random poses.

    Also return a warning for each pair.  `built` is the model of a single robot.  For a Delta there
    are no pairs.
    """
    (elements,) = built.robots
    robot = elements.robot
    if robot.model.closed_loops:
        return (), []
    mujoco, m = engine(), built.model
    m.geom_gap[:] = 0.0
    d = mujoco.MjData(m)
    addresses = [int(m.joint(member.element.name).qposadr[0]) for member in elements.members]
    scale = np.array([member.multiplier for member in elements.members])
    offset = np.array([member.offset for member in elements.members])
    which = np.array([member.coordinate for member in elements.members], int)
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
                f"robot '{robot.name}': '{pair[0]}' and '{pair[1]}' {reason}: contacts between "
                "them are ignored",
                robot.model.path,
            )
        )
    return tuple(pairs), findings


def _samples(model: Model) -> np.ndarray:
    limits = model.limits
    reach = np.array([np.pi if kind == "revolute" else 1.0 for kind in model.joint_kinds])
    low = np.where(np.isfinite(limits[:, 0]), limits[:, 0], -reach)
    high = np.where(np.isfinite(limits[:, 1]), limits[:, 1], reach)
    return np.random.default_rng(0).uniform(low, high, (POSES, len(limits)))


def _touching(mujoco: Any, m: Any, d: Any, addresses: list[int], values: np.ndarray) -> set[int]:
    """Return the pairs of bodies that penetrate each other at the joint positions `values`.

    `addresses` are the indices of the joints in `qpos`.  A pair of body ids i < k is returned as
    the number i·nbody + k.
    """
    d.qpos[addresses] = values
    mujoco.mj_kinematics(m, d)
    mujoco.mj_collision(m, d)
    if not d.ncon:
        return set()
    contact = d.contact
    bodies = m.geom_bodyid[contact.geom[contact.dist < 0.0]]
    return set((bodies.min(axis=1) * m.nbody + bodies.max(axis=1)).tolist())
