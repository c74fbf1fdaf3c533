"""Results of a study: one row per run, summaries with confidence intervals, and rankings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from brazo.errors import BrazoError
from brazo.recording.parquet import parquet_source
from brazo.recording.tables import write_table

GROUPS = ("robot", "task", "case", "controller")
RANKED = "rms_error.tool"
RESAMPLES = 2000
FAILED = 10.0  # a failed run counts as this multiple of the largest value of its block
Z = 1.959963984540054  # 97.5 % quantile of the normal distribution


@dataclass(frozen=True, slots=True)
class Interval:
    """Value with its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rank:
    """Rank of a controller of a study on one robot."""

    controller: str
    rank: int
    score: Interval  # geometric mean of the metric over the runs
    ranks: tuple[int, int]  # 95 % interval
    best: float  # probability to be the best
    success: Interval
    runs: int


@dataclass(frozen=True, slots=True)
class RunCost:
    """Computing time of the runs of one call of `run_study`."""

    runs: int
    seconds: float  # wall-clock time
    jobs: int | None  # processes or threads; None for a cluster

    @property
    def core_seconds(self) -> float:
        """Core time (s) per run, `seconds * jobs / runs`; NaN for a cluster or without runs."""
        return self.seconds * self.jobs / self.runs if self.runs and self.jobs else math.nan


class StudyResults:
    """Results of the finished runs of a study.

    `columns` maps column names to values (runs,) in SI units.
    """

    def __init__(
        self,
        columns: Mapping[str, np.ndarray],
        units: Mapping[str, str],
        about: Mapping[str, str],
        failures: Sequence[Mapping[str, Any]],
    ) -> None:
        self.columns, self.units, self.about = dict(columns), dict(units), dict(about)
        try:
            self.names: dict[str, Any] = json.loads(about["study"])
        except (KeyError, ValueError):
            raise BrazoError("the data are not the results of a study") from None
        #: Reasons why runs failed, by run number.
        self.failures = {int(one["t"]): str(one["text"]) for one in failures}
        #: Steps in which runs failed, by run number; only for runs whose step is known.
        self.failed_steps = {int(one["t"]): str(one["step"]) for one in failures if "step" in one}
        self.cost: RunCost | None = None  # of the call that computed them

    def __len__(self) -> int:
        return len(self.columns["run"])

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise BrazoError(f"no column '{name}'; columns: {', '.join(self.columns)}")
        return self.columns[name]

    def __repr__(self) -> str:
        state = "" if self.complete else f" of {self.names['runs']}"
        return f"<results of {self.title}: {len(self)}{state} runs, {len(self.failures)} failed>"

    @property
    def title(self) -> str:
        """Name of the study."""
        return self.about.get("title", "study")

    @property
    def complete(self) -> bool:
        """Whether all runs are finished."""
        return self.about.get("complete") == "yes"

    def group_names(self, kind: str) -> list[str]:
        """Return the names of all robots, tasks, cases or controllers of the study.

        `kind` is "robot", "task", "case" or "controller".
        """
        return self.names[f"{kind}s"]

    def select(self, **groups: str) -> np.ndarray:
        """Return the mask (runs,) of the runs that match all given names.

        The arguments are `robot`, `task`, `case` and `controller`, e.g. `select(robot="puma560")`.
        """
        mask = np.ones(len(self), dtype=bool)
        for kind, name in groups.items():
            names = self.group_names(kind)
            if name not in names:
                raise BrazoError(f"no {kind} '{name}'; {kind}s: {', '.join(names)}")
            mask &= self[kind] == names.index(name)
        return mask

    def success(self, mask: np.ndarray | None = None) -> Interval:
        """Return the fraction of successful runs, with its 95 % confidence interval.

        `mask` (runs,) selects runs.
        """
        good = self["success"] if mask is None else self["success"][mask]
        return proportion(int(good.sum()), len(good))

    def mean(self, metric: str, mask: np.ndarray | None = None) -> Interval:
        """Return the mean of a metric, with its 95 % confidence interval.

        Runs in which the metric is not finite are omitted.  `mask` (runs,) selects runs.
        """
        values = self[metric] if mask is None else self[metric][mask]
        values = values[np.isfinite(values)]
        if not len(values):
            return Interval(math.nan, math.nan, math.nan)
        middle = float(values.mean())
        if len(values) < 2:
            return Interval(middle, math.nan, math.nan)
        from scipy.special import stdtrit

        half = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / len(values) ** 0.5)
        return Interval(middle, middle - half, middle + half)

    def ranking(self, robot: str, metric: str = RANKED, seed: int = 0) -> list[Rank]:
        """Return the ranks of the controllers on a robot, lowest score first.

        The score is the geometric mean of the metric over the runs, so that every task and case has
        the same weight.  A failed run counts as ten times the largest value of its task and case.

        A factor row and a repetition form a pair; all controllers are run with the same pairs.
        Confidence intervals are from a bootstrap over pairs.  Each bootstrap sample has the same
        pairs for all controllers.

        Controllers without runs are omitted.  In an incomplete study, only the tasks and cases with
        runs of all remaining controllers are used.  Of these tasks and cases, only the pairs for
        which all runs exist are used.
        """
        present, logs = self._log_table(robot, metric)  # logs: (controllers, blocks, units)
        if not logs.size:
            return []
        scores = logs.mean(axis=(1, 2))
        units = logs.shape[2]
        rng = np.random.default_rng(seed)
        by_unit = logs.mean(axis=1)
        samples = np.empty((len(by_unit), RESAMPLES))
        for k in range(RESAMPLES):  # one at a time: a study may have millions of units
            counts = np.bincount(rng.integers(units, size=units), minlength=units)
            samples[:, k] = by_unit @ counts / units
        places = samples.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") + 1
        found = []
        for place, k in enumerate(np.argsort(scores, kind="stable").tolist(), 1):
            low, high = np.quantile(samples[k], (0.025, 0.975))
            first, last = np.quantile(places[k], (0.025, 0.975), method="nearest")
            mask = self.select(robot=robot, controller=present[k])
            found.append(
                Rank(
                    present[k],
                    place,
                    Interval(*np.exp([scores[k], low, high]).tolist()),
                    (int(first), int(last)),
                    float((places[k] == 1).mean()),
                    self.success(mask),
                    int(mask.sum()),
                )
            )
        return found

    def _log_table(self, robot: str, metric: str) -> tuple[list[str], np.ndarray]:
        """Return the names of the controllers, and the logarithms of a metric.

        The logarithms are an array (controllers, tasks × cases, pairs), where a pair is a factor
        row and a repetition.  Tasks, cases and pairs that lack results of a controller are omitted.
        """
        mask = self.select(robot=robot)
        columns = {name: self[name][mask].astype(int) for name in (*GROUPS, "row", "repetition")}
        values = self[metric][mask]
        blocks = columns["task"] * len(self.group_names("case")) + columns["case"]
        units = columns["row"] * (columns["repetition"].max(initial=0) + 1) + columns["repetition"]
        unit_ids, unit = np.unique(units, return_inverse=True)
        block_ids, block = np.unique(blocks, return_inverse=True)
        count = len(self.group_names("controller"))
        table = np.full((count, len(block_ids), len(unit_ids)), np.nan)
        table[columns["controller"], block, unit] = values
        with np.errstate(all="ignore"):
            worst = FAILED * np.fmax.reduce(table, axis=(0, 2), initial=np.nan)
        failed = np.zeros(table.shape, dtype=bool)
        failed[columns["controller"], block, unit] = ~np.isfinite(values)
        table = np.where(failed, worst[None, :, None], table)
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(table, np.finfo(float).tiny))
        # A partial result lacks runs.
        known = np.isfinite(logs)
        controllers = np.flatnonzero(known.any(axis=(1, 2)))
        kept = np.flatnonzero(known[controllers].any(axis=2).all(axis=0))
        logs = logs[controllers][:, kept]
        names = self.group_names("controller")
        complete = np.isfinite(logs).all(axis=(0, 1)) if logs.size else slice(None)
        return [names[k] for k in controllers.tolist()], logs[:, :, complete]

    @cached_property
    def joints(self) -> dict[str, list[str]]:
        """Joint names of each robot."""
        return self.names["joints"]

    def to_csv(self, path: str | Path) -> Path:
        """Write all runs as a CSV table, with robots, tasks, cases and controllers as indices."""
        write_table({k: (v, self.units[k]) for k, v in self.columns.items()}, Path(path))
        return Path(path)

    def to_html(self, path: str | Path) -> Path:
        """Write the report as one HTML file without external resources."""
        from brazo.study.report import write_study_report

        return write_study_report(self, path)


def read_results(path: str | Path) -> StudyResults:
    """Read the results of a study from its folder or its file results.parquet."""
    path = Path(path)
    source = parquet_source(path / "results.parquet" if path.is_dir() else path)
    columns = {name: values for name, (values, _) in source.columns().items()}
    return StudyResults(columns, source.units, source.about, source.events)


def proportion(successes: int, runs: int) -> Interval:
    """Return a fraction with its 95 % confidence interval (Wilson, 1927)."""
    if not runs:
        return Interval(math.nan, math.nan, math.nan)
    p, z2 = successes / runs, Z * Z
    middle = (p + z2 / (2 * runs)) / (1 + z2 / runs)
    half = Z / (1 + z2 / runs) * math.sqrt(p * (1 - p) / runs + z2 / (4 * runs * runs))
    return Interval(p, max(0.0, middle - half), min(1.0, middle + half))
