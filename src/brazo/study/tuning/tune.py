"""`tune`: search for gains that track trajectories better and are robust to model errors.

    result = brazo.study.tune("puma560", "PID", trials=600)
    result.after.errors["rms_error.tool"], result.improvement
    result.write("controllers.yaml")

Candidates are proposed by Optuna or CMA-ES in batches.  One native call per task simulates all
candidates of a batch in all cases.  The candidates with the lowest scores are then checked for
stability, by the eigenvalues of the linear loops and by simulations with larger deviations than in
the search.  The result is the stable candidate with the lowest score.  If no checked candidate is
stable, the result is the starting gains.  If these are not stable either, `RunFailed` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brazo.checks import one_of
from brazo.control import CompiledController, Controller
from brazo.control.design_rules import design_gains
from brazo.control.loop_stability import with_gains
from brazo.errors import BrazoError, RunFailed
from brazo.robot import Robot
from brazo.study.scenario import Case, ControllerChoice
from brazo.study.tuning.cma_es import CmaEs
from brazo.study.tuning.evaluation import UNSTABLE, Evaluation, StabilityCheck, check_objectives
from brazo.study.tuning.gain_space import GainSpace
from brazo.study.tuning.search import GainSet, Task, TuningSearch
from brazo.study.tuning.trial_storage import SAMPLERS, TrialStorage

MAX_CHECKS = 200  # of the best candidates


@dataclass(frozen=True, slots=True)
class TuneProgress:
    """Progress of a search."""

    done: int  # candidates, including those of earlier calls
    total: int
    best: float  # smallest first objective so far


@dataclass(frozen=True, slots=True, eq=False)
class Tuning:
    """Result of `tune`."""

    robot: Robot
    controller: CompiledController  # bound, with the new gains
    objectives: tuple[str, ...]
    before: GainSet
    after: GainSet  # the same as `before` if nothing better was found
    rules: tuple[GainSet, ...]  # gains of design rules, for comparison; they may be unstable
    front: tuple[GainSet, ...]  # stable sets of which none is better in all objectives
    history: np.ndarray  # (trials, objectives)
    rejected: int  # candidates that were better and failed the check
    tasks: tuple[str, ...]
    held_out: tuple[str, ...]
    cases: tuple[Case, ...]

    @property
    def improved(self) -> bool:
        """Whether the gains were changed."""
        return self.after is not self.before

    @property
    def improvement(self) -> float:
        """Reduction of the RMS tool error on the held-out trajectories, as a fraction."""
        name = "rms_error.tool"
        return 1.0 - float(self.after.errors[name] / self.before.errors[name])

    def write(self, path: str | Path) -> Path:
        """Write controller and gains to a controller file; entries of other robots are kept."""
        from brazo.program.controller_file import write_controllers

        return write_controllers(path, {self.robot.name: self.controller})

    def to_html(self, path: str | Path) -> Path:
        """Write an HTML report: gains and errors before and after, the search, the check."""
        from brazo.study.tuning.report import write_tuning_report

        return write_tuning_report(self, path)


def tune(
    robot: str | Path | Robot,
    controller: str | Controller | ControllerChoice = "PID",
    tasks: Sequence[Task] | Task = "sines",
    *,
    held_out: Sequence[Task] | Task = "quintic",
    rule: str | None = None,
    objectives: Sequence[str] = ("error",),
    gains: Sequence[str] | None = None,
    per_joint: bool = True,
    span: float = 100.0,
    cases: Sequence[Case] | None = None,
    trials: int = 600,
    batch: int = 32,
    duration: float = 2.0,
    dt: float = 1e-3,
    substeps: int = 1,
    seed: int = 0,
    sampler: str | None = None,
    storage: str | None = None,
    name: str | None = None,
    threads: int | None = None,
    progress: Callable[[TuneProgress], object] | None = None,
) -> Tuning:
    """Tune a controller of `brazo.control` for a robot.

    Parameters
    ----------
    robot, controller : names or objects; the search starts at the gains of the controller.
    tasks, held_out : trajectories of the search and of the comparison, as in `Study`.
    rule : design rule whose gains are checked and returned instead of a search; see
        `brazo.control.design_rules`.
    objectives : quantities to minimise: "error", "energy", "peak_torque", "jerk".  With several
        objectives, the field `front` of the result has the Pareto front, and `after` has the stable
        gain set with the smallest product of scores.
    gains : names of the gains to tune; default: all gains greater than 0 except "tf" and "kt".
    per_joint, span : the search multiplies the gains by factors from 1/span to span, with one
        factor per gain and joint if `per_joint` is true, otherwise one factor per gain.
    cases : conditions in which every candidate is simulated; default `tuning_cases(robot, dt)`.
    trials, batch : number of candidates of the sampler, and number of candidates simulated
        together.  The starting gains and the design rules are additional candidates.
    duration, dt, substeps, seed : as in `Study`.
    sampler : "cmaes" (default for one objective), "nsga2" (default for several), "tpe" or "random".
        If only one factor is searched, "tpe" is used instead of "cmaes".
    storage, name : URL of a database, e.g. "sqlite:///tuning.db", and the name of the search in it;
        the same call continues an interrupted search.
    threads : max number of threads; default: the number of CPUs.
    progress : function that is called with a `TuneProgress` after each batch.

    Raises `RunFailed` if no candidate, not even the starting gains, passes the stability check.
    """
    search = TuningSearch(
        robot, controller, tasks, held_out, cases, duration, dt, substeps, threads
    )
    chosen = check_objectives(objectives)
    for label, value, least in (("trials", trials, 0), ("batch", batch, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise BrazoError(
                f"tune: {label} = {value!r}; it must be an integer of at least {least}"
            )
    kind = sampler or ("cmaes" if len(chosen) == 1 else "nsga2")
    one_of(kind, SAMPLERS, "tune: sampler")
    if kind == "cmaes" and len(chosen) > 1:
        raise BrazoError(
            "tune: the sampler 'cmaes' supports only one objective; use 'nsga2' or 'tpe'"
        )
    if rule is not None:
        return _by_rule(search, rule, chosen)
    space = GainSpace(search.controller, gains, per_joint, span)
    if kind == "cmaes" and len(space.parameters) < 2:
        kind = "tpe"  # CMA-ES needs two dimensions
    given = search.first_candidates(space)
    store = TrialStorage(
        storage,
        name or f"{search.robot.name}-{search.controller.name}",
        len(chosen),
        search.fingerprint(space, chosen, [batch, seed, kind]),
    )
    table = _Trials(search.evaluation, space, chosen, store, kind, seed, given)
    table.run(trials, batch, progress)
    return _result(search, space, chosen, table)


class _Trials:
    """Candidates of a search: factors and scores, in the order of evaluation."""

    def __init__(
        self,
        evaluation: Evaluation,
        space: GainSpace,
        objectives: list[str],
        store: TrialStorage,
        sampler: str,
        seed: int,
        given: list[dict[str, float]],
    ) -> None:
        self._evaluation, self._space, self._objectives = evaluation, space, objectives
        self._store, self._sampler, self._seed, self._given = store, sampler, seed, given
        self._cma_es: CmaEs | None = None  # after the given candidates
        self.factors: list[dict[str, float]] = []
        self.scores = np.empty((0, len(objectives)))

    def run(
        self, trials: int, batch: int, progress: Callable[[TuneProgress], object] | None
    ) -> None:
        """Evaluate the candidates `given` at creation, then `trials` new candidates in batches."""
        kept = self._store.trials()
        space, total = self._space.distributions(), len(self._given) + trials
        sizes = [len(self._given)] + [batch] * -(-trials // batch)
        for k, size in enumerate(sizes):
            first = len(self.factors)
            size = min(size, total - first)
            known = kept[first : first + size]
            if k == 1 and self._sampler == "cmaes":
                self._cma_es = CmaEs(self._best(), self._space.span, batch)
            if len(known) == size and (k == 0 or size == batch):
                self._store.remember(known)
                self._add([t.params for t in known], np.array([t.values for t in known]))
                continue
            seed = int(np.random.SeedSequence([self._seed, k]).generate_state(1)[0])
            given = self._given if k == 0 else []
            if self._cma_es is not None:
                given = self._cma_es.ask(size, seed)
            asked = self._store.ask(size, space, given, self._sampler, seed)
            parameters = [trial.params for trial in asked]
            values = self._evaluation.scores(self._space.gains(parameters), self._objectives)
            self._store.tell(asked, values, len(known))
            self._add(parameters, values)
            if progress is not None:
                progress(TuneProgress(len(self.factors), total, float(self.scores[:, 0].min())))

    def _add(self, factors: list[dict[str, float]], scores: np.ndarray) -> None:
        if self._cma_es is not None:
            self._cma_es.tell(factors, scores[:, 0])
        self.factors += factors
        self.scores = np.concatenate([self.scores, scores])

    def _best(self) -> dict[str, float]:
        """Return the `given` candidate with the lowest score, at which CMA-ES starts."""
        return self._given[int(self.scores[: len(self._given)].prod(axis=1).argmin())]


def _result(
    search: TuningSearch, space: GainSpace, objectives: list[str], table: _Trials
) -> Tuning:
    def scores(i: int) -> dict[str, float]:
        return dict(zip(objectives, table.scores[i].tolist(), strict=True))

    checks: dict[int, StabilityCheck] = {}

    def gains(i: int) -> dict[str, np.ndarray]:
        return {name: values[0] for name, values in space.gains([table.factors[i]]).items()}

    def stable(i: int) -> bool:
        if i not in checks:
            checks[i] = search.evaluation.check({**search.controller.gain_values(), **gains(i)})
        return checks[i].stable

    before = search.measured("start", gains(0), scores(0))
    checks[0] = before.check
    good = np.flatnonzero((table.scores < UNSTABLE).all(axis=1))
    total = np.log(table.scores[good]).sum(axis=1)
    ranked = good[np.argsort(total, kind="stable")].tolist()
    chosen = next((i for i in ranked[:MAX_CHECKS] if stable(i)), None)
    rejected = sum(not check.stable for i, check in checks.items() if i)
    if chosen is None or (chosen == 0):
        if not before.check.stable:
            raise RunFailed(
                f"tune: no stable gains found for {search.controller.name} on "
                f"{search.robot.name} in {len(table.factors)} candidates; the starting gains "
                f"fail the check: {before.check.reason}; use more trials, a smaller delay or "
                "other cases"
            )
        after = before
    else:
        after = search.measured("tuned", gains(chosen), scores(chosen), checks[chosen])
    front: list[GainSet] = []
    if len(objectives) > 1:
        members = _front(table.scores, ranked, stable)
        front = [
            search.measured(f"candidate {i}", gains(i), scores(i), checks[i], margins=False)
            for i in members
        ]
    rules = [
        search.measured(rule, values, _nothing(objectives))
        for rule, values in search.rule_gains().items()
    ]
    return _tuning(search, objectives, before, after, rules, front, table.scores, rejected)


def _by_rule(search: TuningSearch, rule: str, objectives: list[str]) -> Tuning:
    """Return the result of a design rule; raise RunFailed if its gains fail the stability check."""
    values = design_gains(rule, search.controller, search.delay)
    after = search.measured(rule, values, _nothing(objectives))
    if not after.check.stable:
        raise RunFailed(
            f"tune: the gains of the rule {rule} for {search.controller.name} on "
            f"{search.robot.name} fail the check: {after.check.reason}; use another rule, a "
            "smaller delay, or a search"
        )
    before = search.measured("start", {}, _nothing(objectives))
    empty = np.empty((0, len(objectives)))
    return _tuning(search, objectives, before, after, (), (), empty, 0)


def _tuning(
    search: TuningSearch,
    objectives: list[str],
    before: GainSet,
    after: GainSet,
    rules: Sequence[GainSet],
    front: Sequence[GainSet],
    history: np.ndarray,
    rejected: int,
) -> Tuning:
    return Tuning(
        robot=search.robot,
        controller=with_gains(search.controller, after.gains),
        objectives=tuple(objectives),
        before=before,
        after=after,
        rules=tuple(rules),
        front=tuple(front),
        history=history,
        rejected=rejected,
        tasks=_names(search.tasks),
        held_out=_names(search.held_out),
        cases=tuple(search.cases),
    )


def _nothing(objectives: list[str]) -> dict[str, float]:
    return dict.fromkeys(objectives, float("nan"))


def _front(scores: np.ndarray, ranked: list[int], stable: Callable[[int], bool]) -> list[int]:
    """Return the Pareto front of the stable candidates (indices), sorted by the first objective."""
    found: list[int] = []
    for i in sorted(ranked, key=lambda i: tuple(scores[i])):
        dominated = any((scores[j] <= scores[i]).all() for j in found)
        if not dominated and len(found) < MAX_CHECKS and stable(i):
            found.append(i)
    return found


def _names(tasks: Sequence[Task]) -> tuple[str, ...]:
    return tuple(
        getattr(task, "__name__", str(task)) if callable(task) else Path(task).stem
        for task in tasks
    )
