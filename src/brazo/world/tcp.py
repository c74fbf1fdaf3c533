"""Tool centre points (TCPs) of a robot in a cell: named tool frames, of which one is selected.

A TCP is a pose in the frame of the last link, as for `Robot.with_tool`.  It sets the tool frame for
kinematics, jogging, programs and display.  It does not change bodies or masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from brazo.model.changes import Changed, tip_frame
from brazo.model.description import Array, Model, frozen
from brazo.model.transforms import invert


@dataclass(frozen=True, slots=True, eq=False)
class Tcp:
    """A named tool frame; `pose` (4, 4) is in the frame of the last link."""

    name: str
    pose: Array  # (4, 4) in the frame of the last link


def with_tcp(model: Model, pose: Array) -> Model:
    """Return the model with its tool frame at a pose (4, 4) in the frame of the last link.

    Results are cached: the same arguments return the same object, so that its compiled kernels are
    reused.
    """
    return _moved(model, np.ascontiguousarray(pose, dtype=float).tobytes())


def own_tcp(model: Model) -> Array:
    """Return the pose (4, 4) of a model's tool frame relative to its last link.

    Raises `BrazoError` for a robot with closed loops.
    """
    tree = model.require_tree("only serial and tree robots have tool centre points")
    return frozen(invert(tip_frame(tree)) @ tree.tool)


@lru_cache(maxsize=64)
def _moved(model: Model, pose: bytes) -> Model:
    T = frozen(np.frombuffer(pose).reshape(4, 4))
    return Changed(lambda _: model, tool=T).applied(model)
