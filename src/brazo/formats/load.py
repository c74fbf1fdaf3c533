"""Loading of a model by name or path, in any supported format."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from brazo.errors import BrazoError
from brazo.formats.library import find_robot
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.model.description import Model

# A serial arm of 200 joints opens in the lab in 7 s of processor time with 250 MiB.  The mass
# matrix of a larger one would exceed the thread stack on some systems.  Robot files allow fewer.
MAX_JOINTS = 200
FORMATS = {"yaml": ".yaml", "urdf": ".urdf", "xacro": ".xacro", "mjcf": ".xml"}  # of `loads`


@dataclass(frozen=True)
class Source:
    """A model, its robot file if any, and a function that rebuilds the model.

    `rebuild(parameters)` returns the model with other parameter values.  The pickle of a robot
    contains its `Source`, so `rebuild` must be picklable: a bound method or a callable object, not
    a closure.
    """

    model: Model
    rebuild: Callable[[Mapping[str, float]], Model]
    file: RobotFile | None = None  # None for other formats, and if parameters or payload differ
    origin: RobotFile | None = None  # in that case, the file without these changes

    @property
    def described_by(self) -> RobotFile | None:
        """Robot file of the model, without later changes of parameters or payload.

        The value is None if the model was not made from a robot file.
        """
        return self.file or self.origin


@dataclass(frozen=True, eq=False)
class Fixed:
    """The `rebuild` function of a model without parameters; returns the model unchanged.

    Raises BrazoError if parameter values are given.
    """

    model: Model

    def __call__(self, overrides: Mapping[str, float]) -> Model:
        if overrides:
            raise BrazoError(
                f"robot '{self.model.name}' was not read from a robot file and has no parameters; "
                "only robot files (.yaml) have parameters"
            )
        return self.model


def load_source(
    name_or_path: str | Path,
    tip: str | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Source:
    """Load a shipped robot by name, or a .yaml, .urdf, .xacro or MJCF .xml file.

    `tip` is the name of the link that carries the tool, only for URDF and MJCF files; by default it
    is chosen from the structure and the names.  `arguments` are the arguments of a xacro file.
    """
    path = find_robot(name_or_path)
    return _read(path, tip, arguments)


def parse_source(text: str, format: str | None = None, tip: str | None = None) -> Source:
    """Read a robot from text: a robot file (`format` "yaml"), URDF, xacro or MJCF.

    Without a format, XML is read as URDF or MJCF according to its root element, and any other text
    as YAML.  `tip` is as in `load_source`.
    """
    if format not in (None, *FORMATS):
        raise BrazoError(f"format '{format}' is not one of {', '.join(FORMATS)}")
    _require_text(text)
    if format is None:
        format = "mjcf" if text.lstrip("\ufeff \t\r\n").startswith("<") else "yaml"
    if format == "yaml":
        return _of_file(RobotFile.parse(text), tip)
    with tempfile.TemporaryDirectory(prefix="brazo-") as folder:
        path = Path(folder) / f"text{FORMATS[format]}"
        path.write_text(text, encoding="utf-8")
        try:
            source = _read(path, tip, None)
        except BrazoError as error:
            raise BrazoError(_without_folder(str(error), path)) from None
    findings = tuple(replace(finding, path=None) for finding in source.model.findings)
    return _fixed(replace(source.model, path=None, findings=findings))


def _require_text(text: object) -> None:
    if not isinstance(text, str):
        raise BrazoError(
            f"text: expected a str with the content of a file, got {type(text).__name__}; decode "
            "bytes, or read a file with load"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise BrazoError(
            f"text:{line}: character U+{ord(text[error.start]):04X} is half of a surrogate "
            "pair, which is not valid Unicode; decode the file as UTF-8"
        ) from None


def _without_folder(message: str, path: Path) -> str:
    """Return an error message about the temporary file `path`, without the folder of the file."""
    for file in (path, path.resolve()):  # the folder may be a link
        message = message.replace(str(file), "text")
    shown = message
    for folder in (path.parent, path.resolve().parent):
        for start in (f"{folder}{os.sep}", f"{folder}/", f"{folder.as_posix()}/"):
            # Within quotes a backslash of Windows is doubled.
            shown = shown.replace(start, "").replace(start.replace("\\", "\\\\"), "")
    if shown == message:
        return message
    return (
        f"{shown}; a robot given as text has no folder: use absolute paths or $(find PACKAGE) for "
        "included files, or read the file with load"
    )


def source_of(file: RobotFile) -> Source:
    """Return the `Source` of a robot file, with the parameter values of the file."""
    return Source(file.build(), file.build, file)


def _of_file(file: RobotFile, tip: str | None) -> Source:
    if tip is not None:
        where = file.root.path or "text"
        raise BrazoError(f"{where}: 'tip' is only allowed for URDF and MJCF files; omit it")
    return source_of(file)


def _read(path: Path, tip: str | None, arguments: Mapping[str, str] | None) -> Source:
    suffix = path.suffix.lower()
    if arguments and suffix in (".yaml", ".yml"):
        raise BrazoError(
            f"{path}: arguments are only allowed for xacro files; use with_parameters instead"
        )
    if suffix in (".yaml", ".yml"):
        return _of_file(RobotFile.read(path), tip)
    if suffix == ".xml":
        from brazo.formats.mjcf.reader import read_mjcf

        return _fixed(read_mjcf(path, tip=tip, arguments=arguments))
    from brazo.formats.urdf.reader import read_urdf

    return _fixed(read_urdf(path, tip=tip, arguments=arguments))


def _fixed(model: Model) -> Source:
    count = sum(joint is not None for joint in model.body_joints)
    if count > MAX_JOINTS:
        raise BrazoError(
            f"{model.path}: {count} moving joints; the maximum is {MAX_JOINTS}; give the joints "
            "that do not have to move the type 'fixed', or split the file"
        )
    return Source(model, Fixed(model))
