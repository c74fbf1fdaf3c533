"""Storage of a cell in a recording, as the text of the cell file and of the robot files.

The run can then be replayed even after the files were moved, changed or deleted.  The stored cell
includes all edits (see `cell_files`).  For shipped robots, only the name is stored.  For robots
read from URDF or MJCF, and for robot files with meshes, the path and digest of the file are stored,
and the text of the robot without its meshes.  A replay reads the file if its digest still matches,
otherwise it uses the stored text.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from brazo.errors import BrazoError
from brazo.formats.document import Field, Node
from brazo.formats.library import robot_directory
from brazo.formats.robot_yaml.writer import robot_yaml
from brazo.model.description import Model
from brazo.model.shapes import Mesh
from brazo.recording.origin import LEFT_OUT, SOURCE, digest_of
from brazo.world.cell import Cell, CellRobot
from brazo.world.cell_file import load_cell
from brazo.world.cell_writer import cell_files

LARGEST = 1 << 20  # max number of characters of text in one recording


def recorded_source(cell: Cell) -> dict[str, str]:
    """Return the metadata entries that store a cell in a recording.

    If the cell cannot be stored, the only entry is `LEFT_OUT`, with the reason.
    """
    references: dict[str, dict[str, Any]] = {}
    robots = {r.model.path: r for r in cell.robots if r.model.path is not None}

    def refer(path: Path) -> str:
        if path not in robots:  # a mesh
            return path.absolute().as_posix()
        ending = ".yaml" if robots[path].source.file is not None else ".urdf"
        name = f"recorded-robot-{len(references) + 1}{ending}"
        references[name] = {
            "path": str(path.absolute()),
            "digest": digest_of(path),
            "meshes": _meshes(robots[path].model),
            "text": _without_meshes(robots[path]),
        }
        return name

    try:
        files = cell_files(cell, refer)
    except BrazoError as error:
        return {LEFT_OUT: str(error)}
    paths = [path for path in (cell.path, *robots) if path is not None and not _is_shipped(path)]
    kept = json.dumps(
        {
            "files": files,
            "references": references,
            "origins": {str(path.absolute()): digest_of(path) for path in paths},
        },
        ensure_ascii=False,
    )
    if len(kept) > LARGEST:
        return {
            LEFT_OUT: f"the text of the cell and its robots has {len(kept) / 1e6:.1f} MB; a "
            f"recording stores up to {LARGEST / 1e6:.1f} MB, so a replay needs the files"
        }
    return {SOURCE: kept}


def restored_cell(about: Mapping[str, str]) -> tuple[Cell, list[str]] | None:
    """Return the cell stored in a recording, and messages about changed files or missing meshes.

    `about` is the metadata of the recording.  The result is None if it contains no cell.
    """
    if not about.get(SOURCE):
        return None
    try:
        kept = json.loads(about[SOURCE])
        files, references = dict(kept["files"]), dict(kept["references"])
        origins = {Path(path): str(digest) for path, digest in kept["origins"].items()}
        (main, text), *others = files.items()
        stored = [
            (name, one["digest"], one["path"], one["text"], int(one["meshes"]))
            for name, one in references.items()
        ]
        if not all(isinstance(text, str) for text in files.values()) or not all(
            isinstance(text, str) for one in stored for text in one[1:4]
        ):
            raise ValueError("a text is missing")
        if any(Path(name).name != name for name in (*files, *references)):
            raise ValueError("a file name contains a path separator")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BrazoError(f"field {SOURCE} is not a cell description ({error})") from None
    notes = [
        f"{path} was changed since the run. The version stored in the recording is used."
        for path, digest in origins.items()
        if digest_of(path) not in ("", digest)
    ]
    meshes = 0
    with tempfile.TemporaryDirectory(prefix="brazo-replay-") as folder:
        for name, digest, path, content, count in stored:
            if digest and digest_of(Path(path)) == digest:
                text = text.replace(name, json.dumps(path))
            else:
                others.append((name, content))
            meshes += count
        for name, content in ((main, text), *others):
            (Path(folder) / name).write_text(content, encoding="utf-8")
        cell = load_cell(Path(folder) / main)
    missing = meshes - sum(_meshes(robot.model) for robot in cell.robots)
    if missing > 0:
        notes.append(
            f"{missing} mesh{'es' if missing > 1 else ''} of the robots cannot be found: generated "
            "bodies are drawn instead."
        )
    path = about.get("cell_file")
    return replace(cell, path=Path(path) if path else None), notes


def _is_shipped(path: Path) -> bool:
    return path.resolve().is_relative_to(robot_directory().parent.resolve())


def _meshes(model: Model) -> int:
    """Return the number of parts of a robot that are meshes."""
    return sum(isinstance(part.shape, Mesh) for _, parts in model.solids for part in parts)


def _without_meshes(robot: CellRobot) -> str:
    """Return a robot without its meshes as text: a robot file, or URDF for imported robots."""
    file = robot.source.file
    if file is not None:
        return robot_yaml(Field(_stripped(file.root.node), "", None))
    from brazo.formats.urdf.writer import write_urdf

    return write_urdf(robot.model)


def _stripped(node: Node) -> Node:
    """Return a copy of a YAML node without the parts that are meshes."""
    value = node.value
    if isinstance(value, list):
        kept = [one for one in value if not (isinstance(one.value, dict) and "mesh" in one.value)]
        return Node(node.line, [_stripped(one) for one in kept])
    if isinstance(value, dict):
        kept_fields = {key: (line, _stripped(one)) for key, (line, one) in value.items()}
        # A list that contained only meshes is removed, so that its parts are generated instead.
        empty = [k for k, (_, one) in value.items() if one.value and kept_fields[k][1].value == []]
        return Node(node.line, {k: v for k, v in kept_fields.items() if k not in empty})
    return node
