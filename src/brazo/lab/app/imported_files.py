"""Imported files, kept in a folder; a temporary one is deleted when the lab closes.

Robot files, cell files and the meshes they refer to share this folder, so that relative paths
resolve.  A `.zip` is unpacked with its folders, which ROS descriptions require.  Nothing is written
outside the folder, and the number and total size of its files are limited.
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
    """The folder of imported files; created with the first file.

    `inside` is the folder in which it is created and stays; by default it is temporary.
    """

    def __init__(self, inside: Callable[[], Path] | None = None) -> None:
        self._inside = inside
        self._folder: Path | None = None
        self._bytes = 0
        self._files: set[str] = set()  # relative paths with slashes
        self._offered: list[str] = []  # descriptions, newest last

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Names of the robot and cell files that can be opened, newest first."""
        return tuple(reversed(self._offered))

    def path(self, name: str) -> Path:
        """Path of a description; `name` must be one of `descriptions`."""
        if self._folder is None or name not in self._offered:
            raise BrazoError(f"'{name}' is not an imported file")
        return self._folder / name

    def file(self, name: str) -> Path:
        """Path of an imported file, given by the name under which it was sent."""
        name = safe_name(name)
        if self._folder is None or name not in self._files:
            raise BrazoError(f"'{name}' is not an imported file")
        return self._folder / name

    def name_of(self, path: Path) -> str | None:
        """Name of an imported file relative to the folder; None for any other path."""
        if self._folder is None or not path.resolve().is_relative_to(self._folder.resolve()):
            return None
        return path.resolve().relative_to(self._folder.resolve()).as_posix()

    def contents(self) -> dict[str, bytes]:
        """Content of all imported files, by name."""
        folder = self._folder
        return {} if folder is None else {n: (folder / n).read_bytes() for n in self._files}

    def renamed(self, upload: Upload) -> Upload:
        """Return the upload, with a number in its name if that is the name of another content."""
        given, number = Path(upload.name), 2
        while self._differs(upload):
            upload = replace(upload, name=f"{given.stem}-{number}{given.suffix}")
            number += 1
        return upload

    def has(self, name: str) -> bool:
        """Whether a file or folder of this name was imported, in any case."""
        wanted = name.casefold()
        return any(f"{one.casefold()}/".startswith(f"{wanted}/") for one in self._files)

    def take(self, upload: Upload) -> list[str]:
        """Store a file, or the members of an archive; return the names of its descriptions."""
        if upload.suffix == ARCHIVE:
            return self._unpack(upload)
        self._write(safe_name(upload.name), upload.content)
        return self._offer([safe_name(upload.name)])

    def add(self, files: Mapping[str, bytes]) -> list[str]:
        """Store files by relative path; return the names of the descriptions among them."""
        for name, content in files.items():
            self._write(name, content)
        return self._offer(list(files))

    def shown(self, text: object) -> str:
        """Message text without the path of the temporary folder, which the user does not know."""
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
        """Whether a file of the same name with another content was imported."""
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
                f"{name}: too much data; {MAX_FILES} files of {MAX_BYTES >> 20} MiB in total are "
                "kept until the lab closes"
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
            raise BrazoError(f"{upload.name}: not a readable archive ({error})") from None
        wanted = (*DESCRIPTIONS, *MESHES, *BESIDE)
        with archive:
            # `is_dir` of Python 3.11 raises for an empty name.
            members = [m for m in archive.infolist() if not m.filename.endswith("/")]
            if len(members) > MAX_FILES:
                raise BrazoError(f"{upload.name}: {len(members)} files; at most {MAX_FILES}")
            if sum(m.file_size for m in members) > MAX_BYTES:
                raise BrazoError(f"{upload.name}: more than {MAX_BYTES >> 20} MiB when unpacked")
            chosen = [m for m in members if PurePosixPath(m.filename).suffix.lower() in wanted]
            names = {m: _inside(upload.name, m) for m in chosen}
            if not names:
                raise BrazoError(f"{upload.name}: contains no supported file ({', '.join(wanted)})")
            room = MAX_BYTES - self._bytes
            for member, name in names.items():
                content = _content(upload.name, archive, member, room)
                room -= len(content)
                self._write(name, content)
        return self._offer(list(names.values()))


def _inside(archive: str, member: zipfile.ZipInfo) -> str:
    """Safe relative path of an archive member; raise if it would lie outside the folder."""
    path = PurePosixPath(member.filename.replace("\\", "/"))
    odd = path.is_absolute() or ".." in path.parts or ":" in member.filename
    link = stat.S_ISLNK(member.external_attr >> 16)
    if odd or link or len(path.parts) > MAX_DEPTH or not str(path).isprintable():
        raise BrazoError(f"{archive}: '{member.filename[:80]!a}' would be outside the archive")
    return str(PurePosixPath(*(safe_name(part) for part in path.parts)))


def _content(name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo, room: int) -> bytes:
    """Bytes of an archive member, unpacked in chunks; raise if there are more than `room`."""
    where = f"{name}: {member.filename[:80]}"
    if member.compress_type not in METHODS:
        raise BrazoError(
            f"{where}: compression method {member.compress_type}; members of an archive are "
            f"{' or '.join(METHODS.values())}: pack it again as a plain zip"
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
        raise BrazoError(f"{where}: cannot be read ({error})") from None
    if total > room:
        raise BrazoError(f"{where}: more than {MAX_BYTES >> 20} MiB when unpacked")
    if total != member.file_size:
        raise BrazoError(f"{where}: size differs from its directory entry")
    return b"".join(pieces)
