"""RRT-Connect of OMPL, if OMPL is installed (the extra `planning`).

Path segments are checked by `brazo.program.collision.Checker` instead of OMPL's sampling, so no
collision is missed between two samples.  OMPL has one random generator per process.  It is seeded
before the first use; later problems continue its sequence, so their paths depend on the earlier
problems.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.program.rrt import MAX_POSES, STEP, Free

Array = np.ndarray
_seeded = False


def ompl_connect(
    start: Array,
    goal: Array,
    box: Array,
    weights: Array,
    free: Free,
    seed: int = 0,
    max_poses: int = MAX_POSES,
) -> list[Array] | None:
    """Return a collision-free path, or None; see `brazo.program.rrt.rrt_connect`."""
    ob, og = _ompl(seed)
    if free(start, goal):
        return [start, goal]
    n = len(start)
    space = ob.RealVectorStateSpace(n)
    bounds = ob.RealVectorBounds(n)
    # OMPL uses Euclidean distance: scale coordinates by the weights.
    for i in range(n):
        bounds.setLow(i, float(min(box[i, 0], start[i], goal[i]) * weights[i]))
        bounds.setHigh(i, float(max(box[i, 1], start[i], goal[i]) * weights[i]))
    space.setBounds(bounds)

    def pose(state: Any) -> Array:
        return np.array([state[i] for i in range(n)]) / weights

    setup = og.SimpleSetup(space)
    information = setup.getSpaceInformation()
    # OMPL accepts Python booleans only.
    setup.setStateValidityChecker(lambda state: bool(free(p := pose(state), p)))

    class EdgeValidator(ob.MotionValidator):
        """OMPL motion validator that checks a whole segment with `free`."""

        def checkMotion(self, s1: Any, s2: Any, last: Any = None) -> bool:
            return bool(free(pose(s1), pose(s2)))

    validator = EdgeValidator(information)
    information.setMotionValidator(validator)
    planner = og.RRTConnect(information)
    planner.setRange(STEP)
    setup.setPlanner(planner)
    setup.setStartAndGoalStates(_state(space, start * weights), _state(space, goal * weights))
    calls = max_poses * 20

    def enough() -> bool:
        nonlocal calls
        calls -= 1
        return calls <= 0

    setup.solve(ob.PlannerTerminationCondition(enough))
    # solve() also reports success for approximate solutions.
    if not setup.haveExactSolutionPath():
        return None
    return [start, *[pose(state) for state in setup.getSolutionPath().getStates()][1:-1], goal]


def _state(space: Any, values: Array) -> Any:
    state = space.allocState()
    for i, value in enumerate(values.tolist()):
        state[i] = value
    return state


def _ompl(seed: int) -> tuple[Any, Any]:
    global _seeded
    try:
        from ompl import base, geometric, util
    except ImportError:
        raise BrazoError(
            "planner 'ompl' needs OMPL, which is not installed: pip install 'brazo[planning]', or "
            "use planner 'rrt'"
        ) from None
    util.setLogLevel(util.LOG_ERROR)
    if not _seeded and hasattr(util.RNG, "setSeed"):
        util.RNG.setSeed(seed + 1)
        _seeded = True
    return base, geometric
