"""`StudyPlan`: the runs of any kind of study, numbered and divided into chunks.

A study describes groups of runs, each with one run for every row of the factors and every
repetition.  Row and repetition alone determine the random numbers of a run, so that all groups meet
the same conditions.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brazo.errors import BrazoError
from brazo.study.factors import SAMPLINGS, Factor, Sampling, factor_rows

if TYPE_CHECKING:
    from brazo.study.results import StudyResults


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs with the same robot, task, case and controller, by index."""

    robot: int
    task: int
    case: int
    controller: int


@dataclass(frozen=True, slots=True)
class RunChunk:
    """Consecutive runs of one group, computed and stored together."""

    number: int
    group: RunGroup
    first: int  # number of the first run
    rows: np.ndarray  # (count,) rows of the factors
    repetitions: np.ndarray  # (count,)


@dataclass(frozen=True, slots=True, eq=False)
class ChunkTable:
    """Columns (count,) of the results by name, and the reasons of failed runs."""

    columns: dict[str, np.ndarray]
    failures: list[dict[str, Any]]  # t (number of the run), text, step


class StudyPlan(abc.ABC):
    """Base class of studies: their runs, chunks and columns, as needed to execute them."""

    #: Columns of the results that are indices of names; `names` has their plurals.
    GROUPS: tuple[str, ...] = ("robot", "task", "case", "controller")

    def __init__(
        self,
        name: str,
        about: str,
        factors: Mapping[str, Factor] | None,
        samples: int,
        sampling: Sampling,
        repetitions: int,
        seed: int,
        success: Mapping[str, float] | None,
    ) -> None:
        self.name, self.about = name, about
        self.factors = dict(factors or {})
        self.samples, self.repetitions, self.seed = samples, repetitions, seed
        self.sampling: Sampling = sampling
        self.success = dict(success or {})
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        derived = ("rows", "chunks", "fingerprint", "columns", "groups")
        return {k: v for k, v in vars(self).items() if k not in derived and not k.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def _forget(self) -> None:  # noqa: B027 (a study need not derive anything)
        """Discard all cached values that are derived from the description."""

    # ---- of each kind of study -------------------------------------------------------------

    @cached_property
    @abc.abstractmethod
    def groups(self) -> list[RunGroup]:
        """The groups of runs, in order."""

    @cached_property
    @abc.abstractmethod
    def columns(self) -> dict[str, str]:
        """Columns of the results and their units."""

    @cached_property
    @abc.abstractmethod
    def fingerprint(self) -> str:
        """A key that is equal only for studies with the same results."""

    @property
    @abc.abstractmethod
    def names(self) -> dict[str, Any]:
        """Names to which the columns of numbers refer, and facts for reports; JSON-compatible."""

    @abc.abstractmethod
    def chunk_size(self, group: RunGroup) -> int:
        """Number of runs of a chunk of a group; it does not depend on the computer."""

    @abc.abstractmethod
    def compiled(self, group: RunGroup) -> bool:
        """Whether the runs of a group are machine code, which threads can share."""

    @abc.abstractmethod
    def compute(self, number: int) -> ChunkTable:
        """Compute the runs of a chunk; a run that fails is a row with the reason."""

    # ---- runs ------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """Values (rows,) of the factors, by name."""
        factors = tuple(self.factors.items())
        return dict(_known_rows(factors, self.samples, self.sampling, self.seed))

    @property
    def row_count(self) -> int:
        """Number of rows of the factors."""
        return len(next(iter(self.rows.values()))) if self.rows else 1

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.groups) * self.row_count * self.repetitions

    @cached_property
    def chunks(self) -> list[RunChunk]:
        """The runs, divided into chunks in the same way on every computer."""
        found: list[RunChunk] = []
        per_group = self.row_count * self.repetitions
        for k, group in enumerate(self.groups):
            size = self.chunk_size(group)
            for start in range(0, per_group, size):
                within = np.arange(start, min(start + size, per_group))
                rows, repetitions = np.divmod(within, self.repetitions)
                found.append(RunChunk(len(found), group, k * per_group + start, rows, repetitions))
        return found

    def run_seeds(self, rows: np.ndarray, repetitions: np.ndarray) -> np.ndarray:
        """Seeds (count,) of the random numbers of runs; the same for all groups."""
        pairs = zip(rows.tolist(), repetitions.tolist(), strict=True)
        return np.array(
            [np.random.SeedSequence([self.seed, *pair]).generate_state(1)[0] for pair in pairs],
            dtype=np.int64,
        )

    def empty_columns(self, chunk: RunChunk) -> dict[str, np.ndarray]:
        """Columns (count,) of a chunk: numbers, groups and factors; metrics are NaN."""
        count = len(chunk.rows)
        columns = {name: np.full(count, np.nan) for name in self.columns}
        columns["run"] = chunk.first + np.arange(count, dtype=float)
        for name in self.GROUPS:
            columns[name] = np.full(count, float(getattr(chunk.group, name)))
        columns["row"], columns["repetition"] = chunk.rows * 1.0, chunk.repetitions * 1.0
        for name, values in self.rows.items():
            columns[name] = values[chunk.rows]
        return columns

    def run(self, folder: str | Path, **options: Any) -> StudyResults:
        """Compute all runs that the folder does not have yet; see `brazo.study.run_study`."""
        from brazo.study.execution import run_study

        return run_study(self, folder, **options)

    # ---- checks ----------------------------------------------------------------------------

    def check_success(self) -> None:
        """Check the max values of metrics."""
        for name, limit in self.success.items():
            self.check_metric(name)
            if not math.isfinite(limit):
                raise BrazoError(f"success: {name}: the limit must be finite")

    def check_metric(self, name: str) -> None:
        """Raise if the results have no such metric."""
        first = list(self.columns).index("failed_at")
        allowed = list(self.columns)[first + 1 :]
        if name not in allowed:
            raise BrazoError(f"no metric '{name}'; metrics: {', '.join(allowed)}")

    def check_numbers(self, *more: str) -> None:
        """Raise if the numbers of samples and repetitions, and those in `more`, are not counts."""
        for name in ("samples", "repetitions", *more):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise BrazoError(f"study: {name} = {value!r}; it must be an integer of at least 1")
        if self.sampling not in SAMPLINGS:
            raise BrazoError(f"study: sampling '{self.sampling}': {' or '.join(SAMPLINGS)}")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise BrazoError(f"study: seed = {self.seed!r}; it must be an integer of at least 0")


@lru_cache(maxsize=2)
def _known_rows(
    factors: tuple[tuple[str, Factor], ...], samples: int, sampling: str, seed: int
) -> dict[str, np.ndarray]:
    """Rows of factors, cached: a worker receives the same study with each of its chunks."""
    found = factor_rows(dict(factors), samples, sampling, seed)
    for column in found.values():
        column.flags.writeable = False
    return found


def compute_chunk(study: StudyPlan, number: int) -> ChunkTable:
    """Compute the runs of a chunk; the function that threads, processes and workers call."""
    return study.compute(number)
