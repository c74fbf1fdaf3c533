"""What the writers share: names that are safe on a disk, files that are written whole."""

from __future__ import annotations

import os
import stat

import pytest

import brazo
from brazo.errors import BrazoError
from brazo.formats.export import safe_stem, write_file
from brazo.formats.mjcf.writer import export_mjcf
from brazo.formats.urdf.writer import export_urdf


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("KR 6-R900.2", "KR_6-R900.2"),
        ("../../etc/passwd", "etc_passwd"),
        ("..\\x", "x"),
        ("/abs/arm", "abs_arm"),
        ("C:\\arm", "C_arm"),
        (".hidden", "hidden"),
        ("a\0b\n", "a_b"),
        ("José", "Jos"),
        ("..", "robot"),
        ("", "robot"),
        ("机器人", "robot"),
        ("a" * 300, "a" * 80),
        ("a" * 79 + ".b", "a" * 79),
    ],
)
def test_a_stem_is_one_plain_file_name(name, stem):
    assert safe_stem(name) == stem


def test_a_file_is_replaced_whole_or_left_as_it_was(tmp_path):
    path = tmp_path / "a.urdf"
    write_file(path, b"one")
    write_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]
    if os.name == "posix":
        plain = tmp_path / "plain"
        plain.touch()
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    for unwritable in (tmp_path / "none" / "a.urdf", path / "a.urdf", tmp_path / ("a" * 300)):
        with pytest.raises(BrazoError, match="cannot be written"):
            write_file(unwritable, b"three")
    assert path.read_bytes() == b"two"


@pytest.mark.parametrize(
    ("export", "folder"), [(export_urdf, "arm_meshes"), (export_mjcf, "arm_mjcf_meshes")]
)
@pytest.mark.parametrize("name", ["arm", "arm.urdf", "arm.xml", "arm.txt"])
def test_the_format_and_not_the_suffix_names_the_mesh_folder(tmp_path, export, folder, name):
    export(brazo.load("scara1").model, tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {name, folder}
