"""Compilation of MJCF files that refer to mesh or texture files that do not exist.

MuJoCo does not compile such a file.  Here the geoms of a missing mesh are removed.  If MuJoCo would
have computed the mass of a body from these geoms, the inertia of the body is unknown.  A missing
texture is replaced by a plain colour.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brazo.files import is_regular
from brazo.formats.mjcf.engine import engine

_STANDS_IN = (1.0, 1e-2)  # kg, kg m²: placeholder for an unknown inertia, for the compiler only


@dataclass(frozen=True, slots=True)
class Missing:
    """Missing files of a model, and the ids of the bodies whose inertia is therefore unknown."""

    files: tuple[str, ...] = ()
    bodies: frozenset[int] = field(default_factory=frozenset)


def compile_without_missing(parse: Callable[[], Any], path: Path) -> tuple[Any, Any, Missing]:
    """Return the spec, the compiled model and the missing files of an MJCF file.

    `parse()` returns a new spec of the file `path`.  An error of MuJoCo that is not about a missing
    file is raised again.
    """
    spec = parse()
    try:
        return spec, spec.compile(), Missing()
    except ValueError as error:
        if "opening file" not in str(error):
            raise
        spec = parse()
        files, bodies = _take_out(spec, path)
        if not files:
            raise
        compiled = spec.compile()  # assigns the ids of the bodies
        return spec, compiled, Missing(files, frozenset(body.id for body in bodies))


def _take_out(spec: Any, path: Path) -> tuple[tuple[str, ...], list[Any]]:
    """Remove missing assets from the spec; return the missing files and the affected bodies.

    A body is affected if MuJoCo would have computed its inertia from a missing mesh.
    """
    mujoco = engine()

    def is_file(folder: str, name: str) -> bool:
        """Return whether the file `name` exists in `folder`, relative to the MJCF file."""
        name = re.split(r"[/\\]", name)[-1] if spec.strippath else name
        return is_regular(path.parent / (folder or "") / name)

    meshes = [m for m in spec.meshes if m.file and not is_file(m.compiler.meshdir, m.file)]
    lost = [mesh.file for mesh in meshes]
    names = {mesh.name or Path(mesh.file).stem for mesh in meshes}
    bodies: list[Any] = []
    for geom in [geom for geom in spec.geoms if geom.meshname in names]:
        body = geom.parent
        if body.name != "world" and not body.explicitinertial:
            bodies.append(body)
            mass, inertia = _STANDS_IN
            body.explicitinertial = True
            body.mass, body.ipos, body.inertia = mass, [0.0] * 3, [inertia] * 3
        spec.delete(geom)
    for mesh in meshes:
        spec.delete(mesh)
    for texture in spec.textures:
        files = [name for name in (texture.file, *texture.cubefiles) if name]
        folder = texture.compiler.texturedir
        if gone := [name for name in files if not is_file(folder, name)]:
            lost += gone
            texture.file, texture.cubefiles = "", [""] * len(texture.cubefiles)
            texture.builtin = mujoco.mjtBuiltin.mjBUILTIN_FLAT
            texture.width = texture.height = 1
    return tuple(dict.fromkeys(lost)), bodies
