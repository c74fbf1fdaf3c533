"""What a step leaves behind, copied raw: whole arrays of the engine, row by row.

A row belongs to the moment t a step starts from.  Positions, speeds and references are copied
before the step; accelerations, forces and contacts, which the engine computes from them, after it.
So all numbers of a row fit each other: M q̈ + C q̇ + G = τ + τ_ext holds in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray
ROWS = 1000


class Block:
    """Room for some rows of one compiled world."""

    def __init__(self, model: Any, references: int, grasps: int, pairs: int, rows: int) -> None:
        self.rows = rows
        self.filled = 0
        self.t = np.zeros(rows)
        self.qpos = np.zeros((rows, model.nq))
        self.qvel = np.zeros((rows, model.nv))
        self.qacc = np.zeros((rows, model.nv))
        self.force = np.zeros((rows, model.nu))
        self.reference = np.zeros((rows, references))
        self.contact = np.zeros((rows, model.nbody, 6))  # moment and force about the tree's middle
        self.axes = np.zeros((rows, model.nv, 6))  # of every joint, about the same points
        self.sensors = np.zeros((rows, model.nsensordata))
        self.energy = np.zeros((rows, 2))
        self.held = np.zeros((rows, grasps))
        self.distance = np.zeros((rows, pairs))

    def before(self, data: Any, references: Sequence[tuple[slice, Any]]) -> None:
        """The state a step starts from."""
        k = self.filled
        self.t[k] = data.time
        self.qpos[k] = data.qpos
        self.qvel[k] = data.qvel
        row = self.reference[k]
        for place, robot in references:
            row[place] = robot.motion.row

    def after(self, data: Any) -> None:
        """What the step computed from it; completes the row."""
        k = self.filled
        self.qacc[k] = data.qacc
        self.force[k] = data.actuator_force
        self.contact[k] = data.cfrc_ext
        self.axes[k] = data.cdof
        self.sensors[k] = data.sensordata
        self.energy[k] = data.energy
        self.filled = k + 1

    @property
    def full(self) -> bool:
        return self.filled == self.rows
