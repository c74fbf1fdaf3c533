"""Decay rate of joint velocities due to friction, which limits the step of the integrator.

Friction with the slope B (viscous, and T/v₀ of smoothed dry friction) makes velocities decay at the
rates λ, the eigenvalues of M⁻¹B.  Classic Runge–Kutta is stable up to h λ = 2.78; a torque held
constant over the step, up to 2.  A light link behind a stiff gear often has λ above 1/ms, so
`exact` mode divides its step.
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
SAMPLES = 8  # sampled configurations, in addition to the start
_STABLE = 2.0


@dataclass(frozen=True, slots=True)
class Stiffness:
    """The largest decay rate and its joint."""

    rate: float = 0.0  # 1/s
    joint: str = ""

    def substeps(self, step: float) -> int:
        """Return the number of substeps of a step (s), such that h λ ≤ 1 in each."""
        return min(max(1, math.ceil(self.rate * step)), MAX_SUBSTEPS)

    def advice(self, step: float) -> str:
        """Return a recommendation if the step (s) is too long; otherwise an empty string."""
        if self.rate * step <= _STABLE:
            return ""
        return (
            f"The friction of joint '{self.joint}' is too stiff for steps of {step:.3g} s: it "
            f"damps a velocity within {1.0 / self.rate:.3g} s. Use a step below "
            f"{_STABLE / self.rate:.2g} s, less friction or more armature"
        )


def stiffness_of(model: Any, members: Sequence[Member], *, viscous: bool) -> Stiffness:
    """Compute the stiffness of a compiled model.

    If `viscous` is False, only smoothed dry friction counts: the engine's implicit integrator
    resolves viscous friction.
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
