"""Build the body of a UR5e: joint housings with caps, and tubes between them.

    python tools/ur5e_assembly.py                   the shipped meshes
    python tools/ur5e_assembly.py --out DIR         the same, elsewhere

The design is brazo's own: no drawing or mesh of the maker was used.  Joint axes are those of the
D-H table.  All other sizes are proposed.  A link ends in round housings, one on each of its joint
axes; the housings of two links meet in a plane across their axis.  The upper arm is 138 mm beside
the base axis, and the forearm back beside the upper arm, so that the elbow can fold.
"""

from __future__ import annotations

from assembly import Maker, Shop, along_x, along_y, mesh_files, write
from manifold3d import Manifold

D1, A2, A3, D4, D5, D6 = 0.1625, 0.425, 0.3922, 0.1333, 0.0997, 0.0996  # m, lengths of the table
WAIST = 0.1  # height of the plane between base and shoulder
LIFT = 0.076  # planes across the shoulder lift, elbow and wrist 1, from the base axis
ELBOW = 0.072
WRIST = 0.064
UPPER, LOWER = 0.138, 0.007  # middle of the tubes, from the base axis
LARGE, MEDIUM, SMALL = 0.060, 0.054, 0.0425  # radii of the housings
GAP = 0.0012  # between housings


def housing(s: Shop, radius: float, low: float, high: float) -> Manifold:
    """A round housing along z, with bevelled ends."""
    if not s.detailed:
        return s.column(radius, low, high)
    edge = 0.08 * radius
    return s.lathe(
        (low, radius - edge), (low + edge, radius), (high - edge, radius), (high, radius - edge)
    )


def cap(s: Shop, radius: float, z: float, side: int) -> Manifold:
    """A shallow dome on the end of a housing, towards ±z."""
    rise = 0.16 * radius
    dome = s.lathe((-0.002, 0.93 * radius), (0.3 * rise, 0.9 * radius), (rise, 0.62 * radius))
    return (dome if side > 0 else dome.mirror((0, 0, 1))).translate((0, 0, z))


def base(s: Shop) -> tuple[Manifold, Manifold]:
    top = WAIST - GAP
    casting = s.lathe(
        (0.0, 0.0745), (0.012, 0.0745), (0.016, 0.070), (0.085, 0.066), (top, LARGE),
    )  # fmt: skip
    if not s.detailed:
        return casting, Manifold()
    plug = s.column(0.012, 0.0, 0.018).rotate((0, -90, 0)).translate((-0.060, 0, 0.045))
    return casting, s.bolts(4, 0.068, 0.010, 0.018, 0.006) + plug


def shoulder(s: Shop) -> tuple[Manifold, Manifold]:
    """Upright on the base axis, y, with the shoulder lift along z."""
    upright = along_y(s.lathe((WAIST - D1, 0.058), (WAIST - D1 + 0.005, LARGE), (0.0, LARGE)))
    lift = housing(s, LARGE, -0.058, LIFT - GAP)
    return upright + lift, cap(s, LARGE, -0.058, -1)


def shoulder_joint(s: Shop) -> tuple[Manifold, Manifold]:
    """Housing of the upper arm at the shoulder; the tube leaves along -x."""
    drum = housing(s, LARGE, LIFT, UPPER + 0.058)
    collar = along_x(s.lathe((-0.085, 0.050), (-0.080, 0.053), (0.0, 0.053)))
    return drum + collar.translate((0, 0, UPPER)), cap(s, LARGE, UPPER + 0.058, 1)


def upper_arm(s: Shop) -> tuple[Manifold, Manifold]:
    return along_x(s.column(0.0465, 0.04 - A2, -0.04)).translate((0, 0, UPPER)), Manifold()


def elbow_joint(s: Shop) -> tuple[Manifold, Manifold]:
    """Housing of the upper arm at the elbow; the tube comes from +x."""
    drum = housing(s, MEDIUM, ELBOW, UPPER + 0.054)
    collar = along_x(s.lathe((0.0, 0.050), (0.070, 0.050), (0.075, 0.048)))
    return drum + collar.translate((0, 0, UPPER)), cap(s, MEDIUM, UPPER + 0.054, 1)


def forearm_joint(s: Shop) -> tuple[Manifold, Manifold]:
    """Housing of the forearm at the elbow; the tube leaves along -x."""
    drum = housing(s, MEDIUM, LOWER - 0.054, ELBOW - GAP)
    collar = along_x(s.lathe((-0.080, 0.041), (-0.074, 0.0445), (0.0, 0.0445)))
    return drum + collar.translate((0, 0, LOWER)), cap(s, MEDIUM, LOWER - 0.054, -1)


def forearm(s: Shop) -> tuple[Manifold, Manifold]:
    return along_x(s.column(0.0375, 0.04 - A3, -0.04)).translate((0, 0, LOWER)), Manifold()


def wrist_joint(s: Shop) -> tuple[Manifold, Manifold]:
    """Housing of the forearm at the wrist; the tube comes from +x."""
    drum = housing(s, SMALL, LOWER - 0.046, WRIST)
    collar = along_x(s.lathe((0.0, 0.041), (0.060, 0.041), (0.064, 0.039)))
    return drum + collar.translate((0, 0, LOWER)), cap(s, SMALL, LOWER - 0.046, -1)


def wrist_1(s: Shop) -> tuple[Manifold, Manifold]:
    """Along y from the forearm, then along z to wrist 2."""
    first = along_y(housing(s, SMALL, WRIST - D4 + GAP, 0.044))
    second = s.lathe((0.0, SMALL), (0.049, SMALL), (0.053, SMALL - 0.004))
    return first + second, along_y(cap(s, SMALL, 0.044, 1))


def wrist_2(s: Shop) -> tuple[Manifold, Manifold]:
    """Along -y from wrist 1, then along z to wrist 3."""
    first = along_y(housing(s, SMALL, -0.044, D5 - 0.053 - GAP))
    second = s.lathe((0.0, SMALL), (0.049, SMALL), (0.053, SMALL - 0.004))
    return first + second, along_y(cap(s, SMALL, -0.044, -1))


def wrist_3(s: Shop) -> tuple[Manifold, Manifold]:
    """A short housing behind the flange, whose face is at z = 0."""
    low = 0.053 - D6 + GAP
    return s.lathe((low, 0.036), (low + 0.004, 0.0385), (-0.008, 0.0385)), Manifold()


def flange(s: Shop) -> tuple[Manifold, Manifold]:
    """A steel disc on its back, z = 0, and dark bolts around the middle of its face."""
    disc = s.lathe((0.0, 0.0365), (0.009, 0.0365), (0.010, 0.0355))
    return disc, s.bolts(4, 0.025, -0.001, 0.0016, 0.004) if s.detailed else Manifold()


PARTS: dict[str, Maker] = {
    "base": base,
    "shoulder": shoulder,
    "shoulder joint": shoulder_joint,
    "upper arm": upper_arm,
    "elbow joint": elbow_joint,
    "forearm joint": forearm_joint,
    "forearm": forearm,
    "wrist joint": wrist_joint,
    "wrist 1": wrist_1,
    "wrist 2": wrist_2,
    "wrist 3": wrist_3,
    "flange": flange,
}


def files() -> dict[str, bytes]:
    """All shipped files of the robot."""
    return mesh_files(PARTS)


if __name__ == "__main__":
    write(__doc__, "ur5e", files)
