"""What contacts do to a robot: a wrench on each link, and torques for the analytic model.

    link b      w_b = Σ (±F_k, (p_k − o_b) × ±F_k ± N_k)     about the origin o_b of its frame
    joints      τ_ext = Nᵀ Σ_b J_bᵀ w_b                       to be added to τ in  M q̈ + C q̇ + G = τ

J_b is the Jacobian of body b with respect to every joint the engine has, N maps the rates of the
robot's own coordinates to those: mimics follow their master, rods and platform of a Delta follow
from its loops, J_loop N = 0.  Fingers count as part of the link that carries them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array
from brazo.world.contacts import Contacts

_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


class WrenchReader:
    """Sums contact forces by body of one compiled model."""

    def __init__(self, model: Any) -> None:
        self._mujoco = engine()
        self._model = model

    def on_bodies(self, contacts: Contacts, data: Any) -> Array:
        """Force and moment about the body frame's origin (bodies, 6), world axes.

        Body origins are those of the moment the contacts belong to.
        """
        wrench = np.zeros((self._model.nbody, 6))
        if not len(contacts):
            return wrench
        bodies = self._model.geom_bodyid[contacts.geoms]
        for column, sign in ((0, -1.0), (1, 1.0)):
            body = bodies[:, column]
            force = sign * contacts.force
            arm = contacts.point - data.xpos[body]
            np.add.at(wrench[:, :3], body, force)
            np.add.at(wrench[:, 3:], body, cross(arm, force) + sign * contacts.moment)
        return wrench

    def generalised(self, wrench: Array, data: Any) -> Array:
        """Σ J_bᵀ w_b for every degree of freedom of the model (nv,)."""
        total = np.zeros(self._model.nv)
        for body in np.flatnonzero(wrench.any(axis=1)):
            if body:
                self._mujoco.mj_applyFT(
                    self._model,
                    data,
                    wrench[body, :3],
                    wrench[body, 3:],
                    data.xpos[body],
                    int(body),
                    total,
                )
        return total

    def of_equalities(self, data: Any, equalities: list[int]) -> Array:
        """Generalised force (nv,) of the given equalities."""
        rows = equality_rows(data, equalities)
        J = np.array(data.efc_J).reshape(-1, self._model.nv)[rows]
        return J.T @ data.efc_force[rows]


def cross(a: Array, b: Array) -> Array:
    """Row by row; a good deal faster than numpy's for few rows."""
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def equality_rows(data: Any, equalities: list[int]) -> Array:
    """Where the given equalities stand among the engine's constraints."""
    kind = int(engine().mjtConstraint.mjCNSTR_EQUALITY)
    count = data.nefc
    return np.flatnonzero(
        (data.efc_type[:count] == kind) & np.isin(data.efc_id[:count], equalities)
    )


def loop_map(model: Any, data: Any, loops: list[int], own: list[int], all_: list[int]) -> Array:
    """N (nv, n): how all of a robot's joints move with its own coordinates.

    `loops` are the equalities that close it, `own` the degrees of freedom of its coordinates,
    `all_` those of all its joints.  The engine's constraint rows must be those of the present pose.
    """
    rows = equality_rows(data, loops)
    J = np.array(data.efc_J).reshape(-1, model.nv)[rows]
    rest = [i for i in all_ if i not in own]
    N = np.zeros((model.nv, len(own)))
    N[own, range(len(own))] = 1.0
    N[rest] = -np.linalg.lstsq(J[:, rest], J[:, own], rcond=None)[0]
    return N
