"""Reader and writer of binary STL files.

A file has an 80-byte header, the number of triangles (uint32) and 50 bytes per triangle.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from brazo.errors import BrazoError

_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_HEADER = 84  # bytes

Triangles = tuple[np.ndarray, np.ndarray]


def read_binary_stl(path: Path, max_triangles: int) -> Triangles | None:
    """Return the vertices (v, 3) and faces (f, 3) of a binary STL file; None for a text STL file.

    A file that begins with "solid" is text unless its size is exactly that of a binary file.
    Corners at the same point share one vertex.  Raises BrazoError if the file is shorter than the
    number of triangles in its header requires, or has more than `max_triangles` triangles.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEADER)
        count = int.from_bytes(head[80:_HEADER], "little")
        needed = _HEADER + _RECORD.itemsize * count
        # Text starts with "solid", and so do some binary files.
        if size != needed and head.lstrip()[:5].lower() == b"solid":
            return None
        if len(head) < _HEADER:
            raise BrazoError("cannot be read as a mesh: too short for an STL file")
        if size < needed:
            raise BrazoError(
                f"the file is incomplete: {count} triangles need {needed} bytes, but it has {size}"
            )
        if count > max_triangles:
            raise BrazoError(
                f"{count} triangles; the maximum is {max_triangles}: simplify the mesh"
            )
        records = np.frombuffer(file.read(_RECORD.itemsize * count), _RECORD)
    if not count:
        return np.zeros((0, 3)), np.zeros((0, 3), np.int32)
    # Equal corners have equal bytes: adding zero turns -0 into 0.
    corners = np.ascontiguousarray(records["corners"]).reshape(-1, 3) + np.float32(0.0)
    keys = corners.view(np.dtype((np.void, 12))).reshape(-1)
    _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)  # vertices in the order of the file
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return corners[first[order]].astype(np.float64), rank[index].reshape(-1, 3).astype(np.int32)


def stl_bytes(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    """Return the triangles as binary STL (single precision, as the format requires)."""
    corners = np.asarray(vertices)[np.asarray(faces)]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(across, axis=1, keepdims=True)
    normals = np.divide(across, length, out=np.zeros_like(across), where=length > 0.0)
    data = np.zeros(len(corners), dtype=_RECORD)
    data["normal"], data["corners"] = normals, corners
    return b"brazo".ljust(80, b"\0") + np.uint32(len(corners)).tobytes() + data.tobytes()
