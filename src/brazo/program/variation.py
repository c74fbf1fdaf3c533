"""Random variations of a cell: poses and masses of bodies, friction of the gripper pads.

Each quantity is drawn from a uniform distribution, all from one seed:

    x, y of each body              ± position      (m)
    rotation of each body about z  ± angle         (rad)
    mass of each body              × (1 ± mass)
    friction of the pads           between the two values of friction (sliding coefficient)

`position`, `angle`, `mass` and `friction` are fields of `Variation`.  Programs use the varied
poses, but controllers use the nominal masses (`nominal_loads`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from brazo.model.description import frozen
from brazo.model.transforms import rot_z, translate
from brazo.world import Cell


@dataclass(frozen=True, slots=True)
class Variation:
    """Ranges of the random variation of a cell; see the module docstring."""

    position: float = 0.003
    angle: float = math.radians(3.0)
    mass: float = 0.2
    friction: tuple[float, float] = (0.6, 1.2)


def varied(cell: Cell, seed: int, by: Variation | None = None) -> Cell:
    """Return a random variation of a cell within the ranges `by`, determined by the seed."""
    by = by or Variation()
    rng = np.random.default_rng(seed)
    bodies = []
    for body in cell.bodies:
        dx, dy = rng.uniform(-by.position, by.position, 2).tolist()
        turn = rng.uniform(-by.angle, by.angle)
        # About the body's centre, along the world axes.
        T = body.pose.copy()
        T[:3, :3] = rot_z(turn)[:3, :3] @ T[:3, :3]
        mass = body.mass * (1.0 + rng.uniform(-by.mass, by.mass))
        bodies.append(replace(body, pose=frozen(translate(dx, dy, 0.0) @ T), mass=mass))
    _, torsional, rolling = cell.contact.pad_friction
    pads = (float(rng.uniform(*by.friction)), torsional, rolling)
    return replace(cell, bodies=tuple(bodies), contact=replace(cell.contact, pad_friction=pads))


def nominal_loads(cell: Cell) -> dict[str, float]:
    """Return the masses (kg) of the bodies by name; `cell` must be the cell before variation."""
    return {body.name: body.mass for body in cell.bodies}


def describe(cell: Cell, nominal: Cell) -> str:
    """Return pad friction, displacements and masses of the bodies of a varied cell as text."""
    parts = [f"pad friction {cell.contact.pad_friction[0]:.2f}"]
    for body, was in zip(cell.bodies, nominal.bodies, strict=True):
        dx, dy, _ = 1e3 * (body.pose[:3, 3] - was.pose[:3, 3])
        R = body.pose[:3, :3] @ was.pose[:3, :3].T
        turn = math.degrees(math.atan2(R[1, 0], R[0, 0]))
        parts.append(f"{body.name} {dx:+.1f} {dy:+.1f} mm {turn:+.1f}° {body.mass:.3f} kg")
    return ", ".join(parts)
