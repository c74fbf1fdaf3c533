"""The last steps of a world, kept for the case that one of them breaks down.

Before every step all that the engine integrates from is copied into a ring (positions, speeds,
commands, applied forces, active equalities, the solver's warm start).  Together with the model they
repeat the steps to the bit, whoever gave the commands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array

STEPS = 64


class BlackBox:
    """The states the last steps of one compiled model started from."""

    def __init__(self, model: Any, steps: int = STEPS) -> None:
        mujoco = engine()
        self._model = model
        self.kind = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        self._get = mujoco.mj_getState
        self.ring = np.zeros((steps, mujoco.mj_stateSize(model, self.kind)))
        self._rows = list(self.ring)
        self.following = 0  # number of the next state; its row is the rest by their number

    def note(self, data: Any) -> None:
        """Keep the state a step is about to start from."""
        i = self.following
        self._get(self._model, data, self._rows[i % len(self._rows)], self.kind)
        self.following = i + 1

    def clear(self) -> None:
        """Forget everything: the steps to come do not follow from it."""
        self.following = 0

    def states(self) -> Array:
        """Oldest first (steps, size)."""
        n, end = len(self._rows), self.following
        order = [i % n for i in range(max(0, end - n), end)]
        return self.ring[order]


def model_bytes(model: Any) -> Array:
    """A compiled model to the last bit, as bytes in the engine's own format."""
    mujoco = engine()
    buffer = np.zeros(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer


def model_of(data: Array) -> Any:
    """The model of such bytes."""
    mujoco = engine()
    return mujoco.MjModel.from_binary_path("dump.mjb", {"dump.mjb": data.tobytes()})
