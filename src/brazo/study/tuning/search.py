"""`TuningSearch`, the setup of a tuning, and `GainSet`, a gain set with its results."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.control import CompiledController, Controller
from brazo.control.closed_loop import MAX_DELAY
from brazo.control.design_rules import design_gains, rules_for
from brazo.control.loop_stability import with_gains
from brazo.errors import BrazoError
from brazo.robot import Robot, load
from brazo.study.scenario import Case, ControllerChoice, listed, make_controller
from brazo.study.study import _robot_text
from brazo.study.tuning.conditions import tuning_cases
from brazo.study.tuning.evaluation import Evaluation, StabilityCheck
from brazo.study.tuning.gain_space import GainSpace

SCALES = (0.5, 1.5, 2.0, 3.0, 4.0)  # of the bandwidth, tried first
Task = str | Path | Callable[[Robot], Any]


@dataclass(frozen=True, slots=True, eq=False)
class GainSet:
    """Gain set with its scores in the search and its metrics on the held-out trajectories."""

    name: str
    gains: dict[str, np.ndarray]
    scores: dict[str, float]  # by objective, relative to the start
    check: StabilityCheck
    errors: dict[str, np.ndarray]  # metrics of the held-out runs, mean over the trajectories
    delay_margin: float  # s; NaN for members of the front


class TuningSearch:
    """Setup of a tuning: robot, controller, trajectories and cases."""

    def __init__(
        self,
        robot: str | Path | Robot,
        controller: str | Controller | ControllerChoice,
        tasks: Sequence[Task] | Task,
        held_out: Sequence[Task] | Task,
        cases: Sequence[Case] | None,
        duration: float,
        dt: float,
        substeps: int,
        threads: int | None,
    ) -> None:
        self.robot = robot if isinstance(robot, Robot) else load(robot)
        choice = ControllerChoice(controller) if isinstance(controller, str) else controller
        made = make_controller(choice)
        if not isinstance(made, CompiledController):
            raise BrazoError(
                f"tune: {made.name} is a controller in Python; tuning needs a compiled controller "
                "(brazo.control.CompiledController)"
            )
        self.controller = made
        made.bind(self.robot, dt)
        self.cases = list(tuning_cases(self.robot, dt) if cases is None else cases)
        if not self.cases:
            raise BrazoError("tune: no cases; give at least one, e.g. [Case()]")
        if self.delay > (MAX_DELAY - 1) * dt:
            raise BrazoError(
                f"tune: delay = {self.delay:g} s; it must be at most {(MAX_DELAY - 1) * dt:g} s, "
                f"{MAX_DELAY - 1} control periods"
            )
        self.tasks, self.held_out = _listed(tasks, "tasks"), _listed(held_out, "held_out")
        self.dt = dt
        self.evaluation = Evaluation(
            self.robot, made, self.tasks, self.held_out, self.cases, duration, dt, substeps, threads
        )

    @property
    def delay(self) -> float:
        """Longest delay (s) of the cases."""
        return max(case.delay for case in self.cases)

    def rule_gains(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the gains of the applicable design rules, by rule."""
        return {
            rule: design_gains(rule, self.controller, self.delay)
            for rule in rules_for(self.controller)
        }

    def first_candidates(self, space: GainSpace) -> list[dict[str, float]]:
        """Return the first candidates of the search, each as factors on the starting gains.

        These are the starting gains, the starting gains with other bandwidths (only if `kp` and
        `kd` are tuned), and the gains of the design rules.
        """
        found = [space.factors({})]
        if {"kp", "kd"} <= set(space.names):
            powers = {"kp": 2, "kd": 1, "ki": 3}
            found += [
                {
                    parameter: float(np.clip(s ** powers.get(gain, 0), 1 / space.span, space.span))
                    for parameter, (gain, _) in space.parameters.items()
                }
                for s in SCALES
            ]
        return found + [space.factors(gains) for gains in self.rule_gains().values()]

    def fingerprint(self, space: GainSpace, objectives: list[str], numbers: list[Any]) -> str:
        """Hash of the inputs of the search; stored trials are used only if their hash is the same.

        `numbers` contains further options of the search.
        """
        e = self.evaluation
        content = {
            "robot": _robot_text(self.robot),
            "controller": [self.controller.name, sorted(_options(self.controller).items())],
            "start": {name: value.tolist() for name, value in space.start.items()},
            "space": [list(space.parameters), space.span],
            "references": [hashlib.sha256(r.tobytes()).hexdigest() for r in e.references],
            "cases": [asdict(case) for case in self.cases],
            "numbers": [e.dt, e.duration, e.substeps, objectives, numbers],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def measured(
        self,
        name: str,
        gains: Mapping[str, np.ndarray],
        scores: dict[str, float],
        check: StabilityCheck | None = None,
        margins: bool = True,
    ) -> GainSet:
        """Return a gain set with its stability check and its metrics on held-out trajectories.

        The metrics are those of the nominal case.  The check is computed if `check` is None.  The
        delay margin is NaN unless `margins` is True.
        """
        whole = {**self.controller.gain_values(), **gains}
        one = {key: np.asarray(value, dtype=float) for key, value in whole.items()}
        batch = {key: np.broadcast_to(value, (1, *value.shape)) for key, value in one.items()}
        nominal = [Case()]
        runs = [
            self.evaluation.runs(reference, batch, nominal).metrics
            for reference in self.evaluation.held_out
        ]
        errors = {key: np.mean([run[key][0, 0] for run in runs], axis=0) for key in runs[0]}
        tuned = with_gains(self.controller, one)
        if check is None:
            check = self.evaluation.check(one)
        margin = self.evaluation.loops.delay_margin(tuned) if margins else math.nan
        return GainSet(name, one, scores, check, errors, margin)


def _listed(tasks: Sequence[Task] | Task, what: str) -> list[Task]:
    found = listed(tasks)
    if not found:
        raise BrazoError(f"tune: no {what}; give at least one")
    return found


def _options(controller: Controller) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(controller).items()
        if not name.startswith("_") and isinstance(value, (int, float, str))
    }
