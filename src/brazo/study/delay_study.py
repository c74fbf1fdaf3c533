"""`DelayStudy`: teleoperation over links with delay, jitter and loss, headless in simulated time.

Master and follower are the two robots of a cell.  These schemes are compared on the same links:

    follower         unilateral, without contact: the master's joints oscillate, and the follower
                     copies them with its limits and safety rules (`brazo.teleop.follow.Follower`)
    position-force   position to the follower and force to the master, not compensated for delay
    wave-variables   bilateral control that is passive for every delay

In the last two schemes a simulated hand moves the master, so that the follower's tool presses on a
wall (`brazo.teleop.bilateral.Pair`).

    study = DelayStudy(factors={"delay": grid(0.0, 0.4, 9), "jitter": values(0.0, 0.5)})
    results = study.run("results/delay")
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from brazo.checks import one_of
from brazo.errors import BrazoError
from brazo.study.factors import Factor, Sampling
from brazo.study.plan import ChunkTable, RunGroup, StudyPlan
from brazo.study.scenario import listed
from brazo.world import Cell, load_cell

SCHEMES = ("follower", "position-force", "wave-variables")
FACTORS = {"delay": "s", "jitter": "", "loss": ""}
METRICS = {
    "tracking_rms": "m", "tracking_max": "m", "lag": "s", "moving": "m", "min_energy": "J",
    "max_force": "N", "held": "",
}  # fmt: skip
STEADY = {"moving": 1e-3}  # m: a run with more motion in the last 0.5 s is not stable


class DelayStudy(StudyPlan):
    """Study of teleoperation with delays; `brazo.study.load_study` reads one from a file.

    Parameters
    ----------
    cell : name, path or `Cell` with the robots `master` and `follower`.
    schemes : one or more of "follower", "position-force", "wave-variables"; default: all.
    factors : `delay` (s, one way); `jitter`, the max deviation from the delay as a fraction of the
        delay; `loss`, the fraction of lost packets.
    samples, sampling, repetitions, seed : as for `brazo.Study`.
    duration : duration of a run (s), at least 4.
    success : max value of each metric by name; default: {"moving": 1e-3}.  The metric `moving` is
        the peak-to-peak motion (m) of a tool in the last 0.5 s: that of the follower in the scheme
        "follower", that of the master in the other schemes.
    """

    GROUPS = ("controller",)

    def __init__(
        self,
        cell: str | Path | Cell = "teleop-wall",
        schemes: Sequence[str] = SCHEMES,
        *,
        name: str = "delay",
        about: str = "",
        factors: Mapping[str, Factor] | None = None,
        samples: int = 1,
        sampling: Sampling = "random",
        repetitions: int = 1,
        seed: int = 0,
        duration: float = 8.0,
        success: Mapping[str, float] | None = None,
    ) -> None:
        limits = STEADY if success is None else success
        super().__init__(name, about, factors, samples, sampling, repetitions, seed, limits)
        self.cell = cell if isinstance(cell, Cell) else load_cell(cell)
        self.schemes, self.duration = listed(schemes), duration
        self._check()

    def __repr__(self) -> str:
        return f"<brazo.study.DelayStudy {self.name}: {self.runs} runs of {self.duration:g} s>"

    @cached_property
    def groups(self) -> list[RunGroup]:
        """One group for each scheme."""
        return [RunGroup(0, 0, 0, k) for k in range(len(self.schemes))]

    def chunk_size(self, group: RunGroup) -> int:
        """Return the number of runs per chunk."""
        return 1

    def compiled(self, group: RunGroup) -> bool:
        """Return False: the runs are simulations in worker processes, not machine code."""
        return False

    def compute(self, number: int) -> ChunkTable:
        """Compute the runs of chunk `number`."""
        from brazo.study.delay_runs import compute_delay_runs

        return compute_delay_runs(self, number)

    @cached_property
    def columns(self) -> dict[str, str]:
        """Units of the result columns, by column name."""
        found = {"run": "", "controller": "", "row": "", "repetition": ""}
        found |= {name: FACTORS[name] for name in self.factors}
        return found | {"success": "", "failed_at": "s"} | METRICS

    @property
    def names(self) -> dict[str, Any]:
        """Data for reports, by key, such as the cell and the names of the schemes.

        The results have a column "controller": the index of the scheme in the list "controllers".
        """
        return {
            "kind": "delay",
            "cell": self.cell.name,
            "controllers": self.schemes,
            "factors": list(self.factors),
            "success": self.success,
            "duration": self.duration,
            "runs": self.runs,
        }

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the inputs of the study, which identifies its results."""
        from importlib.metadata import version

        from brazo.study.cell_study import cell_key

        content = {
            "versions": [version("brazo"), version("mujoco")],
            "cell": cell_key(self.cell),
            "schemes": self.schemes,
            "factors": {k: [f.kind, f.values] for k, f in self.factors.items()},
            "numbers": [
                self.samples, self.sampling, self.repetitions, self.seed, self.duration,
                self.success,
            ],
        }  # fmt: skip
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _check(self) -> None:
        self.check_numbers()
        names = [robot.name for robot in self.cell.robots]
        for needed in ("master", "follower"):
            if needed not in names:
                raise BrazoError(
                    f"cell '{self.cell.name}' has no robot '{needed}'; robots: {', '.join(names)}"
                )
        if not self.schemes:
            raise BrazoError("study: no schemes; give at least one")
        for scheme in self.schemes:
            one_of(scheme, SCHEMES, "scheme")
        if not (math.isfinite(self.duration) and self.duration >= 4.0):
            raise BrazoError(f"duration = {self.duration:g} s; it must be at least 4 s")
        for name, factor in self.factors.items():
            if name not in FACTORS:
                raise BrazoError(f"unknown factor '{name}'; factors: {', '.join(FACTORS)}")
            values = self.rows[name] if factor.kind == "normal" else np.array(factor.values)
            most = {"delay": math.inf, "jitter": 1.0, "loss": 0.99}[name]
            if values.min() < 0.0 or values.max() > most:
                allowed = f"from 0 to {most:g}" if math.isfinite(most) else "at least 0"
                raise BrazoError(f"factor '{name}': values must be {allowed}")
        self.check_success()
