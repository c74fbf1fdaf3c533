"""Collisions of a kinematic preview: the planned motions of its steps, checked against the cell.

Each motion is checked as in a run (`brazo.program.collision`): with the body in the gripper, and
with the other robots and bodies at their poses at the same time in the preview.  A run does not
check motions with `plan: unchecked`, but it fails if they touch something.  For these
motions, contacts are reported, but distances below the clearance are not.  The following are not
reported, either:

- motions with `plan: free`, because a run plans another path if the direct one collides;
- contacts with a robot that moves at the same time, because a run waits for it;
- contacts with bodies that were released, because they may fall.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from brazo.program.collision import Checker, Hit, MovingRobot
from brazo.program.moves import CHECK_DT
from brazo.program.preview import Preview, PreviewStep
from brazo.simulation import Simulation

Array = np.ndarray
_AWAY = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1e3], [0, 0, 0, 1]])  # far from all
_CONTACT = 1e-6  # m, clearance of motions of which only contacts are reported


def preview_collisions(
    preview: Preview, sim: Simulation, clearance: float = 0.003
) -> dict[str, dict[int, Hit]]:
    """Check the motions of a timed preview.

    Parameters
    ----------
    preview : the preview, with planned motions.
    sim : the simulation of the preview; its model is copied under its lock.
    clearance : min distance, m, of motions that a run checks.

    Returns
    -------
    Robot name -> step index -> collision; only steps with a collision are included.  The index
    counts the steps after loops are unrolled.
    """
    found: dict[str, dict[int, Hit]] = {}
    for robot, steps in preview.steps.items():
        for index, step in enumerate(steps):
            plan = getattr(preview.step(robot, index), "plan", "direct")
            if step.motions and plan != "free":
                distance = _CONTACT if plan == "unchecked" else clearance
                hit = _hit(preview, sim, robot, step, distance)
                if hit is not None:
                    found.setdefault(robot, {})[index] = hit
    return found


def _hit(
    preview: Preview, sim: Simulation, robot: str, step: PreviewStep, clearance: float
) -> Hit | None:
    """Return the collision of a step; None if there is none.

    The motion is split at the times of grips and releases into intervals.  The result is that of
    `Checker.motion` for the first interval with a collision.
    """
    times = np.array(sorted({step.start, step.end, *preview.grasp_times(step.start, step.end)}))
    for begin, end in pairwise(times):
        count = max(2, int(np.ceil((end - begin) / CHECK_DT)) + 1)
        t = np.linspace(begin, end, count)
        q = {name: preview.table(name, t) for name in preview.steps}
        checker = _checker(preview, sim, robot, float(begin), clearance)
        checker.allow_start(q[robot][0])
        checker.allow_end(q[robot][-1])
        others = {name: values for name, values in q.items() if name != robot}
        hit = checker.motion(t - step.start, q[robot], others)
        if hit is not None and not _moves(preview, hit, robot, step):
            return hit
    return None


def _moves(preview: Preview, hit: Hit, robot: str, step: PreviewStep) -> bool:
    """Return whether `hit.second` belongs to another robot that moves during the step.

    A body that the other robot holds counts as part of that robot.
    """
    for name, steps in preview.steps.items():
        for one in steps if name != robot else ():
            same_time = one.start < step.end and one.end > step.start
            if one.motions and same_time and hit.second.partition("/")[0] in (name, one.held):
                return True
    return False


def _checker(
    preview: Preview, sim: Simulation, robot: str, time: float, clearance: float
) -> Checker:
    """Return a checker with all bodies and robots at their poses at a time (s) of the preview.

    Bodies that were released are placed far away, so that no contact with them is found.
    """
    states = {name: preview.state(name, time) for name in preview.steps}
    q = preview.at(time)
    with sim.lock:
        movers: dict[str, MovingRobot] = {}
        for name, one in sim.robots.items():
            state = states.get(name)
            held = {}
            if state is not None and state.held is not None and state.T_tool_body is not None:
                held = {state.held: state.T_tool_body}
            movers[name] = MovingRobot(one.world, one.arm, held)
        mine = movers.pop(robot)
        checker = Checker(sim.world, mine, list(movers.values()), clearance)
    released = preview.released(time)
    for name, T in preview.bodies(time).items():
        checker.place_body(name, _AWAY if name in released else T)
    for name, values in q.items():
        checker.place_robot(name, values, states[name].opening)
    return checker
