"""Size of the model declared by an MJCF file, computed before MuJoCo compiles it.

A few words can request any amount: `<replicate count="20000000">`, a height field of 100000 by
100000 cells, a soft body of 10⁹ points.  MuJoCo would compile it and not return.  The declared
sizes are therefore added up first, through replicates, includes and attached models, in two sums:
*items* (elements and generated elements, which take time) and *bytes* (cells of height fields,
textures and tables, which take memory).
"""

from __future__ import annotations

import contextlib
import math
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from brazo.errors import BrazoError
from brazo.etree import Element
from brazo.files import is_regular, require_regular
from brazo.formats.urdf.normalise import elements, local_name, parse_xml, read_bytes

MAX_ITEMS = 10_000
MAX_BYTES = 100_000_000
_MAX_FILES = 100
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf", re.IGNORECASE)
_POINT_ITEMS = 3  # a point of a soft body is a body with joints
_REAL = 8  # bytes
_CELL = 4
_MESH_POINT = 1000  # equivalent bytes: hull and inertia must be computed


@dataclass(frozen=True, slots=True)
class _Size:
    items: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: _Size) -> _Size:
        return _Size(self.items + other.items, self.bytes + other.bytes)

    def times(self, count: float) -> _Size:
        return _Size(self.items * count, self.bytes * count)


def require_moderate(root: Element, path: Path) -> None:
    """Reject a file whose model would be larger than any robot."""
    size = _Sum(root, path).total()
    if size.items > MAX_ITEMS:
        raise BrazoError(
            f"{path}: declares {size.items:.0f} elements, including those that replicates and soft "
            f"bodies generate; at most {MAX_ITEMS} are read"
        )
    if size.bytes > MAX_BYTES:
        raise BrazoError(
            f"{path}: declares height fields, textures, meshes and tables of {size.bytes:.3g} "
            f"bytes; at most {MAX_BYTES:.3g} are read"
        )


class _Sum:
    """Adds up a file and the files that it includes; each of them is read once."""

    def __init__(self, root: Element, path: Path) -> None:
        self.main = path
        self.roots: dict[Path, Element] = {}
        self.folders = {""}  # of meshes and textures
        self.models: dict[str, list[tuple[Path, Path]]] = {}  # by name: declaring file, model file
        self.known: dict[Path, _Size] = {}
        self.open: list[Path] = []
        self._collect(root, path.resolve())

    def total(self) -> _Size:
        return self._document(self.main.resolve())

    def _collect(self, root: Element, path: Path) -> None:
        """Read all files first, because a model can be attached before it is declared."""
        self.roots[path] = root
        self._require_regular_files(root, path)
        for element in elements(root):
            if local_name(element) not in ("include", "model"):
                continue
            files = self._files(element, path)
            if local_name(element) == "model":
                for name in (element.get("name"), Path(element.get("file") or "").stem):
                    declared = self.models.setdefault(name or "", [])
                    declared += [(path, file) for file in files]
            for file in files:
                if len(self.roots) > _MAX_FILES:
                    raise BrazoError(f"{self.main}: includes more than {_MAX_FILES} files")
                if file not in self.roots:
                    self._collect(parse_xml(read_bytes(file), file)[0], file)

    def _require_regular_files(self, root: Element, path: Path) -> None:
        """Reject pipes at all locations that MuJoCo searches, because it would block on them."""
        names = {
            name.strip()
            for element in elements(root)
            for key, name in element.attrib.items()
            if key.startswith("file")
        }
        names |= {re.split(r"[/\\]", name)[-1] for name in names}  # with strippath
        self.folders |= {
            compiler.get(key, "").strip()
            for compiler in elements(root, "compiler")
            for key in ("assetdir", "meshdir", "texturedir")
        }
        for start in {self.main.resolve().parent, path.parent}:
            for file in {start / f / n for f in self.folders for n in names if n}:
                with contextlib.suppress(OSError, ValueError):
                    if not stat.S_ISDIR(file.stat().st_mode):
                        require_regular(file)

    def _document(self, path: Path) -> _Size:
        if path in self.known:
            return self.known[path]
        if path in self.open:
            raise BrazoError(f"{self.main}: {path} is part of itself")
        self.open.append(path)
        root = self.roots[path]
        size = self._element(root, path)
        # Tables with a row for every element.
        rows = sum(
            _count(value)
            for section in elements(root, "size")
            for key, value in section.attrib.items()
            if key == "nkey" or key.startswith("nuser_")
        )
        self.open.pop()
        self.known[path] = size + _Size(0.0, rows * size.items * _REAL)
        return self.known[path]

    def _element(self, element: Element, path: Path) -> _Size:
        size = _own(element)
        for child in element:
            if isinstance(child.tag, str):
                size += self._element(child, path)
        match local_name(element):
            case "replicate":
                size = size.times(max(1.0, _count(element.get("count"))))
            case "include":
                size += self._largest(self._files(element, path))
            case "attach":
                size += self._largest(self._attached(element.get("model") or "", path))
        return size

    def _attached(self, name: str, path: Path) -> list[Path]:
        """Return the models of a name: those of the file, or else those of the including files."""
        declared = self.models.get(name, [])
        own = [file for owner, file in declared if owner == path]
        return own or [file for _, file in declared if file not in self.open]

    def _largest(self, files: list[Path]) -> _Size:
        """Return the max size over the candidate files."""
        sizes = [_Size(), *(self._document(file) for file in files)]
        return _Size(max(size.items for size in sizes), max(size.bytes for size in sizes))

    def _files(self, element: Element, path: Path) -> list[Path]:
        """Return the candidate files, relative to the main file and to the including one."""
        name = (element.get("file") or "").strip()
        folders = dict.fromkeys([self.main.resolve().parent, path.parent])
        found = [folder / name for folder in folders if name]
        return [file.resolve() for file in found if is_regular(file)]


def _own(element: Element) -> _Size:
    """Return the size of an element itself, from its attributes."""
    get = element.get
    match local_name(element):
        case "flexcomp":
            return _Size(1.0 + _POINT_ITEMS * _product(get("count"), "10 10 10"))
        case "composite":
            return _Size(1.0 + _POINT_ITEMS * _product(get("count")))
        case "hfield":
            return _Size(1.0, _CELL * _product(get("nrow")) * _product(get("ncol")))
        case "texture":
            width, height = _product(get("width")), _product(get("height"))
            sides = height if get("type") == "2d" else max(height, 6.0 * width)
            return _Size(1.0, width * sides * max(_product(get("nchannel")), 3.0))
        case "mesh" if get("builtin"):
            return _Size(1.0, _MESH_POINT * _mesh_points(get("params")))
        case "numeric":
            return _Size(1.0, _REAL * _count(get("size")))
        case "size":
            return _Size(1.0, _REAL * _count(get("nuserdata")))
        case "camera":
            return _Size(1.0, _product(get("resolution")))
    extra = sum(_count(get(name)) for name in ("dim", "num", "nsample", "actdim"))
    return _Size(1.0, _REAL * extra)


def _mesh_points(params: str | None) -> float:
    """Return an upper bound of the number of points.

    A resolution can apply to two directions, or each direction has its own.
    """
    sizes = [max(1.0, abs(x)) for x in _numbers(params)]
    return max(math.prod(sizes), max(sizes, default=1.0) ** 2)


def _product(text: str | None, default: str = "1") -> float:
    return math.prod(max(1.0, abs(x)) for x in _numbers(default if text is None else text))


def _count(text: str | None) -> float:
    return max((abs(x) for x in _numbers(text)), default=0.0)


def _numbers(text: str | None) -> list[float]:
    return [float(word) for word in _NUMBER.findall(text or "")]
