"""Simulation of many gain sets at once, their scores, and the stability check of one set.

A score is a metric divided by the same metric with the starting gains.  Scores have no unit, so
joints of any size have the same weight, and a score of 1 is as good as the starting gains:

    error         RMS error, mean over joints and tool
    energy        energy of all drives
    peak_torque   peak torque, mean over the joints
    jerk          RMS jerk, mean over the joints

Scores are averaged over all tasks and cases.  A gain set gets a much larger score if a run
diverges, or if the linear loop is unstable in a case of the stability check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from brazo.checks import one_of
from brazo.control import CompiledController
from brazo.control.closed_loop import ClosedLoopRuns
from brazo.control.loop_stability import MARGINAL, LinearLoops, operating_points, with_gains
from brazo.dynamics.reading import sample_trajectory
from brazo.dynamics.simulate import sample_times
from brazo.errors import BrazoError
from brazo.robot import Robot
from brazo.study.scenario import Case, make_task
from brazo.study.tuning.conditions import harder, loop_conditions, plant_variants, starts

OBJECTIVES = ("error", "energy", "peak_torque", "jerk")
FAILED = 1e3  # score of a run that diverges; up to twice that for an early one
UNSTABLE = 100.0  # added to the score if the linear loop is unstable, times its spectral radius
SETTLE = 1.0  # s, of the check that a motion ends
STILL = 0.1  # speed at its end, as a fraction of the peak
_TINY = 1e-12
Array = np.ndarray


@dataclass(frozen=True, slots=True)
class StabilityCheck:
    """Result of the stability check of one gain set."""

    stable: bool
    reason: str  # "" if it is stable
    radius: float  # largest spectral radius of the linear loops


class Evaluation:
    """Evaluation of gain sets of one controller on one robot.

    The controller is already bound to the robot and the period dt.
    """

    def __init__(
        self,
        robot: Robot,
        controller: CompiledController,
        tasks: Sequence[Any],
        held_out: Sequence[Any],
        cases: Sequence[Case],
        duration: float,
        dt: float,
        substeps: int = 1,
        threads: int | None = None,
    ) -> None:
        self.robot, self.controller, self.cases = robot, controller, list(cases)
        self.duration, self.dt, self.substeps, self.threads = duration, dt, substeps, threads
        t = sample_times(duration, dt)
        self.references = [sample_trajectory(make_task(robot, task), t, robot) for task in tasks]
        self._baseline = [self._scale(reference) for reference in self.references]
        self.held_out = [sample_trajectory(make_task(robot, task), t, robot) for task in held_out]
        self._harder = harder(self.cases, dt)

    def runs(
        self,
        reference: Array,
        gains: Mapping[str, Any],
        cases: Sequence[Case],
        duration: float | None = None,
        every: int = 0,
    ) -> ClosedLoopRuns:
        """Simulate gain sets in the given cases in one native call; return the runs (sets, cases).

        `gains` maps names of gains to values (sets, size).  The default of `duration` (s) is that
        of the evaluation.  `every` is as for `Robot.closed_loop`.
        """
        return self.robot.closed_loop(
            self.controller,
            reference,
            self.duration if duration is None else duration,
            dt=self.dt,
            substeps=self.substeps,
            q0=starts(self.robot, cases, reference[0, 0]),
            gains={name: np.asarray(value)[:, None, :] for name, value in gains.items()},
            conditions=loop_conditions(self.robot, cases, self.dt),
            every=every,
            threads=self.threads,
        )

    def scores(self, gains: Mapping[str, Array], objectives: Sequence[str]) -> Array:
        """Return the scores (sets, objectives) of gain sets.

        `gains` maps names of gains to values (sets, size).
        """
        total: Any = 0.0
        for reference, base in zip(self.references, self._baseline, strict=True):
            total = total + self._scores(reference, base, gains, objectives)
        total = total / len(self.references)
        return total + (UNSTABLE * self._growth(gains, total[:, 0] < FAILED))[:, None]

    def _growth(self, gains: Mapping[str, Array], wanted: Array) -> Array:
        """Return the spectral radii (sets,) of unstable linear loops; 0 for stable loops.

        Only the gain sets in the mask `wanted` (sets,) are checked; the value of all other sets is
        0.  If the check raises an error, the value of all checked sets is 2.
        """
        found = np.zeros(len(wanted))
        try:
            some = {name: values[wanted] for name, values in gains.items()}
            if wanted.any():
                radii = self.loops.radii(self.controller, some).max(axis=(-2, -1))
                found[wanted] = np.where(radii < 1.0 + MARGINAL, 0.0, radii)
        except BrazoError:
            found[wanted] = 2.0
        return found

    @cached_property
    def loops(self) -> LinearLoops:
        """Linear models of the robot for the stability check.

        The operating points are on all references; the plant variants are those of `check`.
        """
        points = [operating_points(r) for r in (*self.references, *self.held_out)]
        q = np.unique(np.concatenate(points).round(12), axis=0)
        return LinearLoops(self.robot, q, self.dt, plant_variants(self._harder, self.dt))

    def _scores(
        self,
        reference: Array,
        base: dict[str, Array],
        gains: Mapping[str, Array],
        objectives: Sequence[str],
    ) -> Array:
        count = len(next(iter(gains.values())))
        try:
            runs = self.runs(reference, gains, self.cases)
        except BrazoError:  # of one set, e.g. a Riccati equation without solution
            if count == 1:
                return np.full((1, len(objectives)), 2.0 * FAILED)
            single = [{k: v[i : i + 1] for k, v in gains.items()} for i in range(count)]
            rows = [self._scores(reference, base, one, objectives) for one in single]
            return np.concatenate(rows)
        lost = np.nan_to_num(1.0 - runs.failed_at / self.duration, nan=0.0)
        found = []
        for objective in objectives:
            with np.errstate(invalid="ignore"):
                values = relative(runs.metrics, base, objective)
            values = np.where(np.isnan(runs.failed_at), np.minimum(values, FAILED), FAILED)
            found.append((values + FAILED * lost).mean(axis=-1))
        return np.stack(found, axis=-1)

    def _scale(self, reference: Array) -> dict[str, Array]:
        """Return the metrics of the starting gains, averaged over cases that do not diverge."""
        start = {name: value[None] for name, value in self.controller.gain_values().items()}
        runs = self.runs(reference, start, self.cases)
        good = np.isnan(runs.failed_at[0])
        if not good.any():
            raise BrazoError(
                f"tune: {self.controller.name} on {self.robot.name} diverges in all cases with the "
                "starting gains; use smaller starting gains, e.g. with a smaller wn"
            )
        return {name: values[0][good].mean(axis=0) for name, values in runs.metrics.items()}

    # ---- check -----------------------------------------------------------------------------

    def check(self, gains: Mapping[str, Any]) -> StabilityCheck:
        """Check whether a gain set is stable in more difficult cases than those of the search.

        `harder` returns these cases.  First the linear loop is checked at points of all references,
        with the plant of each case.  Then the cases are simulated on all references.  Finally, in
        each case without noise, the robot must come to rest after a start error.
        """
        controller, tests = with_gains(self.controller, gains), self._harder
        linear = self.loops.stability(controller)
        if not linear.stable:
            return StabilityCheck(
                False,
                f"unstable ({linear.variant}: eigenvalue {linear.radius:.4g})",
                linear.radius,
            )
        one = {name: np.asarray(value)[None] for name, value in controller.gain_values().items()}
        for reference in (*self.references, *self.held_out):
            failed = self.runs(reference, one, tests).failed_at[0]
            if np.isfinite(failed).any():
                case = tests[int(np.flatnonzero(np.isfinite(failed))[0])].name
                return StabilityCheck(False, f"diverges ({case})", linear.radius)
        case = self._restless(one, tests)
        if case is not None:
            return StabilityCheck(False, f"does not come to rest ({case})", linear.radius)
        return StabilityCheck(True, "", linear.radius)

    def _restless(self, gains: Mapping[str, Array], cases: Sequence[Case]) -> str | None:
        """Return the name of the first case in which the robot does not come to rest, or None.

        The robot starts with a position error and holds a constant reference for 1 s.  A joint is
        at rest if its speed in the last fifth of this time is at most a tenth of its peak speed.
        Cases with noise are skipped.
        """
        quiet = [case for case in cases if not (case.position_noise or case.velocity_noise)]
        if not quiet:
            return None
        rows = len(sample_times(SETTLE, self.dt))
        hold = np.zeros((3, rows, self.robot.n))
        hold[0] = self.references[0][0, 0]
        runs = self.runs(hold, gains, [_moved(case) for case in quiet], SETTLE, every=1)
        speed = np.abs(runs.qd[0])  # (cases, m, n)
        last = speed[:, -rows // 5 :].max(axis=1)
        moving = (last > STILL * np.maximum(speed.max(axis=1), _TINY)).any(axis=-1)
        moving |= ~np.isnan(runs.failed_at[0])
        return quiet[int(np.flatnonzero(moving)[0])].name if moving.any() else None


def relative(metrics: Mapping[str, Array], base: Mapping[str, Array], objective: str) -> Array:
    """Return the score (...) of one objective for metrics (..., n).

    `base` has the metrics of the starting gains.
    """

    def ratio(name: str) -> Array:
        return metrics[name] / np.maximum(base[name], _TINY)

    if objective == "error":
        parts = [ratio("rms_error"), ratio("rms_error.tool")[..., None]]
        return np.concatenate(parts, axis=-1).mean(axis=-1)
    if objective == "energy":
        return metrics["energy"].sum(axis=-1) / max(float(base["energy"].sum()), _TINY)
    return ratio(objective).mean(axis=-1)


def check_objectives(objectives: Sequence[str]) -> list[str]:
    """Return the objectives as a list.

    Raise BrazoError if there is none, or if an objective is unknown or given twice.
    """
    found = [objectives] if isinstance(objectives, str) else list(objectives)
    for one in found:
        one_of(one, OBJECTIVES, "tune: objective")
    if not found or len(set(found)) < len(found):
        raise BrazoError("tune: give at least one objective, and each objective only once")
    return found


def _moved(case: Case) -> Case:
    return case if case.start_error else replace(case, start_error=0.02)
