"""Reader of mesh files as triangles.

Lengths are in m.  If a file does not define a unit, its numbers are taken as metres.
Binary STL files are read in this process, because their records have a fixed size that can be
checked against the file size.  All other files are read by `brazo.body.mesh_worker` in a separate
process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from brazo.body.binary_stl import Triangles, read_binary_stl
from brazo.body.binary_stl import stl_bytes as stl_bytes
from brazo.errors import BrazoError
from brazo.files import require_regular
from brazo.model.shapes import Mesh

MAX_BYTES = 200_000_000
MAX_TRIANGLES = 2_000_000
MAX_COORDINATE = 1e6  # m
SUFFIXES = (
    ".stl", ".obj", ".ply", ".dae", ".glb", ".gltf", ".off", ".wrl", ".step", ".stp"
)  # fmt: skip


def mesh_triangles(mesh: Mesh) -> Triangles:
    """Return the vertices (v, 3) in m and faces (f, 3) of a mesh, with its scale applied.

    The triangles are those in the mesh object.  If it has none, they are read from its file.
    """
    if mesh.vertices is not None and mesh.faces is not None:
        vertices, faces = checked(mesh.vertices, mesh.faces)
    elif mesh.path is not None:
        vertices, faces = load_triangles(mesh.path)
    else:
        raise BrazoError("a mesh needs a path, or vertices and faces")
    scale = np.asarray(mesh.scale, dtype=np.float64)
    if scale.shape != (3,) or not np.isfinite(scale).all():
        raise BrazoError(f"{_name(mesh)}: scale is {mesh.scale}; expected three finite numbers")
    if scale.prod() < 0.0:  # a reflection turns the faces inside out
        faces = faces[:, ::-1]
    with np.errstate(over="ignore"):
        vertices = vertices * scale
    if not np.abs(vertices).max() <= MAX_COORDINATE:
        raise BrazoError(
            f"{_name(mesh)}: a coordinate of a vertex is {np.abs(vertices).max():.3g} m; "
            f"at most {MAX_COORDINATE:g} m are allowed: check the scale and the unit of the mesh"
        )
    return vertices, faces


def load_triangles(path: str | Path) -> Triangles:
    """Return the vertices (v, 3) and faces (f, 3) of a mesh file.

    A separate process reads the file, with limits on memory and time; binary STL is read directly.
    Raises BrazoError if the file is missing, too large, invalid or empty.
    """
    path = Path(path)
    require_readable(path)
    from brazo.body.mesh_process import reader

    try:
        is_stl = path.suffix.lower() == ".stl"
        found = read_binary_stl(path, MAX_TRIANGLES) if is_stl else None
        return checked(*(found or reader.read(path, MAX_TRIANGLES)))
    except BrazoError as error:
        text = str(error)
        raise BrazoError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    except OSError as error:
        raise BrazoError(f"{path}: cannot be read: {error.strerror or error}") from None


def require_readable(path: Path) -> os.stat_result:
    """Return the status of a mesh file.

    Raises BrazoError if the file does not exist, is not a regular file or is too large.
    """
    try:
        status = require_regular(path)
    except FileNotFoundError:
        raise BrazoError(f"{path}: no such mesh file") from None
    if status.st_size > MAX_BYTES:
        raise BrazoError(
            f"{path}: {status.st_size} bytes; the maximum for a mesh file is {MAX_BYTES}"
        )
    return status


def checked(vertices: Any, faces: Any) -> Triangles:
    """Return vertices and faces as arrays (v, 3) float64 and (f, 3) int32.

    Raises BrazoError if they are invalid.
    """
    try:
        vertices, faces = np.asarray(vertices, dtype=np.float64), np.asarray(faces)
    except (TypeError, ValueError, OverflowError) as error:
        raise BrazoError(f"vertices are not an array of numbers ({error})") from None
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise BrazoError(f"vertices have shape {vertices.shape}; expected (v, 3)")
    if faces.size == 0:
        raise BrazoError("the mesh has no triangles")
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        raise BrazoError(
            f"faces have type {faces.dtype} and shape {faces.shape}; expected integers (f, 3)"
        )
    if len(faces) > MAX_TRIANGLES:
        raise BrazoError(
            f"{len(faces)} triangles; the maximum is {MAX_TRIANGLES}: simplify the mesh"
        )
    low, high = int(faces.min()), int(faces.max())
    if low < 0 or high >= len(vertices):
        bad = low if low < 0 else high
        raise BrazoError(
            f"a face refers to vertex {bad}; the vertices are 0 to {len(vertices) - 1}"
        )
    if not np.isfinite(vertices).all():
        raise BrazoError("a coordinate of a vertex is not a finite number")
    return vertices, faces.astype(np.int32)


def _name(mesh: Mesh) -> str:
    return str(mesh.path) if mesh.path else "mesh"
