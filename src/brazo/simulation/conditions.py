"""`Condition`: a number that machine code computes after every step of a batch.

A task with a list `conditions` needs no call before its `due` time as long as all of them are above
0; a batch of native steps ends after the first step in which one is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brazo.codegen import Kernel


@dataclass(frozen=True, eq=False)
class Condition:
    """Condition `result > 0` of a kernel with one result; its inputs are arrays of the engine."""

    kernel: Kernel
    inputs: tuple[np.ndarray, ...]

    @property
    def holds(self) -> bool:
        """Whether the number is above 0 now."""
        return bool(self.kernel(*self.inputs)[0] > 0.0)
