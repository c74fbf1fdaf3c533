"""What a step costs and where the time goes.

The whole is always timed, its parts on every seventeenth step: that costs next to nothing, and a
prime number does not beat with whatever else is done every so many steps.
"""

from __future__ import annotations

from dataclasses import dataclass

EVERY = 17  # steps


@dataclass(frozen=True, slots=True)
class Costs:
    """Mean cost of a step (µs) by part, and how much faster than real time that is."""

    engine: float
    control: float
    recording: float
    other: float
    real_time_factor: float
    steps: int

    @property
    def total(self) -> float:
        """µs a step."""
        return self.engine + self.control + self.recording + self.other

    @property
    def control_share(self) -> float:
        """Part of the whole the controllers take, 0..1."""
        return self.control / self.total if self.total else 0.0

    def __str__(self) -> str:
        return (
            f"{self.total:.1f} µs a step: engine {self.engine:.1f}, control {self.control:.1f}, "
            f"recording {self.recording:.1f}, other {self.other:.1f}; "
            f"{self.real_time_factor:.1f} times real time"
        )


class Meter:
    """Adds up timed steps."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.steps = 0
        self.timed = 0
        self.engine = self.control = self.recording = self.whole = 0.0
        self.deriving = 0.0  # of whole blocks, always timed

    def costs(self, dt: float) -> Costs:
        share, steps = 1e6 / max(self.timed, 1), max(self.steps, 1)
        engine, control = share * self.engine, share * self.control
        recording = share * self.recording + 1e6 * self.deriving / steps
        whole = 1e6 * self.whole / steps
        other = max(whole - engine - control - recording, 0.0)
        factor = dt * 1e6 / whole if whole else 0.0
        return Costs(engine, control, recording, other, factor, self.steps)
