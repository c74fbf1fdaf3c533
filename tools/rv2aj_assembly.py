"""Build the assembly of an RV-2AJ: base, shoulder, 1 arm, 2 arm, 3 arm, flange, end-effector.

    python tools/rv2aj_assembly.py                  the shipped meshes and the STEP assembly
    python tools/rv2aj_assembly.py --out DIR        the same, elsewhere

The design is brazo's own: no drawing of the maker was used.  Joint axes are those of the paper's
sizes (297.5, 250, 160, 65.3 and 79.3 mm), with the arm straight up, the reference pose.  All other
sizes are proposed, such that the arm has the proportions of a small five-joint industrial arm and
its links do not intersect within the joint limits of the paper.

A part has a casting and dark or steel trim.  The links that carry them are in `LINKS`.  Meshes are
in the axes of the link, with the origin where the robot file places them (`library/robots/
rv2aj.yaml`), so that the file can stretch them with its parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from assembly import COARSE, FINE, Maker, Shop, part_files, triangles, union, write
from manifold3d import Manifold
from step_writer import Solid, step_text

OA, AB, BC, CD, DE = 0.2975, 0.250, 0.160, 0.0653, 0.0793  # m, sizes of the paper
A, B, C = OA, OA + AB, OA + AB + BC  # heights of the joint axes 2, 3 and 4
D, E = C + CD, C + CD + DE  # flange face and tool tip
TURRET = 0.155  # height of the plane between base and shoulder

# Mesh axes in the reference pose: columns are x, y, z of the link, see the D-H table.
UPRIGHT = np.eye(3)
SHOULDER = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]], dtype=float)  # x, -z, y
ARM = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float)  # z, x, y


@dataclass(frozen=True)
class Placed:
    """Link of a part, and axes (columns) and origin of its mesh in the reference pose."""

    link: int
    axes: np.ndarray
    origin: tuple[float, float, float]


LINKS = {
    "base": Placed(0, UPRIGHT, (0.0, 0.0, 0.0)),
    "shoulder": Placed(1, SHOULDER, (0.0, 0.0, A)),
    "1 arm": Placed(2, ARM, (0.0, 0.0, A)),
    "2 arm": Placed(3, ARM, (0.0, 0.0, B)),
    "3 arm": Placed(4, UPRIGHT, (0.0, 0.0, C)),
    "flange": Placed(5, UPRIGHT, (0.0, 0.0, C)),
    "end-effector": Placed(5, UPRIGHT, (0.0, 0.0, D)),
}


def base(s: Shop) -> tuple[Manifold, Manifold]:
    plate = s.slab(s.rounded(0.210, 0.184, 0.022), 0.0, 0.014, 0.003).translate((-0.008, 0, 0))
    holes = union(
        [s.column(0.0045, -0.01, 0.03, at=(x, y)) for x in (-0.100, 0.084) for y in (-0.078, 0.078)]
    )
    low = s.slab(s.rounded(0.156, 0.150, 0.030), 0.010, 0.016)
    high = s.slab(s.rounded(0.146, 0.142, 0.040), 0.090, 0.100, 0.004)
    box = Manifold.batch_hull([low, high])
    neck = s.column(0.068, 0.095, TURRET - 0.010, 0.0)
    back = s.slab(s.rounded(0.060, 0.112, 0.008), 0.014, 0.086, 0.003).translate((-0.092, 0, 0))
    casting = plate - holes + box + neck + back
    seal = s.column(0.074, TURRET - 0.012, TURRET, 0.003) - s.column(0.03, 0, TURRET - 0.006)
    sockets = union(
        [
            s.slab(s.circle(0.015), 0.0, 0.014, 0.002).rotate((0, -90, 0)).translate((-0.120, y, z))
            for y, z in ((-0.032, 0.056), (0.0, 0.056), (0.032, 0.056))
        ]
    )
    label = s.slab(s.rounded(0.070, 0.026, 0.004), 0.0, 0.010).rotate((90, 0, 90))
    label = label.translate((0.0665, 0.0, 0.060))
    trim = seal + sockets + label
    return casting - trim, trim


def shoulder(s: Shop) -> tuple[Manifold, Manifold]:
    disc = s.column(0.080, TURRET, TURRET + 0.026, 0.006)
    cheek = s.across(
        s.lever((0.0, A, 0.058), (-0.014, TURRET + 0.040, 0.050), (0.014, TURRET + 0.040, 0.050)),
        0.047, 0.074, 0.005,
    )  # fmt: skip
    cheeks = s.both(cheek)
    web = s.across(
        s.lever((-0.016, TURRET + 0.034, 0.022), (0.016, TURRET + 0.034, 0.022)), -0.06, 0.06
    )
    above = Manifold.cube((0.4, 0.4, 0.4), True).translate((0, 0, TURRET + 0.004 + 0.2))
    casting = disc + (cheeks + web ^ above)
    motor = s.drum(A, 0.040, 0.070, 0.096, 0.006)
    cap = s.drum(A, 0.046, -0.082, -0.070, 0.004)
    cable = s.slab(s.rounded(0.040, 0.060, 0.010), TURRET + 0.020, TURRET + 0.085, 0.006)
    cable = cable.translate((-0.062, 0.0, 0.0))
    casting = casting + cable
    trim = motor + cap + s.screws(A, 0.034, -0.0835, -0.081)
    return casting - trim, trim


def upper_arm(s: Shop) -> tuple[Manifold, Manifold]:
    root = s.drum(A, 0.052, -0.0455, 0.0455, 0.004)
    body = s.across(
        s.lever((0.0, A + 0.020, 0.046), (0.0, B - 0.105, 0.037)), -0.0440, 0.0440, 0.008
    )
    neck = s.across(s.lever((0.0, A + 0.120, 0.038), (0.0, B - 0.078, 0.036)), -0.050, 0.050, 0.008)
    cheek = s.across(s.lever((0.0, B, 0.044), (0.0, B - 0.100, 0.036)), 0.0335, 0.0500, 0.004)
    casting = root + body + neck + s.both(cheek)
    slot = s.across(s.lever((0, B, 0.0445), (0, B - 0.032, 0.0445)), -0.0335, 0.0335)
    opening = Manifold.cube((0.2, 0.067, 0.2), True).translate((0, 0, B + 0.036))
    casting = casting - slot - opening
    recess = s.lever((0.0, A + 0.070, 0.018), (0.0, B - 0.130, 0.015))
    panel = s.across(recess, -0.0525, -0.0425, 0.002)
    trim = panel + s.drum(B, 0.033, 0.048, 0.062, 0.004) + s.drum(B, 0.033, -0.056, -0.048, 0.003)
    trim = trim + s.screws(B, 0.025, -0.0572, -0.055)
    return casting - trim, trim


def forearm(s: Shop) -> tuple[Manifold, Manifold]:
    root = s.drum(B, 0.040, -0.0325, 0.0325, 0.003)
    body = s.across(
        s.lever((0.0, B + 0.015, 0.036), (0.0, C - 0.062, 0.029)), -0.0320, 0.0320, 0.006
    )
    cheek = s.across(s.lever((0.0, C, 0.0300), (0.0, C - 0.066, 0.0280)), 0.0235, 0.0355, 0.003)
    neck = s.across(
        s.lever((0.0, C - 0.070, 0.0285), (0.0, C - 0.054, 0.0275)), -0.0355, 0.0355, 0.004
    )
    casting = root + body + neck + s.both(cheek)
    slot = s.across(s.lever((0, C, 0.0310), (0, C - 0.012, 0.0310)), -0.0235, 0.0235)
    opening = Manifold.cube((0.2, 0.047, 0.1), True).translate((0, 0, C + 0.018))
    casting = casting - slot - opening
    panel = s.across(
        s.lever((0.0, B + 0.040, 0.0135), (0.0, C - 0.078, 0.0115)), -0.0345, -0.0305, 0.001
    )
    trim = (
        panel + s.drum(C, 0.0225, 0.034, 0.044, 0.003) + s.drum(C, 0.0225, -0.0400, -0.034, 0.002)
    )
    trim = trim + s.screws(C, 0.017, -0.0410, -0.0390, 0.0022)
    return casting - trim, trim


def wrist(s: Shop) -> tuple[Manifold, Manifold]:
    root = s.drum(C, 0.0270, -0.0225, 0.0225, 0.003)
    barrel = Manifold.batch_hull(
        [
            s.slab(s.rounded(0.044, 0.040, 0.010), C + 0.006, C + 0.010),
            s.column(0.0240, C + 0.030, C + 0.041, 0.002),
        ]
    )
    casting = root + barrel
    trim = s.column(0.0215, C + 0.040, C + 0.0450, 0.0)
    return casting - trim, trim


def flange(s: Shop) -> tuple[Manifold, Manifold]:
    """Both are steel: a stub with a disc of 40 mm, four holes on a circle of 31.5 mm."""
    disc = s.column(0.0200, D - 0.0110, D, 0.001)
    holes = s.ring(lambda x, y: s.column(0.0021, D - 0.02, D + 0.01, at=(x, y)), 4, 0.01575)
    stub = s.column(0.0175, C + 0.0450, D - 0.0105)
    return disc - holes + stub, Manifold()


def end_effector(s: Shop) -> tuple[Manifold, Manifold]:
    """A two-finger gripper; its fingers end at the tool tip."""
    adapter = s.column(0.0200, D, D + 0.008, 0.001)
    body = s.slab(s.rounded(0.036, 0.064, 0.006), D + 0.006, D + 0.038, 0.003)
    rail = s.slab(s.rounded(0.020, 0.070, 0.003), D + 0.034, D + 0.042)
    casting = adapter + body
    foot = s.slab(s.rounded(0.018, 0.018, 0.003), D + 0.040, D + 0.056, 0.0)
    tip = s.slab(s.rounded(0.014, 0.008, 0.002), D + 0.050, E, 0.0)
    finger = foot.translate((0, 0.024, 0)) + tip.translate((0, 0.0185, 0))
    trim = (rail - body) + s.both(finger)
    return casting - trim, trim


PARTS: dict[str, Maker] = {
    "base": base,
    "shoulder": shoulder,
    "1 arm": upper_arm,
    "2 arm": forearm,
    "3 arm": wrist,
    "flange": flange,
    "end-effector": end_effector,
}


def parts(segments: int = FINE) -> dict[str, tuple[Manifold, Manifold]]:
    """Casting and trim of every part, in metres in the reference pose."""
    return {name: make(Shop(segments)) for name, make in PARTS.items()}


def mesh_files(segments: int = FINE) -> dict[str, bytes]:
    """Binary STL of castings, trim and convex pieces in the axes of their link, by file name."""
    files = {}
    for name, solids in parts(segments).items():
        placed = LINKS[name]

        def local(vertices: np.ndarray, placed: Placed = placed) -> np.ndarray:
            return (vertices - placed.origin) @ placed.axes

        files |= part_files(name, solids, local=local)
    return files


def step_assembly(segments: int = COARSE) -> str:
    """The assembly as STEP (AP214) in millimetres, a product per part, without bevels."""
    products = {}
    for name, solids in parts(segments).items():
        shells = [piece for solid in solids for piece in solid.decompose()]
        meshes = [triangles(shell) for shell in shells if not shell.is_empty()]
        products[name] = [Solid(1000.0 * vertices, faces) for vertices, faces in meshes]
    return step_text("RV-2AJ", products)


def files() -> dict[str, bytes]:
    """All shipped files of the robot."""
    return {**mesh_files(), "rv2aj.step": step_assembly().encode()}


if __name__ == "__main__":
    write(__doc__, "rv2aj", files)
