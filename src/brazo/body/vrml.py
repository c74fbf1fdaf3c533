"""Reader of VRML 2.0 (VRML97, `.wrl`) geometry: shapes with their names, poses and colours.

The reader supports Transform, Group and the other grouping nodes, Shape with IndexedFaceSet, Box,
Cylinder, Cone or Sphere, DEF and USE, and the diffuse colour of a Material.  Nodes without a
surface (lights, sensors, routes, scripts) are skipped.  Files with PROTO, Inline, Extrusion or
ElevationGrid nodes and VRML 1.0 files are rejected, because parts of their geometry would be
missing.  Of a LOD node, the first level is read; of a Switch node, the selected child.

The matrix of a Transform node is (ISO/IEC 14772-1, 6.52)

    T · C · R · SR · S · SR⁻¹ · C⁻¹

with the fields translation T, center C, rotation R, scaleOrientation SR and scale S.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from brazo.body.creases import same_place
from brazo.errors import BrazoError

MAX_DEPTH = 200
MAX_SHAPES = 100_000
ROUND = 32  # segments of cylinders, cones and spheres
_TOKEN = re.compile(
    r'[\s,]+|#[^\n]*|(?P<string>"(?:[^"\\]|\\.)*")|(?P<mark>[\[\]{}])|(?P<word>[^\s,\[\]{}"#]+)'
)
_COMMENT = re.compile(r"#[^\n]*")
# A list without letters (but for exponents), strings and nodes; comments may have them.
_NUMBERS = re.compile(r'(?P<block>(?:[^\]\[{}"#A-DF-Za-df-z]++|#[^\n]*+)*+)\]')
_GROUPS = {"Transform", "Group", "Anchor", "Billboard", "Collision", "Switch", "LOD"}
_INTERFACE = {"eventIn", "eventOut", "field"}  # declarations of a Script: type and name
_REJECTED = {
    "PROTO": "prototypes (PROTO)",
    "EXTERNPROTO": "prototypes (EXTERNPROTO)",
    "Inline": "other files (Inline)",
    "Extrusion": "Extrusion nodes",
    "ElevationGrid": "ElevationGrid nodes",
}

Triangles = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Triangles of a VRML Shape node, in the coordinate frame of the file.

    `names` are the DEF names of the nodes from the root of the file to the geometry, outermost
    first.
    """

    names: tuple[str, ...]
    vertices: np.ndarray  # (v, 3)
    faces: np.ndarray  # (f, 3)
    color: tuple[float, float, float] | None


@dataclass(slots=True, eq=False)
class _Node:
    kind: str
    name: str = ""
    fields: dict[str, Any] = field(default_factory=dict)


def read_vrml(data: bytes, max_triangles: int) -> list[Shape]:
    """Return the shapes of a VRML file.

    Raises BrazoError if the file is not valid VRML 2.0, or has too many shapes or triangles.
    """
    if data.startswith(b"#VRML V1.0"):
        raise BrazoError("VRML 1.0 is not supported; save the file as VRML 2.0 (VRML97)")
    if not data.startswith(b"#VRML V2.0"):
        raise BrazoError("cannot be read as a mesh: no '#VRML V2.0' in its first line")
    nodes = _VrmlParser(data.decode("utf-8", "replace")).file()
    return list(_shapes(nodes, np.eye(4), (), _Budget(max_triangles), 0))


# ---- text ------------------------------------------------------------------------------------


class _VrmlParser:
    """Recursive-descent parser of VRML text; lists of numbers are converted to arrays directly."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._next: str | None = None
        self._named: dict[str, _Node] = {}

    def file(self) -> list[_Node]:
        nodes = []
        while (token := self._peek()) is not None:
            if token == "ROUTE":
                for _ in range(4):
                    self._take()
                continue
            node = self._node(0)
            if node is not None:
                nodes.append(node)
        return nodes

    def _node(self, depth: int) -> _Node | None:
        if depth > MAX_DEPTH:
            self._fail(f"nodes are nested more than {MAX_DEPTH} levels deep")
        kind, name = self._take(), ""
        if kind == "NULL":
            return None
        if kind == "USE":
            name = self._take()
            if name not in self._named:
                self._fail(f"USE {name[:40]}: no node has this name before it")
            return self._named[name]
        if kind == "DEF":
            name, kind = self._take(), self._take()
        if kind in _REJECTED:
            self._fail(f"{_REJECTED[kind]} are not supported; export the file without them")
        if not kind[:1].isalpha() or self._take() != "{":
            self._fail(f"expected a node, found '{kind[:40]}'")
        node = _Node(kind, name)
        while (key := self._take()) != "}":
            if key == "ROUTE":
                for _ in range(3):
                    self._take()
            elif kind == "Script" and key in _INTERFACE:
                _type, declared = self._take(), self._take()
                if key == "field":
                    node.fields[declared] = self._value(depth)
            elif not key[:1].isalpha():
                self._fail(f"{kind}: expected a field, found '{key[:40]}'")
            else:
                node.fields[key] = self._value(depth)
        # A name may be given again; it holds from here on, so a node cannot contain itself.
        if name:
            self._named[name] = node
        return node

    def _value(self, depth: int) -> Any:
        token = self._peek()
        if token == "[":
            self._take()
            if (match := _NUMBERS.match(self._text, self._at)) is not None:
                self._at, self._next = match.end(), None
                block = _COMMENT.sub(" ", match["block"])
                return self._numbers(block.replace(",", " ").split())
            found = []
            while (inner := self._peek()) != "]":
                if inner is None:
                    self._fail("the file ends within a list")
                found.append(self._single(depth))
            self._take()
            return found
        if token is not None and _is_number(token):
            words = []
            while (word := self._peek()) is not None and _is_number(word):
                words.append(self._take())
            return self._numbers(words)
        return self._single(depth)

    def _single(self, depth: int) -> Any:
        token = self._peek()
        if token is None:
            self._fail("the file ends where a value is expected")
        if token[0] == '"' or token in ("TRUE", "FALSE"):
            return self._take()
        return self._node(depth + 1)

    def _numbers(self, words: list[str]) -> np.ndarray:
        try:
            return np.array(words, dtype=np.float64)
        except ValueError:
            self._fail("a list of numbers contains other text")

    def _peek(self) -> str | None:
        while self._next is None:
            match = _TOKEN.match(self._text, self._at)
            if match is None:
                if self._at >= len(self._text):
                    return None
                self._fail("a string does not end")
            self._at = match.end()
            self._next = match["string"] or match["mark"] or match["word"]
        return self._next

    def _take(self) -> str:
        token = self._peek()
        if token is None:
            self._fail("the file ends within a node")
        self._next = None
        return token

    def _fail(self, what: str) -> NoReturn:
        line = self._text.count("\n", 0, self._at) + 1
        raise BrazoError(f"line {line}: {what}")


def _is_number(word: str) -> bool:
    return word[0] in "+-.0123456789"


# ---- geometry --------------------------------------------------------------------------------


class _Budget:
    """Remaining numbers of shapes and triangles, and a cache of the triangles of each node.

    `spend` reduces both numbers and raises BrazoError if one becomes negative.  A grouping node
    counts as a shape without triangles.
    """

    def __init__(self, triangles: int) -> None:
        self.triangles, self.most, self.shapes = triangles, triangles, MAX_SHAPES
        self.built: dict[int, Triangles] = {}  # by geometry node, which may be used many times

    def spend(self, triangles: int) -> None:
        self.shapes -= 1
        self.triangles -= triangles
        if self.shapes < 0:
            raise BrazoError(
                f"more than {MAX_SHAPES} shapes (every instance counts); simplify the file"
            )
        if self.triangles < 0:
            raise BrazoError(
                f"more than {self.most} triangles (every instance counts); simplify the mesh"
            )


def _shapes(
    nodes: list[Any], T: np.ndarray, names: tuple[str, ...], budget: _Budget, depth: int
) -> Iterator[Shape]:
    if depth > MAX_DEPTH:
        raise BrazoError(f"nodes are nested more than {MAX_DEPTH} levels deep")
    for node in nodes:
        if not isinstance(node, _Node):
            continue
        below = (*names, node.name) if node.name else names
        if node.kind == "Shape":
            yield from _shape(node, T, below, budget)
        elif node.kind in _GROUPS:
            budget.spend(0)
            placed = T @ _transform(node) if node.kind == "Transform" else T
            yield from _shapes(_children(node), placed, below, budget, depth + 1)


def _children(node: _Node) -> list[Any]:
    key = {"Switch": "choice", "LOD": "level"}.get(node.kind, "children")
    found = node.fields.get(key)
    listed = found if isinstance(found, list) else [found]
    if node.kind == "Switch":
        shown = int(_number(node, "whichChoice", -1.0))
        return listed[shown : shown + 1] if shown >= 0 else []
    return listed[:1] if node.kind == "LOD" else listed


def _shape(node: _Node, T: np.ndarray, names: tuple[str, ...], budget: _Budget) -> Iterator[Shape]:
    geometry = node.fields.get("geometry")
    if not isinstance(geometry, _Node):
        return
    if geometry.name:
        names = (*names, geometry.name)
    if geometry.kind not in _BUILDERS:
        return
    if id(geometry) not in budget.built:
        budget.built[id(geometry)] = _BUILDERS[geometry.kind](geometry)
    vertices, faces = budget.built[id(geometry)]
    if not len(faces):
        return
    budget.spend(len(faces))
    if np.linalg.det(T[:3, :3]) < 0.0:
        faces = faces[:, ::-1]
    yield Shape(names, vertices @ T[:3, :3].T + T[:3, 3], faces, _color(node))


def _color(shape: _Node) -> tuple[float, float, float] | None:
    appearance = shape.fields.get("appearance")
    material = appearance.fields.get("material") if isinstance(appearance, _Node) else None
    if not isinstance(material, _Node):
        return None
    r, g, b = np.clip(_vector(material, "diffuseColor", (0.8, 0.8, 0.8)), 0.0, 1.0).tolist()
    return r, g, b


def _transform(node: _Node) -> np.ndarray:
    centre = _vector(node, "center", (0, 0, 0))
    turn = _rotation(_vector(node, "rotation", (0, 0, 1, 0)))
    skew = _rotation(_vector(node, "scaleOrientation", (0, 0, 1, 0)))
    linear = turn @ skew @ np.diag(_vector(node, "scale", (1, 1, 1))) @ skew.T
    T = np.eye(4)
    T[:3, :3] = linear
    T[:3, 3] = _vector(node, "translation", (0, 0, 0)) + centre - linear @ centre
    return T


def _rotation(axis_angle: np.ndarray) -> np.ndarray:
    axis, angle = axis_angle[:3], float(axis_angle[3])
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        return np.eye(3)
    x, y, z = axis / length
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * (K @ K)


def _vector(node: _Node, key: str, default: tuple[float, ...]) -> np.ndarray:
    value = node.fields.get(key)
    if value is None:
        return np.array(default, dtype=float)
    if not isinstance(value, np.ndarray) or value.shape != (len(default),):
        raise BrazoError(f"{node.kind}: {key} must have {len(default)} numbers")
    return value


def _face_set(node: _Node) -> Triangles:
    coordinates = node.fields.get("coord")
    points = coordinates.fields.get("point") if isinstance(coordinates, _Node) else None
    index = node.fields.get("coordIndex")
    if not isinstance(points, np.ndarray) or not isinstance(index, np.ndarray):
        return np.zeros((0, 3)), np.zeros((0, 3), int)
    if points.size % 3:
        raise BrazoError(f"IndexedFaceSet: {points.size} coordinates; expected a multiple of 3")
    vertices = points.reshape(-1, 3)
    if not ((index == np.trunc(index)) & (np.abs(index) < 2**31)).all():  # also for nan
        raise BrazoError("IndexedFaceSet: an index in coordIndex is not a whole number below 2^31")
    index = index.astype(np.int64)
    if index.size and index.max() >= len(vertices):
        last = len(vertices) - 1
        raise BrazoError(
            f"IndexedFaceSet: a face refers to vertex {index.max()}; the vertices are 0 to {last}"
        )
    faces = _fans(index)
    if node.fields.get("ccw") == "FALSE":
        faces = faces[:, ::-1]
    return vertices, faces


def _fans(index: np.ndarray) -> np.ndarray:
    """Return the vertex indices (f, 3) of triangles that cover polygons.

    The triangles of a polygon are a fan from its first corner.  `index` contains the vertex indices
    of the polygons, separated by -1.
    """
    if index.size and index[-1] >= 0:
        index = np.append(index, -1)
    ends = np.flatnonzero(index < 0)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    counts = np.maximum(ends - starts - 2, 0)  # triangles of each polygon
    first = np.repeat(starts, counts)
    step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack([index[first], index[first + step + 1], index[first + step + 2]])


def _box(node: _Node) -> Triangles:
    size = _vector(node, "size", (2, 2, 2))
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size / 2
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [(a, b, c) for a, b, c, d in quads] + [(a, c, d) for a, b, c, d in quads]
    return corners, np.array(faces)


def _turned(profile: list[tuple[float, float]]) -> Triangles:
    """Return the surface of a solid of revolution about the y axis, closed by discs.

    `profile` contains points (radius, y), in ascending order of y.
    """
    angles = np.arange(ROUND) * (2 * math.pi / ROUND)
    around = np.column_stack([np.cos(angles), np.zeros(ROUND), -np.sin(angles)])
    rings = [r * around + (0.0, y, 0.0) for r, y in profile]
    vertices = np.concatenate([*rings, [[0.0, profile[0][1], 0.0], [0.0, profile[-1][1], 0.0]]])
    here, there = np.arange(ROUND), (np.arange(ROUND) + 1) % ROUND
    low, high, last = len(vertices) - 2, len(vertices) - 1, (len(profile) - 1) * ROUND
    faces = [np.column_stack([np.full(ROUND, low), there, here])]
    for k in range(len(profile) - 1):
        a, b = k * ROUND + here, k * ROUND + there
        faces += [np.column_stack([a, b, b + ROUND]), np.column_stack([a, b + ROUND, a + ROUND])]
    faces.append(np.column_stack([np.full(ROUND, high), last + here, last + there]))
    places = same_place(vertices)[np.concatenate(faces)]  # a ring on the axis is a point
    return vertices, places[(places != np.roll(places, 1, axis=1)).all(axis=1)]


def _cylinder(node: _Node) -> Triangles:
    radius, half = _number(node, "radius", 1.0), _number(node, "height", 2.0) / 2
    return _turned([(radius, -half), (radius, half)])


def _cone(node: _Node) -> Triangles:
    radius, half = _number(node, "bottomRadius", 1.0), _number(node, "height", 2.0) / 2
    return _turned([(radius, -half), (0.0, half)])


def _sphere(node: _Node) -> Triangles:
    radius = _number(node, "radius", 1.0)
    angles = np.linspace(-math.pi / 2, math.pi / 2, ROUND // 2 + 1)
    return _turned([(radius * math.cos(t), radius * math.sin(t)) for t in angles.tolist()])


def _number(node: _Node, key: str, default: float) -> float:
    return float(_vector(node, key, (default,))[0])


_BUILDERS = {
    "IndexedFaceSet": _face_set,
    "Box": _box,
    "Cylinder": _cylinder,
    "Cone": _cone,
    "Sphere": _sphere,
}
