"""Contact wrenches on the links of a robot, and equivalent joint torques.

    link b      w_b = Σ (±F_k, (p_k − o_b) × ±F_k ± m_k)     about the origin o_b of its frame
    joints      τ_ext = Nᵀ Σ_b J_bᵀ w_b                       to be added to τ in  M q̈ + C q̇ + G = τ

F_k and m_k are the force and moment of contact k at the point p_k.  J_b is the Jacobian of body b
with respect to all joints of the engine.  N maps the rates of the robot's coordinates to those of
all joints: mimic joints follow their master; rods and platform of a Delta follow from the loop
constraints, J_loop N = 0.  Fingers are included in the link that carries them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.model.description import Array
from brazo.world.contacts import Contacts
from brazo.world.gripper import WorldGripper

_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


class WrenchReader:
    """Sums of the contact forces on the bodies and joints of one compiled model."""

    def __init__(self, model: Any, data: Any, grippers: Sequence[WorldGripper]) -> None:
        self._mujoco = engine()
        self._model, self._data, self._grippers = model, data, grippers

    def on_bodies(self, contacts: Contacts) -> Array:
        """Force and moment about the origin of the body frame (bodies, 6), world axes.

        The origins are those at the time of the contacts.
        """
        wrench = np.zeros((self._model.nbody, 6))
        if not len(contacts):
            return wrench
        bodies = self._model.geom_bodyid[contacts.geoms]
        for column, sign in ((0, -1.0), (1, 1.0)):
            body = bodies[:, column]
            force = sign * contacts.force
            arm = contacts.point - self._data.xpos[body]
            np.add.at(wrench[:, :3], body, force)
            np.add.at(wrench[:, 3:], body, cross(arm, force) + sign * contacts.moment)
        return wrench

    def on_links(self, contacts: Contacts, tip: int, gripper: WorldGripper | None) -> Array:
        """Wrenches of `on_bodies`, with those on a gripper's fingers included in the tip's."""
        wrench = self.on_bodies(contacts)
        if gripper is not None:
            origin = self._data.xpos[tip]
            for finger in gripper.finger_ids:
                wrench[tip] += wrench[finger]
                arm = self._data.xpos[finger] - origin
                wrench[tip, 3:] += cross(arm, wrench[finger, :3])
        return wrench

    def on_joints(self, contacts: Contacts) -> Array:
        """Generalised force (nv,) of all contacts and welds."""
        total = self._generalised(self.on_bodies(contacts))
        welds = [i for gripper in self._grippers for i in gripper.weld_ids.values()]
        if welds and self._data.eq_active[welds].any():
            rows = equality_rows(self._data, welds)
            J = np.array(self._data.efc_J).reshape(-1, self._model.nv)[rows]
            total += J.T @ self._data.efc_force[rows]
        return total

    def _generalised(self, wrench: Array) -> Array:
        """Generalised force Σ J_bᵀ w_b (nv,)."""
        total = np.zeros(self._model.nv)
        for body in np.flatnonzero(wrench.any(axis=1)):
            if body:
                self._mujoco.mj_applyFT(
                    self._model,
                    self._data,
                    wrench[body, :3],
                    wrench[body, 3:],
                    self._data.xpos[body],
                    int(body),
                    total,
                )
        return total


def cross(a: Array, b: Array) -> Array:
    """Row-wise cross product; for few rows much faster than `np.cross`."""
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def equality_rows(data: Any, equalities: list[int]) -> Array:
    """Return the rows of the given equalities in the engine's constraint arrays."""
    kind = int(engine().mjtConstraint.mjCNSTR_EQUALITY)
    count = data.nefc
    return np.flatnonzero(
        (data.efc_type[:count] == kind) & np.isin(data.efc_id[:count], equalities)
    )


def loop_map(model: Any, data: Any, loops: list[int], own: list[int], all_: list[int]) -> Array:
    """Return N (nv, n), the rates of all joints of a robot per rate of its coordinates.

    `loops` are the equalities that close the loops, `own` the degrees of freedom of the
    coordinates, `all_` those of all joints.  The engine's constraint rows must belong to the
    current pose.
    """
    rows = equality_rows(data, loops)
    J = np.array(data.efc_J).reshape(-1, model.nv)[rows]
    rest = [i for i in all_ if i not in own]
    N = np.zeros((model.nv, len(own)))
    N[own, range(len(own))] = 1.0
    N[rest] = -np.linalg.lstsq(J[:, rest], J[:, own], rcond=None)[0]
    return N
