"""Process that reads mesh files, with limits on memory (Linux) and CPU time (POSIX).

STEP is read by cascadio (OpenCASCADE), VRML by `brazo.body.vrml`, binary STL by
`brazo.body.binary_stl`, and other formats by trimesh (text STL, OBJ, PLY, COLLADA, glTF, OFF, ...).
Every object gets the pose that the file defines.  The objects are returned separately, or merged
into one list of triangles.

The unit of a COLLADA file (`<unit meter="0.0254">`) is applied.  Its up axis is ignored: the axes
of the mesh are those of the link frame.  Other robot tools ignore the up axis too, so it is wrong
in many files.

A request is a line of JSON on standard input.  The answer is a line of JSON on standard output,
followed by the vertices (float64) and the faces (int32) of each object.  The process ends when its
input ends.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brazo.body.binary_stl import read_binary_stl
from brazo.body.mesh_counts import require_moderate
from brazo.body.vrml import read_vrml
from brazo.errors import BrazoError
from brazo.files import require_regular

MEMORY = 2_000_000_000  # bytes, on Linux
_MAX_NAMES = 200  # levels of nodes
_memory_is_limited = False


@dataclass(frozen=True, slots=True, eq=False)
class MeshPart:
    """Triangles of one object of a mesh file.

    `names` are the names of the nodes from the root of the file to the object, outermost first.
    `color` is red, green and blue, from 0 to 1.  `sized` is True if the file defines a unit; the
    vertices are then in metres.
    """

    names: tuple[str, ...]
    vertices: np.ndarray  # (v, 3) float64
    faces: np.ndarray  # (f, 3) int32
    color: tuple[float, float, float] | None = None
    sized: bool = False


def serve() -> None:
    """Answer requests from standard input on standard output until the input ends."""
    requests, answers = sys.stdin.buffer, _own_output()
    np.linalg.det(np.ones((300, 300)) @ np.ones((300, 3)) @ np.ones((3, 300)))  # buffers of BLAS
    _limit_memory()
    sys.addaudithook(_refuse_pipes)
    for line in requests:
        request = json.loads(line)
        _limit_time(request["cpu_time"])
        parts: list[MeshPart] = []
        try:
            parts = read_parts(Path(request["path"]), request["max_triangles"])
            if not request["separate"]:
                parts = [merged(parts)]
            answer: dict[str, Any] = {"parts": [_described(part) for part in parts]}
        except BrazoError as error:
            answer = {"error": str(error)}
        except MemoryError:
            answer = {
                "error": f"reading needs more than {MEMORY / 1e9:g} GB of memory; simplify the mesh"
            }
        answers.write(json.dumps(answer).encode() + b"\n")
        for part in parts if "parts" in answer else ():
            answers.write(np.ascontiguousarray(part.vertices, np.float64).tobytes())
            answers.write(np.ascontiguousarray(part.faces, np.int32).tobytes())
        answers.flush()


def read_parts(path: Path, max_triangles: int) -> list[MeshPart]:
    """Return the objects of a mesh file, at the poses that the file defines.

    Raises BrazoError if the file cannot be read or has too many triangles.
    """
    require_moderate(path, max_triangles)
    try:
        parts = _parts(path, max_triangles)
    except (BrazoError, MemoryError):
        raise
    # The readers of the various formats raise exceptions of any type.
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise BrazoError(f"cannot be read as a mesh: {reason}") from error
    count = sum(len(part.faces) for part in parts)
    if count > max_triangles:
        raise BrazoError(f"{count} triangles; the maximum is {max_triangles}: simplify the mesh")
    return parts


def merged(parts: Sequence[MeshPart]) -> MeshPart:
    """Return the triangles of all objects as one object, without names and colour."""
    counts = [0, *np.cumsum([len(part.vertices) for part in parts]).tolist()]
    faces = [part.faces + start for part, start in zip(parts, counts, strict=False)]
    vertices = [part.vertices for part in parts]
    return MeshPart(
        (),
        np.concatenate(vertices) if parts else np.zeros((0, 3)),
        np.concatenate(faces).astype(np.int32) if parts else np.zeros((0, 3), np.int32),
    )


def _parts(path: Path, max_triangles: int) -> list[MeshPart]:
    match path.suffix.lower():
        case ".wrl" | ".vrml":
            return [
                MeshPart(one.names, one.vertices, one.faces.astype(np.int32), one.color)
                for one in read_vrml(path.read_bytes(), max_triangles)
            ]
        case ".step" | ".stp":
            return _scene_parts(_step_scene(path))
        case ".stl":
            found = read_binary_stl(path, max_triangles)
            if found is not None:
                return [MeshPart((), *found)]
    trimesh = _trimesh()
    # Without processing, which would drop triangles with numbers that are not finite.
    options: dict[str, Any] = {"skip_materials": True, "split_object": True, "process": False}
    return _scene_parts(trimesh.load_scene(path, **options))


def _step_scene(path: Path) -> Any:
    """Return the scene of a STEP file, tessellated by OpenCASCADE."""
    trimesh = _trimesh()
    try:
        import cascadio
    except ImportError:
        raise BrazoError(
            "STEP files need the package cascadio, which is not installed; convert the file to GLB"
        ) from None
    # One thread: each would use memory.  Tolerances: mm, rad.
    binary = cascadio.load(path.read_bytes(), tol_linear=0.1, tol_angular=0.3, use_parallel=False)
    if not binary:
        raise BrazoError("cannot be read as a mesh: no solids were found in the STEP file")
    scene = trimesh.load_scene(io.BytesIO(binary), file_type="glb")
    if not scene.geometry:
        raise BrazoError("cannot be read as a mesh: the STEP file has no surfaces")
    return scene


def _scene_parts(scene: Any) -> list[MeshPart]:
    trimesh = _trimesh()
    # STL, OBJ and PLY have no unit: metres, by the convention of robot files.
    unit = trimesh.units.unit_conversion(scene.units, "meters") if scene.units else 1.0
    parents, root = scene.graph.transforms.parents, scene.graph.base_frame
    found = []
    for node in sorted(scene.graph.nodes_geometry):
        T, name = scene.graph[node]
        geometry = scene.geometry[name]
        if not isinstance(geometry, trimesh.Trimesh):
            continue
        names, at = [], node
        while at is not None and at != root and len(names) < _MAX_NAMES:
            names.append(str(at))
            at = parents.get(at)
        vertices = np.array(geometry.vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.array(geometry.faces).reshape(-1, 3).astype(np.int32)
        if np.linalg.det(T[:3, :3]) < 0.0:  # a reflection turns the faces inside out
            faces = faces[:, ::-1]
        found.append(
            MeshPart(
                tuple(reversed(names)),
                unit * (vertices @ T[:3, :3].T + T[:3, 3]),
                faces,
                _color(geometry),
                bool(scene.units),
            )
        )
    return found


def _trimesh() -> Any:
    """Return the module trimesh, imported on first use.

    The import takes most of a second, and binary STL and VRML do not need it.  The memory for the
    import does not count: the memory limit is lifted during the import and set again afterwards.
    """
    if "trimesh" not in sys.modules and _memory_is_limited:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        import trimesh

        _limit_memory()
    import trimesh

    return trimesh


def _color(geometry: Any) -> tuple[float, float, float] | None:
    material = getattr(geometry.visual, "material", None)
    value = getattr(material, "baseColorFactor", None)
    if value is None or len(value) < 3:
        return None
    r, g, b = (float(x) / 255.0 for x in value[:3])
    return r, g, b


def _described(part: MeshPart) -> dict[str, Any]:
    return {
        "names": part.names,
        "vertices": len(part.vertices),
        "faces": len(part.faces),
        "color": part.color,
        "sized": part.sized,
    }


def _own_output() -> Any:
    """Return a copy of the standard output stream, on which the answers are written.

    Standard output itself is redirected to the null device, so that text printed by native code
    does not corrupt the answers.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    sys.stdout = sys.stderr
    return answers


def _limit_memory() -> None:
    """Limit the memory that the process can allocate from now on to `MEMORY` bytes (Linux only)."""
    global _memory_is_limited
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
        _lower(resource, resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY)
        _memory_is_limited = True


def _limit_time(cpu_time: float) -> None:
    """Limit the CPU time (s) for the next file; the system ends the process if it is exceeded."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _lower(resource, resource.RLIMIT_CPU, int(sum(os.times()[:2]) + 1 + cpu_time))


def _lower(resource: Any, which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    given = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (given, hard))


def _refuse_pipes(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise an error when a pipe or device is opened (Python audit hook).

    A mesh file can refer to other files by name.  Reading from a pipe or device could block the
    process.
    """
    if event == "open" and isinstance(arguments[0], str | bytes):
        with contextlib.suppress(FileNotFoundError):
            require_regular(Path(os.fsdecode(arguments[0])))
