"""Estimate masses, centres of mass and inertias of a robot's links from its solids.

    python tools/estimate_inertia.py rv2aj --total 17

Every link is taken as solid, of one effective density: the given one (kg/m³), or the one for which
base and links together have the total mass.  Where parts of a link overlap, the overlap counts
twice.  The printed fields are for the joints of the robot file; label them as estimated there.
"""

from __future__ import annotations

import argparse

import numpy as np
import trimesh

import brazo
from brazo.body.solids import mesh
from brazo.model.description import Inertia, frozen
from brazo.model.inertia import merge, transformed

DIGITS = 4


def solid_inertias(arm: brazo.Robot) -> list[Inertia]:
    """Inertia of each body, base first, for a density of 1 kg/m³."""
    found = []
    for parts in arm.parts:
        total = Inertia(0.0, frozen(np.zeros(3)), frozen(np.zeros((3, 3))))
        for part in parts:
            drawn = mesh(part.shape)
            solid = trimesh.Trimesh(drawn.vertices, drawn.faces)
            own = Inertia(
                float(solid.volume), frozen(solid.center_mass), frozen(solid.moment_inertia)
            )
            total = merge(total, transformed(own, part.pose))
        found.append(total)
    return found


def estimated(arm: brazo.Robot, total: float | None, density: float | None) -> list[Inertia]:
    """Inertia of each body, base first."""
    solids = solid_inertias(arm)
    if density is None:
        assert total is not None
        density = total / sum(one.mass for one in solids)
    return [Inertia(density * one.mass, one.com, frozen(density * one.tensor)) for one in solids]


def field_text(inertia: Inertia) -> str:
    """The fields of a joint in a robot file."""

    def numbers(values: np.ndarray, size: float) -> str:
        rounded = [0.0 if abs(x) < 1e-9 * size else float(f"{x:.{DIGITS}g}") for x in values]
        return "[" + ", ".join(f"{x:g}" for x in rounded) + "]"

    com, tensor = inertia.com, inertia.tensor
    rows = ", ".join(numbers(row, np.abs(tensor).max()) for row in tensor)
    place = numbers(com, np.abs(com).max())
    return f"mass: {inertia.mass:.{DIGITS}g}, com: {place}, inertia: [{rows}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("robot")
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--total", type=float, help="mass of base and links together, kg")
    given.add_argument("--density", type=float, help="kg/m³")
    options = parser.parse_args()
    arm = brazo.load(options.robot)
    for name, one in zip(
        arm.body_names, estimated(arm, options.total, options.density), strict=True
    ):
        print(f"{name}: {field_text(one)}")


if __name__ == "__main__":
    main()
