"""Kinematic analysis of an arm at one configuration, formatted for display.

Singularities are detected with the scaled Jacobian [J_v; L J_ω].  The characteristic length L makes
linear and angular rows comparable.  L is the largest distance of the tool from a revolute joint
axis.  With the singular values σ_1 ≥ … ≥ σ_m, where m is the number of degrees of freedom of the
tool, the condition number is κ = σ_1 / σ_m.  The right singular vector of σ_m is the joint motion
with the smallest tool motion.  A warning names the joints with the largest entries of this vector.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from brazo.kinematics.result import Branch
    from brazo.model.description import Model
    from brazo.robot import Robot

Array = np.ndarray
NEAR, AT = 0.02, 1e-6  # 1/κ below which the arm is near, or at, a singularity
ROUNDING = 1e-13  # relative to σ_1; smaller singular values count as zero
TAKES_PART = 0.3  # min entry of a joint named in the warning, relative to the largest entry


@dataclass(frozen=True, slots=True)
class DexterityFigures:
    """Dexterity measures of the Jacobian whose angular rows are scaled by the length L.

    They are Yoshikawa's manipulability, the condition number and the smallest singular value.
    """

    manipulability: float
    condition: float
    smallest: float
    length: float  # L, m
    warning: str  # empty away from singularities


def dexterity(arm: Robot, q: Array) -> DexterityFigures:
    """Compute the dexterity measures at q (n,), with a warning at or near a singularity."""
    length, m = reach(arm), max(arm.mobility, 1)
    J = np.array(arm.jacobian(q), dtype=float)
    J[3:] *= length
    _, sigma, motions = np.linalg.svd(J, full_matrices=False)
    m = min(m, len(sigma))
    sigma[sigma < ROUNDING * sigma[0]] = 0.0
    w, smallest = float(np.prod(sigma[:m])), float(sigma[m - 1])
    kappa = float(sigma[0] / smallest) if smallest > 0.0 else math.inf
    return DexterityFigures(w, kappa, smallest, length, _warning(arm, 1.0 / kappa, motions[m - 1]))


def _warning(arm: Robot, share: float, motion: Array) -> str:
    if share > NEAR:
        return ""
    size = np.abs(motion)
    names = [arm.joint_names[i] for i in np.flatnonzero(size > TAKES_PART * size.max())]
    if share < AT:
        words = f"{_listed(names)} can move without moving the tool"
        if len(names) == 1:
            words = f"{names[0]} moves without moving the tool"
        return f"Singular: {words}; in one direction the tool cannot move."
    return f"Near a singularity: a slow tool motion can require fast motion of {_listed(names)}."


@lru_cache(maxsize=32)
def reach(arm: Robot) -> float:
    """Characteristic length L (m): largest distance of the tool from a revolute joint axis.

    The maximum is taken over 64 random configurations.  Returns 1 if the arm has no revolute joint.
    """
    turns = [i for i, kind in enumerate(arm.joint_kinds) if kind == "revolute"]
    J = arm.jacobian(arm.random_q(64, seed=0))[:, :3, turns]
    found = float(np.linalg.norm(J, axis=1).max()) if turns else 0.0
    return found or 1.0


@lru_cache(maxsize=32)
def dh_table(model: Model) -> tuple[dict[str, str | float], ...]:
    """Rows of the D-H table in degrees and mm; the joint variables are shown as `q1`, `q2`, …

    Empty for a model without a D-H table, such as a closed-chain mechanism.
    """
    rows = []
    for i, row in enumerate(model.dh):
        turns = row.kind == "revolute"
        theta, d = math.degrees(row.constant_theta), 1000.0 * row.constant_d
        q = f"q{i + 1}"
        rows.append(
            {
                "id": i,
                "name": model.joint_names[i],
                "theta": _variable(q, theta, 1) if turns else _number(theta, 1),
                "d": _number(d, 2) if turns else _variable(q, d, 2),
                "a": _number(1000.0 * row.a, 2),
                "alpha": _number(math.degrees(row.alpha), 1),
            }
        )
    return tuple(rows)


def length_table(model: Model) -> list[dict[str, Any]]:
    """Rows with the link lengths (mm) of a mechanism that has no D-H table."""
    return [
        {"id": one.name, "name": one.name, "length": 1000.0 * one.value, "about": one.about}
        for one in model.lengths
    ]


def branches(arm: Robot, T: Array, q: Array) -> tuple[Branch, ...]:
    """Named IK solutions for the tool pose T (4, 4), sorted by name.

    q (n,) is the initial guess.  Solutions without a name are omitted.  Numeric IK gives names only
    for an arm with a redundancy parameter (seven revolute joints).
    """
    found = arm.ik(T, q0=q, redundancy="rule").all
    return tuple(sorted((one for one in found if one.name), key=lambda one: one.name))


def present(arm: Robot, q: Array, found: Sequence[Branch]) -> str:
    """Name of the IK branch that q (n,) belongs to; empty if unknown.

    The name is `Robot.configuration`.  If this is empty, as for an arm with seven joints, the
    result is the name of the IK solution in `found` that is nearest to q.
    """
    name = arm.configuration(q)
    if name or not found:
        return name
    return min(found, key=lambda one: float(np.abs(one.q - q).max())).name


def beyond(arm: Robot, branch: Branch) -> str:
    """Joints of an IK solution that are out of limits, with their positions, as text.

    Empty if all joints are within limits.
    """
    words = []
    for i in branch.limit_violations:
        turns = arm.joint_kinds[i] == "revolute"
        scale, unit = (180.0 / math.pi, "°") if turns else (1000.0, " mm")
        words.append(f"{arm.joint_names[i]} {scale * branch.q[i]:.1f}{unit}".replace("-", "−"))
    return _listed(words)


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _number(value: float, digits: int) -> str:
    text = f"{value + 0.0:.{digits}f}"
    return text.replace("-", "−") if text.strip("-0.") else text.lstrip("-")


def _variable(name: str, constant: float, digits: int) -> str:
    if not _number(constant, digits).strip("0."):
        return name
    sign = "−" if constant < 0 else "+"
    return f"{name} {sign} {_number(abs(constant), digits)}"
