"""Files a user brings stay in their folder, whatever they are called and however large they say."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest

from brazo.errors import BrazoError
from brazo.lab import brought as module
from brazo.lab.brought import Brought
from brazo.lab.transfers import Upload


@pytest.fixture
def brought():
    brought = Brought()
    yield brought
    brought.close()


def archive(files: dict[str, str], **attributes: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = attributes.get("mode", 0o644) << 16
            made.writestr(member, text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def test_a_file_is_kept_until_the_end(brought):
    assert brought.take(Upload("arm.yaml", b"name: arm")) == ["arm.yaml"]
    assert brought.take(Upload("part.stl", b"solid")) == []
    path = brought.path("arm.yaml")
    assert path.read_bytes() == b"name: arm" and (path.parent / "part.stl").is_file()
    brought.take(Upload("b.urdf", b"<robot/>"))
    brought.take(Upload("arm.yaml", b"name: other"))
    assert brought.descriptions == ("arm.yaml", "b.urdf")  # newest first, each once
    assert brought.shown(f"{path}:3: mass: wrong") == "arm.yaml:3: mass: wrong"
    brought.close()
    assert not path.parent.exists()


def test_an_archive_keeps_its_folders(brought):
    files = {
        "arm_description/urdf/arm.urdf": "<robot/>",
        "arm_description/meshes/a.stl": "solid",
        "arm_description/package.xml": "<package><name>arm_description</name></package>",
        "arm_description/README.txt": "not taken",
    }
    found = brought.take(Upload("arm.zip", archive(files)))
    assert found == ["arm_description/urdf/arm.urdf"]
    root = brought.path(found[0]).parents[1]
    kept = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
    assert kept == ["meshes/a.stl", "package.xml", "urdf/arm.urdf"]


@pytest.mark.parametrize(
    "name",
    ["../../evil.yaml", "/etc/evil.yaml", "a/../../evil.yaml", "C:\\evil.yaml", "..\\x.yaml"],
)
def test_nothing_is_unpacked_outside(brought, name, tmp_path):
    with pytest.raises(BrazoError, match="would lie outside the archive"):
        brought.take(Upload("evil.zip", archive({"ok.yaml": "name: a", name: "name: b"})))
    assert brought.descriptions == ()


def test_links_and_lies_are_refused(brought, monkeypatch):
    link = archive({"a.yaml": "/etc/passwd"}, mode=stat.S_IFLNK | 0o777)
    with pytest.raises(BrazoError, match="outside the archive"):
        brought.take(Upload("link.zip", link))
    with pytest.raises(BrazoError, match="not an archive that can be read"):
        brought.take(Upload("no.zip", b"PK nothing"))
    with pytest.raises(BrazoError, match="nothing in it that is read"):
        brought.take(Upload("texts.zip", archive({"a.txt": "solid"})))
    assert brought.take(Upload("meshes.zip", archive({"a.stl": "solid"}))) == []
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    bomb = archive({"a.yaml": "0" * 5000})
    assert len(bomb) < 1000
    with pytest.raises(BrazoError, match="when unpacked"):
        brought.take(Upload("bomb.zip", bomb))
    brought.take(Upload("a.yaml", b"x" * 800))
    with pytest.raises(BrazoError, match="no more room"):
        brought.take(Upload("b.yaml", b"x" * 800))


def test_only_what_was_brought_can_be_opened(brought):
    for name in ("../x.yaml", "/etc/hosts", "arm.yaml"):
        with pytest.raises(BrazoError, match="not among the files"):
            brought.path(name)
