"""Delta robot as MJCF: three driven arms, three pairs of rods, a platform that only translates.

A MuJoCo model is a tree, so the loops are cut at the platform and closed by constraints:

    base ─ arm k (hinge θ_k) ─ rod ka (universal joint at the elbow)  ┄ connect ┄  platform
                └─ rod kb (universal joint, its two angles coupled to those of rod ka)
    base ─ platform (slides x, y, z: it stays level by construction)

Rod b follows rod a because the two are sides of a parallelogram.  The poses in the file are those
of the configuration that `assembled` returns.  The attribute `ref` of the arm and platform joints
is their value in this configuration, so qpos contains the true arm angles and the true platform
position.  The constraints are as stiff as a time step of 1 ms permits.

Frames are those of `brazo.body.delta_body`.  The frame of an arm has its origin on the drive axis,
x along the arm and z up at θ = 0; `arm_inertia` is expressed in this frame.  The frame of a rod has
z along the rod.  A rod is slender: its moment of inertia is m L²/12 about the transverse axes, and
1e-6 of this value about its own axis, because MuJoCo requires a positive value.
"""

from __future__ import annotations

import math

import numpy as np

from brazo.errors import BrazoError
from brazo.etree import Element, etree
from brazo.formats.export import text_of
from brazo.formats.mjcf import extras
from brazo.formats.mjcf.xml import Mjcf
from brazo.model.description import Array, DeltaModel, Inertia, frozen
from brazo.model.transforms import rot_y, rot_z, translate

TIME_STEP = 1e-3
_STIFF = {"solref": text_of([2 * TIME_STEP, 1.0]), "solimp": "0.99 0.999 0.001 0.5 2"}
_X, _Y, _Z = np.eye(3)
_ORIGIN = np.zeros(3)


def write_delta(model: DeltaModel, document: Mjcf) -> None:
    """Write a Delta robot into an MJCF document."""
    z0 = assembled(model)[1]
    document.option.set("timestep", text_of(TIME_STEP))
    document.option.set("integrator", "implicitfast")
    document.option.set("tolerance", "1e-10")
    base = document.body(document.world, document.name("body", "base"), np.eye(4))
    _parts(model, document, base)
    platform = document.body(base, document.name("body", "platform"), translate(z=z0))
    document.inertial(platform, _platform(model))
    for axis, direction, ref in zip("xyz", np.eye(3), (0.0, 0.0, z0), strict=True):
        name = document.name("joint", f"platform {axis}")
        document.joint(platform, name, "prismatic", direction, _ORIGIN, ref=ref)
    _parts(model, document, platform)
    document.custom_text(extras.TIP, document.site(platform, "tool", model.tool))
    for k in range(3):
        _leg(model, document, base, platform, k)
    _no_self_collision(document)
    for name, q in model.poses.items():
        # A keyframe would also have to contain the positions of the rods.
        etree.SubElement(document.custom, "numeric", name=extras.POSE + name, data=text_of(q))


def assembled(model: DeltaModel) -> tuple[float, float]:
    """Return the arm angle (rad) and the platform position z (m) of the assembled configuration.

    In this configuration all arms have the same angle, and the rods reach the platform.  Of the
    possible angles, the one closest to 0 is returned.  z is in the base frame.
    """
    for theta in sorted(np.linspace(-1.5, 1.0, 251), key=abs):
        reach = model.R + model.L1 * math.cos(theta) - model.r
        # Well inside the rod length, because a nearly horizontal rod is a poor start configuration.
        if abs(reach) < 0.95 * model.L2:
            return float(theta), model.L1 * math.sin(theta) - math.sqrt(model.L2**2 - reach**2)
    raise BrazoError(
        f"robot '{model.name}': the rods (L2 = {model.L2:g} m) are too short to reach the platform "
        "with equal arm angles"
    )


class DeltaLayout:
    """Poses of the bodies of a Delta robot in the configuration that `assembled` returns."""

    def __init__(self, model: DeltaModel) -> None:
        self._model = model
        self.theta0, self.z0 = theta0, z0 = assembled(model)
        # The rod points from the elbow inward and down; the angle about y rotates z there.
        inward = model.r - model.R - model.L1 * math.cos(theta0)
        self.lean = math.atan2(inward, z0 - model.L1 * math.sin(theta0))

    def arm(self, k: int) -> Array:
        """Return the pose (4, 4) of arm k = 0, 1, 2 in the base frame."""
        # theta > 0 raises the elbow, which is a rotation about -y.
        side = rot_z(self._model.azimuths[k])
        return side @ translate(x=self._model.R) @ rot_y(-self.theta0)

    def rod(self, y: float = 0.0) -> Array:
        """Return the pose (4, 4) of a rod in the frame of its arm.

        `y` (m) is the offset of the rod from the centre of the elbow.
        """
        return translate(x=self._model.L1, y=y) @ rot_y(self.theta0 + self.lean)

    def socket(self, k: int, y: float = 0.0) -> Array:
        """Return the pose (4, 4) of the joint between the platform and a rod of arm k = 0, 1, 2.

        The pose is in the platform frame; its x axis points away from the centre, in the direction
        of the arm.  `y` (m) is the offset of the rod from the centre of the elbow.
        """
        return rot_z(self._model.azimuths[k]) @ translate(x=self._model.r, y=y)


def _leg(model: DeltaModel, document: Mjcf, base: Element, platform: Element, k: int) -> None:
    layout = DeltaLayout(model)
    arm = document.body(base, document.name("body", f"arm {k + 1}"), layout.arm(k))
    document.inertial(arm, model.arm_inertia)
    joint = document.name("joint", model.joint_names[k])
    limits = (float(model.limits[k, 0]), float(model.limits[k, 1]))
    document.joint(
        arm, joint, "revolute", -_Y, _ORIGIN, limits, model.friction, model.drive, layout.theta0
    )
    document.motor(joint, model.drive)
    _parts(model, document, arm)
    half = 0.5 * model.rod_spacing
    angles: dict[str, list[str]] = {}
    for which, y in (("a", half), ("b", -half)):
        label = f"rod {k + 1}{which}"
        rod = document.body(arm, document.name("body", label), layout.rod(y))
        document.inertial(rod, _rod(model))
        angles[which] = [document.name("joint", f"{label} {word}") for word in ("swing", "sway")]
        for name, direction in zip(angles[which], (_Y, _X), strict=True):
            document.joint(rod, name, "revolute", direction, _ORIGIN)
        _parts(model, document, rod)
        if which == "a":
            end = document.site(rod, f"{label} end", translate(z=model.L2))
            held = document.site(platform, f"platform socket {k + 1}", layout.socket(k, y))
            etree.SubElement(document.equality, "connect", site1=end, site2=held, **_STIFF)
    for first, second in zip(angles["b"], angles["a"], strict=True):
        etree.SubElement(document.equality, "joint", joint1=first, joint2=second, **_STIFF)


def _rod(model: DeltaModel) -> Inertia | None:
    """Return the inertia of one of the two rods of an arm; None if the mass is unknown."""
    if model.rod_mass is None:
        return None
    mass = model.rod_mass / 2.0
    across = mass * model.L2**2 / 12.0
    tensor = np.diag([across, across, 1e-6 * across])
    return Inertia(mass, frozen([0.0, 0.0, model.L2 / 2.0]), frozen(tensor))


def _platform(model: DeltaModel) -> Inertia | None:
    """Return the inertia of the platform as that of a thin disc; None if the mass is unknown.

    The tensor has no effect, because the platform never rotates.
    """
    if model.platform_mass is None:
        return None
    disc = model.platform_mass * model.r**2 / 4.0
    tensor = np.diag([disc, disc, 2.0 * disc])
    return Inertia(model.platform_mass, frozen(_ORIGIN), frozen(tensor))


def _parts(model: DeltaModel, document: Mjcf, body: Element) -> None:
    name = body.get("name")
    for part in model.parts.get(name, ()):
        document.part(body, name, part)


def _no_self_collision(document: Mjcf) -> None:
    """Exclude all contacts between bodies of the robot, because they overlap at the ball joints."""
    names = [body.get("name") for body in document.world.iter("body")]
    if document.world.find(".//geom") is None:
        return
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            etree.SubElement(document.contact, "exclude", body1=first, body2=second)
