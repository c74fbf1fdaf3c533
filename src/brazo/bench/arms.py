"""The benchmarked arms: the Puma 560, a 6R arm without special geometry, and the UR5e (IK only).

The Puma has right angles between its axes and many inertias that are 0.  Code generation removes
the operations with these zeros.  The arm `general` has no right angles, no parallel axes, no
lengths of 0 and full inertia tensors, so no operations can be removed.  The computing
times of other six-joint arms are between those of the Puma and of `general`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from brazo.formats.load import Source
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.robot import Robot, load

__all__ = ["States", "general_arm", "puma", "states", "ur5e"]

_GENERAL = """\
name: general
about: A 6R arm without special geometry, for measuring.
joints:
  - {d: 0.41, a: 0.12, alpha: -71deg, mass: 7.1, com: [0.03, -0.05, 0.11],
     inertia: [[0.22, 0.013, -0.021], [0.013, 0.25, 0.017], [-0.021, 0.017, 0.19]]}
  - {d: 0.13, a: 0.38, alpha: 23deg, mass: 6.2, com: [-0.17, 0.04, 0.06],
     inertia: [[0.11, -0.009, 0.015], [-0.009, 0.34, 0.011], [0.015, 0.011, 0.31]]}
  - {d: -0.08, a: 0.07, alpha: 64deg, mass: 4.3, com: [0.05, 0.07, -0.04],
     inertia: [[0.061, 0.007, 0.004], [0.007, 0.052, -0.006], [0.004, -0.006, 0.047]]}
  - {d: 0.36, a: 0.05, alpha: -57deg, mass: 2.6, com: [0.02, -0.03, 0.09],
     inertia: [[0.021, -0.002, 0.003], [-0.002, 0.024, 0.001], [0.003, 0.001, 0.015]]}
  - {d: 0.09, a: -0.04, alpha: 48deg, mass: 1.4, com: [-0.01, 0.03, 0.02],
     inertia: [[0.0061, 0.0004, -0.0007], [0.0004, 0.0052, 0.0005], [-0.0007, 0.0005, 0.0043]]}
  - {d: 0.11, a: 0.03, alpha: 19deg, mass: 0.6, com: [0.01, 0.02, 0.03],
     inertia: [[0.0011, 0.0001, 0.0002], [0.0001, 0.0013, -0.0001], [0.0002, -0.0001, 0.0008]]}
"""


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """Random states of one arm as arrays (N, n); `tau` are the joint torques that cause `qdd`."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


@lru_cache(maxsize=1)
def puma() -> Robot:
    """The Puma 560 with rigid links, without friction and motor inertia."""
    return load("puma560")


@lru_cache(maxsize=1)
def general_arm() -> Robot:
    """The 6R arm without special geometry; see the docstring of this module."""
    file = RobotFile.parse(_GENERAL)
    return Robot(Source(file.build(), file.build))


@lru_cache(maxsize=1)
def ur5e() -> Robot:
    """The UR5e, whose axes 2 to 4 are parallel."""
    return load("ur5e")


def states(arm: Robot, count: int, seed: int = 0) -> States:
    """Return `count` random states of an arm.

    Angles are within ±2 rad, speeds within ±2 rad/s and accelerations within ±5 rad/s².
    """
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-2.0, 2.0, (2, count, arm.n))
    qdd = rng.uniform(-5.0, 5.0, (count, arm.n))
    return States(q, qd, qdd, arm.inverse_dynamics(q, qd, qdd))
