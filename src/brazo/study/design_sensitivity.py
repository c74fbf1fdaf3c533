"""Sensitivity of the workspace to the parameters of a robot, such as segment lengths.

For each parameter p, the elasticity of a quantity Q is computed with central differences of log Q
over log p:

    elasticity of Q = (p / Q) dQ/dp

Q is the reach, the volume or the manipulability volume of a `WorkspaceMap`.  The joint samples and
the size of the cubes are the same for all parameter values, and the grid of cubes starts at a
corner of the bounding box of the tool positions, so that most of the sampling noise cancels.  If
all lengths of a robot are parameters, Q is homogeneous in the parameters, and the sum of the
elasticities is the degree of Q: 1 for the reach, 3 for the volume (somewhat less, because a cube at
the boundary counts with its full volume).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.kinematics.measures import Rows
from brazo.robot import Robot, load
from brazo.study.workspace_map import CELLS, WorkspaceMap, gridded, joint_samples, sampled

QUANTITIES = ("reach", "volume", "manipulability_volume")


@dataclass(frozen=True, slots=True)
class ParameterSensitivity:
    """Elasticities of the workspace quantities with respect to one parameter."""

    parameter: str
    value: float  # SI
    reach: float
    volume: float
    manipulability_volume: float


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """Elasticities of the workspace of a robot for each parameter, and the nominal workspace."""

    robot: str
    nominal: WorkspaceMap
    parameters: tuple[ParameterSensitivity, ...]

    def __iter__(self):
        return iter(self.parameters)

    def __getitem__(self, parameter: str) -> ParameterSensitivity:
        for one in self.parameters:
            if one.parameter == parameter:
                return one
        names = ", ".join(one.parameter for one in self.parameters)
        raise BrazoError(f"no parameter '{parameter}'; parameters: {names}")

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the elasticities as bars; if a path is given, write the figure to it."""
        from brazo.recording.canvas import drawing, finish, new_figure, save
        from brazo.recording.colors import COLORS
        from brazo.study.report_parts import legend

        with drawing():
            fig = new_figure(0.8 + 0.34 * len(self.parameters))
            ax = fig.subplots()
            for k, quantity in enumerate(QUANTITIES):
                values = [getattr(one, quantity) for one in self.parameters]
                places = np.arange(len(values)) + 0.26 * (k - 1)
                ax.barh(places, values, 0.24, color=COLORS[k])
            ax.set_yticks(range(len(self.parameters)), [one.parameter for one in self.parameters])
            ax.invert_yaxis()
            ax.axvline(0.0, color="0.5", lw=0.8)
            ax.set_xlabel(f"{self.robot}: change in % for 1 % of the parameter")
            ax.margins(x=0.03)
            legend(fig, [quantity.replace("_", " ") for quantity in QUANTITIES])
            fig = finish(fig)
        if path is not None:
            save(fig, path)
        return fig


def sensitivity(
    robot: Robot | str | Path,
    parameters: Sequence[str] | None = None,
    *,
    step: float = 0.05,
    samples: int = 1 << 18,
    rows: Rows = "linear",
    seed: int = 0,
) -> Sensitivity:
    """Return the elasticities of the workspace with respect to parameters.

    By default all parameters that are not 0 are used.  `step` is the relative change of a parameter
    in each direction.  `samples`, `rows` and `seed` are as for `workspace`.
    """
    arm = robot if isinstance(robot, Robot) else load(robot)
    if not arm.parameters:
        raise BrazoError(f"{arm.name}: the robot file has no parameters to vary")
    if not 0.0 < step < 0.5:
        raise BrazoError(f"step = {step}; it must be a fraction greater than 0 and below 0.5")
    names = [name for name, value in arm.parameters.items() if value != 0.0]
    if parameters is not None:
        for name in parameters:
            if name not in names:
                what = (
                    f"parameter '{name}' is 0"
                    if name in arm.parameters
                    else f"no parameter '{name}'"
                )
                raise BrazoError(f"{what}; parameters that can vary: {', '.join(names)}")
        names = list(parameters)
    q = joint_samples(arm, samples, seed)
    p, w = sampled(arm, q, rows)
    size = float(np.ptp(p, axis=0).max()) / CELLS or 1e-3
    nominal = gridded(arm.name, p, w, size, rows, p.min(axis=0))
    found = []
    for name in names:
        value = arm.parameters[name]
        ends = []
        for sign in (-1.0, 1.0):
            changed = arm.with_parameters(**{name: value * (1.0 + sign * step)})
            p, w = sampled(changed, q, rows)
            ends.append(gridded(arm.name, p, w, size, rows, p.min(axis=0)))
        # Of the logarithms: exact for powers of the parameter.
        span = np.log((1.0 + step) / (1.0 - step))
        slopes = [
            float(np.log(getattr(ends[1], k) / getattr(ends[0], k)) / span) for k in QUANTITIES
        ]
        found.append(ParameterSensitivity(name, value, *slopes))
    return Sensitivity(arm.name, nominal, tuple(found))
