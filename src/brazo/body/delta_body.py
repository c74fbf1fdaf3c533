"""Solid shapes of a Delta robot: plate with three motors, drive arms, carbon rods, platform.

Frames of the bodies that `delta_parts` returns (all lengths in metres):

    "base"              the base frame of the model: origin at the centre of the fixed platform,
                        z up, drive axes in the plane z = 0
    "arm 1".."arm 3"    origin on the drive axis, x along the arm to the elbow (L1, 0, 0), y along
                        the axis; at theta = 0 x points outward and z up, theta > 0 turns x up
    "rod 1a", "rod 1b"  origin at the ball joint of the elbow, z to the ball joint of the platform
                        at (0, 0, L2); rod a is at +y of its arm, rod b at -y
    "platform"          origin at the centre of the moving platform, axes parallel to the base
                        frame, ball joints in the plane z = 0

The two ball joints of an elbow are at the distance `rod_offset` on either side of its centre.  The
platform has such a pair of ball joints for each arm.  As with serial arms, all radii follow from
one size.  At a constant size, L1 and L2 change only the lengths of the drive arms and rods, and the
width of the stand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from brazo.body.style import Color, Style
from brazo.model.description import Part, frozen
from brazo.model.shapes import Beam, CircularPattern, Cylinder, Lever, Shape, Sphere
from brazo.model.transforms import rot_x, rot_y, rot_z, translate

ALONG_X = rot_y(math.pi / 2)  # rotates z of a shape to x
ALONG_Y = rot_x(-math.pi / 2)
CARBON: Color = (0.12, 0.12, 0.13)


def delta_size(R: float, L1: float, L2: float) -> float:
    """Return the radius (m) of the drive hubs, in proportion to the lengths of the robot."""
    return 0.036 * (R + L1 + L2)


def rod_offset(r: float, size: float) -> float:
    """Return half the distance (m) between the two rods of an arm.

    `r` (m) is the distance from the centre of the platform to its rod joints, and `size` (m) is the
    radius of the drive hubs.
    """
    return min(1.15 * size, max(1.3 * r, 0.6 * size))


def delta_bodies(arms: int = 3) -> tuple[str, ...]:
    """Return the names of the bodies of a Delta robot."""
    moving = [name for i in range(1, arms + 1) for name in (f"arm {i}", f"rod {i}a", f"rod {i}b")]
    return ("base", *moving, "platform")


def delta_parts(
    R: float,
    r: float,
    L1: float,
    L2: float,
    azimuths: Sequence[float],
    style: Style | None = None,
    *,
    size: float | None = None,
    stand: float = 0.0,
) -> dict[str, tuple[Part, ...]]:
    """Return the parts of a Delta robot by body name.

    `R`, `r`, `L1`, `L2` (m) and `azimuths` (rad) are the dimensions of `DeltaModel`.  `size` is the
    radius (m) of the drive hubs before scaling by `style.width`, by default `delta_size` of the
    lengths.  Pass the size of the original robot to keep it while lengths are edited.  `stand` is
    the height (m) of the drive axes above the floor; if it is above 0, the base gets legs down to
    the floor.
    """
    style = style or Style()
    u = (size or delta_size(R, L1, L2)) * style.width
    b = rod_offset(r, u)
    parts = {"base": _base(R, u, azimuths, style) + _legs(R + L1, u, azimuths, stand, style)}
    for i in range(1, len(azimuths) + 1):
        parts[f"arm {i}"] = _drive_arm(L1, u, b, style)
        for rod in "ab":
            parts[f"rod {i}{rod}"] = _rod(L2, u, style)
    parts["platform"] = _platform(r, u, b, azimuths, style)
    return parts


def _base(R: float, u: float, azimuths: Sequence[float], style: Style) -> tuple[Part, ...]:
    low = 1.45 * u  # underside of the plate; the motors are below it
    hub = max(0.55 * R, 1.8 * u)
    out = max(R - 1.4 * u, 0.2 * u)
    bolts = CircularPattern(Cylinder(0.12 * u, 0.3 * u, 0.03 * u), 6, 0.62 * hub)
    skirt = Beam(1.2 * u, _square(1.1 * hub), _square(1.5 * hub), 1.0, 0.1 * u)
    parts = [
        _part("base", _disc(hub, 0.8 * u), _up(low + 0.4 * u), style.base),
        _part("base hub", skirt, _up(low - 0.5 * u), style.base),
        _part("base top", _disc(0.8 * hub, 0.5 * u), _up(low + u), style.joint),
        _part("base ring", _disc(0.83 * hub, 0.14 * u), _up(low + 0.84 * u), style.accent, False),
        _part("base bolts", bolts, _up(low + 1.2 * u), style.steel, False),
    ]
    spoke = Lever(out, (1.9 * u, 1.5 * u), 0.6 * u, 0.15 * u)
    ear = Lever(math.hypot(0.8, 1.25) * u, (1.0 * u, 0.75 * u), 0.5 * u, 0.12 * u)
    lean = rot_x(-math.pi / 2) @ rot_z(-math.atan2(1.25, -0.8)) @ translate(x=ear.length / 2)
    for i, azimuth in enumerate(azimuths, 1):
        side = rot_z(azimuth)
        axis = side @ translate(x=R)
        across = axis @ ALONG_Y
        parts += [
            _part(f"spoke {i}", spoke, side @ translate(out / 2, 0.0, low + 0.32 * u), style.base),
            _part(f"ear {i}a", ear, axis @ translate(y=1.05 * u) @ lean, style.base),
            _part(f"ear {i}b", ear, axis @ translate(y=-1.05 * u) @ lean, style.base),
            _part(f"motor {i}", _disc(0.92 * u, 1.9 * u), across @ _up(2.1 * u), style.joint),
            _part(f"motor {i} ring", _disc(0.96 * u, 0.16 * u), across @ _up(2.6 * u), style.accent,
                  False),
            _part(f"bearing {i}", _disc(0.68 * u, 0.4 * u), across @ _up(-1.2 * u), style.joint),
        ]  # fmt: skip
    return tuple(parts)


def _legs(
    reach: float, u: float, azimuths: Sequence[float], height: float, style: Style
) -> tuple[Part, ...]:
    """Return the parts of the stand: beams above the arms, posts and feet; empty if `height` is 0.

    The posts are between the arms and beyond their `reach` (m).  `u` (m) is the radius of the drive
    hubs, and `height` (m) is the height of the drive axes above the floor.
    """
    if height <= 0.0:
        return ()
    parts = []
    top = 2.2 * u
    out = reach + 3.0 * u
    beam = Beam(out, _square(1.5 * u), _square(1.3 * u), 0.4, 0.1 * u)
    post = Beam(height + top + 0.6 * u, _square(1.4 * u), _square(1.3 * u), 0.4, 0.1 * u)
    foot = _disc(1.6 * u, 0.4 * u)
    middle = (top + 0.6 * u - height) / 2
    for i, azimuth in enumerate(azimuths, 1):
        side = rot_z(azimuth + math.pi / 3)
        far = side @ translate(x=out)
        over = side @ translate(out / 2, 0.0, top) @ ALONG_X
        parts += [
            _part(f"stand beam {i}", beam, over, style.base),
            _part(f"stand post {i}", post, far @ _up(middle), style.base),
            _part(f"stand foot {i}", foot, far @ _up(0.2 * u - height), style.joint),
        ]
    return tuple(parts)


def _drive_arm(L1: float, u: float, b: float, style: Style) -> tuple[Part, ...]:
    beam = Beam(L1, (1.15 * u, 1.3 * u), (0.62 * u, 0.8 * u), 0.6, 0.1 * u)
    elbow = translate(x=L1) @ ALONG_Y
    return (
        _part("arm", beam, translate(x=L1 / 2) @ ALONG_X, style.link),
        _part("arm hub", _disc(0.92 * u, 1.5 * u), ALONG_Y, style.link),
        _part("arm shaft", _disc(0.6 * u, 1.9 * u), ALONG_Y, style.joint),
        _part("elbow", _disc(0.42 * u, 1.0 * u), elbow, style.link),
        _part("elbow shaft", _disc(0.18 * u, 2 * b), elbow, style.steel),
    )


def _rod(L2: float, u: float, style: Style) -> tuple[Part, ...]:
    ball, socket = 0.3 * u, 0.75 * u
    tube = _disc(0.17 * u, max(L2 - 0.6 * u, 0.4 * L2))
    parts = [_part("rod", tube, _up(L2 / 2), CARBON)]
    for z, inward, label in ((0.0, 1.0, "elbow"), (L2, -1.0, "platform")):
        at = z + inward * (0.15 * u + socket / 2)
        parts += [
            _part(f"{label} ball", Sphere(ball), _up(z), style.steel),
            _part(f"{label} socket", _disc(0.26 * u, socket), _up(at), style.joint),
        ]
    return tuple(parts)


def _platform(
    r: float, u: float, b: float, azimuths: Sequence[float], style: Style
) -> tuple[Part, ...]:
    core = max(r - 0.2 * u, 0.9 * u)
    bolts = CircularPattern(Cylinder(0.06 * u, 0.1 * u), 6, 0.45 * core)
    parts = [
        _part("platform", _disc(core, 0.6 * u), np.eye(4), style.link),
        _part("platform cap", _disc(0.62 * core, 0.2 * u), _up(0.32 * u), style.joint, False),
        _part("platform ring", _disc(0.68 * core, 0.1 * u), _up(0.28 * u), style.accent, False),
        _part("tool flange", _disc(0.62 * core, 0.5 * u), _up(-0.45 * u), style.steel),
        _part("tool flange bolts", bolts, _up(-0.71 * u), style.joint, False),
    ]
    ear = Lever(r, (0.6 * u, 0.36 * u), 0.5 * u, 0.1 * u)
    for i, azimuth in enumerate(azimuths, 1):
        side = rot_z(azimuth)
        shaft = side @ translate(x=r) @ ALONG_Y
        parts += [
            _part(f"platform ear {i}", ear, side @ translate(x=r / 2), style.link),
            _part(f"platform shaft {i}", _disc(0.18 * u, 2 * b), shaft, style.steel),
        ]
    return tuple(parts)


def _disc(radius: float, height: float) -> Cylinder:
    """Return a cylinder whose bevel is proportional to its smaller dimension."""
    return Cylinder(radius, height, 0.15 * min(radius, height))


def _square(width: float) -> tuple[float, float]:
    return (width, width)


def _up(z: float) -> np.ndarray:
    return translate(z=z)


def _part(name: str, shape: Shape, pose: np.ndarray, color: Color, collides: bool = True) -> Part:
    return Part(name, shape, frozen(pose, (4, 4)), color, collides)
