"""Geometry fields of a robot file: `body` (colours and width) and explicit `parts`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from brazo import units
from brazo.body.generate import Style
from brazo.body.meshes import SUFFIXES
from brazo.files import is_regular
from brazo.formats.document import Field
from brazo.formats.library import mesh_directory
from brazo.model.description import Part, frozen
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from brazo.model.transforms import pose

MAX_PARTS = 200
MAX_RADII = 101
_SHAPES = ("box", "cylinder", "capsule", "sphere", "mesh")
MAX_PIECES = 64
SHIPPED = "library:"  # prefix of a mesh that ships with brazo

Names = Mapping[str, units.Quantity]
Color = tuple[float, float, float]


def read_style(field: Field | None, names: Names) -> Style:
    """Return the colours, width and radii of the generated geometry, from the field `body`."""
    if field is None or field.is_null:
        return Style()
    allowed = [item.name for item in dataclass_fields(Style)]
    given = {}
    for key, child in field.mapping(allowed).items():
        if key == "radii":
            given[key] = tuple(
                item.number(units.LENGTH, names=names, above=0.0) for item in child.items(MAX_RADII)
            )
        elif isinstance(getattr(Style(), key), tuple):
            given[key] = read_color(child)
        else:
            given[key] = child.number(units.NUMBER, units.LENGTH, names=names, above=0.0)
            if given[key] > 20.0:
                child.fail(f"{given[key]:g} is above the maximum, 20")
    return Style(**given)


def read_color(field: Field) -> Color:
    """Return a colour given as `'#rrggbb'` or as [r, g, b] with values from 0 to 1."""
    if field.is_list:
        r, g, b = field.numbers(3)
        if not all(0.0 <= value <= 1.0 for value in (r, g, b)):
            field.fail("colour values must be from 0 to 1")
        return r, g, b
    text = field.text().lstrip("#")
    try:
        if len(text) != 6:
            raise ValueError(text)
        r, g, b = (int(text[i : i + 2], 16) / 255.0 for i in (0, 2, 4))
    except ValueError:
        field.fail("expected a colour: '#rrggbb' (quoted) or [r, g, b] from 0 to 1")
    return r, g, b


def read_parts(field: Field, names: Names) -> tuple[Part, ...]:
    """Return the parts in a field `parts`, with poses in the frame of the body."""
    return tuple(_part(item, i, names) for i, item in enumerate(field.items(MAX_PARTS)))


def _part(block: Field, index: int, names: Names) -> Part:
    fields = block.mapping(
        ("name", "xyz", "rpy", "color", "collides", "collision", "scale", *_SHAPES)
    )
    shapes = [key for key in _SHAPES if key in fields]
    if len(shapes) != 1:
        block.fail(f"give exactly one of {', '.join(_SHAPES)}")
    given: dict = {}
    if "color" in fields:
        given["color"] = read_color(fields["color"])
    if "collides" in fields:
        given["collides"] = fields["collides"].choice("true", "false") == "true"
    xyz = fields["xyz"].numbers(3, units.LENGTH, names=names) if "xyz" in fields else (0, 0, 0)
    rpy = fields["rpy"].numbers(3, units.ANGLE, names=names) if "rpy" in fields else (0, 0, 0)
    return Part(
        name=fields["name"].identifier() if "name" in fields else f"part {index + 1}",
        shape=_shape(shapes[0], fields, names),
        pose=frozen(pose(xyz, rpy)),
        **given,
    )


def _shape(kind: str, fields: dict[str, Field], names: Names) -> Shape:
    field = fields[kind]
    if kind == "mesh":
        found = read_mesh(field, fields.get("scale"), names)
        if "collision" not in fields:
            return found
        pieces = tuple(_mesh_path(one) for one in fields["collision"].items(MAX_PIECES))
        return replace(found, pieces=pieces)
    for key in ("scale", "collision"):
        if key in fields:
            fields[key].fail(f"'{key}' is only allowed for a mesh, not for a {kind}")
    if kind == "sphere":
        return Sphere(field.number(units.LENGTH, names=names, above=0.0))
    sizes = field.numbers(3 if kind == "box" else 2, units.LENGTH, names=names)
    if min(sizes) <= 0.0:
        field.fail("sizes must be greater than 0")
    if kind == "box":
        return Box((sizes[0], sizes[1], sizes[2]))
    return Cylinder(*sizes) if kind == "cylinder" else Capsule(*sizes)


def read_mesh(
    field: Field, scale: Field | None, names: Names | None = None, what: str = "robot file"
) -> Mesh:
    """Return the mesh of a field that contains the path of a mesh file.

    The path is relative to the folder of the robot or cell file, and the mesh must be inside this
    folder; a cell file may also use an absolute path.  A path such as `library:NAME` refers to a
    mesh that ships with brazo.  `scale` is a field with one number, or one number per axis.
    `names` are the parameters that `scale` may use.  `what` is "robot file" or "cell file".
    """
    path = _mesh_path(field, what)
    if scale is not None and scale.is_list:
        x, y, z = scale.numbers(3, names=names)
        if min(x, y, z) <= 0.0:
            scale.fail("a scale must be greater than 0")
        return Mesh(path=path, scale=(x, y, z))
    factor = scale.number(names=names, above=0.0) if scale is not None else 1.0
    return Mesh(path=path, scale=(factor, factor, factor))


def _mesh_path(field: Field, what: str = "robot file") -> Path:
    text = field.text(at_most=300)
    if not text.isprintable():
        field.fail("a file name must be printable text")
    if text.startswith(SHIPPED):
        path = _shipped(text.removeprefix(SHIPPED))
        return path or field.fail(f"'{text}': brazo has no mesh of this name")
    folder = (field.path.parent if field.path else Path()).resolve()
    path = (folder / text).resolve()
    if path.suffix.lower() not in SUFFIXES:
        field.fail(f"'{text}' is not a mesh file; allowed: {', '.join(SUFFIXES)}")
    if not (path.is_relative_to(folder) or (what == "cell file" and Path(text).is_absolute())):
        field.fail(f"'{text}' is outside the folder of the {what}; move the file there")
    if not is_regular(path):
        where = "" if Path(text).is_absolute() else f" in the folder of the {what}"
        field.fail(f"'{text}': no such file{where}")
    return path


@lru_cache(maxsize=1024)
def _shipped(name: str) -> Path | None:
    """Return the path of a mesh that ships with brazo; None if there is no mesh of this name."""
    folder = mesh_directory().resolve()
    path = (folder / name).resolve()
    return path if path.is_relative_to(folder) and is_regular(path) else None
