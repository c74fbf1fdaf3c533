"""`Condition`: a condition that machine code checks after every step of a batch.

A task may have a list `conditions`.  While all of them hold, the task need not be called before its
`due` time.  A batch of steps in machine code ends after the first step in which a condition does
not hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brazo.codegen import Kernel


@dataclass(frozen=True, eq=False)
class Condition:
    """A condition that holds while the kernel (compiled function) returns a value above 0.

    `inputs` are the arguments of the kernel: arrays in the memory of the physics engine.
    """

    kernel: Kernel
    inputs: tuple[np.ndarray, ...]

    @property
    def holds(self) -> bool:
        """Whether the condition holds now."""
        return bool(self.kernel(*self.inputs)[0] > 0.0)
