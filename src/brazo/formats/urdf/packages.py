"""Location of the files that a URDF refers to: `package://`, `model://`, `file://`, relative paths.

No ROS installation is needed.  The caller can give the folder of a package by name.  Other packages
are searched in the folders given by the caller, the folder of the robot file and its parent
folders, and the folders in `ROS_PACKAGE_PATH`, `AMENT_PREFIX_PATH` and the resource paths of
Gazebo.  In these folders and their subfolders, the first match of this list is used:

1. a folder with the name of the package,
2. a folder with a `package.xml` that contains the name of the package,
3. a folder with a similar name: `kuka_kr10_support`, `kuka_kr10` and `kuka_kr10_description` are
   read as names of the same package,
4. a folder with a similar name after the name of a manufacturer: `clearpath_ridgeback_description`
   for `ridgeback`.

A match of rule 3 or 4 is stored in `aliases`, and the reader warns about it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from brazo.errors import BrazoError
from brazo.files import require_regular

PackagePlaces = Mapping[str, str | Path] | Iterable[str | Path]

_LEVELS_UP = 8
_FOLDERS_BESIDE = 2000  # per folder; enough for a workspace, and fast in a home folder
_PACKAGE_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")
_ENDINGS = ("support", "description", "descriptions", "model", "models", "robot")
_ENVIRONMENT = (
    ("ROS_PACKAGE_PATH", ""),
    ("AMENT_PREFIX_PATH", "share"),
    ("GZ_SIM_RESOURCE_PATH", ""),
    ("GAZEBO_MODEL_PATH", ""),
)


class Packages:
    """Finder of the packages and files to which one robot description refers."""

    def __init__(self, file: Path, places: PackagePlaces | None = None) -> None:
        self.folder = file.parent
        self.aliases: dict[str, Path] = {}
        self._known: dict[str, Path | None] = {}
        self._given: list[Path] = []
        self._roots: list[Path] = []
        if isinstance(places, Mapping):
            self._known |= {str(name): Path(place) for name, place in places.items()}
            self._given += [Path(place) for place in places.values()]
        elif places is not None:
            self._roots += [Path(place) for place in places]
            self._given += self._roots
        self._roots += [self.folder, *list(self.folder.parents)[:_LEVELS_UP]]
        for variable, below in _ENVIRONMENT:
            entries = os.environ.get(variable, "").split(os.pathsep)
            self._roots += [Path(entry) / below for entry in entries if entry]

    def find(self, name: str) -> Path | None:
        """Return the folder of a package; None if it is not found."""
        if name not in self._known:
            self._known[name] = self._search(name)
        return self._known[name]

    def own_folders(self) -> list[Path]:
        """Return the folders from which the robot description may read data.

        These are the folder of the description and the folders given by the caller.  The parent
        folders, and the packages found so far, are included only if they have a `package.xml`: a
        parent folder such as `etc` may have the name of a package by chance.
        """
        up = [self.folder, *list(self.folder.parents)[:_LEVELS_UP]]
        found = [*up, *(folder for folder in self._known.values() if folder is not None)]
        packages = [folder for folder in found if _declared_name(folder) is not None]
        return [folder.resolve() for folder in (self.folder, *self._given, *packages)]

    def resolve(self, uri: str) -> Path | None:
        """Return the file that a URI or path refers to; None if it does not exist.

        A relative path is searched in the folder of the description and in three parent folders.
        """
        uri = uri.strip()
        scheme, rest = _scheme(uri)
        if scheme in ("package", "model"):
            name, _, inner = rest.partition("/")
            folder = self.find(name)
            return None if folder is None else _existing(folder / inner)
        if scheme == "file":
            path = _file_uri(uri)
        elif scheme:
            return None
        else:
            path = Path(uri)
        if path.is_absolute():
            return _existing(path)
        # A path is relative to the folder of the file; in many files it is relative to the package.
        for folder in [self.folder, *list(self.folder.parents)[:3]]:
            if found := _existing(folder / path):
                return found
        return None

    def _search(self, name: str) -> Path | None:
        if not name or name in (".", "..") or "\\" in name:
            return None
        for root in self._roots:
            if root.name == name:
                return root
            if (root / name).is_dir():
                return root / name
        for folder in self._candidates():
            if _declared_name(folder) == name:
                return folder
        core = _core(name)
        for same in (_core_is, _core_ends):
            for folder in self._candidates():
                if same(folder.name, core):
                    self.aliases[name] = folder
                    return folder
        return None

    def _candidates(self) -> Iterator[Path]:
        """Yield every folder that may be a package: each search folder, then its subfolders."""
        for root in self._roots:
            yield root
            yield from _subfolders(root)


def _scheme(uri: str) -> tuple[str, str]:
    scheme, separator, rest = uri.partition("://")
    # `C://` is a Windows drive, not a scheme.
    if not separator or len(scheme) < 2:
        return "", uri
    return scheme.lower(), rest


def _file_uri(uri: str) -> Path:
    parts = urlsplit(uri)
    if parts.netloc and parts.netloc != "localhost":
        # `file://meshes/a.stl` is non-standard but common; the host is the first folder.
        return Path(unquote(parts.netloc + parts.path))
    return Path(url2pathname(parts.path))


def _existing(path: Path) -> Path | None:
    """Return the file with this path, ignoring the case of the file name; None if there is none."""
    try:
        if path.is_file():
            return path
        wanted = path.name.lower()
        for other in path.parent.iterdir():
            if other.name.lower() == wanted and other.is_file():
                return other
    except (OSError, ValueError):  # no such folder, or an invalid file name
        pass
    return None


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = []
            for i, entry in enumerate(entries):
                if i >= _FOLDERS_BESIDE:
                    break
                if not entry.name.startswith(".") and entry.is_dir():
                    found.append(folder / entry.name)
    except OSError:
        return []
    return sorted(found)


def _declared_name(folder: Path) -> str | None:
    try:
        require_regular(folder / "package.xml")
        with (folder / "package.xml").open("rb") as file:
            match = _PACKAGE_NAME.search(file.read(20_000))
    except (BrazoError, OSError):
        return None
    return match.group(1).decode("utf-8", "replace") if match else None


def _core(name: str) -> str:
    """Return the name of a package without endings such as `_description` or `_support`."""
    words = name.lower().split("_")
    while len(words) > 1 and words[-1] in _ENDINGS:
        words.pop()
    return "_".join(words)


def _core_is(folder: str, core: str) -> bool:
    return _core(folder) == core


def _core_ends(folder: str, core: str) -> bool:
    """Return whether a folder name is the package name with a manufacturer's name before it.

    `core` is the package name without its ending (see `_core`).  For example,
    `clearpath_ridgeback_description` matches `ridgeback`.
    """
    return len(core) > 3 and _core(folder).endswith("_" + core)
