"""Readers of the basic elements of a URDF: numbers, origins, inertials, shapes, colours, limits.

Most functions take the `Document` to report errors and warnings.  Text that is not a number where a
number is expected is an error.  Other bad data that only affects the appearance or the collision
geometry, such as a missing mesh file or a size of 0, is ignored with a warning.
"""

from __future__ import annotations

import math

import numpy as np

from brazo.etree import Element
from brazo.formats.urdf.normalise import Document, children, local_name
from brazo.model.description import Array, Drive, Friction, Inertia, Part, frozen
from brazo.model.inertia import broken_rules, doubts
from brazo.model.inertia import rotated as rotated_tensor
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from brazo.model.transforms import pose

MAX_NUMBER = 1e12  # larger numbers in a robot file are errors
NO_LIMIT = 1e9  # a limit of this value or more means no limit

_SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")


def required(document: Document, element: Element, name: str) -> str:
    """Return the text of an attribute that must be present and not empty."""
    text = (element.get(name) or "").strip()
    if not text:
        document.fail(element, f'has no {name}; write {name}="..."')
    return text


def numbers(document: Document, element: Element, name: str, count: int) -> list[float]:
    """Return the numbers of an attribute, which must contain exactly `count` numbers.

    The numbers are separated by spaces; commas are accepted with a warning.  A number that is not
    finite, or above `MAX_NUMBER` in magnitude, is an error.
    """
    text = element.get(name) or ""
    words = text.split()
    if len(words) != count and len(words := text.replace(",", " ").split()) == count:
        document.note(element, f'{name}="{text[:60]}": commas between numbers, read as spaces')
    if len(words) != count:
        document.fail(
            element, f'{name}="{text[:60]}": {count} numbers expected, {len(words)} given'
        )
    return [_number(document, element, name, word) for word in words]


def number(document: Document, element: Element, name: str, default: float | None = None) -> float:
    """Return the finite number in an attribute, or `default` if the attribute is missing.

    Without a default, a missing attribute is an error.
    """
    if default is not None and element.get(name) is None:
        return default
    return _number(document, element, name, required(document, element, name))


def only(document: Document, parent: Element, name: str) -> Element | None:
    """Return the child element with this name; None if there is none.

    If there are several, the first one is returned and a warning is added.
    """
    found = children(parent, name)
    if len(found) > 1:
        document.note(found[1], f"{name} is given {len(found)} times; the first one is used")
    return found[0] if found else None


def origin(document: Document, parent: Element) -> Array:
    """Return the pose (4, 4) of the `origin` of an element; the identity if it has none."""
    element = only(document, parent, "origin")
    if element is None:
        return np.eye(4)
    xyz = numbers(document, element, "xyz", 3) if element.get("xyz") is not None else (0, 0, 0)
    if element.get("quat_xyzw") is not None:  # an extension of newer URDF
        T = np.eye(4)
        T[:3, :3] = _quaternion(document, element)
        T[:3, 3] = xyz
        return T
    rpy = numbers(document, element, "rpy", 3) if element.get("rpy") is not None else (0, 0, 0)
    return pose(xyz, rpy)


def axis(document: Document, joint: Element) -> Array:
    """Return the unit axis (3,) of a joint; x by default, as defined by URDF."""
    element = only(document, joint, "axis")
    if element is None:
        return np.array([1.0, 0.0, 0.0])
    direction = np.array(numbers(document, element, "xyz", 3))
    length = float(np.linalg.norm(direction))
    if length < 1e-9:
        document.fail(element, 'the axis has no length; give a direction such as xyz="0 0 1"')
    # A unit vector is kept unchanged: dividing by 1 + 1e-16 would change its last digit.
    return direction if length == 1.0 else direction / length


def inertial(document: Document, link: Element, reach: float) -> Inertia | None:
    """Return the inertia of a link in the link frame; None if it is missing or incomplete.

    A physically impossible or implausible inertia adds a warning and is not corrected.  `reach` (m)
    is the max plausible distance of the centre of mass from the link's frame.
    """
    element = only(document, link, "inertial")
    if element is None:
        return None
    mass, tensor = only(document, element, "mass"), only(document, element, "inertia")
    if mass is None or tensor is None:
        missing = "mass" if mass is None else "inertia"
        document.note(element, f"{missing} is missing, so the inertial is left out")
        return None
    m = number(document, mass, "value")
    T = origin(document, element)
    xx, xy, xz, yy, yz, zz = (
        number(document, tensor, "i" + name, 0.0) for name in ("xx", "xy", "xz", "yy", "yz", "zz")
    )
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    result = Inertia(m, frozen(T[:3, 3]), frozen(rotated_tensor(I, T[:3, :3])))
    for rule in (*broken_rules(result), *doubts(result, reach)):
        document.note(element, rule)
    return result


def parts(
    document: Document, link: Element, colors: dict[str, tuple[float, float, float]]
) -> tuple[Part, ...]:
    """Return the geometry of a link: its visuals, or its collision shapes if it has no visuals.

    `colors` are colours by material name, see `named_colors`.
    """
    name = link.get("name")
    visuals, collisions = children(link, "visual"), children(link, "collision")
    result: list[Part] = []
    for i, element in enumerate(visuals or collisions):
        shape = _shape(document, element)
        if shape is None:
            continue
        default = name if len(visuals or collisions) == 1 else f"{name} {i + 1}"
        color = _color(document, element, colors)
        given = {} if color is None else {"color": color}
        result.append(
            Part(
                element.get("name") or default,
                shape,
                frozen(origin(document, element)),
                # The visual shape is used for collisions if the file has a collision shape.
                collides=bool(collisions),
                **given,
            )
        )
    return tuple(result)


def named_colors(document: Document) -> dict[str, tuple[float, float, float]]:
    """Return colours by material name.

    A material directly below <robot> takes precedence over one of the same name inside a link.
    """
    colors: dict[str, tuple[float, float, float]] = {}
    inside = [m for v in document.root.iter("{*}visual") for m in children(v, "material")]
    for material in [*children(document.root, "material"), *inside]:
        name = material.get("name")
        if name and name not in colors and (color := _rgba(document, material)):
            colors[name] = color
    return colors


def limits(document: Document, joint: Element, kind: str) -> tuple[tuple[float, float], Drive]:
    """Return the limits (rad or m) of a joint, and its drive with the limits of torque and speed.

    If `effort` or `velocity` is missing or zero, the limit of the drive is infinite.  The joint is
    unlimited, with a warning, if `lower` and `upper` are missing or `lower` is above `upper`.
    """
    element = only(document, joint, "limit")
    free = (-math.inf, math.inf)
    if element is None:
        if kind != "continuous":
            document.note(joint, f"a {kind} joint without <limit>: read as unlimited")
        return free, Drive()
    drive = Drive(
        max_torque=_capacity(document, element, "effort"),
        max_speed=_capacity(document, element, "velocity"),
    )
    if kind == "continuous":
        return free, drive
    # In URDF a missing bound is zero.
    lower, upper = (_limit(document, element, name) for name in ("lower", "upper"))
    if element.get("lower") is None and element.get("upper") is None:
        document.note(element, "has neither lower nor upper: the joint is read as unlimited")
        return free, drive
    if lower > upper:
        document.note(element, f"lower {lower:g} is above upper {upper:g}: read as unlimited")
        return free, drive
    if lower == upper:
        document.note(element, f"lower and upper are both {lower:g}: the joint cannot move")
    return (lower, upper), drive


def friction(document: Document, joint: Element) -> Friction:
    """Return the friction of a joint from `dynamics`; negative values are replaced by zero."""
    element = only(document, joint, "dynamics")
    if element is None:
        return Friction()
    values = []
    for name in ("damping", "friction"):
        value = number(document, element, name, 0.0)
        if value < 0.0:
            document.note(element, f"{name} {value:g} is negative: read as zero")
            value = 0.0
        values.append(value)
    viscous, coulomb = values
    return Friction(viscous, (coulomb, coulomb))


def bound(value: float) -> float:
    """Return a joint limit; a value of `NO_LIMIT` or more (in magnitude) becomes infinite."""
    return math.copysign(math.inf, value) if abs(value) >= NO_LIMIT else value


def _number(document: Document, element: Element, name: str, word: str) -> float:
    try:
        value = float(word) if "_" not in word else math.nan
    except ValueError:
        value = math.nan
    if not abs(value) <= MAX_NUMBER:
        document.fail(
            element, f"{name}: '{word[:40]}' is not a number from {-MAX_NUMBER:g} to {MAX_NUMBER:g}"
        )
    return value


def _limit(document: Document, element: Element, name: str) -> float:
    word = (element.get(name) or "0").strip()
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        document.fail(element, f"{name}: '{word[:40]}' is not a number")
    return bound(value)


def _capacity(document: Document, element: Element, name: str) -> float:
    if element.get(name) is None:
        return math.inf
    value = abs(_limit(document, element, name))
    if value == 0.0:
        document.note(element, f"{name} is zero, which is not a valid limit: ignored")
        return math.inf
    return value


def _quaternion(document: Document, element: Element) -> Array:
    x, y, z, w = numbers(document, element, "quat_xyzw", 4)
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if norm < 1e-9:
        document.fail(element, 'quat_xyzw is zero; for no rotation write "0 0 0 1"')
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _shape(document: Document, element: Element) -> Shape | None:
    geometry = only(document, element, "geometry")
    shapes = [] if geometry is None else [c for c in geometry if isinstance(c.tag, str)]
    if not shapes:
        document.note(element, "has no geometry and is left out")
        return None
    shape = shapes[0]
    kind = local_name(shape)
    if kind == "mesh":
        return _mesh(document, shape)
    if kind == "box":
        size = numbers(document, shape, "size", 3)
    elif kind == "sphere":
        size = [number(document, shape, "radius")]
    elif kind in ("cylinder", "capsule"):
        size = [number(document, shape, "radius"), number(document, shape, "length")]
    else:
        document.note(shape, f"unknown shape is left out; known: {', '.join(_SHAPES)}")
        return None
    if min(size) <= 0.0:
        document.note(shape, "a size is zero or less: the shape is left out")
        return None
    if kind == "box":
        return Box((size[0], size[1], size[2]))
    if kind == "sphere":
        return Sphere(size[0])
    return Cylinder(size[0], size[1]) if kind == "cylinder" else Capsule(size[0], size[1])


def _mesh(document: Document, element: Element) -> Mesh | None:
    name = required(document, element, "filename")
    path = document.packages.resolve(name)
    if path is None:
        document.note(element, f"file {name} is not found; the part is left out")
        return None
    scale = (1.0, 1.0, 1.0)
    if element.get("scale") is not None:
        count = 1 if len((element.get("scale") or "").split()) == 1 else 3
        x, y, z = numbers(document, element, "scale", count) * (3 // count)
        scale = (x, y, z)
    if 0.0 in scale:
        document.note(element, "scale contains 0: the part is left out")
        return None
    return Mesh(path=path, scale=scale)


def _color(
    document: Document, visual: Element, colors: dict[str, tuple[float, float, float]]
) -> tuple[float, float, float] | None:
    material = only(document, visual, "material")
    if material is None:
        return None
    return _rgba(document, material) or colors.get(material.get("name") or "")


def _rgba(document: Document, material: Element) -> tuple[float, float, float] | None:
    element = only(document, material, "color")
    if element is None:
        return None
    words = (element.get("rgba") or "").split()
    if len(words) not in (3, 4):
        document.note(element, "rgba must be four numbers from 0 to 1; the colour is ignored")
        return None
    r, g, b = numbers(document, element, "rgba", len(words))[:3]
    if not (min(r, g, b) >= 0.0 and max(r, g, b) <= 1.0):
        document.note(element, f"rgba {r:g} {g:g} {b:g}: values must be from 0 to 1; clipped")
    r, g, b = (min(max(x, 0.0), 1.0) for x in (r, g, b))
    return r, g, b
