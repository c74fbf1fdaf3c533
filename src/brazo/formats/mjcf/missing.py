"""Compilation of MJCF files with missing meshes or textures.

MuJoCo rejects such a file as a whole.  Here the geoms of a missing mesh are removed; a body whose
mass MuJoCo would have computed from them has an unknown inertia.  A missing texture is replaced by
a plain colour, which does not affect what is read.
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
    """Missing files, and the ids of bodies whose inertia is unknown without them."""

    files: tuple[str, ...] = ()
    bodies: frozenset[int] = field(default_factory=frozenset)


def compile_without_missing(parse: Callable[[], Any], path: Path) -> tuple[Any, Any, Missing]:
    """Return the spec, its compiled model, and the missing files.

    Other errors of MuJoCo are raised.
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
    """Remove missing assets; return the files, and the bodies whose inertia depends on them."""
    mujoco = engine()

    def is_file(folder: str, name: str) -> bool:
        """Return whether a file exists; folders are relative to the model file."""
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
