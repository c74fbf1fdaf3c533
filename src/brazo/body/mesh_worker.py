"""Process that reads mesh files with trimesh, with limits on memory and time.

The formats are those of trimesh (STL, OBJ, PLY, COLLADA, glTF, OFF, ...).  Every object is placed
as the file defines, and all are merged into one list of triangles.

The unit of a COLLADA file (`<unit meter="0.0254">`) is applied.  Its up axis is *not*: the tools
that draw robot files have always ignored it, so many files contain a wrong one, and the mesh of a
link is in the axes of the link.

A request is a line of JSON on standard input; the answer is a line of JSON on standard output
followed by the vertices (float64) and the faces (int32).  The process ends when its input ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from brazo.body.mesh_counts import require_moderate
from brazo.errors import BrazoError
from brazo.files import require_regular

MEMORY = 2_000_000_000  # bytes, on Linux
CPU_TIME = 30  # s of processor time for a file, on POSIX


def serve() -> None:
    """Answer read requests from standard input on standard output."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # output of a reader must not corrupt the answer
    import trimesh  # noqa: F401 (before the limits: its memory is no file's)

    _limit_memory()
    sys.addaudithook(_refuse_pipes)
    for line in requests:
        request = json.loads(line)
        _limit_time()
        arrays: tuple[np.ndarray, ...] = ()
        try:
            vertices, faces = read_triangles(Path(request["path"]), request["max_triangles"])
            arrays = vertices, faces
            answer = {"vertices": len(vertices), "faces": len(faces)}
        except BrazoError as error:
            answer = {"error": str(error)}
        except MemoryError:
            answer = {"error": f"needs more than {MEMORY / 1e9:g} GB of memory; simplify it"}
        answers.write(json.dumps(answer).encode() + b"\n")
        for array in arrays:
            answers.write(np.ascontiguousarray(array).tobytes())
        answers.flush()


def read_triangles(path: Path, max_triangles: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (v, 3) in metres and faces (f, 3) of a file."""
    import trimesh

    require_moderate(path, max_triangles)
    try:
        scene = trimesh.load_scene(path, skip_materials=True)
        merged = scene.to_mesh()
        vertices = np.array(merged.vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.array(merged.faces).reshape(-1, 3)
        # STL, OBJ and PLY have no unit: metres, by the convention of robot files.
        unit = trimesh.units.unit_conversion(scene.units, "meters") if scene.units else 1.0
    except (BrazoError, MemoryError):
        raise
    # The readers of the various formats raise exceptions of any type.
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise BrazoError(f"not a mesh that can be read: {reason}") from error
    if len(faces) > max_triangles:
        raise BrazoError(f"{len(faces)} triangles; up to {max_triangles} are read: simplify it")
    return vertices * unit, faces.astype(np.int32)


def _limit_memory() -> None:
    """Limit the additional memory; only Linux provides a usable measure of it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
        _lower(resource, resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY)


def _limit_time() -> None:
    """Limit the processor time of the next file; the system ends a process that exceeds it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _lower(resource, resource.RLIMIT_CPU, int(sum(os.times()[:2])) + 1 + CPU_TIME)


def _lower(resource: Any, which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    given = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (given, hard))


def _refuse_pipes(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook that rejects pipes, because a mesh file can name other files."""
    if event == "open" and isinstance(arguments[0], str | bytes):
        with contextlib.suppress(FileNotFoundError):
            require_regular(Path(os.fsdecode(arguments[0])))
