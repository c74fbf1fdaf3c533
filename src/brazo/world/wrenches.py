"""Contact wrenches on the links of a robot, and the equivalent joint torques.

    w_b = Σ_k (±F_k, (p_k − o_b) × ±F_k ± m_k)      wrench on link b
    τ_ext = Nᵀ Σ_b J_bᵀ w_b                         joint torques

The equation of motion is M q̈ + C q̇ + G = τ + τ_ext.  F_k and m_k are the force and moment of
contact k at the point p_k, and o_b is the origin of the frame of link b.  A contact has a first and
a second part: the sign is − if link b has the first part, and + if it has the second.  J_b is the
Jacobian of link b with respect to all joints of the engine.  N maps the rates of the coordinates q
to the rates of all joints of the robot: a mimic joint moves with the joint that it follows, and the
rods and the platform of a Delta move according to the loop constraints, J_loop N = 0.  Contact
forces on the fingers count as forces on the link that carries the fingers.
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
    """Calculator of contact wrenches and generalised forces for one compiled model."""

    def __init__(self, model: Any, data: Any, grippers: Sequence[WorldGripper]) -> None:
        self._mujoco = engine()
        self._model, self._data, self._grippers = model, data, grippers

    def on_bodies(self, contacts: Contacts) -> Array:
        """Return the contact force (N) and moment (N m) on each body, shape (bodies, 6).

        Values are in world axes.  Moments are about the origin of the body frame at the time of the
        contacts.
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
        """Return the wrenches of `on_bodies`; wrenches on the fingers are added to that on `tip`.

        `tip` is the body id of the link that carries the fingers.
        """
        wrench = self.on_bodies(contacts)
        if gripper is not None:
            origin = self._data.xpos[tip]
            for finger in gripper.finger_ids:
                wrench[tip] += wrench[finger]
                arm = self._data.xpos[finger] - origin
                wrench[tip, 3:] += cross(arm, wrench[finger, :3])
        return wrench

    def on_joints(self, contacts: Contacts) -> Array:
        """Return the generalised force (nv,) of all contacts and active welds (N m and N)."""
        total = self._generalised(self.on_bodies(contacts))
        welds = [i for gripper in self._grippers for i in gripper.weld_ids.values()]
        if welds and self._data.eq_active[welds].any():
            rows = equality_rows(self._data, welds)
            J = np.array(self._data.efc_J).reshape(-1, self._model.nv)[rows]
            total += J.T @ self._data.efc_force[rows]
        return total

    def _generalised(self, wrench: Array) -> Array:
        """Return the generalised force Σ J_bᵀ w_b (nv,) for wrenches w (bodies, 6)."""
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
    """Return the cross product of each row of `a` and `b` (..., 3); faster than `np.cross`."""
    return a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT]


def equality_rows(data: Any, equalities: list[int]) -> Array:
    """Return the row indices of equality constraints in the engine's `efc` arrays.

    `equalities` are the ids of the constraints.
    """
    kind = int(engine().mjtConstraint.mjCNSTR_EQUALITY)
    count = data.nefc
    return np.flatnonzero(
        (data.efc_type[:count] == kind) & np.isin(data.efc_id[:count], equalities)
    )


def loop_map(model: Any, data: Any, loops: list[int], own: list[int], all_: list[int]) -> Array:
    """Return the matrix N (nv, n) that maps rates of the coordinates q to rates of all joints.

    `loops` are the ids of the equality constraints that close the loops.  `own` are the indices in
    `qvel` of the coordinates q, and `all_` are the indices in `qvel` of all joints of the robot.
    The constraint arrays of the engine must have been computed for the current pose.
    """
    rows = equality_rows(data, loops)
    J = np.array(data.efc_J).reshape(-1, model.nv)[rows]
    rest = [i for i in all_ if i not in own]
    N = np.zeros((model.nv, len(own)))
    N[own, range(len(own))] = 1.0
    N[rest] = -np.linalg.lstsq(J[:, rest], J[:, own], rcond=None)[0]
    return N
