"""Conversion of the geoms of a MuJoCo body to parts.

Geoms of groups 0 to 2 are visible in MuJoCo, unless they are fully transparent.  By convention,
collision shapes are in group 3 and above, which is hidden.  The visible geoms of a body therefore
become its parts; if it has none, all its geoms become parts.  A part has `collides` set in three
cases: its own geom collides, its convex pieces (hidden geoms) collide, or the body has a colliding
hidden geom that is not a convex piece of a visible geom.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from brazo.body.solids import triangles
from brazo.formats.mjcf import extras
from brazo.formats.mjcf.quaternion import pose_of
from brazo.model.description import Part, frozen
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere

_DRAWN_GROUPS = 3
_DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)


def parts_of(
    m: Any, mujoco: Any, body: int, name: str, note: Callable[[str, str], None]
) -> tuple[Part, ...]:
    """Return the parts of one body of a compiled model `m`.

    `name` is the name of the body, from which parts of geoms without a name get their names.
    `note(geom, text)` adds a warning about a geom that cannot be converted.
    """
    geoms = range(m.body_geomadr[body], m.body_geomadr[body] + m.body_geomnum[body])
    collides = {g: bool(m.geom_contype[g] or m.geom_conaffinity[g]) for g in geoms}
    drawn = [g for g in geoms if m.geom_group[g] < _DRAWN_GROUPS and _rgba(m, g)[3] > 0.0]
    names = {g: mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_GEOM, g) or "" for g in geoms}
    pieces = {extras.drawn_name(names[g]) for g in geoms if g not in drawn and collides[g]}
    in_place_of_all = not pieces <= {names[g] for g in drawn if names[g]}
    parts = []
    for g in drawn or geoms:
        label = names[g] or (name if len(geoms) == 1 else f"{name} {g - geoms[0] + 1}")
        shape = _shape(m, mujoco, g)
        if shape is None:
            kind = mujoco.mjtGeom(m.geom_type[g]).name.removeprefix("mjGEOM_").lower()
            note(label, f"a {kind} is not supported as a part of a robot: ignored")
            continue
        r, g_, b = (float(x) for x in _rgba(m, g)[:3])
        parts.append(
            Part(
                label,
                shape,
                frozen(pose_of(m.geom_pos[g], m.geom_quat[g])),
                (r, g_, b),
                collides[g] or in_place_of_all or label in pieces,
            )
        )
    return tuple(parts)


def _rgba(m: Any, g: int) -> tuple[float, ...]:
    rgba = tuple(float(x) for x in m.geom_rgba[g])
    material = m.geom_matid[g]
    if material >= 0 and rgba == _DEFAULT_RGBA:
        rgba = tuple(float(x) for x in m.mat_rgba[material])
    return rgba


def _shape(m: Any, mujoco: Any, g: int) -> Shape | None:
    a, b, c = (float(x) for x in m.geom_size[g])
    kinds = mujoco.mjtGeom
    match kinds(m.geom_type[g]):
        case kinds.mjGEOM_BOX:
            return Box((2 * a, 2 * b, 2 * c))
        case kinds.mjGEOM_SPHERE:
            return Sphere(a)
        case kinds.mjGEOM_CYLINDER:
            return Cylinder(a, 2 * b)
        case kinds.mjGEOM_CAPSULE:
            return Capsule(a, 2 * b)
        case kinds.mjGEOM_ELLIPSOID:
            return _ellipsoid(a, b, c)
        case kinds.mjGEOM_MESH | kinds.mjGEOM_SDF:
            return _mesh(m, int(m.geom_dataid[g]))
    return None


def _ellipsoid(a: float, b: float, c: float) -> Mesh:
    vertices, faces = triangles(Sphere(1.0))
    return Mesh(vertices=frozen(vertices * (a, b, c)), faces=_whole(faces))


def _mesh(m: Any, index: int) -> Mesh | None:
    if index < 0:
        return None
    first, count = m.mesh_vertadr[index], m.mesh_vertnum[index]
    face, faces = m.mesh_faceadr[index], m.mesh_facenum[index]
    return Mesh(
        vertices=frozen(m.mesh_vert[first : first + count]),
        faces=_whole(m.mesh_face[face : face + faces]),
    )


def _whole(faces: Any) -> np.ndarray:
    array = np.array(faces, dtype=np.int32)
    array.flags.writeable = False
    return array
