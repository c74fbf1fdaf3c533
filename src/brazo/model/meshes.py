"""Mesh files of any kind to triangles in metres, and triangles to STL.

The formats are trimesh's (STL, OBJ, PLY, COLLADA, glTF, OFF, ...); every object of the file is put
where the file places it and all become one list of triangles.

COLLADA says in which unit it counts (`<unit meter="0.0254">`), and that is applied.  It also says
which axis is up, and that is *not*: the tools that draw robot files ignore it by long custom, so
many files carry a wrong one, and a link's mesh is meant in the link's axes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from brazo.errors import BrazoError
from brazo.model.shapes import Mesh

MAX_BYTES = 200_000_000
MAX_TRIANGLES = 5_000_000

Triangles = tuple[np.ndarray, np.ndarray]  # vertices (v, 3) float64, faces (f, 3) int32


def mesh_triangles(mesh: Mesh) -> Triangles:
    """The triangles of a mesh, given or from its file, with its scale applied."""
    if mesh.vertices is not None and mesh.faces is not None:
        vertices = np.asarray(mesh.vertices, dtype=np.float64)
        faces = np.asarray(mesh.faces, dtype=np.int32)
    elif mesh.path is not None:
        vertices, faces = load_triangles(mesh.path)
    else:
        raise BrazoError("a mesh needs a path, or vertices and faces")
    scale = np.asarray(mesh.scale, dtype=np.float64)
    if scale.prod() < 0.0:  # a mirror turns the faces inside out
        faces = faces[:, ::-1]
    return vertices * scale, faces


def load_triangles(path: str | Path) -> Triangles:
    """Read a mesh file; `BrazoError` when it is missing, too large, broken or empty."""
    path = Path(path)
    try:
        size = path.stat().st_size
    except (OSError, ValueError):
        raise BrazoError(f"{path}: no such mesh file") from None
    if size > MAX_BYTES:
        raise BrazoError(f"{path}: {size} bytes; mesh files up to {MAX_BYTES} are read")
    import trimesh

    try:
        scene = trimesh.load_scene(path, skip_materials=True)
        merged = scene.to_mesh()
        vertices, faces = np.array(merged.vertices, dtype=np.float64), np.array(merged.faces)
        # STL, OBJ and PLY have no unit: metres, as robot files mean them.
        unit = trimesh.units.unit_conversion(scene.units, "meters") if scene.units else 1.0
    # A dozen readers of a dozen formats raise what they like.
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise BrazoError(f"{path}: not a mesh that can be read: {reason}") from error
    if faces.size == 0:
        raise BrazoError(f"{path}: the file holds no triangles")
    if len(faces) > MAX_TRIANGLES:
        raise BrazoError(f"{path}: {len(faces)} triangles; up to {MAX_TRIANGLES} are read")
    if not np.isfinite(vertices).all():
        raise BrazoError(f"{path}: a vertex is not a finite number")
    return vertices * unit, faces.astype(np.int32)


def stl_bytes(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    """Binary STL of the triangles (single precision, as the format has it)."""
    corners = np.asarray(vertices)[np.asarray(faces)]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(across, axis=1, keepdims=True)
    normals = np.divide(across, length, out=np.zeros_like(across), where=length > 0.0)
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    data = np.zeros(len(corners), dtype=record)
    data["normal"], data["corners"] = normals, corners
    return b"brazo".ljust(80, b"\0") + np.uint32(len(corners)).tobytes() + data.tobytes()
