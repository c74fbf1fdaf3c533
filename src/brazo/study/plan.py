"""`StudyPlan`: the runs of any kind of study, numbered and divided into chunks.

A study consists of groups of runs.  Each group has one run for every row of the factors (one value
of each factor) and every repetition.  The random numbers of a run depend only on the seed of the
study, the row and the repetition, so they are the same in all groups.
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
    """Indices of the robot, task, case and controller that the runs of one group share."""

    robot: int
    task: int
    case: int
    controller: int


@dataclass(frozen=True, slots=True)
class RunChunk:
    """Consecutive runs of one group, which are computed and stored together."""

    number: int
    group: RunGroup
    first: int  # number of the first run
    rows: np.ndarray  # (count,) rows of the factors
    repetitions: np.ndarray  # (count,)


@dataclass(frozen=True, slots=True, eq=False)
class ChunkTable:
    """Result columns (count,) of a chunk by name, and the reasons why runs failed."""

    columns: dict[str, np.ndarray]
    failures: list[dict[str, Any]]  # t (number of the run), text, step


class StudyPlan(abc.ABC):
    """Base class of studies: defines their runs, chunks and result columns."""

    #: Columns of the results that are indices into lists of names.  The key of a list in `names` is
    #: the plural, e.g. "robots".
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
        self._make_caches()

    def __getstate__(self) -> dict[str, Any]:
        derived = ("rows", "chunks", "fingerprint", "columns", "groups")
        return {k: v for k, v in vars(self).items() if k not in derived and not k.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_caches()

    def _make_caches(self) -> None:  # noqa: B027 (a study need not have caches)
        """Create empty caches; called when the study is created, and after unpickling."""

    # ---- of each kind of study -------------------------------------------------------------

    @cached_property
    @abc.abstractmethod
    def groups(self) -> list[RunGroup]:
        """Groups of runs, in order."""

    @cached_property
    @abc.abstractmethod
    def columns(self) -> dict[str, str]:
        """Units of the result columns, by column name."""

    @cached_property
    @abc.abstractmethod
    def fingerprint(self) -> str:
        """Hash of the inputs of the study, which identifies its results."""

    @property
    @abc.abstractmethod
    def names(self) -> dict[str, Any]:
        """Data for reports, by key, including the names of robots, tasks, cases and controllers.

        The results contain indices into these lists of names.  All values can be written as JSON.
        """

    @abc.abstractmethod
    def chunk_size(self, group: RunGroup) -> int:
        """Return the number of runs per chunk of a group; it does not depend on the computer."""

    @abc.abstractmethod
    def compiled(self, group: RunGroup) -> bool:
        """Return whether a group is computed in machine code, which can use threads."""

    @abc.abstractmethod
    def compute(self, number: int) -> ChunkTable:
        """Compute the runs of chunk `number`.

        A failed run has no metrics; the reason is in `ChunkTable.failures`.
        """

    # ---- runs ------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """Values (rows,) of each factor, by name."""
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
        """All runs, divided into chunks in the same way on every computer."""
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
        """Return the random seeds (count,) of runs; they are the same for all groups."""
        pairs = zip(rows.tolist(), repetitions.tolist(), strict=True)
        return np.array(
            [np.random.SeedSequence([self.seed, *pair]).generate_state(1)[0] for pair in pairs],
            dtype=np.int64,
        )

    def empty_columns(self, chunk: RunChunk) -> dict[str, np.ndarray]:
        """Return the columns (count,) of a chunk before it is computed.

        Run numbers, group indices, rows, repetitions and factors are set; all other columns are
        NaN.
        """
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
        """Compute all runs that are missing in the folder; see `brazo.study.run_study`."""
        from brazo.study.execution import run_study

        return run_study(self, folder, **options)

    # ---- checks ----------------------------------------------------------------------------

    def check_success(self) -> None:
        """Raise BrazoError if `success` has an unknown metric or a max value that is not finite."""
        for name, limit in self.success.items():
            self.check_metric(name)
            if not math.isfinite(limit):
                raise BrazoError(f"success: {name}: the limit is {limit:g}; it must be finite")

    def check_metric(self, name: str) -> None:
        """Raise BrazoError if the results have no such metric."""
        first = list(self.columns).index("failed_at")
        allowed = list(self.columns)[first + 1 :]
        if name not in allowed:
            raise BrazoError(f"no metric '{name}'; metrics: {', '.join(allowed)}")

    def check_numbers(self, *more: str) -> None:
        """Raise BrazoError if a count, the sampling method or the seed is not valid.

        Counts are `samples`, `repetitions` and the fields named in `more`.
        """
        for name in ("samples", "repetitions", *more):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise BrazoError(f"study: {name} = {value!r}; it must be an integer of at least 1")
        if self.sampling not in SAMPLINGS:
            raise BrazoError(
                f"study: sampling '{self.sampling}'; expected {' or '.join(SAMPLINGS)}"
            )
        if not isinstance(self.seed, int) or self.seed < 0:
            raise BrazoError(f"study: seed = {self.seed!r}; it must be an integer of at least 0")


@lru_cache(maxsize=2)
def _known_rows(
    factors: tuple[tuple[str, Factor], ...], samples: int, sampling: str, seed: int
) -> dict[str, np.ndarray]:
    """Return the result of `factor_rows`, cached.

    Without the cache, a worker would compute the rows again for every chunk.
    """
    found = factor_rows(dict(factors), samples, sampling, seed)
    for column in found.values():
        column.flags.writeable = False
    return found


def compute_chunk(study: StudyPlan, number: int) -> ChunkTable:
    """Compute the runs of chunk `number`; called by threads, processes and cluster workers."""
    return study.compute(number)
