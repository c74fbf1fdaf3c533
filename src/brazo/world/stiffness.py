"""Decay rate of joint velocities due to friction, which limits the step of the integrator.

Let B be the derivative of the friction torque with respect to velocity: the viscous coefficient,
plus T/v₀ for smoothed dry friction (torque T, smoothing velocity v₀).  Velocities then decay at the
rates λ, the eigenvalues of M⁻¹B, where M is the mass matrix.  With a step h, classic Runge–Kutta is
stable up to h λ = 2.78.  If the friction torque is constant over the step, the limit is h λ = 2.  A
light link with a geared drive often has λ above 1/ms, so `exact` mode divides a step into substeps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.world.robot_elements import Member

__all__ = ["MAX_SUBSTEPS", "Stiffness", "stiffness_of"]

MAX_SUBSTEPS = 100
SAMPLES = 8  # random configurations, in addition to that at `qpos0`
_STABLE = 2.0


@dataclass(frozen=True, slots=True)
class Stiffness:
    """The largest decay rate λ of a model, and the joint in which it occurs."""

    rate: float = 0.0  # 1/s
    joint: str = ""

    def substeps(self, step: float) -> int:
        """Return into how many substeps to divide a step (s), so that h λ ≤ 1 for a substep h (s).

        The number is at most `MAX_SUBSTEPS`.
        """
        return min(max(1, math.ceil(self.rate * step)), MAX_SUBSTEPS)

    def advice(self, step: float) -> str:
        """Return a message with a recommendation if the step (s) is too long, otherwise ""."""
        if self.rate * step <= _STABLE:
            return ""
        return (
            f"The friction of joint '{self.joint}' is too large for steps of {step:.3g} s: "
            f"velocities decay within {1.0 / self.rate:.3g} s. Use a step below "
            f"{_STABLE / self.rate:.2g} s, less friction or more armature"
        )


def stiffness_of(model: Any, members: Sequence[Member], *, viscous: bool) -> Stiffness:
    """Return the largest decay rate of a compiled model in a sample of configurations.

    If `viscous` is False, only smoothed dry friction is considered, because the engine integrates
    viscous friction implicitly.
    """
    B = np.array(model.dof_damping) if viscous else np.zeros(model.nv)
    for member in members:
        if member.friction.smooth:
            dof = int(model.joint(member.element.name).dofadr[0])
            B[dof] += max(member.friction.coulomb) / member.friction.smooth
    if not B.any():
        return Stiffness()
    mujoco = engine()
    data, rng, found = mujoco.MjData(model), np.random.default_rng(0), Stiffness()
    single = model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)
    at = model.jnt_qposadr[single]
    low, high = model.jnt_range[single].T
    limited = model.jnt_limited[single].astype(bool)
    low, high = np.where(limited, low, -1.0), np.where(limited, high, 1.0)
    inverse, unit, root = np.zeros((model.nv, model.nv)), np.eye(model.nv), np.sqrt(B)
    for k in range(1 + SAMPLES):
        if k:
            data.qpos[at] = rng.uniform(low, high)
        mujoco.mj_forward(model, data)
        mujoco.mj_solveM(model, data, inverse, unit)
        if not np.isfinite(inverse).all():  # a singular mass matrix is reported separately
            return Stiffness()
        rates, vectors = np.linalg.eigh(root[:, None] * inverse * root)
        if rates[-1] > found.rate:
            dof = int(np.abs(vectors[:, -1]).argmax())
            found = Stiffness(float(rates[-1]), model.joint(int(model.dof_jntid[dof])).name)
    return found
