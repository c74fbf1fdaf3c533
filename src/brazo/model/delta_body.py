"""The solid look of a Delta robot: plate with three motors, drive arms, carbon rods, platform.

Frames of the bodies `delta_parts` returns (all lengths in metres):

    "base"              the model's: centre of the fixed platform, z up, drive axes in z = 0
    "arm 1".."arm 3"    origin on the drive axis, x along the arm to the elbow (L1, 0, 0), y along
                        the axis; at theta = 0 x points outward and z up, theta > 0 turns x up
    "rod 1a", "rod 1b"  origin at the elbow's ball, z to the platform's ball at (0, 0, L2); rod a
                        is the one at +y of its arm, b the one at -y
    "platform"          centre of the moving platform, axes parallel to the base's, balls in z = 0

The two balls of an elbow, and of a platform side, lie `rod_offset` to either side of the middle.
As with arms, radii follow one size and only the members stretch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from brazo.model.description import Part, frozen
from brazo.model.shapes import Beam, Box, Cylinder, Lever, Pattern, Shape, Sphere
from brazo.model.style import Color, Style
from brazo.model.transforms import rot_x, rot_y, rot_z, translate

ALONG_X = rot_y(math.pi / 2)  # z of a shape onto x
ALONG_Y = rot_x(-math.pi / 2)


def delta_size(R: float, L1: float, L2: float) -> float:
    """Radius (m) of the drive hubs that suits these lengths."""
    return 0.036 * (R + L1 + L2)


def rod_offset(r: float, size: float) -> float:
    """Half the distance between the two rods of a parallelogram."""
    return min(1.15 * size, 1.3 * r)


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
    """Parts by body name.

    Pass the `delta_size` of the robot as described as `size` to keep it while lengths are edited.
    `stand` is the height of the drive axes over a floor; above 0 the base gets legs down to it.
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
    low = 1.45 * u  # underside of the plate; the motors hang below it
    hub = max(0.55 * R, 1.8 * u)
    out = max(R - 1.5 * u, 0.2 * u)
    parts = [
        _part("base", Cylinder(hub, 0.8 * u, 0.16 * u), translate(z=low + 0.4 * u), style.base),
        _part("base top", Cylinder(0.8 * hub, 0.5 * u, 0.1 * u), translate(z=low + 1.0 * u), style.joint),
        _part("base ring", Cylinder(0.83 * hub, 0.14 * u, 0.04 * u), translate(z=low + 0.84 * u),
              style.accent, False),
        _part("base bolts", Pattern(Cylinder(0.12 * u, 0.3 * u, 0.03 * u), 6, 0.62 * hub),
              translate(z=low + 1.2 * u), style.steel, False),
        _part("base hub", Beam(1.2 * u, (1.1 * hub,) * 2, (1.5 * hub,) * 2, 1.0, 0.1 * u),
              translate(z=low - 0.5 * u), style.base),
    ]  # fmt: skip
    for i, azimuth in enumerate(azimuths, 1):
        side = rot_z(azimuth)
        axis = side @ translate(x=R)
        spoke = Lever(out, (1.9 * u, 1.5 * u), 0.6 * u, 0.15 * u)
        parts += [
            _part(f"spoke {i}", spoke, side @ translate(x=out / 2, z=low + 0.32 * u), style.base),
            _part(f"motor {i}", Cylinder(0.95 * u, 2.3 * u, 0.15 * u),
                  axis @ translate(y=1.85 * u) @ ALONG_Y, style.joint),
            _part(f"motor {i} ring", Cylinder(0.99 * u, 0.16 * u, 0.04 * u),
                  axis @ translate(y=2.6 * u) @ ALONG_Y, style.accent, False),
            _part(f"bearing {i}", Cylinder(0.8 * u, 0.8 * u, 0.12 * u),
                  axis @ translate(y=-1.1 * u) @ ALONG_Y, style.joint),
            _part(f"motor {i} bracket", Box((1.5 * u, 0.7 * u, 2.5 * u), 0.2 * u),
                  axis @ translate(x=-0.35 * u, y=1.15 * u, z=0.6 * u), style.base),
            _part(f"bearing {i} bracket", Box((1.5 * u, 0.5 * u, 2.5 * u), 0.2 * u),
                  axis @ translate(x=-0.35 * u, y=-1.1 * u, z=0.6 * u), style.base),
        ]  # fmt: skip
    return tuple(parts)


def _legs(
    reach: float, u: float, azimuths: Sequence[float], height: float, style: Style
) -> tuple[Part, ...]:
    """Three beams over the arms and posts outside their reach, between the arms."""
    if height <= 0.0:
        return ()
    parts = []
    top = 2.2 * u
    out = reach + 3.0 * u
    for i, azimuth in enumerate(azimuths, 1):
        side = rot_z(azimuth + math.pi / 3)
        beam = Beam(out, (1.5 * u, 1.5 * u), (1.3 * u, 1.3 * u), 0.4, 0.1 * u)
        post = Beam(height + top + 0.6 * u, (1.4 * u,) * 2, (1.3 * u,) * 2, 0.4, 0.1 * u)
        foot = Cylinder(1.6 * u, 0.4 * u, 0.1 * u)
        parts += [
            _part(f"stand beam {i}", beam, side @ translate(x=out / 2, z=top) @ ALONG_X, style.base),
            _part(f"stand post {i}", post,
                  side @ translate(x=out, z=(top + 0.6 * u - height) / 2), style.base),
            _part(f"stand foot {i}", foot, side @ translate(x=out, z=0.2 * u - height), style.joint),
        ]  # fmt: skip
    return tuple(parts)


def _drive_arm(L1: float, u: float, b: float, style: Style) -> tuple[Part, ...]:
    beam = Beam(L1, (1.15 * u, 1.3 * u), (0.62 * u, 0.8 * u), 0.6, 0.1 * u)
    return (
        _part("arm", beam, translate(x=L1 / 2) @ ALONG_X, style.link),
        _part("arm hub", Cylinder(0.92 * u, 1.35 * u, 0.15 * u), ALONG_Y, style.link),
        _part("arm cap", Cylinder(0.5 * u, 1.6 * u, 0.05 * u), ALONG_Y, style.joint, False),
        _part("elbow", Cylinder(0.42 * u, 1.0 * u, 0.08 * u), translate(x=L1) @ ALONG_Y, style.link),
        _part("elbow shaft", Cylinder(0.18 * u, 2 * b, 0.04 * u), translate(x=L1) @ ALONG_Y,
              style.steel),
    )  # fmt: skip


def _rod(L2: float, u: float, style: Style) -> tuple[Part, ...]:
    ball, socket = 0.3 * u, 0.75 * u
    ends = []
    for z, label in ((0.0, "elbow"), (L2, "platform")):
        inward = 1.0 if z == 0.0 else -1.0
        at = translate(z=z + inward * (0.15 * u + socket / 2))
        ends += [
            _part(f"{label} ball", Sphere(ball), translate(z=z), style.steel),
            _part(f"{label} socket", Cylinder(0.26 * u, socket, 0.06 * u), at, style.joint),
        ]
    tube = Cylinder(0.17 * u, max(L2 - 0.6 * u, 0.4 * L2), 0.02 * u)
    return (_part("rod", tube, translate(z=L2 / 2), (0.12, 0.12, 0.13)), *ends)


def _platform(
    r: float, u: float, b: float, azimuths: Sequence[float], style: Style
) -> tuple[Part, ...]:
    core = max(0.75 * r, 0.8 * u)
    parts = [
        _part("platform", Cylinder(core, 0.55 * u, 0.12 * u), np.eye(4), style.link),
        _part("tool flange", Cylinder(0.62 * core, 0.5 * u, 0.08 * u), translate(z=-0.45 * u),
              style.steel),
        _part("tool flange bolts", Pattern(Cylinder(0.06 * u, 0.1 * u), 6, 0.45 * core),
              translate(z=-0.71 * u), style.joint, False),
        _part("platform cap", Cylinder(0.6 * core, 0.2 * u, 0.06 * u), translate(z=0.3 * u),
              style.accent, False),
    ]  # fmt: skip
    for i, azimuth in enumerate(azimuths, 1):
        side = rot_z(azimuth)
        ear = Lever(max(r, 1e-6 * u), (0.55 * u, 0.36 * u), 0.5 * u, 0.1 * u)
        parts += [
            _part(f"platform ear {i}", ear, side @ translate(x=r / 2), style.link),
            _part(f"platform shaft {i}", Cylinder(0.18 * u, 2 * b, 0.04 * u),
                  side @ translate(x=r) @ ALONG_Y, style.steel),
        ]  # fmt: skip
    return tuple(parts)


def _part(name: str, shape: Shape, pose, color: Color, collides: bool = True) -> Part:
    return Part(name, shape, frozen(pose, (4, 4)), color, collides)
