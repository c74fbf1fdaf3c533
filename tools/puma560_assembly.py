"""Build the body of a Puma 560: pedestal, turret, shoulder, upper arm, elbow, forearm, wrist.

    python tools/puma560_assembly.py                the shipped meshes
    python tools/puma560_assembly.py --out DIR      the same, elsewhere

The design is brazo's own: no drawing or mesh of the maker was used.  Joint axes are those of the
D-H table, and the flange face is where the generated body had it, 76 mm from the wrist centre.  All
other sizes are proposed: a round pedestal, a shoulder drum across it, an upper arm that is a flat
tapered box beside the forearm and extends behind the shoulder, and a tapered forearm.

Offsets across the arm (z of links 1 and 2, -y of link 3) count from the plane of the forearm, D3
beside the waist axis.
"""

from __future__ import annotations

from assembly import Maker, Shop, along_y, mesh_files, union, write
from manifold3d import Manifold

H, A2, D4 = 0.67183, 0.4318, 0.4318  # m, D-H table
FACE = 0.07598558  # m, from the wrist centre to the face of the flange,
BACK = 0.058  # and to its back
WAIST = 0.548  # height of the plane between pedestal and turret
SIDE = 0.058  # plane between shoulder or forearm and upper arm, from the forearm's plane
ROLL = 0.3508  # plane between forearm and wrist, from the elbow


def base(s: Shop) -> tuple[Manifold, Manifold]:
    plate = s.slab(s.rounded(0.310, 0.310, 0.050), 0.0, 0.022, 0.004)
    trunk = s.lathe(
        (0.018, 0.138), (0.036, 0.134), (0.060, 0.112), (0.100, 0.102), (0.500, 0.094),
        (0.506, 0.106), (0.530, 0.106), (WAIST - 0.010, 0.098),
    )  # fmt: skip
    box = s.slab(s.rounded(0.110, 0.150, 0.012), 0.018, 0.190, 0.005).translate((-0.095, 0, 0))
    casting = plate + trunk + box
    seal = s.column(0.092, WAIST - 0.012, WAIST)
    if not s.detailed:
        return casting, seal
    bolts = s.bolts(4, 0.181, 0.020, 0.030, 0.011)
    socket = s.slab(s.rounded(0.034, 0.100, 0.004), 0.0, 0.010).rotate((0, -90, 0))
    vent = s.slab(s.rounded(0.008, 0.110, 0.003), 0.0, 0.006).rotate((0, -90, 0))
    vents = union([vent.translate((-0.1475, 0, z)) for z in (0.120, 0.136, 0.152)])
    trim = seal + bolts + socket.translate((-0.1475, 0, 0.065)) + vents
    return casting, trim


def turret(s: Shop) -> tuple[Manifold, Manifold]:
    """Upright on the waist; y is up from the shoulder axis."""
    low = WAIST - H
    disc = along_y(s.lathe((low, 0.100), (low + 0.006, 0.104), (low + 0.026, 0.104)))
    saddle = Manifold.batch_hull(
        [
            s.across(s.rounded(0.196, 0.196, 0.085), low + 0.020, low + 0.030),
            s.across(s.rounded(0.176, 0.220, 0.030), -0.040, 0.0),
        ]
    )
    return disc + saddle, Manifold()


def shoulder(s: Shop) -> tuple[Manifold, Manifold]:
    """A drum on the shoulder axis, z, with a motor cover behind."""
    drum = s.lathe(
        (-0.292, 0.066), (-0.286, 0.078), (-0.262, 0.084), (-0.260, 0.098), (-0.256, 0.102),
        (0.028, 0.102), (0.034, 0.096),
    )  # fmt: skip
    trim = s.column(0.088, 0.030, SIDE)
    if s.detailed:
        trim += s.column(0.050, -0.297, -0.290)
        trim += s.bolts(6, 0.091, -0.264, -0.258, 0.006)
    return drum, trim


def upper_arm(s: Shop) -> tuple[Manifold, Manifold]:
    """A flat tapered box along x, beside the forearm, that extends behind the shoulder."""
    outline = s.lever((-0.075, 0.0, 0.104), (0.0, 0.0, 0.118), (A2, 0.0, 0.074))
    if not s.detailed:
        return s.slab(outline, SIDE, SIDE + 0.108), Manifold()
    casting = s.slab(outline, SIDE, SIDE + 0.104, 0.012)
    cover = s.slab(s.lever((-0.070, 0.0, 0.074), (A2, 0.0, 0.044)), 0.1, SIDE + 0.108, 0.003)
    groove = s.slab(s.lever((-0.070, 0.0, 0.077), (A2, 0.0, 0.047)), SIDE + 0.101, 0.2)
    casting = casting - groove + cover
    caps = s.column(0.056, 0.160, SIDE + 0.113)
    caps += s.column(0.034, 0.160, SIDE + 0.113, at=(A2, 0.0))
    heads = s.bolts(6, 0.045, SIDE + 0.110, SIDE + 0.116, 0.005)
    return casting - caps, caps + heads


def elbow(s: Shop) -> tuple[Manifold, Manifold]:
    """A drum on the elbow axis, -y, between forearm and upper arm."""
    drum = s.drum(0.0, 0.072, -SIDE + 0.010, 0.056, 0.006)
    trim = s.drum(0.0, 0.060, -SIDE, -SIDE + 0.012)
    if s.detailed:
        cap = s.drum(0.0, 0.046, 0.052, 0.062)
        drum, trim = drum - cap, trim + cap + along_y(s.bolts(6, 0.036, 0.060, 0.065, 0.0045))
    return drum, trim


def forearm(s: Shop) -> tuple[Manifold, Manifold]:
    """A tapered box along z, from behind the elbow to the wrist roll."""
    casting = Manifold.batch_hull(
        [
            s.slab(s.rounded(0.086, 0.070, 0.018), -0.112, -0.100),
            s.slab(s.rounded(0.118, 0.094, 0.024), -0.094, 0.030),
            s.slab(s.rounded(0.074, 0.072, 0.026), ROLL - 0.024, ROLL - 0.014),
            s.column(0.034, ROLL - 0.014, ROLL - 0.006),
        ]
    )
    trim = s.column(0.031, ROLL - 0.008, ROLL)
    if s.detailed:
        panel = s.slab(s.lever((0.0, 0.130, 0.022), (0.0, 0.265, 0.016)), 0.030, 0.055)
        panel = panel.rotate((90, 0, 0))  # (x, z) on the faces y = ± of the box
        shell = casting.translate((0, 0.0015, 0)) + casting.translate((0, -0.0015, 0))
        trim += s.both(panel) ^ shell
        trim += s.slab(s.rounded(0.060, 0.046, 0.008), -0.116, -0.108)
    return casting - trim, trim


def wrist(s: Shop) -> tuple[Manifold, Manifold]:
    """A fork on the wrist roll, y, that carries the pitch axis, z."""
    low = ROLL - D4
    neck = along_y(s.lathe((low, 0.033), (low + 0.003, 0.0355), (-0.064, 0.0355), (-0.052, 0.034)))
    fork = s.slab(s.lever((0.0, 0.0, 0.0300), (0.0, -0.050, 0.0310)), -0.0365, 0.0365, 0.003)
    slot = Manifold.cube((0.2, 0.142, 0.047), True).translate((0, 0.029, 0))  # y above -42 mm
    below = Manifold.cube((0.2, 0.1, 0.2), True).translate((0, -0.064 - 0.05, 0))
    fork = fork - slot - below
    casting = neck + fork
    if not s.detailed:
        return casting, Manifold()
    cap = s.column(0.020, 0.0340, 0.0400)
    trim = cap + cap.mirror((0, 0, 1))
    return casting, trim


def hand(s: Shop) -> tuple[Manifold, Manifold]:
    """The pitch link between the cheeks of the wrist; z leads to the flange."""
    drum = s.drum(0.0, 0.029, -0.0225, 0.0225, 0.003)
    barrel = s.column(0.0222, 0.0, 0.046) + s.column(0.030, 0.042, 0.055, 0.003)
    return drum + barrel, s.column(0.0265, 0.054, BACK)


def flange(s: Shop) -> tuple[Manifold, Manifold]:
    """A steel disc on its back, z = 0, and dark bolts around the middle of its face."""
    disc = s.column(0.0315, 0.0, FACE - BACK, 0.0015)
    if not s.detailed:
        return disc, Manifold()
    return disc, s.bolts(6, 0.022, -0.001, 0.002, 0.0035)


PARTS: dict[str, Maker] = {
    "base": base,
    "turret": turret,
    "shoulder": shoulder,
    "upper arm": upper_arm,
    "elbow": elbow,
    "forearm": forearm,
    "wrist": wrist,
    "hand": hand,
    "flange": flange,
}


def files() -> dict[str, bytes]:
    """All shipped files of the robot."""
    return mesh_files(PARTS)


if __name__ == "__main__":
    write(__doc__, "puma560", files)
