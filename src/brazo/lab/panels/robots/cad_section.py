"""Section of the Robots panel that imports a CAD assembly as the geometry of a robot.

The kinematics are those of an existing robot.  The import runs as a background job that can be
cancelled; a separate process reads the file.  The result is a new robot file, which is then opened.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brazo.body.meshes import SUFFIXES
from brazo.errors import BrazoError
from brazo.formats.cad.estimate import ALUMINIUM, MAX_DENSITY
from brazo.formats.cad.importer import mesh_folder
from brazo.formats.export import safe_stem
from brazo.lab.app.context import PanelContext
from brazo.lab.app.imported_files import ImportedFiles
from brazo.lab.app.opening import choices
from brazo.lab.app.panel import Values
from brazo.lab.panels.common.html import note, number, row, section, segments, select, upload
from brazo.lab.server.transfers import Upload

if TYPE_CHECKING:
    from brazo.lab.app.jobs import Job

UNITS = {"m": 1.0, "mm": 1e-3, "in": 0.0254}
OWN = "file:"  # prefix of the id of an imported robot file


class CadSection:
    """Settings of CAD imports, and the report of the last import.

    At the end of an import, `opened(name)` is called with the name of the new robot file, or
    `failed(message)`.  Both are called on the lab's thread.
    """

    def __init__(
        self,
        context: PanelContext,
        opened: Callable[[str], None],
        failed: Callable[[str], None],
    ) -> None:
        self._context, self._opened, self._failed = context, opened, failed
        self._robot = "rv2aj"
        self._density, self._mass = ALUMINIUM, 0.0
        self._unit, self._up, self._map = "m", "z", ""
        self._report: list[str] = []
        self._job: Job | None = None

    def html(self) -> str:
        return section(
            "CAD assembly",
            row(
                "Kinematics", select("cad-robot", label="Kinematics of", options_from="cad-robots")
            ),
            row("Density", number("cad-density", "kg/m³", label="Density", digits=0)),
            row(
                "Total mass",
                number("cad-mass", "kg", label="Total mass", digits=2),
                title="Mass of all parts and the base; 0 computes it from the density",
            ),
            row("File unit", segments("cad-unit", {u: u for u in UNITS}, label="File unit")),
            row("Up axis", segments("cad-up", {a: a for a in "zyx"}, label="Up axis")),
            row(
                "Part map",
                '<brazo-entry name="cad-map" event="cad-map" label="Part map" maxlength="400">'
                "</brazo-entry>",
                title="Link of parts with unknown names, e.g. bracket=link 2; screw*=none",
            ),
            upload("Import CAD assembly…", "cad", *SUFFIXES),
            note(
                "STEP, glTF, COLLADA, VRML, OBJ or STL file of the robot in its zero pose. Masses "
                "and inertias are estimated. STEP, glTF and COLLADA files define their own unit: "
                "leave File unit at m."
            ),
            '<brazo-findings name="cad-report"></brazo-findings>',
            open=False,
        )

    def values(self) -> Values:
        if self._job is not None and self._job.state == "done":
            self._context.jobs.cancel(self._job.number)  # its result is visible
            self._job = None
        robots = [*choices()["robots"], *self._own()]
        return {
            "cad-robot": self._robot,
            "cad-robots": robots,
            "cad-density": self._density,
            "cad-mass": self._mass,
            "cad-unit": self._unit,
            "cad-up": self._up,
            "cad-map": self._map,
            "cad-report": self._report or ["No assembly imported yet."],
        }

    def handlers(self) -> dict[str, tuple[Callable[..., None], type]]:
        """Event handlers of the settings, as a dict from event to (handler, argument type)."""
        return {
            "cad-robot": (self._set_robot, str),
            "cad-unit": (self._set_unit, str),
            "cad-up": (self._set_up, str),
            "cad-map": (self._set_map, str),
        }

    def set_density(self, value: float) -> None:
        if not 0.0 < value <= MAX_DENSITY:
            raise BrazoError(
                f"density {value:g} kg/m³: must be above 0 and at most {MAX_DENSITY:g} kg/m³"
            )
        self._density = value

    def set_mass(self, value: float) -> None:
        if not (math.isfinite(value) and value >= 0.0):
            raise BrazoError(f"total mass {value:g} kg: must be positive, or 0 to use the density")
        self._mass = value

    def start(self, given: Upload) -> None:
        """Start a background job that imports an uploaded CAD file."""
        if self._job is not None and self._job.state == "running":
            raise BrazoError("a CAD import is already running: cancel it first")
        imported = self._context.imported
        given = imported.renamed(given)
        imported.take(given)
        source, robot = imported.file(given.name), self._source()
        output_name = _free_name(imported, safe_stem(Path(given.name).stem))
        options: dict[str, Any] = {
            "mapping": _mapping(self._map),
            "density": self._density,
            "mass": self._mass or None,
            "scale": UNITS[self._unit],
            "up": self._up,
        }

        def work(job: Job) -> tuple[dict[str, bytes], str]:
            from brazo.formats.cad import import_cad

            with tempfile.TemporaryDirectory(prefix="brazo-") as folder:
                output = Path(folder) / output_name
                try:
                    done = import_cad(source, robot, output, progress=job.tell, **options)
                except BrazoError as error:
                    shown = imported.shown(error).replace("--map ", "Part map: ")
                    return {}, shown.replace("--scale", "File unit;")
                files = {
                    path.relative_to(folder).as_posix(): path.read_bytes()
                    for path in (*done.meshes, done.path)
                }
                return files, imported.shown(done.report.replace(f"{folder}/", ""))

        def finished(result: tuple[dict[str, bytes], str]) -> None:
            files, text = result
            if not files:
                self._failed(text)
                return
            self._report = [line for line in text.split("\n") if line.strip()]
            (name,) = imported.add(files)
            self._opened(name)

        self._job = self._context.jobs.start(f"Import {given.name}", work, finished)

    # ---- settings --------------------------------------------------------------------------

    def _own(self) -> list[str]:
        names = self._context.imported.descriptions
        return [f"{OWN}{name}" for name in names if name.endswith((".yaml", ".yml"))]

    def _source(self) -> str | Path:
        if self._robot.startswith(OWN):
            return self._context.imported.path(self._robot.removeprefix(OWN))
        return self._robot

    def _set_robot(self, name: str) -> None:
        if name not in (*choices()["robots"], *self._own()):
            raise BrazoError(f"no robot '{name}': choose one from the list")
        self._robot = name

    def _set_unit(self, unit: str) -> None:
        if unit in UNITS:
            self._unit = unit

    def _set_up(self, axis: str) -> None:
        if axis in ("x", "y", "z"):
            self._up = axis

    def _set_map(self, text: str) -> None:
        _mapping(text)
        self._map = text


def _free_name(imported: ImportedFiles, stem: str) -> str:
    """Unused file name for a new robot file.

    Files of earlier imports are not overwritten, because a robot in the cell may use them.
    """
    path, k = Path(f"{stem}_robot.yaml"), 2
    while imported.has(path.name) or imported.has(mesh_folder(path).name):
        path, k = Path(f"{stem}_robot-{k}.yaml"), k + 1
    return path.name


def _mapping(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in filter(None, (piece.strip() for piece in text.split(";"))):
        part, equals, link = entry.rpartition("=")
        if not equals or not part.strip():
            raise BrazoError(f"part map '{entry}': expected 'part=link'; separate entries by ';'")
        found[part.strip().strip('"')] = link.strip().strip('"')
    return found
