"""Studies that the lab can run: shipped studies, and study files of the project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from brazo.project.folder import Project
from brazo.study.study_file import load_study, study_names

STUDIES = "studies"  # folder of a project: study files, and a folder of results for each study
RESULTS = "results"


@dataclass(frozen=True, slots=True)
class StudySource:
    """Shipped study or study file of the project, with its folder of results."""

    id: str  # on the page
    title: str
    source: str  # name or path
    folder: Path  # of its results


def sources(project: Project | None, scratch: Callable[[], Path]) -> dict[str, StudySource]:
    """Return all studies that can be run, by id.

    Results are stored in the project, or in the folder `scratch()` if no project is open.
    """
    base = scratch() if project is None else project.folder / STUDIES
    found = {
        f"study:{name}": StudySource(f"study:{name}", name, name, base / RESULTS / name)
        for name in study_names()
    }
    if project is not None:
        for path in sorted((project.folder / STUDIES).glob("*.yaml")):
            key = f"file:{path.name}"
            folder = base / RESULTS / f"file-{path.stem}"
            found[key] = StudySource(key, path.name, str(path), folder)
    return found


def describe(source: StudySource) -> tuple[str, str]:
    """Description of a study, and its size as text, e.g. `("Gain sweep", "120 runs")`.

    Raises `BrazoError` if the study file cannot be read.
    """
    study = load_study(source.source)
    return study.about, f"{study.runs} runs"
