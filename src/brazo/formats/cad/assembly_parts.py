"""Reader of the parts of a CAD assembly.

The assembly is one file (STEP, glTF, COLLADA, VRML, OBJ, ...) or a folder of files.  Files are read
in a separate process with limits on memory and time.  STEP, glTF and COLLADA files have a unit.
Lengths in other formats are in metres unless a scale is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.body.creases import same_place
from brazo.body.mesh_process import reader
from brazo.body.meshes import (
    MAX_COORDINATE,
    MAX_TRIANGLES,
    SUFFIXES,
    checked,
    require_readable,
)
from brazo.errors import BrazoError
from brazo.model.description import Array

MAX_PARTS = 2000
MAX_FILES = 200
TIMES = 4.0  # the time limits of a mesh file: an assembly takes longer
UP = {
    "z": np.eye(3),
    "y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "x": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
}  # file to base frame, by the axis of the file that points up

Progress = Callable[[float | None, str], Any]


@dataclass(frozen=True, slots=True, eq=False)
class CadPart:
    """One part of an assembly, with its triangles (m) in the base frame of the robot.

    `names` are the names by which a link is found for the part, in order of precedence: the file
    name if the assembly is a folder, then the names of the nodes in the file, innermost first.
    """

    name: str
    names: tuple[str, ...]
    file: Path
    vertices: Array  # (v, 3)
    faces: Array  # (f, 3)
    color: tuple[float, float, float] | None
    sized: bool  # whether the file has a unit


def read_assembly(
    source: Path, scale: float, up: str, progress: Progress | None = None
) -> list[CadPart]:
    """Return the parts of an assembly file, or of all CAD files in a folder.

    Lengths in files with a unit are converted to metres, those in other files are taken as metres;
    then all lengths are multiplied by `scale`.  `up` is the axis of the file that points up: "x",
    "y" or "z".  `progress(fraction, text)` is called regularly; an exception that it raises ends
    the reading.
    """
    if up not in UP:
        raise BrazoError(f"up: '{up}' is not an axis; choose one of {', '.join(UP)}")
    if not (np.isfinite(scale) and scale > 0.0):
        raise BrazoError(f"scale: {scale:g}; it must be a finite number above 0")
    files = _files(source)
    found: list[CadPart] = []
    for i, file in enumerate(files):
        share = 0.5 * i / len(files)

        def check(file: Path = file, share: float = share) -> None:
            if progress is not None:
                progress(share, f"reading {file.name}")

        check()
        found += _read(file, scale, UP[up], source.is_dir(), check)
        if len(found) > MAX_PARTS:
            raise BrazoError(
                f"{source}: more than {MAX_PARTS} parts; leave out screws and the like, or merge "
                "parts that move together"
            )
    return _uniquely_named(found)


def _files(source: Path) -> list[Path]:
    if not source.exists():
        raise BrazoError(f"{source}: no such file or folder")
    if not source.is_dir():
        _require_suffix(source)
        return [source]
    files = sorted(
        path
        for path in source.iterdir()
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    )
    if not files:
        raise BrazoError(f"{source}: the folder has no CAD file ({', '.join(SUFFIXES)})")
    if len(files) > MAX_FILES:
        raise BrazoError(
            f"{source}: the folder has {len(files)} CAD files; at most {MAX_FILES} are allowed"
        )
    return files


def _require_suffix(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise BrazoError(
            f"{path}: '{path.suffix}' files are not supported; supported: {', '.join(SUFFIXES)}. "
            "Export the assembly as STEP"
        )


def _read(
    file: Path, scale: float, turned: Array, stem_first: bool, check: Callable[[], Any]
) -> list[CadPart]:
    require_readable(file)
    if file.stat().st_size == 0:
        raise BrazoError(f"{file}: the file is empty")
    parts = []
    for raw in reader.read_parts(file, MAX_TRIANGLES, TIMES, check):
        if not len(raw.faces):
            continue
        inner = [name for name in reversed(raw.names) if name]
        names = [file.stem, *inner] if stem_first or not inner else inner
        name = names[0]
        try:
            vertices, faces = checked(raw.vertices, raw.faces)
        except BrazoError as error:
            raise BrazoError(f"{file}: part '{name}': {error}") from None
        vertices = scale * (vertices @ turned.T)
        if not np.abs(vertices).max() <= MAX_COORDINATE:
            raise BrazoError(
                f"{file}: part '{name}' has a coordinate of {np.abs(vertices).max():.3g} m; at "
                f"most {MAX_COORDINATE:g} m are allowed: check the unit of the file, or give a "
                "scale"
            )
        vertices, faces = _joined(vertices, faces)
        if not len(faces):
            raise BrazoError(
                f"{file}: part '{name}' has only triangles of zero area; remove it from the file"
            )
        parts.append(CadPart(name, tuple(names), file, vertices, faces, raw.color, raw.sized))
    if not parts:
        raise BrazoError(f"{file}: the file has no triangles")
    return parts


def _joined(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """Return the mesh with vertices at the same point merged and triangles of zero area removed."""
    places = same_place(vertices)[faces]
    a, b, c = (vertices[places[:, k]] for k in range(3))
    places = places[np.cross(b - a, c - a).any(axis=1)]
    used, index = np.unique(places, return_inverse=True)
    return vertices[used], index.reshape(-1, 3).astype(np.int32)


def _uniquely_named(parts: list[CadPart]) -> list[CadPart]:
    """Return the parts with a number appended to repeated names."""
    from dataclasses import replace

    seen: dict[str, int] = {}
    named = []
    for part in parts:
        count = seen[part.name] = seen.get(part.name, 0) + 1
        named.append(part if count == 1 else replace(part, name=f"{part.name} ({count})"))
    return named
