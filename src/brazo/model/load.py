"""From a name or path to a model, whatever the file's format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from brazo.errors import BrazoError
from brazo.model.description import Model
from brazo.model.library import find_robot
from brazo.model.robot_file import RobotFile


@dataclass(frozen=True)
class Source:
    """A model, the way to build it again with other parameter values, and its robot file."""

    model: Model
    rebuild: Callable[[Mapping[str, float]], Model]
    file: RobotFile | None = None  # None for other formats, and where more was changed


def load_source(name_or_path: str | Path, tip: str | None = None) -> Source:
    """Read a shipped robot's name, or a .yaml, .urdf, .xacro or MJCF .xml file.

    `tip` names the link that carries the tool where a URDF or MJCF tree has several ends.
    """
    path = find_robot(name_or_path)
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        if tip is not None:
            raise BrazoError(f"{path}: 'tip' applies to URDF and MJCF; a robot file has one end")
        file = RobotFile.read(path)
        return Source(file.build(), file.build, file)
    if suffix == ".xml":
        from brazo.model.mjcf.reader import read_mjcf

        return _fixed(read_mjcf(path, tip=tip))
    from brazo.model.urdf.reader import read_urdf

    return _fixed(read_urdf(path, tip=tip))


def _fixed(model: Model) -> Source:
    def rebuild(overrides: Mapping[str, float]) -> Model:
        if overrides:
            raise BrazoError(
                f"robot '{model.name}' was read from {model.path} and has no parameters; "
                "only robot files (.yaml) have"
            )
        return model

    return Source(model, rebuild)
