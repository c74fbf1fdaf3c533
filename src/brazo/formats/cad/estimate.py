"""Estimated inertias of links, from the geometry and density of their parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from brazo.body.mesh_inertia import hull_of, open_edges, solid_inertia
from brazo.errors import BrazoError
from brazo.formats.cad.assembly_parts import CadPart
from brazo.model.description import Inertia, frozen
from brazo.model.inertia import merge

ALUMINIUM = 2700.0  # kg/m³
MAX_DENSITY = 30_000.0  # kg/m³; the heaviest metals have less


@dataclass(frozen=True, slots=True, eq=False)
class PartEstimate:
    """Estimated inertia of a part, its density (kg/m³) and notes for the report.

    The inertia is in the frame of the triangles of the part.
    """

    inertia: Inertia
    density: float
    notes: tuple[str, ...] = ()


def estimates(
    parts: Sequence[CadPart], densities: Mapping[str, float], total: float | None
) -> list[PartEstimate]:
    """Return the inertia of each part, computed as a solid of uniform density.

    The solid is the convex hull if the surface of the part is not closed.  `densities` maps part
    names, with wildcards, to densities (kg/m³).  The key "" gives the density of all parts that
    match no name; its default is `ALUMINIUM`.  If `total` (kg) is given, all densities are scaled
    such that the parts have this total mass.
    """
    for name, value in densities.items():
        if not (math.isfinite(value) and 0.0 < value <= MAX_DENSITY):
            raise BrazoError(
                f"density{f' of {name}' if name else ''}: {value:g} kg/m³; it must be above 0 and "
                f"at most {MAX_DENSITY:g} (aluminium {ALUMINIUM:g}, steel 7850)"
            )
    if total is not None and not (math.isfinite(total) and total > 0.0):
        raise BrazoError(f"mass: {total:g} kg; the total mass must be above 0")
    unused = [n for n in densities if n and not any(_names(n, part) for part in parts)]
    if unused:
        known = ", ".join(f"'{part.name}'" for part in parts[:20])
        raise BrazoError(f"density: no part is named '{unused[0]}'; the parts are: {known}")
    found = [_estimate(part, _density(part, densities)) for part in parts]
    if total is None:
        return found
    factor = total / sum(one.inertia.mass for one in found)
    return [
        PartEstimate(scaled(one.inertia, factor), one.density * factor, one.notes) for one in found
    ]


def scaled(inertia: Inertia, factor: float) -> Inertia:
    """Return the inertia of a body of the same shape with `factor` times the density."""
    return Inertia(factor * inertia.mass, inertia.com, frozen(factor * inertia.tensor))


def combined(inertias: Sequence[Inertia]) -> Inertia:
    """Return the inertia of rigidly joined bodies; all inertias are in the same frame."""
    whole = inertias[0]
    for one in inertias[1:]:
        whole = merge(whole, one)
    return whole


def _density(part: CadPart, densities: Mapping[str, float]) -> float:
    given = (value for name, value in densities.items() if name and _names(name, part))
    return next(given, densities.get("", ALUMINIUM))


def _names(pattern: str, part: CadPart) -> bool:
    return any(fnmatchcase(n.lower(), pattern.lower()) for n in (part.name, *part.names))


def _estimate(part: CadPart, density: float) -> PartEstimate:
    notes: list[str] = []
    vertices, faces = part.vertices, part.faces
    broken = open_edges(vertices, faces)
    try:
        if broken:
            notes.append(
                f"the surface is not closed ({broken} open edges), so the convex hull is taken as "
                "the solid: its mass is an upper bound"
            )
            vertices, faces = hull_of(vertices)
        inertia = solid_inertia(vertices, faces, density)
    except BrazoError as error:
        raise BrazoError(
            f"{part.file}: part '{part.name}': {error}, so it has no mass; give it a thickness in "
            f'the CAD program, or leave it out with --map "{part.name}=none"'
        ) from None
    if not broken and _signed_volume(part) < 0.0:
        notes.append("the surface was inside out; its faces were reversed")
    return PartEstimate(inertia, density, tuple(notes))


def _signed_volume(part: CadPart) -> float:
    corners = part.vertices[part.faces] - part.vertices.mean(axis=0)
    return float(np.linalg.det(corners).sum()) / 6.0
