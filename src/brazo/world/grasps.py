"""Grasp detection: whether a gripper holds a body, by friction or by the weld rule.

A body is *held* if both pads touch it, each pad presses with at least `hold_force`, and the angle
between the direction of finger motion and a surface normal of the body is at most `angle`.
`hold_force` and `angle` are fields of `GripperSettings`.  For a body that was held in the last
step, half of `hold_force` is sufficient.  The surface normal is the one nearest to the direction of
finger motion.  The possible normals are

    box        the face normals
    cylinder   the radial directions and the axis
    capsule    as for a cylinder
    bin        as for a box
    sphere     all directions, so the angle is 0
    mesh       unknown; the angle is assumed to be 0

By default, friction alone holds the body.  Under the *weld* rule, a body is fixed to the hand when
both pads of a closing gripper touch the body and the angle is at most `angle`.  The body keeps its
pose in the hand until the gripper is commanded to open.  A welded body counts as held.  The weld
rule needs neither friction nor contact forces, so it also works for a robot whose contact response
is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.formats.mjcf.quaternion import quat_of
from brazo.model.description import Array
from brazo.model.shapes import Box, Mesh, Sphere
from brazo.world.cell import BinShape, BodyShape, FreeBody, GripperSettings
from brazo.world.contact_pattern import Slots
from brazo.world.contacts import Contacts
from brazo.world.gripper import WorldGripper

KEEP_SHARE = 0.5  # part of `hold_force` that is sufficient for a body held in the last step


@dataclass(frozen=True, slots=True, eq=False)
class Grasp:
    """Grasp of a gripper: the bodies between its pads, and the body that it holds."""

    robot: str
    left: dict[str, float]  # bodies the left pad touches, with the normal force (N)
    right: dict[str, float]
    body: str | None  # the welded body, or that with the largest `force` between the pads
    force: float  # N, the smaller of the two pad forces
    angle: float  # rad, from the finger direction to the nearest surface normal; nan: no body
    suitable: bool  # the angle is within the limit
    welded: bool

    holds: bool

    @property
    def held(self) -> str | None:
        """Name of the held body, or None."""
        return self.body if self.holds else None


class GraspReader:
    """Detector of the grasp of one gripper."""

    def __init__(
        self,
        gripper: WorldGripper,
        tip: int,
        bodies: dict[str, tuple[FreeBody, int]],
        settings: GripperSettings,
        data: Any,
    ) -> None:
        self.gripper = self._gripper = gripper
        self.enough = settings.hold_force
        self.cosine = math.cos(settings.angle)
        self._boxes = {
            name for name, (body, _) in bodies.items() if isinstance(body.shape, Box | BinShape)
        }
        self._pads = {geom: side for side, geom in enumerate(gripper.pad_ids)}
        self._tip = tip
        self.bodies = bodies
        self._settings = settings
        assert gripper.sensors is not None
        #: Finger direction in the frame of each body, as views of the engine's sensor data.
        self._along = {name: data.sensordata[at] for name, at in gripper.sensors.along.items()}

    def read(self, contacts: Contacts, data: Any, before: str | None = None) -> Grasp:
        """Return the current grasp.

        `before` is the body held in the last step.  For this body, half the required force is
        sufficient.
        """
        left, right = self._pressed(contacts)
        both = [name for name in left if name in right]
        welded = self.welded(data)
        body = welded or max(both, key=lambda name: min(left[name], right[name]), default=None)
        if body is None:
            return Grasp(self._gripper.robot, left, right, None, 0.0, math.nan, False, False, False)
        force = min(left.get(body, 0.0), right.get(body, 0.0))
        angle = face_angle(self.bodies[body][0].shape, self._along[body])
        suitable = self._lies_well(body)
        least = self._settings.hold_force * (KEEP_SHARE if body == before else 1.0)
        holds = welded is not None or (body in both and suitable and force >= least)
        return Grasp(
            self._gripper.robot,
            left,
            right,
            body,
            force,
            angle,
            suitable,
            welded is not None,
            holds,
        )

    def grip(
        self, bodies: dict[str, Slots], forces: Sequence[float], data: Any, before: str | None
    ) -> tuple[str | None, float]:
        """Return the name of the held body (or None) and the grip force (N); faster than `read`.

        The grip force is the smaller of the two pad forces.  `forces` are the normal forces (N) of
        the pad contacts.  `bodies` maps each body that both pads touch to the indices of its
        contacts in `forces` (`Slots`).  `before` is the body held in the last step.
        """
        best, force = None, 0.0
        for name, (start, middle, end) in bodies.items():
            left, right = sum(forces[start:middle]), sum(forces[middle:end])
            least = left if left < right else right
            if best is None or least > force:
                best, force = name, least
        if self._gripper.weld and (welded := self.welded(data)) is not None:
            return welded, force if best == welded else 0.0
        if best is None:
            return None, 0.0
        enough = self.enough if best != before else KEEP_SHARE * self.enough
        if force < enough or not self._lies_well(best):
            return None, force
        return best, force

    def welded(self, data: Any) -> str | None:
        """Return the name of the body welded to the hand, or None."""
        for name, equality in self._gripper.weld_ids.items():
            if data.eq_active[equality]:
                return name
        return None

    def apply_weld_rule(
        self, touches: bool, contacts: Callable[[], Contacts], model: Any, data: Any
    ) -> None:
        """Weld the body between closing pads, or release a welded body on an opening command.

        A body is welded only if the angle between finger motion and surface normal is within its
        limit (see the module docstring).  A welded body is also released if the gripper no longer
        uses the weld rule.  `touches` is True if both pads touch the same body.
        """
        held = self.welded(data)
        if held is not None:
            if not (self._gripper.weld and self._keeps()):
                data.eq_active[self._gripper.weld_ids[held]] = 0
            return
        if not (self._gripper.weld and touches and self._gripper.closes):
            return
        grasp = self.read(contacts(), data)
        if grasp.body is not None and grasp.suitable:
            self._fix(grasp.body, model, data)

    def _keeps(self) -> bool:
        """Whether a weld stays active: the current command does not open the gripper."""
        mode, value = self._gripper.command
        return value > 0.0 if mode == "force" else value <= self._gripper.opening + 1e-3

    def _fix(self, body: str, model: Any, data: Any) -> None:
        """Weld a body to the hand in its current relative pose."""
        tip, other = self._tip, self.bodies[body][1]
        R = data.xmat[tip].reshape(3, 3)
        equality = self._gripper.weld_ids[body]
        pose = model.eq_data[equality]
        pose[0:3] = 0.0  # anchor: the origin of the body
        pose[3:6] = R.T @ (data.xpos[other] - data.xpos[tip])
        pose[6:10] = quat_of(R.T @ data.xmat[other].reshape(3, 3))
        pose[11] = 0.0
        data.eq_active[equality] = 1

    def _pressed(self, contacts: Contacts) -> tuple[dict[str, float], dict[str, float]]:
        """Return {body: normal force (N)} for the bodies on the left pad and on the right pad."""
        found: tuple[dict[str, float], dict[str, float]] = ({}, {})
        pads, names = self._pads, contacts.names
        for geom, _, second, depth, pressure in contacts.rows:
            if depth >= 0.0 and geom in pads and (name := names[second]) in self.bodies:
                pad = found[pads[geom]]
                pad[name] = pad.get(name, 0.0) + pressure
        return found

    def _lies_well(self, body: str) -> bool:
        """Whether the angle between finger motion and surface normal is within its limit."""
        along = self._along[body]
        if body in self._boxes:
            x, y, z = along.tolist()
            least = self.cosine
            return (
                x >= least or -x >= least or y >= least or -y >= least or z >= least or -z >= least
            )
        return face_angle(self.bodies[body][0].shape, along) <= self._settings.angle


def face_angle(shape: BodyShape, direction: Array) -> float:
    """Return the angle (rad) between a direction and the nearest surface normal of a solid.

    `direction` (3,) is a unit vector in the frame of the solid.
    """
    if isinstance(shape, Sphere | Mesh):
        return 0.0
    x, y, z = np.abs(direction).tolist()
    if isinstance(shape, Box | BinShape):
        return math.acos(min(1.0, max(x, y, z)))
    return math.acos(min(1.0, max(math.hypot(x, y), z)))
