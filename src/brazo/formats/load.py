"""Loading of a model by name or path, in any supported format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from brazo.errors import BrazoError
from brazo.formats.library import find_robot
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.model.description import Model, TreeModel

# A serial arm of 200 joints opens in the lab in 7 s of processor time with 250 MiB.  The mass
# matrix of a larger one would exceed the thread stack on some systems.  Robot files allow fewer.
MAX_JOINTS = 200


@dataclass(frozen=True)
class Source:
    """A model, a function that rebuilds it with other parameter values, and its robot file.

    A robot is pickled as its source, so `rebuild` is a method of plain data and never a closure.
    """

    model: Model
    rebuild: Callable[[Mapping[str, float]], Model]
    file: RobotFile | None = None  # None for other formats, and after other changes


@dataclass(frozen=True, eq=False)
class Fixed:
    """`rebuild` of a model without parameters."""

    model: Model

    def __call__(self, overrides: Mapping[str, float]) -> Model:
        if overrides:
            raise BrazoError(
                f"robot '{self.model.name}' was read from {self.model.path} and has no parameters; "
                "only robot files (.yaml) have"
            )
        return self.model


def load_source(name_or_path: str | Path, tip: str | None = None) -> Source:
    """Load a shipped robot by name, or a .yaml, .urdf, .xacro or MJCF .xml file.

    `tip` names the link that carries the tool if a URDF or MJCF tree has several ends.
    """
    path = find_robot(name_or_path)
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        if tip is not None:
            raise BrazoError(f"{path}: 'tip' applies to URDF and MJCF; a robot file has one end")
        file = RobotFile.read(path)
        return Source(file.build(), file.build, file)
    if suffix == ".xml":
        from brazo.formats.mjcf.reader import read_mjcf

        return _fixed(read_mjcf(path, tip=tip))
    from brazo.formats.urdf.reader import read_urdf

    return _fixed(read_urdf(path, tip=tip))


def _fixed(model: Model) -> Source:
    count = len(model.joints) if isinstance(model, TreeModel) else 0
    if count > MAX_JOINTS:
        raise BrazoError(
            f"{model.path}: {count} moving joints; at most {MAX_JOINTS} are read: make joints that "
            "the robot does not need fixed, or split the file"
        )
    return Source(model, Fixed(model))
