"""Meshes of the original robot file, with new paths for the robot file that a CAD import writes.

Links without a CAD part keep their meshes.  The mesh paths in a robot file are relative to the
folder of the file, so a robot file in another folder needs new paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from brazo.body.meshes import load_triangles, require_readable, stl_bytes
from brazo.errors import BrazoError
from brazo.formats.document import Field, Node
from brazo.formats.export import safe_stem, unique_name
from brazo.formats.robot_yaml.part_fields import SHIPPED

_KEYS = ("mesh", "collision")


def renamed_meshes(root: Field, folder: str, taken: Iterable[str]) -> tuple[Field, dict[str, Path]]:
    """Return a robot file with new mesh paths in `folder`, and the original file of each new path.

    `taken` are file names that must not be used for the new paths.  Paths of meshes that ship with
    brazo are not changed.
    """
    names: dict[str, str] = {}
    stems = {Path(name).stem for name in taken}
    beside = root.path.parent if root.path else Path()

    def rename(text: str) -> str:
        if text.startswith(SHIPPED):
            return text
        if text not in names:
            suffix = Path(text).suffix.lower()
            stem = unique_name(safe_stem(Path(text).stem, "part").lower(), stems)
            # A .gltf may refer to other files.
            names[text] = f"{folder}/{stem}{'.stl' if suffix == '.gltf' else suffix}"
        return names[text]

    node = _renamed(root.node, rename)
    return Field(node, root.name, root.path), {new: beside / old for old, new in names.items()}


def used_meshes(root: Field) -> set[str]:
    """Return the paths of all meshes and collision pieces, as they are written in a robot file."""
    return set(_texts(root.node))


def mesh_bytes(path: Path, suffix: str) -> bytes:
    """Return the content of a mesh file for a copy with the file name suffix `suffix`.

    If the file has another suffix, the content is converted to binary STL.
    """
    if path.suffix.lower() != suffix:
        return stl_bytes(*load_triangles(path))
    require_readable(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise BrazoError(f"{path}: cannot be read: {error.strerror or error}") from None


def _renamed(node: Node, rename: Callable[[str], str], inside: bool = False) -> Node:
    value = node.value
    if isinstance(value, dict):
        found = {k: (line, _renamed(v, rename, k in _KEYS)) for k, (line, v) in value.items()}
        return Node(node.line, found)
    if isinstance(value, list):
        return Node(node.line, [_renamed(one, rename, inside) for one in value])
    return Node(node.line, rename(value)) if inside and isinstance(value, str) else node


def _texts(node: Node, inside: bool = False) -> Iterator[str]:
    value = node.value
    if isinstance(value, dict):
        for key, (_, one) in value.items():
            yield from _texts(one, key in _KEYS)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one, inside)
    elif inside and isinstance(value, str):
        yield value
