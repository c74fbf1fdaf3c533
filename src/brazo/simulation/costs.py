"""What a step costs and where the time goes.

The whole, tasks and the deriving of columns are always timed; the rest is divided by what every
seventeenth step says.  That costs next to nothing, and a prime number does not beat with whatever
else is done every so many steps.  Steps made in a stretch are timed in the same way, by the machine
code itself; what Python does to prepare and to end a stretch counts as other, but for the second
half of its last step, which is timed by part.
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
        self.whole = self.tasks = self.deriving = 0.0  # s, of all steps
        self.sampled = self.engine = self.control = self.recording = 0.0  # s, of some
        self.ends = [0.0, 0.0, 0.0]  # s, of steps ended after a stretch: engine, recording, control
        self.stretched, self.in_stretches = 0.0, 0  # s and steps, of machine code that makes many

    @property
    def apart(self) -> float:
        """What of the time of a stretch is known to be spent in steps (s)."""
        return self.stretched + sum(self.ends) + self.deriving

    def end(self, engine: float, recording: float, control: float) -> None:
        """The second half of the last step of a stretch (s)."""
        for i, part in enumerate((engine, recording, control)):
            self.ends[i] += part

    def stretch(
        self, steps: int, spent: float, engine: float, control: float, recording: float
    ) -> None:
        """Steps that were made in a stretch, and the parts of those that were timed (s)."""
        self.steps += steps
        self.in_stretches += steps
        self.sampled += engine + control + recording
        self.engine += engine
        self.control += control
        self.recording += recording
        self.stretched += spent

    def costs(self, dt: float) -> Costs:
        mean = 1e6 / max(self.steps, 1)
        plain = self.whole - self.tasks - self.deriving - sum(self.ends)
        share = mean * plain / self.sampled if self.sampled else 0.0
        engine, recording, control = (
            share * part + mean * end
            for part, end in zip(
                (self.engine, self.recording, self.control), self.ends, strict=True
            )
        )
        recording += mean * self.deriving
        whole = mean * self.whole
        factor = dt * 1e6 / whole if whole else 0.0
        other = max(whole - engine - control - recording, 0.0)
        return Costs(engine, control, recording, other, factor, self.steps)
