"""Functions shared by the file writers: numbers as text, safe file names, mesh files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np

from brazo.body.meshes import mesh_triangles, stl_bytes
from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.model.shapes import Mesh, Shape

_LONGEST = 80  # characters of a file name, without its suffix


def text_of(values: Iterable[float] | float) -> str:
    """Return numbers separated by spaces, with all digits needed to read them back exactly."""
    items = np.atleast_1d(np.asarray(values, dtype=np.float64))
    # Adding zero turns -0.0 into 0.0.
    return " ".join(repr(float(x) + 0.0).removesuffix(".0") for x in items)


def unique_name(wanted: str, taken: set[str]) -> str:
    """Return `wanted`, with a number appended if this name is taken; add the result to `taken`."""
    name, k = wanted, 2
    while name in taken:
        name, k = f"{wanted}_{k}", k + 1
    taken.add(name)
    return name


def printable(name: str) -> str:
    """Return the name with `_` instead of each character that is not printable; `_` if empty."""
    return "".join(c if c.isprintable() else "_" for c in name) or "_"


def safe_stem(name: str, otherwise: str = "robot") -> str:
    """Return a name as a file name without suffix: only ASCII letters, digits, `-`, `_` and `.`.

    The result contains no folder and has at most 80 characters.  It does not start or end with `.`
    or `_`.  `otherwise` is returned if no characters remain.
    """
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._")
    return stem[:_LONGEST].rstrip("._") or otherwise


class MeshFolder:
    """STL files to write next to an exported robot; equal shapes share one file."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._names: dict[Shape, str] = {}
        self._taken: set[str] = set()

    def add(self, shape: Shape, wanted: str, most: int | None = None) -> str:
        """Add a shape and return the name of its STL file.

        The name is derived from `wanted`, with a number appended if it is already used.  `most` is
        the max number of triangles; a shape with more raises BrazoError.
        """
        if shape not in self._names:
            vertices, faces = _triangles(shape)
            if most is not None and len(faces) > most:
                raise BrazoError(f"it has {len(faces)} triangles; at most {most} can be written")
            name = unique_name(safe_stem(wanted, "part").lower(), self._taken) + ".stl"
            self.files[name] = stl_bytes(vertices, faces)
            self._names[shape] = name
        return self._names[shape]

    def write(self, folder: Path) -> None:
        """Write all files into a folder, which is created if it does not exist.

        Without files, no folder is created.
        """
        if not self.files:
            return
        make_folder(folder)
        for name, data in self.files.items():
            write_file(folder / name, data)


def mesh_folder(path: Path, kind: Literal["urdf", "mjcf"]) -> Path:
    """Return the folder for the meshes of a robot that is exported to `path`.

    The folder is `<stem>_meshes` for URDF and `<stem>_mjcf_meshes` for MJCF, whatever the suffix of
    the file, so that `arm.urdf` and `arm.xml` do not share mesh files.
    """
    middle = "_mjcf" if kind == "mjcf" else ""
    return path.with_name(f"{safe_stem(path.stem)}{middle}_meshes")


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically: another process sees the old or the new content, never a part."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrazoError(f"{folder}: cannot be created: {error.strerror}") from error


def _triangles(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(shape, Mesh):
        return mesh_triangles(shape)
    from brazo.body.solids import triangles

    return triangles(shape)
