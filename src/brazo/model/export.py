"""What the writers share: numbers as text, meshes beside the file, files written in one piece.

A file is written under a temporary name in its own folder, flushed to the disk and renamed, so a
reader never sees half of it and a full disk leaves the old one as it was.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from brazo.errors import BrazoError
from brazo.model.meshes import mesh_triangles, stl_bytes
from brazo.model.shapes import Mesh, Shape


def text_of(values: Iterable[float] | float) -> str:
    """Numbers separated by spaces, with all the digits needed to read them back exactly."""
    items = np.atleast_1d(np.asarray(values, dtype=np.float64))
    # Adding zero turns -0.0 into 0.0.
    return " ".join(repr(float(x) + 0.0).removesuffix(".0") for x in items)


def unique_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, or with a number behind it when it is taken; the result is taken from now on."""
    name, k = wanted, 2
    while name in taken:
        name, k = f"{wanted}_{k}", k + 1
    taken.add(name)
    return name


def printable(name: str) -> str:
    """A name that XML can hold."""
    return "".join(c if c.isprintable() else "_" for c in name) or "_"


class MeshFolder:
    """The STL files that go beside an exported robot; equal shapes share one file."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._names: dict[Shape, str] = {}
        self._taken: set[str] = set()

    def add(self, shape: Shape, wanted: str, most: int | None = None) -> str:
        """The file name for a shape, `wanted` if it is free; `most` triangles are allowed."""
        if shape not in self._names:
            vertices, faces = _triangles(shape)
            if most is not None and len(faces) > most:
                raise BrazoError(f"{len(faces)} triangles; at most {most} can be written")
            stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", wanted).strip("._") or "part"
            name = unique_name(stem[:80].lower(), self._taken) + ".stl"
            self.files[name] = stl_bytes(vertices, faces)
            self._names[shape] = name
        return self._names[shape]

    def write(self, folder: Path) -> None:
        """Write all files into a folder, which is made if it is missing."""
        if not self.files:
            return
        make_folder(folder)
        for name, data in self.files.items():
            write_file(folder / name, data)


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole: temporary file, flush to disk, rename."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise BrazoError(f"{path}: cannot be written: {error.strerror}") from error


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BrazoError(f"{folder}: cannot be made: {error.strerror}") from error


def _triangles(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(shape, Mesh):
        return mesh_triangles(shape)
    from brazo.model.solids import triangles

    return triangles(shape)


def safe_stem(name: str) -> str:
    """A robot's name as a file name: letters, digits, - _ . only, no leading dot, never empty."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name)
    return kept.strip(".-")[:100] or "robot"
