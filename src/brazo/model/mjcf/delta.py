"""A Delta robot as MJCF: three driven arms, three rods, a platform that can only shift.

MuJoCo's trees have no loops, so the robot is cut at the platform and closed by constraints:

    base ─ arm k (hinge θ_k) ─ rod k (universal joint at the elbow)  ┄ connect ┄  platform
    base ─ platform (slides x, y, z: it stays level by construction)

Each rod stands for a parallelogram, both rods of it.  The bodies are placed assembled with all
θ = θ₀, and `ref` makes qpos the true angles and the platform's true position.  The constraints are
as stiff as a step of 1 ms bears, which keeps the platform within 0.02 mm of the closed form.

Arm k's frame: origin on its drive axis, x outward along the arm, z up at θ = 0; `arm_inertia` is
given in it.  A rod is slender: m L²/12 across, and along it as little as MuJoCo accepts.
"""

from __future__ import annotations

import math

import numpy as np

from brazo.errors import BrazoError
from brazo.model.description import DeltaModel, Inertia, frozen
from brazo.model.etree import Element, etree
from brazo.model.export import printable, text_of
from brazo.model.mjcf.xml import Mjcf
from brazo.model.transforms import rot_y, rot_z, translate

TIME_STEP = 1e-3
_STIFF = {"solref": text_of([2 * TIME_STEP, 1.0]), "solimp": "0.99 0.999 0.001 0.5 2"}
_X, _Y, _Z = np.eye(3)


def write_delta(model: DeltaModel, document: Mjcf) -> None:
    """Fill a document with the robot."""
    theta0, z0 = assembled(model)
    document.option.set("timestep", text_of(TIME_STEP))
    document.option.set("integrator", "implicitfast")
    document.option.set("tolerance", "1e-10")
    base = document.body(document.world, document.name("body", "base"), np.eye(4))
    _parts(model, document, base, "base")
    platform = document.body(base, document.name("body", "platform"), translate(z=z0))
    document.inertial(platform, _point(model.platform_mass, model.r))
    for axis, direction, ref in zip("xyz", np.eye(3), (0.0, 0.0, z0), strict=True):
        name = document.name("joint", f"platform {axis}")
        document.joint(platform, name, "prismatic", direction, np.zeros(3), ref=ref)
    _parts(model, document, platform, "platform")
    document.custom_text("brazo:tip", document.site(platform, "tool", model.tool))
    elbow_to_platform = model.R + model.L1 * math.cos(theta0) - model.r
    # The rod points inward and down: turn x, which points outward, about y.
    lean = math.atan2(-(z0 - model.L1 * math.sin(theta0)), -elbow_to_platform)
    for k, azimuth in enumerate(model.azimuths):
        shoulder = rot_z(azimuth) @ translate(x=model.R)
        # theta > 0 raises the elbow, which is a turn about -y.
        name = document.name("body", f"arm {k + 1}")
        arm = document.body(base, name, shoulder @ rot_y(-theta0))
        document.inertial(arm, model.arm_inertia)
        joint = document.name("joint", model.joint_names[k])
        limits = (float(model.limits[k, 0]), float(model.limits[k, 1]))
        document.joint(
            arm, joint, "revolute", -_Y, np.zeros(3), limits, model.friction, model.drive, theta0
        )
        document.motor(joint, model.drive)
        _parts(model, document, arm, f"arm {k + 1}")
        place = translate(x=model.L1) @ rot_y(theta0 + lean)
        rod = document.body(arm, document.name("body", f"rod {k + 1}"), place)
        document.inertial(rod, _rod(model))
        for axis, direction in (("swing", _Y), ("sway", _Z)):
            name = document.name("joint", f"rod {k + 1} {axis}")
            document.joint(rod, name, "revolute", direction, np.zeros(3))
        _parts(model, document, rod, f"rod {k + 1}")
        end = document.site(rod, f"rod {k + 1} end", translate(x=model.L2))
        socket = rot_z(azimuth) @ translate(x=model.r)
        held = document.site(platform, f"platform socket {k + 1}", socket)
        etree.SubElement(document.equality, "connect", site1=end, site2=held, **_STIFF)
    _exclude_all(document)
    _poses(model, document)


def assembled(model: DeltaModel) -> tuple[float, float]:
    """An angle common to all arms at which the robot closes, and the platform's height there."""
    for theta in sorted(np.linspace(-1.5, 1.0, 251), key=abs):
        reach = model.R + model.L1 * math.cos(theta) - model.r
        # Well inside the rods' length: a stretched rod makes a poor place to start from.
        if abs(reach) < 0.95 * model.L2:
            return float(theta), model.L1 * math.sin(theta) - math.sqrt(model.L2**2 - reach**2)
    raise BrazoError(f"robot '{model.name}': the rods are too short to close with equal angles")


def _rod(model: DeltaModel) -> Inertia | None:
    if model.rod_mass is None:
        return None
    across = model.rod_mass * model.L2**2 / 12.0
    along = 1e-9 * across
    centre = frozen([model.L2 / 2.0, 0.0, 0.0])
    return Inertia(model.rod_mass, centre, frozen(np.diag([along, across, across])))


def _point(mass: float | None, radius: float) -> Inertia | None:
    """The platform never turns, so its tensor plays no part: a disc's is written."""
    if mass is None:
        return None
    disc = mass * radius**2 / 4.0
    return Inertia(mass, frozen(np.zeros(3)), frozen(np.diag([disc, disc, 2.0 * disc])))


def _parts(model: DeltaModel, document: Mjcf, element: Element, name: str) -> None:
    for part in model.parts.get(name, ()):
        document.part(element, name, part)


def _exclude_all(document: Mjcf) -> None:
    """The bodies meet at ball joints and must not collide with one another there."""
    names = [body.get("name") for body in document.world.iter("body")]
    if not document.world.findall(".//geom"):
        return
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            etree.SubElement(document.contact, "exclude", body1=first, body2=second)


def _poses(model: DeltaModel, document: Mjcf) -> None:
    """Keys hold the arms' angles; a key that is loaded closes its loops by itself on stepping."""
    if model.poses:
        names = ", ".join(printable(name) for name in model.poses)
        document.notes.append(f"the poses {names} are left out: they do not say where the rods are")
