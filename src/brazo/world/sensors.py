"""MuJoCo sensors of the grippers, which are evaluated in every step.

There are two sensors for each gripper and each free body.  The *hand* is the link that carries the
gripper, with its fingers.

    force    contact force (3,), N, of the hand on the body, world axes
    along    direction of finger motion (3,), a unit vector in the frame of the body

Like contacts, both values belong to the start of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from brazo.formats.mjcf.engine import engine
from brazo.formats.mjcf.quaternion import quat_of
from brazo.model.description import Array
from brazo.world.assembly import Assembly
from brazo.world.cell import FreeBody
from brazo.world.robot_elements import RobotElements

_NET_FORCE = 3  # reduction of a contact sensor: one net force in world axes


def add_hand_sensors(
    assembly: Assembly, elements: RobotElements, bodies: Sequence[FreeBody]
) -> None:
    """Add the sensors of one robot's gripper to a model under construction."""
    if elements.gripper is None or not bodies:
        return
    mujoco, model = engine(), elements.robot.source.model  # the fingers are not at another TCP
    site = elements.tip.add_site(
        name=f"{elements.robot.name}/tool", pos=model.tool[:3, 3], quat=quat_of(model.tool[:3, :3])
    )
    kinds, objects = mujoco.mjtSensor, mujoco.mjtObj
    for body in bodies:
        force = assembly.spec.add_sensor(name=_force(elements.robot.name, body.name))
        force.type = kinds.mjSENS_CONTACT
        force.objtype, force.objname = objects.mjOBJ_XBODY, elements.tip.name  # the whole subtree
        force.reftype, force.refname = objects.mjOBJ_BODY, body.name
        force.intprm[0] = 1 << int(mujoco.mjtConDataField.mjCONDATA_FORCE)
        force.intprm[1], force.intprm[2] = _NET_FORCE, 1
        along = assembly.spec.add_sensor(name=_along(elements.robot.name, body.name))
        along.type = kinds.mjSENS_FRAMEYAXIS
        along.objtype, along.objname = objects.mjOBJ_SITE, site.name
        along.reftype, along.refname = objects.mjOBJ_XBODY, body.name


class HandSensors:
    """Indices of the sensors of one gripper in the engine's sensor data, for each free body."""

    def __init__(self, model: Any, robot: str, bodies: Sequence[str]) -> None:
        self.force = np.array([_address(model, _force(robot, name)) for name in bodies], int)
        self.along: dict[str, slice] = {}
        for name in bodies:
            start = _address(model, _along(robot, name))
            self.along[name] = slice(start, start + 3)

    def forces(self, sensordata: Array, body: Array) -> Array:
        """Return the force (rows, 3) in N, world axes, that the hand exerts on a body in each row.

        `sensordata` (rows, size) are rows of the engine's sensor data.  `body` (rows,) is the index
        of the body in each row; the force is zero for a negative index.
        """
        if not len(self.force):
            return np.zeros((len(sensordata), 3))
        held = body >= 0
        at = self.force[np.where(held, body, 0)]
        found = np.take_along_axis(sensordata, at[:, None] + np.arange(3), axis=1)
        return np.where(held[:, None], found, 0.0)


def _address(model: Any, name: str) -> int:
    return int(model.sensor(name).adr[0])


def _force(robot: str, body: str) -> str:
    return f"{robot}/force on {body}"


def _along(robot: str, body: str) -> str:
    return f"{robot}/fingers in {body}"
