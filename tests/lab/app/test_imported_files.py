"""Imported files stay in their folder for any name and declared size."""

from __future__ import annotations

import io
import stat
import struct
import tracemalloc
import zipfile

import pytest

from brazo.errors import BrazoError
from brazo.lab.app import imported_files as module
from brazo.lab.app.imported_files import ImportedFiles
from brazo.lab.server.transfers import Upload


@pytest.fixture
def imported():
    imported = ImportedFiles()
    yield imported
    imported.close()


def archive(files: dict[str, str], **attributes: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = attributes.get("mode", 0o644) << 16
            made.writestr(member, text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def test_a_file_is_kept_until_the_end(imported):
    assert imported.take(Upload("arm.yaml", b"name: arm")) == ["arm.yaml"]
    assert imported.take(Upload("part.stl", b"solid")) == []
    path = imported.path("arm.yaml")
    assert path.read_bytes() == b"name: arm" and (path.parent / "part.stl").is_file()
    imported.take(Upload("b.urdf", b"<robot/>"))
    imported.take(Upload("arm.yaml", b"name: other"))
    assert imported.descriptions == ("arm.yaml", "b.urdf")  # newest first, each once
    assert imported.shown(f"{path}:3: mass: wrong") == "arm.yaml:3: mass: wrong"
    imported.close()
    assert not path.parent.exists()


def test_an_archive_keeps_its_folders(imported):
    files = {
        "arm_description/urdf/arm.urdf": "<robot/>",
        "arm_description/meshes/a.stl": "solid",
        "arm_description/package.xml": "<package><name>arm_description</name></package>",
        "arm_description/README.txt": "not taken",
    }
    found = imported.take(Upload("arm.zip", archive(files)))
    assert found == ["arm_description/urdf/arm.urdf"]
    root = imported.path(found[0]).parents[1]
    kept = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
    assert kept == ["meshes/a.stl", "package.xml", "urdf/arm.urdf"]


@pytest.mark.parametrize(
    "name",
    ["../../evil.yaml", "/etc/evil.yaml", "a/../../evil.yaml", "C:\\evil.yaml", "..\\x.yaml"],
)
def test_nothing_is_unpacked_outside(imported, name, tmp_path):
    with pytest.raises(BrazoError, match="not outside the archive"):
        imported.take(Upload("evil.zip", archive({"ok.yaml": "name: a", name: "name: b"})))
    assert imported.descriptions == ()


def test_symbolic_links_and_wrong_sizes_are_rejected(imported, monkeypatch):
    link = archive({"a.yaml": "/etc/passwd"}, mode=stat.S_IFLNK | 0o777)
    with pytest.raises(BrazoError, match="outside the archive"):
        imported.take(Upload("link.zip", link))
    with pytest.raises(BrazoError, match="not a readable archive"):
        imported.take(Upload("no.zip", b"PK nothing"))
    with pytest.raises(BrazoError, match="contains no supported file"):
        imported.take(Upload("texts.zip", archive({"a.txt": "solid"})))
    assert imported.take(Upload("meshes.zip", archive({"a.stl": "solid"}))) == []
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    bomb = archive({"a.yaml": "0" * 5000})
    assert len(bomb) < 1000
    with pytest.raises(BrazoError, match="when unpacked"):
        imported.take(Upload("bomb.zip", bomb))
    imported.take(Upload("a.yaml", b"x" * 800))
    with pytest.raises(BrazoError, match="too much data"):
        imported.take(Upload("b.yaml", b"x" * 800))


def test_only_imported_files_can_be_opened(imported):
    for name in ("../x.yaml", "/etc/hosts", "arm.yaml"):
        with pytest.raises(BrazoError, match="not an imported file"):
            imported.path(name)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_stored_and_deflated_members_are_unpacked(imported, method):
    """bzip2 and LZMA unpack without a limit: a kilobyte became gigabytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr("a.yaml", b"0" * (64 << 20), method)
    data = packed.getvalue()
    small = data.replace(struct.pack("<I", 64 << 20), struct.pack("<I", 100))  # declared size
    tracemalloc.start()
    with pytest.raises(BrazoError) as refused:
        imported.take(Upload("bomb.zip", small))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert "stored or deflated" in str(refused.value)
    assert imported.descriptions == ()


def test_a_member_longer_than_declared_is_not_unpacked(imported):
    data = archive({"a.yaml": "0" * (64 << 20)})
    small = data.replace(struct.pack("<I", 64 << 20), struct.pack("<I", 100))
    tracemalloc.start()
    with pytest.raises(BrazoError, match=r"size differs from the size listed|cannot be read"):
        imported.take(Upload("bomb.zip", small))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_a_damaged_member_is_reported(imported):
    data = bytearray(archive({"a.yaml": "".join(map(str, range(5000)))}))
    data[200:260] = bytes(60)
    with pytest.raises(BrazoError, match=r"broken.zip: a.yaml: "):
        imported.take(Upload("broken.zip", bytes(data)))


def test_a_member_without_a_name_is_left_out(imported):
    data = archive({"a.yaml": "name: a", "b.yaml": "name: b"})
    at = data.rindex(b"PK\x01\x02")  # the second entry of the directory
    name = data.index(b"b.yaml", at)
    entry = data[at:name]
    nameless = entry[:28] + struct.pack("<HH", 0, 6) + entry[32:]  # the name becomes extra bytes
    data = data[:at] + nameless + b"\xff\xff\x02\x00ab" + data[name + 6 :]
    assert imported.take(Upload("a.zip", data)) == ["a.yaml"]
