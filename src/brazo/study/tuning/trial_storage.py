"""Trials of a search in Optuna: the sampler, and a storage from which a search continues.

Candidates are requested in batches.  The sampler uses trials in memory and is created for each
batch from the seed and the number of the batch.  A complete batch is then added to the storage.  A
search that was killed therefore continues with the first incomplete batch, with the same candidates
as without the interruption.

A database may come from an untrusted source.  Optuna unpickles the state of its CMA-ES sampler and
snapshots in Redis, and unpickling can run any code.  Therefore another CMA-ES is used (see
`cma_es`), only known attributes of trials are read, and Redis is rejected.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from brazo.errors import BrazoError

SAMPLERS = ("cmaes", "tpe", "nsga2", "random")
_KEY = "brazo tuning"
_GENERATION = "NSGAIISampler:generation"  # an integer, the only attribute a sampler needs


class TrialStorage:
    """Trials of one search; `url` is the URL of a database, or None (in memory)."""

    def __init__(self, url: str | None, name: str, objectives: int, fingerprint: str) -> None:
        self.url, self.name, self._directions = url, name, ["minimize"] * objectives
        self._stored: Any = None
        with quiet() as optuna:
            if url is not None:
                self._stored = _open(optuna, url, name, self._directions, fingerprint)
            self._memory = optuna.create_study(directions=self._directions)

    def trials(self) -> list[Any]:
        """Return the stored trials, in order."""
        return [] if self._stored is None else list(self._stored.get_trials(deepcopy=False))

    def remember(self, trials: Sequence[Any]) -> None:
        """Copy stored trials to the trials in memory, which the sampler uses."""
        with quiet() as optuna:
            self._memory.add_trials([_copy(optuna, trial) for trial in trials])

    def ask(
        self,
        count: int,
        space: Mapping[str, Any],
        given: Sequence[Mapping[str, float]],
        sampler: str,
        seed: int,
    ) -> list[Any]:
        """Return `count` new trials; the first trials have the `given` parameters."""
        with quiet() as optuna:
            for parameters in given:
                self._memory.enqueue_trial(dict(parameters))
            self._memory.sampler = _sampler(optuna, sampler, seed, count)
            return [self._memory.ask(dict(space)) for _ in range(count)]

    def tell(self, trials: Sequence[Any], values: np.ndarray, known: int) -> None:
        """Finish a batch of trials with the scores `values` (trials, objectives), and store it.

        The first `known` trials of the batch are already in the storage.
        """
        with quiet() as optuna:
            done = [
                self._memory.tell(trial, [float(v) for v in row])
                for trial, row in zip(trials, values, strict=True)
            ]
            if self._stored is None:
                return
            expected = done[0].number + known
            if len(self.trials()) != expected:
                raise BrazoError(
                    f"tune: another process has added trials to '{self.name}' in {self.url}; "
                    "use another name"
                )
            self._stored.add_trials([_copy(optuna, trial) for trial in done[known:]])


@contextlib.contextmanager
def quiet() -> Iterator[Any]:
    """Import Optuna and suppress its messages on the terminal (context manager)."""
    try:
        import optuna
    except ImportError:
        raise BrazoError('tuning needs Optuna: pip install "brazo[tuning]"') from None
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental options
            yield optuna
    finally:
        optuna.logging.set_verbosity(level)


def _open(optuna: Any, url: str, name: str, directions: list[str], fingerprint: str) -> Any:
    import sqlalchemy.exc

    if url.startswith("redis"):
        raise BrazoError(
            f"tune: storage '{url}' cannot be used: data in Redis can run code when it is read; "
            "use a database, e.g. sqlite:///tuning.db"
        )
    try:
        study = optuna.create_study(
            storage=url, study_name=name, directions=directions, load_if_exists=True
        )
        known = study.user_attrs.get(_KEY)
        if known is None:
            if study.get_trials(deepcopy=False):
                raise BrazoError(
                    f"tune: '{name}' in {url} is an Optuna study that brazo did not create; "
                    "use another name"
                )
            study.set_user_attr(_KEY, fingerprint)
    except BrazoError:
        raise
    except (sqlalchemy.exc.SQLAlchemyError, ImportError, ValueError, RuntimeError) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BrazoError(
            f"tune: storage '{url}' cannot be used: {text}; expected e.g. sqlite:///tuning.db"
        ) from None
    if known is not None and known != fingerprint:
        raise BrazoError(
            f"tune: '{name}' in {url} has the trials of another robot, controller, task, case, "
            "seed, batch or search space; use another name or storage"
        )
    return study


def _sampler(optuna: Any, kind: str, seed: int, count: int) -> Any:
    samplers = optuna.samplers
    if kind == "tpe":
        return samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=1)
    if kind == "nsga2":
        return samplers.NSGAIISampler(seed=seed, population_size=count)
    return samplers.RandomSampler(seed=seed)


def _copy(optuna: Any, trial: Any) -> Any:
    generation = trial.system_attrs.get(_GENERATION)
    return optuna.trial.create_trial(
        state=trial.state,
        values=trial.values,
        params=trial.params,
        distributions=trial.distributions,
        system_attrs={_GENERATION: generation} if isinstance(generation, int) else {},
    )
