"""What a task says of the steps to come: how many need no tick, and what would change that.

A `Guard` is a question about the engine's numbers that machine code asks before every step of a
stretch: as long as its kernel gives a number above 0, a tick would do nothing.  It may be cautious:
one that speaks too early only costs time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from brazo.codegen import Kernel


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A kernel with one number as its result, and the memory it reads: views of the engine's own
    arrays, one for each input."""

    kernel: Kernel
    inputs: tuple[np.ndarray, ...]

    @property
    def calm(self) -> bool:
        """What it says now."""
        return float(self.kernel(*self.inputs)[0]) > 0.0


@dataclass(slots=True, eq=False)
class Idle:
    """So many steps from the next one on need no tick while the guards are calm.

    Steps in which a contact begins or ends, or a clamp takes hold or lets go, end a stretch anyway.
    """

    steps: int
    guards: list[Guard] = field(default_factory=list)
