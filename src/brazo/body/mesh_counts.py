"""Number of triangles that a mesh file declares, computed before any triangle is built.

A file of a few hundred bytes can declare any number of triangles.  Examples: nested nodes
of COLLADA or glTF, each of which contains the next one twice, nested assemblies of STEP, a glTF
accessor without data, or a large count in the header of a PLY file.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

from brazo.errors import BrazoError
from brazo.etree import Element, etree
from brazo.files import require_regular

MAX_INSTANCES = 100_000  # of nodes and meshes
_MAX_DEPTH = 200
_GLTF_BYTES = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}
_GLTF_NUMBERS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_PLY_ELEMENT = re.compile(rb"^\s*element\s+\S+\s+(\S+)", re.MULTILINE)
_STEP_USAGE = re.compile(
    rb"NEXT_ASSEMBLY_USAGE_OCCURRENCE\s*\((?:\s*(?:'(?:[^']|'')*'|\$)\s*,){3}"
    rb"\s*(#\d+)\s*,\s*(#\d+)\s*,"
)
_PLY_HEADER = 100_000  # bytes

Count = tuple[int, int]  # instances, triangles


def require_moderate(path: Path, max_triangles: int) -> None:
    """Raise BrazoError if a mesh file declares too many triangles or instances.

    Also raises BrazoError if the file is invalid or declares more data than it contains.  Formats
    other than COLLADA, glTF, PLY and STEP are not checked.
    """
    match path.suffix.lower():
        case ".dae":
            _require(_collada(path.read_bytes()), max_triangles)
        case ".gltf":
            _require(_gltf(path.read_bytes(), path.parent, None), max_triangles)
        case ".glb":
            text, binary = _glb(path.read_bytes())
            _require(_gltf(text, path.parent, binary), max_triangles)
        case ".ply":
            _ply(path)
        case ".step" | ".stp":
            _require(_step(path.read_bytes()), max_triangles)


def _require(count: Count, max_triangles: int) -> None:
    instances, triangles = count
    if instances > MAX_INSTANCES:
        raise BrazoError(
            f"declares {instances} instances of nodes and meshes; the maximum is {MAX_INSTANCES}: "
            "simplify the file"
        )
    if triangles > max_triangles:
        raise BrazoError(
            f"declares {triangles} triangles (every instance counts); the maximum is "
            f"{max_triangles}: simplify the mesh"
        )


def _total(
    roots: list[Any], own: Callable[[Any], Count], children: Callable[[Any], Iterator[Any]]
) -> Count:
    """Return the numbers of instances and triangles in a graph of nodes.

    Each node is one instance.  A node that is contained several times counts several times.
    `own(node)` returns the numbers of meshes and triangles directly in a node; these meshes are
    instances, too.  `children(node)` yields the child nodes.
    """
    known: dict[Any, Count] = {}
    open_nodes: set[Any] = set()

    def count(node: Any) -> Count:
        if node in known:
            return known[node]
        if node in open_nodes:
            raise BrazoError("a node contains itself, directly or through its children")
        if len(open_nodes) > _MAX_DEPTH:
            raise BrazoError(f"nodes are nested more than {_MAX_DEPTH} levels deep")
        open_nodes.add(node)
        instances, triangles = own(node)
        for other in children(node):
            more = count(other)
            instances, triangles = instances + more[0], triangles + more[1]
        open_nodes.remove(node)
        known[node] = instances + 1, triangles
        return known[node]

    counts = [count(root) for root in roots]
    return sum(c[0] for c in counts), sum(c[1] for c in counts)


# ---- COLLADA ---------------------------------------------------------------------------------


def _collada(data: bytes) -> Count:
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise BrazoError("declares a document type or entities, which are not supported")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BrazoError(f"cannot be read as a mesh: {error}") from None
    by_id: dict[str, Element] = {e.get("id"): e for e in root.iter("{*}*") if e.get("id")}
    triangles = {e: _collada_triangles(e) for e in root.iter("{*}geometry")}
    _require_unit(root)

    def own(node: Element) -> Count:
        found = [target(e) for e in node if _tag(e) in ("instance_geometry", "instance_controller")]
        return len(found), sum(triangles.get(_geometry(e, target), 0) for e in found)

    def children(node: Element) -> Iterator[Element]:
        for child in node:
            if _tag(child) == "node":
                yield child
            elif _tag(child) == "instance_node" and (other := target(child)) is not None:
                yield other

    def target(element: Element) -> Element | None:
        return by_id.get((element.get("url") or element.get("source") or "").removeprefix("#"))

    # Readers also build the nodes of a library that are in no scene.
    total = _total(list(root.iter("{*}visual_scene", "{*}library_nodes")), own, children)
    return total[0], max(total[1], sum(triangles.values()))


def _require_unit(root: Element) -> None:
    for element in root.iter("{*}unit"):
        text = element.get("meter", "1")
        try:
            meter = float(text)
        except ValueError:
            meter = 0.0
        if not 1e-9 <= meter <= 1e9:
            raise BrazoError(
                f'line {element.sourceline}: <unit meter="{text[:40]}">: expected the length of '
                "the unit in m, from 1e-9 to 1e9"
            )


def _geometry(
    element: Element | None, target: Callable[[Element], Element | None]
) -> Element | None:
    """Return the geometry of a COLLADA instance; None if it does not exist.

    `element` is the element that the instance refers to: a geometry, or a controller whose skin
    refers to a geometry.  `target(x)` returns the element that the element x refers to.
    """
    if element is not None and _tag(element) == "controller":
        skins = list(element.iter("{*}skin"))
        return target(skins[0]) if skins else None
    return element


def _collada_triangles(geometry: Element) -> int:
    """Return an upper bound of the number of triangles of a COLLADA geometry.

    It is computed from the lengths of the index lists, because declared counts can be wrong.
    """
    total = 0
    for element in geometry.iter("{*}p"):
        kind = element.getparent()
        offsets = [e.get("offset") or "0" for e in kind.iter("{*}input")]
        inputs = 1 + max((int(o) for o in offsets if o.isdecimal() and len(o) < 4), default=0)
        corners = len((element.text or "").split()) // inputs
        total += corners // 3 if _tag(kind) == "triangles" else corners
    return total


def _tag(element: Element) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


# ---- glTF ------------------------------------------------------------------------------------


def _glb(data: bytes) -> tuple[bytes, int]:
    """Return the JSON text of a binary glTF file, and the number of bytes after the JSON text."""
    if len(data) < 20 or data[:4] != b"glTF":
        raise BrazoError("cannot be read as a mesh: no glTF header")
    (length,) = struct.unpack_from("<I", data, 12)
    if 20 + length > len(data):
        raise BrazoError("cannot be read as a mesh: the file ends within its JSON part")
    return data[20 : 20 + length], len(data) - 20 - length


def _gltf(text: bytes, folder: Path, binary: int | None) -> Count:
    try:
        return _gltf_count(json.loads(text), folder, binary)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        what = " ".join(str(error).split())[:200]
        if isinstance(error, KeyError):
            what = f"missing field or unknown value {what}"
        raise BrazoError(f"cannot be read as a mesh: not valid glTF ({what})") from None


def _gltf_count(root: dict[str, Any], folder: Path, binary: int | None) -> Count:
    accessors = [_Accessor(i, a) for i, a in enumerate(root.get("accessors", []))]
    views = root.get("bufferViews", [])
    buffers = [_buffer_bytes(b, folder, binary) for b in root.get("buffers", [])]
    for accessor in accessors:
        accessor.require_data(views, buffers)
    declared, room = sum(a.bytes for a in accessors), sum(buffers)
    if declared > 4 * room + 1_000_000:
        raise BrazoError(
            f"its accessors declare {declared} bytes, but its buffers have only {room} bytes"
        )

    def triangles(mesh: int) -> int:
        total = 0
        for primitive in _at(root.get("meshes", []), mesh)["primitives"]:
            index = primitive.get("indices", primitive["attributes"].get("POSITION"))
            corners = 0 if index is None else _at(accessors, index).count
            total += corners // 3 if primitive.get("mode", 4) == 4 else corners
        return total

    nodes = root.get("nodes", [])

    def own(node: int) -> Count:
        mesh = _at(nodes, node).get("mesh")
        return (0, 0) if mesh is None else (1, triangles(mesh))

    def children(node: int) -> Iterator[int]:
        yield from _at(nodes, node).get("children", [])

    roots = [n for scene in root.get("scenes", []) for n in scene.get("nodes", [])]
    total = _total(roots, own, children)
    return total[0], max(total[1], sum(triangles(i) for i in range(len(root.get("meshes", [])))))


class _Accessor:
    def __init__(self, index: int, fields: dict[str, Any]) -> None:
        self.index = index
        self.count = _whole(fields["count"])
        self.view = fields.get("bufferView")
        self.offset = _whole(fields.get("byteOffset", 0))
        size = _GLTF_BYTES[fields["componentType"]] * _GLTF_NUMBERS[fields["type"]]
        self.bytes = self.count * size

    def require_data(self, views: list[Any], buffers: list[int]) -> None:
        if self.view is None:
            self._fail("has no data (no bufferView); sparse and compressed glTF is not supported")
        view = _at(views, self.view)
        length = min(_whole(view["byteLength"]), _at(buffers, view["buffer"]))
        if self.offset + self.bytes > length:
            self._fail(
                f"declares {self.bytes} bytes, but its buffer view has {length - self.offset}"
            )

    def _fail(self, what: str) -> NoReturn:
        raise BrazoError(f"accessor {self.index} {what}")


def _buffer_bytes(buffer: dict[str, Any], folder: Path, binary: int | None) -> int:
    """Return the actual length of a glTF buffer in bytes; 0 if its file does not exist.

    `binary` is the number of bytes after the JSON part of a .glb file; None for a .gltf file.
    """
    uri = buffer.get("uri")
    if uri is None:
        return binary or 0
    if uri.startswith("data:"):
        try:
            return len(base64.b64decode(uri.partition(",")[2]))
        except binascii.Error as error:
            raise ValueError(error) from None
    try:
        return require_regular(folder / unquote(uri)).st_size
    except FileNotFoundError:
        return 0


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not an integer of at least 0")
    return value


def _at(items: list[Any], index: Any) -> Any:
    return items[_whole(index)]


# ---- STEP ------------------------------------------------------------------------------------


def _step(data: bytes) -> Count:
    """Return the number of instances in the assemblies of a STEP file; the triangle count is 0.

    An entry NEXT_ASSEMBLY_USAGE_OCCURRENCE(id, name, description, #assembly, #component,
    designator) places a component in an assembly.  Raises BrazoError if the file is incomplete or
    not a STEP file.
    """
    if not data.lstrip()[:13].upper().startswith(b"ISO-10303-21;"):
        raise BrazoError("cannot be read as a mesh: not a STEP file (ISO-10303-21 is missing)")
    if b"END-ISO-10303-21" not in data[-2000:].upper():
        raise BrazoError(
            "the file is incomplete: the end of the STEP file (END-ISO-10303-21) is missing"
        )
    below: dict[bytes, list[bytes]] = {}
    for usage in _STEP_USAGE.finditer(data):
        below.setdefault(usage[1], []).append(usage[2])
    roots = below.keys() - {child for children in below.values() for child in children}
    if below and not roots:
        raise BrazoError("an assembly contains itself, directly or through its components")
    return _total(sorted(roots), lambda node: (0, 0), lambda node: iter(below.get(node, ())))


# ---- PLY -------------------------------------------------------------------------------------


def _ply(path: Path) -> None:
    """Raise BrazoError if a PLY file declares more elements of one kind than it has bytes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(_PLY_HEADER).partition(b"end_header")[0]
    for text in _PLY_ELEMENT.findall(header):
        count = int(text) if text.isdigit() and len(text) < 19 else -1
        if not 0 <= count <= size:
            shown = text[:40].decode("ascii", "replace")
            raise BrazoError(
                f"its header declares {shown} elements, which do not fit in a file of {size} bytes"
            )
