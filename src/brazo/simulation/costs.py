"""Computing time of a simulation step and of its parts.

The complete step, the tasks, and the recording and control after the engine's step are always
timed.  The engine's step, and the control and recording before it, are timed in at most every 17th
step, to keep the overhead negligible.  17 is a prime number, which avoids aliasing with other
periodic work.
"""

from __future__ import annotations

from dataclasses import dataclass

EVERY = 17  # steps


@dataclass(frozen=True, slots=True)
class Costs:
    """Mean computing time per step (µs) by part, and the real-time factor."""

    engine: float
    control: float
    recording: float
    other: float
    real_time_factor: float
    steps: int

    @property
    def parts(self) -> dict[str, float]:
        """Computing time per step (µs) of each part."""
        return {name: getattr(self, name) for name in ("engine", "control", "recording", "other")}

    @property
    def total(self) -> float:
        """Total computing time per step (µs)."""
        return sum(self.parts.values())

    @property
    def control_share(self) -> float:
        """Fraction (0 to 1) of the total computing time used by the controllers."""
        return self.control / self.total if self.total else 0.0

    def __str__(self) -> str:
        return (
            f"{self.total:.1f} µs per step: engine {self.engine:.1f}, control {self.control:.1f}, "
            f"recording {self.recording:.1f}, other {self.other:.1f}; "
            f"{self.real_time_factor:.1f} times real time"
        )


class Meter:
    """Accumulator of the computing times of a simulation."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Reset all sums to zero."""
        self.steps = 0
        self.whole = self.tasks = self.deriving = 0.0  # s, sums over all steps
        self.control = self.recording = 0.0  # s, sums over all steps: the part after the engine
        self._samples, self._next = 0, 0
        self._sampled = [0.0, 0.0, 0.0]  # s, sums of the samples: control, recording, engine

    @property
    def samples(self) -> bool:
        """Whether the parts of the next step should be timed."""
        return self.steps >= self._next

    def sample(self, control: float, recording: float, engine: float) -> None:
        """Add the times (s) that one step spent on control, recording and the engine."""
        self._samples, self._next = self._samples + 1, self.steps + EVERY
        for i, part in enumerate((control, recording, engine)):
            self._sampled[i] += part

    def costs(self, dt: float) -> Costs:
        """Return the mean computing times of all steps so far; `dt` (s) is the step size."""
        mean = 1e6 / max(self.steps, 1)
        whole, deriving = mean * self.whole, mean * self.deriving
        control, recording = mean * self.control, mean * self.recording
        left = whole - mean * self.tasks - deriving - control - recording
        total = sum(self._sampled)
        # Sampled steps may be slower than the mean; their parts must not exceed what was measured.
        share = min(1e6 / max(self._samples, 1), left / total if total else 0.0)
        control += share * self._sampled[0]
        recording += share * self._sampled[1] + deriving
        engine = share * self._sampled[2]
        factor = dt * 1e6 / whole if whole else 0.0
        other = max(whole - engine - control - recording, 0.0)
        return Costs(engine, control, recording, other, factor, self.steps)
