"""Import of a CAD assembly into a robot file.

The robot file with the kinematics exists already.  The CAD file shows the robot in a reference pose
q_ref, in the axes of the base frame.  Every part is assigned to a link, and its triangles are
transformed to the frame of the link at this pose,

    v_link = T_link(q_ref)⁻¹ v_base.

A part becomes a mesh, convex pieces for collision detection, and an inertia for the given density.
The D-H table is not changed, so the new file has the same forward kinematics as the original.
Links without a part keep the geometry and inertia of the original file; their meshes are copied.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from brazo.body.convex import MOST_PIECES, convex_pieces
from brazo.body.meshes import stl_bytes
from brazo.errors import BrazoError
from brazo.formats.cad.assembly_parts import CadPart, Progress, read_assembly
from brazo.formats.cad.estimate import ALUMINIUM, PartEstimate, combined, estimates
from brazo.formats.cad.kept_meshes import mesh_bytes, renamed_meshes, used_meshes
from brazo.formats.cad.part_links import Match, RobotLink, match_parts
from brazo.formats.cad.report import PartRow, report_text
from brazo.formats.export import make_folder, safe_stem, unique_name, write_file
from brazo.formats.library import find_robot
from brazo.formats.robot_yaml.edit import edited
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.formats.robot_yaml.writer import robot_yaml
from brazo.model.description import Array, Inertia, TreeModel
from brazo.model.inertia import transformed
from brazo.model.motion import body_poses
from brazo.model.transforms import invert

MOST_PARTS = 20  # of a link; more are merged by colour
DIGITS = 6  # significant digits of estimated values
GREY = (0.80, 0.81, 0.82)
_RATIO = 20.0  # between the extent of an assembly and the reach, above which a unit is wrong


@dataclass(frozen=True, slots=True, eq=False)
class CadImport:
    """Result of `import_cad`: the files that were written, the report, and one row per part.

    Omitted parts have no row.
    """

    path: Path  # robot file
    meshes: tuple[Path, ...]
    report_path: Path
    report: str
    rows: tuple[PartRow, ...]

    @property
    def mass(self) -> float:
        """Estimated mass (kg) of all parts, including the base."""
        return sum(row.mass for row in self.rows)

    def __repr__(self) -> str:
        return f"CadImport({str(self.path)!r}, {len(self.rows)} parts, {self.mass:.4g} kg)"


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """Part with its triangles and inertia in the frame of the robot body it is assigned to."""

    part: CadPart
    estimate: PartEstimate
    body: int


def import_cad(
    source: str | Path,
    robot: str | Path,
    output: str | Path,
    *,
    mapping: Mapping[str, str] | None = None,
    density: float | Mapping[str, float] = ALUMINIUM,
    mass: float | None = None,
    scale: float = 1.0,
    up: str = "z",
    pose: str | Sequence[float] | None = None,
    pieces: int = MOST_PIECES,
    progress: Progress | None = None,
) -> CadImport:
    """Write a robot file whose links have the parts of a CAD assembly.

    Parameters
    ----------
    source : str or Path
        Assembly: a STEP, glTF, COLLADA, VRML, OBJ, STL, PLY or OFF file, or a folder of them.
    robot : str or Path
        Shipped robot or robot file (YAML) with the D-H table of the arm.
    output : str or Path
        Robot file to write; meshes and the report are written to the folder `<stem>_cad` beside it.
    mapping : mapping, optional
        Part name with wildcards -> link: `{"bracket*": "link 2", "screw*": "none"}`.  "none" omits
        the part.  Parts that match no key are assigned by their names.
    density : float or mapping
        Density in kg/m³, or a mapping from part name with wildcards to density; the key `""`
        applies to all other parts (default 2700, aluminium).
    mass : float, optional
        Total mass of all parts, including those of the base, in kg; the densities are scaled to it.
    scale : float
        Factor from the lengths of the file to metres (0.001 for mm).  For a format with a unit
        (STEP, glTF, COLLADA), lengths are first converted to metres.
    up : str
        Axis of the file that points up: `"z"`, `"y"` (glTF of most programs) or `"x"`.
    pose : str or sequence, optional
        Pose of the robot in the CAD file: joint values (rad, m) or the name of a pose of the
        robot file.  The default is the pose `zero`, or all joints at 0 if there is no such pose.
    pieces : int
        Max number of convex collision pieces of a part.
    progress : callable, optional
        Called with (fraction, text) regularly; an exception that it raises ends the import.

    Returns
    -------
    CadImport
        The files written, the report, and the estimated values of each part.
    """
    file, model = _robot(robot)
    q, pose_name = _reference(model, pose)
    output = _output(output, file)
    parts = read_assembly(Path(source).expanduser(), scale, up, progress)
    _require_size(parts, model, Path(source))
    links = [RobotLink(body.name, body.joint.name if body.joint else "") for body in model.bodies]
    matches = match_parts(parts, links, mapping or {})
    pairs = list(zip(parts, matches, strict=True))
    kept = [(part, m) for part, m in pairs if m.body is not None]
    kept.sort(key=lambda pair: pair[1].body or 0)
    if not kept:
        raise BrazoError(f"{source}: no parts remain; the map assigns 'none' to all of them")
    given = density if isinstance(density, Mapping) else {"": float(density)}
    found = estimates([part for part, _ in kept], given, mass)
    frames = body_poses(model, q)
    placed = [
        _in_body(part, estimate, match, frames)
        for (part, match), estimate in zip(kept, found, strict=True)
    ]
    files, fields = _bodies(placed, output, pieces, progress)
    rows = [
        PartRow(
            part.name, links[one.body].name, links[one.body].joint, match.reason,
            one.estimate.inertia.mass, one.estimate.density, one.estimate.notes,
        )
        for (part, match), one in zip(kept, placed, strict=True)
    ]  # fmt: skip
    left = [part.name for part, match in pairs if match.body is None]
    fields |= _link_fields(placed, len(model.bodies))
    fields["about"] = _about(model.about, Path(source).name, mass is not None)
    folder = mesh_folder(output).name
    root, own = renamed_meshes(file.root, folder, files)
    root = edited(root, fields)
    for name in sorted(own.keys() & used_meshes(root)):  # of links without parts
        files[name.removeprefix(f"{folder}/")] = mesh_bytes(own[name], Path(name).suffix)
    text = robot_yaml(root)
    empty = [links[i] for i in range(len(links)) if all(one.body != i for one in placed)]
    report = report_text(
        Path(source), Path(robot), output, rows, left, empty,
        pose_name, q, model, scale, up, all(part.sized for part in parts), mass,
    )  # fmt: skip
    _verify(text, output, files, model)
    return _written(output, text, files, report, tuple(rows))


# ---- input -----------------------------------------------------------------------------------


def _robot(robot: str | Path) -> tuple[RobotFile, TreeModel]:
    path = find_robot(robot)
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise BrazoError(
            f"{path}: CAD parts can only be added to a robot file (.yaml) with a D-H table; a URDF "
            "or MJCF file has its own meshes"
        )
    file = RobotFile.read(path)
    model = file.build()
    return file, model.require_tree("a CAD import needs a serial arm")


def _reference(model: TreeModel, pose: str | Sequence[float] | None) -> tuple[Array, str]:
    if pose is None:
        if "zero" in model.poses:
            return model.poses["zero"], "zero"
        return np.zeros(model.n), "all joints at 0"
    if isinstance(pose, str):
        if pose not in model.poses:
            known = ", ".join(model.poses) or "none"
            raise BrazoError(f"pose: robot '{model.name}' has no pose '{pose}'; it has: {known}")
        return model.poses[pose], pose
    try:
        q = np.asarray(pose, dtype=np.float64)
    except (TypeError, ValueError):
        raise BrazoError(
            f"pose: expected {model.n} joint values or the name of a pose, got {pose!r}"
        ) from None
    if q.shape != (model.n,) or not np.isfinite(q).all():
        raise BrazoError(f"pose: expected {model.n} finite joint values, got {q.tolist()}")
    return q, "as given"


def _output(output: str | Path, file: RobotFile) -> Path:
    path = Path(output).expanduser()
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise BrazoError(f"{path}: the name of a robot file must end in .yaml")
    if file.root.path is not None and path.resolve() == file.root.path.resolve():
        raise BrazoError(f"{path}: this is the robot's source file; choose another output file")
    return path


def _require_size(parts: Sequence[CadPart], model: TreeModel, source: Path) -> None:
    """Raise BrazoError if assembly size and robot reach differ by a factor of `_RATIO` or more."""
    low = np.min([part.vertices.min(axis=0) for part in parts], axis=0)
    high = np.max([part.vertices.max(axis=0) for part in parts], axis=0)
    size, reach = float((high - low).max()), model.reach
    if not np.isfinite(reach) or reach <= 0.0 or reach / _RATIO < size < _RATIO * reach:
        return
    unit = "" if all(part.sized for part in parts) else " (the file has no unit)"
    hint = "0.001 if it is in mm" if size > reach else "1000 if mm were converted to m twice"
    raise BrazoError(
        f"{source}: the assembly is {size:.4g} m long{unit}, but robot '{model.name}' reaches "
        f"{reach:.4g} m; correct the length with --scale, e.g. {hint}"
    )


# ---- bodies ----------------------------------------------------------------------------------


def _in_body(part: CadPart, estimate: PartEstimate, match: Match, frames: Array) -> _Placed:
    assert match.body is not None
    T = invert(frames[match.body])
    faces = part.faces[:, ::-1] if any("inside out" in n for n in estimate.notes) else part.faces
    moved = replace(part, vertices=part.vertices @ T[:3, :3].T + T[:3, 3], faces=faces)
    return _Placed(moved, replace(estimate, inertia=transformed(estimate.inertia, T)), match.body)


def _bodies(
    placed: Sequence[_Placed], output: Path, pieces: int, progress: Progress | None
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Return the contents of the mesh files, and the new lists of parts for the robot file.

    The keys are the file names of the meshes, and fields of the robot file such as
    `joints[0].parts`.
    """
    folder, taken = mesh_folder(output).name, set()
    files: dict[str, bytes] = {}
    parts: dict[str, list[dict[str, Any]]] = {}
    solids = _merged(placed)
    for i, (body, part) in enumerate(solids):
        if progress is not None:
            progress(0.5 + 0.5 * i / len(solids), f"collision shapes of {part.name}")
        stem = unique_name(safe_stem(part.name, "part").lower(), taken)
        block: dict[str, Any] = {
            "name": "".join(c if c.isprintable() else "_" for c in part.name)[:60] or stem,
            "mesh": f"{folder}/{stem}.stl",
            "color": [round(x, 4) for x in part.color or GREY],
        }
        files[f"{stem}.stl"] = stl_bytes(part.vertices, part.faces)
        try:
            hulls = convex_pieces(part.vertices, part.faces, max(1, pieces))
        except BrazoError:  # flat
            block["collides"] = "false"
        else:
            block["collision"] = [f"{folder}/{stem}_hull_{k + 1}.stl" for k in range(len(hulls))]
            for name, hull in zip(block["collision"], hulls, strict=True):
                files[name.rpartition("/")[2]] = stl_bytes(*hull)
        field = "base.parts" if body == 0 else f"joints[{body - 1}].parts"
        parts.setdefault(field, []).append(block)
    return files, dict(parts)


def _merged(placed: Sequence[_Placed]) -> list[tuple[int, CadPart]]:
    """Return (index of the robot body, part) for each part.

    If a body has more than `MOST_PARTS` parts, its parts of the same colour are merged into one.
    """
    found: list[tuple[int, CadPart]] = []
    for body in sorted({one.body for one in placed}):
        own = [one.part for one in placed if one.body == body]
        if len(own) > MOST_PARTS:
            own = [
                _union([part for part in own if part.color == color], f"body {body} {k + 1}")
                for k, color in enumerate(dict.fromkeys(part.color for part in own))
            ]
        found += [(body, part) for part in own]
    return found


def _union(parts: Sequence[CadPart], name: str) -> CadPart:
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    faces = [part.faces + start for part, start in zip(parts, starts, strict=True)]
    return replace(
        parts[0],
        name=name,
        vertices=np.concatenate([part.vertices for part in parts]),
        faces=np.concatenate(faces).astype(np.int32),
    )


def _link_fields(placed: Sequence[_Placed], bodies: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for body in range(1, bodies):
        own = [one.estimate.inertia for one in placed if one.body == body]
        if own:
            whole = _rounded(combined(own))
            at = f"joints[{body - 1}]"
            fields[f"{at}.mass"] = whole.mass
            fields[f"{at}.com"] = whole.com
            fields[f"{at}.inertia"] = whole.tensor
    return fields


def _rounded(inertia: Inertia) -> Inertia:
    """Return the inertia rounded to `DIGITS` significant digits; numerical noise becomes 0."""

    def few(values: Array) -> Array:
        size = float(np.abs(values).max()) or 1.0
        kept = [0.0 if abs(x) < 1e-9 * size else float(f"{x:.{DIGITS}g}") for x in values.flat]
        return np.array(kept).reshape(values.shape)

    return Inertia(float(f"{inertia.mass:.{DIGITS}g}"), few(inertia.com), few(inertia.tensor))


def _about(about: str, source: str, given_mass: bool) -> str:
    how = "a given total mass" if given_mass else "assumed densities"
    note = f"Body from the CAD file {source}; its masses and inertias are ESTIMATED from {how}."
    return f"{' '.join(about.split())} {note}\n".lstrip()


# ---- output ----------------------------------------------------------------------------------


def mesh_folder(output: Path) -> Path:
    """Return the folder for the meshes of the robot file `output`."""
    return output.with_name(f"{safe_stem(output.stem)}_cad")


def report_file(output: Path) -> Path:
    """Return the path of the report on the import that writes the robot file `output`."""
    return mesh_folder(output) / "report.txt"


def _verify(text: str, output: Path, files: Mapping[str, bytes], model: TreeModel) -> None:
    """Raise BrazoError if the new robot file is invalid or its kinematics differ from `model`.

    `text` is the robot file, and `files` are its meshes.  They are read from a temporary folder.
    The kinematics are compared at three random configurations.
    """
    with tempfile.TemporaryDirectory(prefix="brazo-") as folder:
        path = Path(folder) / output.name
        make_folder(mesh_folder(path))
        for name, data in files.items():
            (mesh_folder(path) / name).write_bytes(data)
        path.write_text(text, encoding="utf-8")
        try:
            again = RobotFile.read(path).build().require_tree()
        except BrazoError as error:
            message = str(error).replace(str(path), str(output)).replace(folder, str(output.parent))
            raise BrazoError(
                f"the CAD parts cannot be added to the robot file: {message}"
            ) from None
    rng = np.random.default_rng(0)
    for q in rng.uniform(-1.0, 1.0, (3, model.n)):
        if not np.array_equal(body_poses(again, q), body_poses(model, q)):
            raise BrazoError(
                f"{output}: not written, because its kinematics differ from the original robot file"
            )


def _written(
    output: Path, text: str, files: Mapping[str, bytes], report: str, rows: tuple[PartRow, ...]
) -> CadImport:
    make_folder(mesh_folder(output))
    for name, data in files.items():
        write_file(mesh_folder(output) / name, data)
    write_file(report_file(output), report.encode())
    write_file(output, text.encode())  # last: it never names missing meshes
    meshes = tuple(mesh_folder(output) / name for name in files)
    return CadImport(output, meshes, report_file(output), report, rows)
