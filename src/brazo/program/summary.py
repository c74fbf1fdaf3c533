"""Summary of a run: goals, failure, unintended contacts, internal force, real-time factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brazo.program.execution import Execution, Failure
from brazo.program.monitor import Collision
from brazo.program.program import Goal
from brazo.recording.recording import Recording
from brazo.simulation import Costs

MEANT = 100  # steps; with fewer, the mean step time is dominated by start-up


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Summary of one run."""

    program: str
    succeeded: bool
    time: float  # s simulated
    goals: dict[Goal, float | None]  # time (s) at which each was reached
    failure: Failure | None
    collisions: tuple[Collision, ...]
    internal_force: float | None  # N, max while two robots hold a body; None if none did
    costs: Costs
    ended: bool = False  # stopped by the user before it was done

    @property
    def reached(self) -> int:
        """Number of goals reached."""
        return sum(when is not None for when in self.goals.values())

    @property
    def verdict(self) -> str:
        """Outcome of the run in one sentence."""
        if self.failure is not None:
            return f"failed at {self.failure.time:.2f} s: {self.failure}"
        if self.ended:
            return f"stopped by user after {self.time:.2f} s"
        if not self.succeeded:
            return f"not done after {self.time:.2f} s"
        return f"done in {self.time:.2f} s" + ("" if self.goals else ", no goals")

    def rows(self) -> dict[str, str]:
        """Return names and values as text, for a table."""
        found = {"simulated": f"{self.time:.2f} s"}
        by_chute: dict[str, list[tuple[str, float | None]]] = {}
        for goal, when in self.goals.items():
            if goal.chute is None:
                found[str(goal)] = "no" if when is None else f"yes, since {when:.2f} s"
            else:
                by_chute.setdefault(goal.chute, []).append((goal.body, when))
        for chute, bodies in by_chute.items():
            through = [f"{body} at {when:.2f} s" for body, when in bodies if when is not None]
            times = f" ({', '.join(through)})" if through else ""
            found[f"through {chute}"] = f"{len(through)} of {len(bodies)}{times}"
        found["unintended contacts"] = (
            "; ".join(str(one) for one in self.collisions) if self.collisions else "none"
        )
        if self.internal_force is not None:
            found["max internal force"] = f"{self.internal_force:.2f} N"
        if self.costs.steps >= MEANT:
            found["cost"] = str(self.costs)
        return found

    def plain(self) -> dict[str, Any]:
        """Return the summary as JSON-compatible data."""
        failure = self.failure
        return {
            "program": self.program,
            "succeeded": self.succeeded,
            "time": self.time,
            "goals": [{**goal.plain, "time": when} for goal, when in self.goals.items()],
            "failure": None if failure is None else str(failure),
            "ended": self.ended,
            "collisions": [
                {
                    "time": one.time,
                    "first": one.first,
                    "second": one.second,
                    "point": one.point.tolist(),
                    "force": one.force,
                    "passes_through": one.passes_through,
                }
                for one in self.collisions
            ],
            "internal_force": self.internal_force,
            "real_time_factor": self.costs.real_time_factor,
            "costs": self.costs.parts,
        }


def summarise(execution: Execution, recording: Recording | None = None) -> Summary:
    """Return the summary of a run; without `recording`, the internal force is None."""
    sim = execution.sim
    return Summary(
        execution.program.name,
        execution.succeeded,
        sim.time,
        execution.reached,
        execution.failure,
        tuple(execution.monitor.collisions),
        None if recording is None else _internal_force(recording),
        sim.costs,
        execution.ended,
    )


def _internal_force(recording: Recording) -> float | None:
    """Return the max internal force (N) while two robots hold the same body.

    The result is None if two robots never hold the same body, or if no internal force was recorded.
    The internal force between robots R and S is the norm of the recorded signals `internal.R-S.x`,
    `.y` and `.z`.
    """
    from brazo.recording.numbers import internal_forces, rows_shared

    found = [
        float(signals["force"][rows].max())
        for pair, signals in internal_forces(recording).items()
        if "force" in signals and (rows := rows_shared(recording, pair)).any()
    ]
    return max(found, default=None)
