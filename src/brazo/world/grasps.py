"""When a clamp holds something, by friction or by the weld rule.

A body is *held* when both pads touch it, each presses with more than a given force, and it lies
suitably: the fingers' direction is within a given angle (10°) of a face of it.  The angle is

    box        to the nearest of its face normals
    cylinder   to the nearest radial direction, or to its axis
    sphere     none: every direction is alike

Friction does the holding.  With the *weld* rule the clamp needs no friction: as soon as both pads
touch a body that lies suitably while the clamp closes, the body is fixed to the hand as it lies
there, until the clamp is told to open.  Bodies the clamp only rides through (force feedback off)
can be welded, too: touching is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brazo.formats.mjcf.quaternion import quat_of
from brazo.model.description import Array
from brazo.model.shapes import Box, Sphere
from brazo.world.cell import ClampSettings, FreeBody, Solid
from brazo.world.clamp import Clamp
from brazo.world.contact_pattern import Slots
from brazo.world.contacts import Contacts


@dataclass(frozen=True, slots=True, eq=False)
class Grasp:
    """What a clamp has between its pads."""

    robot: str
    left: dict[str, float]  # bodies the left pad touches, with the normal force (N)
    right: dict[str, float]
    body: str | None  # what both pads touch: the one pressed hardest
    force: float  # N, on the pad that presses less
    angle: float  # rad, between the fingers' direction and the nearest face; nan without a body
    suitable: bool  # the angle is small enough
    welded: bool

    holds: bool

    @property
    def held(self) -> str | None:
        """The name of the body that is held."""
        return self.body if self.holds else None


class GraspReader:
    """Finds out what the clamp of one robot has between its pads."""

    def __init__(
        self,
        clamp: Clamp,
        tip: int,
        bodies: dict[str, tuple[FreeBody, int]],
        settings: ClampSettings,
        data: Any,
    ) -> None:
        self.clamp = self._clamp = clamp
        self.enough = settings.hold_force
        self.cosine = math.cos(settings.angle)
        self._boxes = {name for name, (body, _) in bodies.items() if isinstance(body.shape, Box)}
        self._pads = {geom: side for side, geom in enumerate(clamp.pad_ids)}
        self._tip = tip
        self.bodies = bodies
        self._settings = settings
        assert clamp.sensors is not None
        #: The fingers' direction in a body's frame, as views of the engine's sensor data.
        self._along = {name: data.sensordata[at] for name, at in clamp.sensors.along.items()}

    def read(self, contacts: Contacts, data: Any, before: str | None = None) -> Grasp:
        """The grasp now; a body held `before` is kept down to half the force."""
        left, right = self._pressed(contacts)
        both = [name for name in left if name in right]
        welded = self.welded(data)
        body = welded or max(both, key=lambda name: min(left[name], right[name]), default=None)
        if body is None:
            return Grasp(self._clamp.robot, left, right, None, 0.0, math.nan, False, False, False)
        force = min(left.get(body, 0.0), right.get(body, 0.0))
        angle = self._angle(body)
        suitable = self._lies_well(body)
        least = self._settings.hold_force * (0.5 if body == before else 1.0)
        holds = welded is not None or (body in both and suitable and force >= least)
        return Grasp(
            self._clamp.robot, left, right, body, force, angle, suitable, welded is not None, holds
        )

    def grip(
        self, bodies: dict[str, Slots], forces: Sequence[float], data: Any, before: str | None
    ) -> tuple[str | None, float]:
        """What `read` would find held, and with which force, from the contact pattern of the step.

        `bodies` are those both pads touch, `forces` the normal forces of these contacts.
        """
        best, force = None, 0.0
        for name, (start, middle, end) in bodies.items():
            left, right = sum(forces[start:middle]), sum(forces[middle:end])
            least = left if left < right else right
            if best is None or least > force:
                best, force = name, least
        if self._clamp.weld and (welded := self.welded(data)) is not None:
            return welded, force if best == welded else 0.0
        if best is None:
            return None, 0.0
        enough = self.enough if best != before else 0.5 * self.enough
        if force < enough or not self._lies_well(best):
            return None, force
        return best, force

    def welded(self, data: Any) -> str | None:
        """The body fixed to the hand."""
        for name, equality in self._clamp.weld_ids.items():
            if data.eq_active[equality]:
                return name
        return None

    def apply_weld_rule(
        self, touches: bool, contacts: Callable[[], Contacts], model: Any, data: Any
    ) -> None:
        """Fix what lies well between closing pads; let go when told to open.

        `touches` says whether both pads touch one body.
        """
        held = self.welded(data)
        if held is not None:
            if not (self._clamp.weld and self._keeps()):
                data.eq_active[self._clamp.weld_ids[held]] = 0
            return
        if not (self._clamp.weld and touches and self._clamp.closes):
            return
        grasp = self.read(contacts(), data)
        if grasp.body is not None and grasp.suitable:
            self._fix(grasp.body, model, data)

    def _keeps(self) -> bool:
        """Told to close, or to an opening no wider than the present one."""
        mode, value = self._clamp.command
        return value > 0.0 if mode == "force" else value <= self._clamp.opening + 1e-3

    def _fix(self, body: str, model: Any, data: Any) -> None:
        """Take the present pose of the body in the hand as the one to keep."""
        tip, other = self._tip, self.bodies[body][1]
        R = data.xmat[tip].reshape(3, 3)
        equality = self._clamp.weld_ids[body]
        pose = model.eq_data[equality]
        pose[0:3] = 0.0  # anchor: the body's own origin
        pose[3:6] = R.T @ (data.xpos[other] - data.xpos[tip])
        pose[6:10] = quat_of(R.T @ data.xmat[other].reshape(3, 3))
        pose[11] = 0.0
        data.eq_active[equality] = 1

    def _pressed(self, contacts: Contacts) -> tuple[dict[str, float], dict[str, float]]:
        """Bodies each pad touches, with the sum of the normal forces."""
        found: tuple[dict[str, float], dict[str, float]] = ({}, {})
        pads, names = self._pads, contacts.names
        for geom, _, second, depth, pressure in contacts.rows:
            if depth >= 0.0 and geom in pads and (name := names[second]) in self.bodies:
                pad = found[pads[geom]]
                pad[name] = pad.get(name, 0.0) + pressure
        return found

    def _lies_well(self, body: str) -> bool:
        """Whether the angle is small enough, for boxes without computing it."""
        along = self._along[body]
        if body in self._boxes:
            x, y, z = along.tolist()
            least = self.cosine
            return (
                x >= least or -x >= least or y >= least or -y >= least or z >= least or -z >= least
            )
        return face_angle(self.bodies[body][0].shape, along) <= self._settings.angle

    def _angle(self, body: str) -> float:
        return face_angle(self.bodies[body][0].shape, self._along[body])


def face_angle(shape: Solid, direction: Array) -> float:
    """Angle (rad) between a unit direction in a solid's frame and the nearest of its normals."""
    if isinstance(shape, Sphere):
        return 0.0
    x, y, z = np.abs(direction).tolist()
    if isinstance(shape, Box):
        return math.acos(min(1.0, max(x, y, z)))
    return math.acos(min(1.0, max(math.hypot(x, y), z)))
