"""Ring buffer of the last steps of a world, for reproducing a divergence.

Before each step, MuJoCo's full integration state is copied into the buffer: positions, velocities,
controls, applied forces, active equalities and the solver's warm start.  From these states and the
model, the steps can be repeated bit for bit without the controllers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array

STEPS = 64


class LastSteps:
    """Ring buffer of the states at the start of the last steps of one compiled model."""

    def __init__(self, model: Any, steps: int = STEPS) -> None:
        mujoco = engine()
        self._model = model
        self.kind = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        self._get = mujoco.mj_getState
        self.ring = np.zeros((steps, mujoco.mj_stateSize(model, self.kind)))
        self._rows = list(self.ring)
        self.following = 0  # index of the next state; its row: modulo the number of rows

    def add(self, data: Any) -> None:
        """Store the current state, from which the next step starts."""
        i = self.following
        self._get(self._model, data, self._rows[i % len(self._rows)], self.kind)
        self.following = i + 1

    def clear(self) -> None:
        """Discard all states; call this when the next step does not continue from them."""
        self.following = 0

    def states(self) -> Array:
        """Return the stored states (steps, size), oldest first."""
        n, end = len(self._rows), self.following
        order = [i % n for i in range(max(0, end - n), end)]
        return self.ring[order]


def model_bytes(model: Any) -> Array:
    """Return a compiled model as bytes (uint8 array) in MuJoCo's binary format MJB."""
    mujoco = engine()
    buffer = np.zeros(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer


def model_of(data: Array) -> Any:
    """Return the compiled model that `model_bytes` converted to the bytes `data`."""
    mujoco = engine()
    return mujoco.MjModel.from_binary_path("dump.mjb", {"dump.mjb": data.tobytes()})
