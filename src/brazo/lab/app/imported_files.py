"""`ImportedFiles`: the folder of the files that a user imports into a lab.

Robot files, cell files and the meshes they refer to share this folder, so that relative paths
resolve.  A `.zip` archive is unpacked with its folder structure, which ROS descriptions require.
No file is written outside the folder.  The number and the total size of the files are limited.
"""

from __future__ import annotations

import io
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from brazo.body.meshes import SUFFIXES
from brazo.errors import BrazoError
from brazo.files import replacing
from brazo.lab.server.transfers import Upload, safe_name
from brazo.project.folder import IMPORT_PREFIX

DESCRIPTIONS = (".yaml", ".yml", ".urdf", ".xacro", ".xml")
MESHES = SUFFIXES
BESIDE = (".mtl", ".bin", ".png", ".jpg", ".jpeg")  # accepted in archives only
ARCHIVE = ".zip"
TAKEN = (*DESCRIPTIONS, *MESHES, ARCHIVE)
MAX_FILES = 2000
MAX_BYTES = 256 << 20  # total size of all files
MAX_DEPTH = 12  # max number of parts of a path
# The other zip methods decompress without a limit: reading one byte may allocate gigabytes.
METHODS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflated"}
_CHUNK = 1 << 18  # bytes decompressed at a time
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,  # unknown version or method
    RuntimeError,  # encrypted
    ValueError,
    OSError,
    EOFError,
)


class ImportedFiles:
    """Folder of imported files, created when the first file is stored.

    `inside()` returns the parent folder in which the folder of imported files is created; the
    folder is then permanent.  If `inside` is None, the folder is temporary, and `close` deletes it.
    """

    def __init__(self, inside: Callable[[], Path] | None = None) -> None:
        self._inside = inside
        self._folder: Path | None = None
        self._bytes = 0
        self._files: set[str] = set()  # relative paths with slashes
        self._offered: list[str] = []  # descriptions, newest last

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Names of the imported robot and cell files, newest first."""
        return tuple(reversed(self._offered))

    def path(self, name: str) -> Path:
        """Path of an imported robot or cell file; `name` must be one of `descriptions`."""
        if self._folder is None or name not in self._offered:
            raise BrazoError(f"'{name}' is not an imported file: import it first")
        return self._folder / name

    def file(self, name: str) -> Path:
        """Path of an imported file; `name` is the file name that the page sent."""
        name = safe_name(name)
        if self._folder is None or name not in self._files:
            raise BrazoError(f"'{name}' is not an imported file: import it first")
        return self._folder / name

    def name_of(self, path: Path) -> str | None:
        """Return `path` relative to the import folder, as text; None if `path` is outside."""
        if self._folder is None or not path.resolve().is_relative_to(self._folder.resolve()):
            return None
        return path.resolve().relative_to(self._folder.resolve()).as_posix()

    def contents(self) -> dict[str, bytes]:
        """Contents of all imported files: relative path -> bytes."""
        folder = self._folder
        return {} if folder is None else {n: (folder / n).read_bytes() for n in self._files}

    def renamed(self, upload: Upload) -> Upload:
        """Return the upload, renamed if its name is taken by a file with different content.

        A number is then added to the name: `arm-2.yaml`.
        """
        given, number = Path(upload.name), 2
        while self._differs(upload):
            upload = replace(upload, name=f"{given.stem}-{number}{given.suffix}")
            number += 1
        return upload

    def has(self, name: str) -> bool:
        """Whether a file or folder of this name was imported; case-insensitive."""
        wanted = name.casefold()
        return any(f"{one.casefold()}/".startswith(f"{wanted}/") for one in self._files)

    def take(self, upload: Upload) -> list[str]:
        """Store an uploaded file, or the files of an uploaded .zip archive.

        Returns the names of the robot and cell files among them.
        """
        if upload.suffix == ARCHIVE:
            return self._unpack(upload)
        self._write(safe_name(upload.name), upload.content)
        return self._offer([safe_name(upload.name)])

    def add(self, files: Mapping[str, bytes]) -> list[str]:
        """Store files, given as relative path -> content.

        Returns the names of the robot and cell files among them.
        """
        for name, content in files.items():
            self._write(name, content)
        return self._offer(list(files))

    def shown(self, text: object) -> str:
        """Remove the path of the import folder, which is unknown to the user, from a message."""
        if self._folder is None:
            return str(text)
        for folder in (self._folder, self._folder.resolve()):
            text = str(text).replace(f"{folder}/", "").replace(f"{folder}\\", "")
        return str(text)

    def close(self) -> None:
        """Delete the folder if it is temporary."""
        if self._folder is not None and self._inside is None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    # ---- helpers ---------------------------------------------------------------------------

    def _differs(self, upload: Upload) -> bool:
        """Whether a file with the same name but different content was imported."""
        name = safe_name(upload.name)
        if self._folder is None or name not in self._files:
            return False
        return (self._folder / name).read_bytes() != upload.content

    def _offer(self, names: list[str]) -> list[str]:
        found = [n for n in names if PurePosixPath(n).suffix.lower() in DESCRIPTIONS]
        found = [n for n in found if PurePosixPath(n).name != "package.xml"]
        self._offered = [n for n in self._offered if n not in found] + found
        return found

    def _write(self, name: str, content: bytes) -> None:
        if self._folder is None:
            if self._inside is not None:
                self._inside().mkdir(parents=True, exist_ok=True)
            where = None if self._inside is None else self._inside()
            self._folder = Path(tempfile.mkdtemp(prefix=IMPORT_PREFIX, dir=where))
        if self._bytes + len(content) > MAX_BYTES or len(self._files) >= MAX_FILES:
            raise BrazoError(
                f"{name}: too much data; at most {MAX_FILES} files and {MAX_BYTES >> 20} MiB in "
                "total can be imported: restart the lab to import more"
            )
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_size if path.is_file() else 0
        with replacing(path) as temporary:
            temporary.write_bytes(content)
        self._bytes += len(content) - before
        self._files.add(name)

    def _unpack(self, upload: Upload) -> list[str]:
        try:
            archive = zipfile.ZipFile(io.BytesIO(upload.content))
        except _ZIP_ERRORS as error:
            raise BrazoError(
                f"{upload.name}: not a readable archive ({error}): create the .zip file again"
            ) from None
        wanted = (*DESCRIPTIONS, *MESHES, *BESIDE)
        with archive:
            # `is_dir` of Python 3.11 raises for an empty name.
            members = [m for m in archive.infolist() if not m.filename.endswith("/")]
            if len(members) > MAX_FILES:
                raise BrazoError(
                    f"{upload.name}: contains {len(members)} files; the limit is {MAX_FILES}: "
                    "remove files that the robot does not need"
                )
            if sum(m.file_size for m in members) > MAX_BYTES:
                raise BrazoError(
                    f"{upload.name}: larger than the limit of {MAX_BYTES >> 20} MiB when unpacked: "
                    "remove files that the robot does not need"
                )
            chosen = [m for m in members if PurePosixPath(m.filename).suffix.lower() in wanted]
            names = {m: _safe_path(upload.name, m) for m in chosen}
            if not names:
                raise BrazoError(
                    f"{upload.name}: contains no supported file; supported file types: "
                    f"{', '.join(wanted)}"
                )
            room = MAX_BYTES - self._bytes
            for member, name in names.items():
                content = _content(upload.name, archive, member, room)
                room -= len(content)
                self._write(name, content)
        return self._offer(list(names.values()))


def _safe_path(archive: str, member: zipfile.ZipInfo) -> str:
    """Return the relative path at which to store a member of an archive.

    `archive` is the file name of the archive.  Raises `BrazoError` if the path is unsafe.
    """
    path = PurePosixPath(member.filename.replace("\\", "/"))
    odd = path.is_absolute() or ".." in path.parts or ":" in member.filename
    link = stat.S_ISLNK(member.external_attr >> 16)
    if odd or link or len(path.parts) > MAX_DEPTH or not str(path).isprintable():
        raise BrazoError(
            f"{archive}: {member.filename[:80]!a} is not a safe path: it must be relative, not "
            f"outside the archive, at most {MAX_DEPTH} levels deep, printable and not a link"
        )
    return str(PurePosixPath(*(safe_name(part) for part in path.parts)))


def _content(
    archive_name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, room: int
) -> bytes:
    """Return the content of an archive member, unpacked in chunks.

    Raises `BrazoError` if the content cannot be read, is larger than `room` (bytes), or does not
    have the size that the archive lists.
    """
    where = f"{archive_name}: {member.filename[:80]}"
    if member.compress_type not in METHODS:
        raise BrazoError(
            f"{where}: compression method {member.compress_type} is not supported: create the "
            f".zip file again with method {' or '.join(METHODS.values())}"
        )
    pieces, total = [], 0
    try:
        with archive.open(member) as stream:
            while piece := stream.read(_CHUNK):
                total += len(piece)
                if total > min(room, member.file_size):
                    break
                pieces.append(piece)
    except _ZIP_ERRORS as error:
        raise BrazoError(f"{where}: cannot be read ({error}): create the .zip file again") from None
    if total > room:
        raise BrazoError(
            f"{where}: all imported files together would be larger than the limit of "
            f"{MAX_BYTES >> 20} MiB: restart the lab, then import the archive again"
        )
    if total != member.file_size:
        raise BrazoError(
            f"{where}: size differs from the size listed in the archive: create the .zip file again"
        )
    return b"".join(pieces)
