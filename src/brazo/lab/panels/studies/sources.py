"""Studies that the lab can run: the shipped ones, and files in the folder of the project."""

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
    """A study by its shipped name, or a file of the project."""

    id: str  # on the page
    title: str
    source: str  # name or path
    folder: Path  # of its results


def sources(project: Project | None, scratch: Callable[[], Path]) -> dict[str, StudySource]:
    """Studies by id; results go to the project, or to the folder `scratch()` if there is none."""
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
    """About and size of a study; raises if its file cannot be read."""
    study = load_study(source.source)
    return study.about, f"{study.runs} runs"
