"""Files that try something: entities, size, broken XML; and the slips that are read over."""

from __future__ import annotations

import pytest

from brazo.errors import BrazoError
from brazo.formats.urdf import normalise
from brazo.formats.urdf.reader import read_urdf

ROBOT = (
    '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
    '<parent link="a"/><child link="b"/></joint></robot>'
)


@pytest.fixture
def file(tmp_path):
    def file(content: str | bytes, name: str = "robot.urdf"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return file


def laughs(levels: int = 9) -> str:
    entities = '<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, levels + 1)
    )
    return f'<!DOCTYPE robot [{entities}]><robot name="r"><link name="&a{levels};"/></robot>'


@pytest.mark.parametrize("suffix", ["urdf", "xacro"])
def test_external_entities_are_refused(file, tmp_path, suffix):
    (tmp_path / "secret").write_text("<link name='stolen'/>")
    text = (
        f'<!DOCTYPE robot [<!ENTITY s SYSTEM "{(tmp_path / "secret").as_uri()}">]>'
        '<robot name="r">&s;<link name="a"/></robot>'
    )
    with pytest.raises(BrazoError, match="declares entities or an external DTD"):
        read_urdf(file(text, f"robot.{suffix}"))


@pytest.mark.parametrize("suffix", ["urdf", "xacro"])
@pytest.mark.parametrize("levels", [1, 9])
def test_exponential_entities_are_refused(file, suffix, levels):
    with pytest.raises(BrazoError, match=r"entit"):
        read_urdf(file(laughs(levels), f"robot.{suffix}"))


def test_exponential_entities_of_an_included_xacro_are_rejected(file):
    file(laughs(), "inner.xacro")
    outer = (
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r">'
        '<xacro:include filename="inner.xacro"/><link name="a"/></robot>'
    )
    with pytest.raises(BrazoError, match="xacro cannot expand"):
        read_urdf(file(outer, "outer.xacro"))


def test_external_dtd_is_rejected_without_reading_it(file):
    text = f'<!DOCTYPE robot SYSTEM "http://localhost:1/robot.dtd">{ROBOT}'
    with pytest.raises(BrazoError, match="external DTD"):
        read_urdf(file(text))


def test_a_bare_doctype_is_harmless(file):
    assert read_urdf(file(f"<!DOCTYPE robot>{ROBOT}")).bodies[0].name == "a"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not an XML file"),
        (b"\x00\x01\x02", "XML"),
        (b"name: puma", "broken XML"),
        (b"<robot>\n<link name='a'>\n</robot>", r"robot.urdf:3: broken XML: .*tag mismatch"),
        (b"<robot name='a' name='b'/>", "redefined"),
        (b"<robot>" + b"<a>" * 400 + b"</a>" * 400 + b"</robot>", "depth"),
        (b"<mujoco/>", "starts with <mujoco>"),
        (b"<robot name='r'/>", "has no link"),
        (b"<robot name='r'><link name='a'/></robot>", r"robot.urdf:1: robot: has no moving joint"),
    ],
)
def test_invalid_urdf_is_rejected_with_its_line(file, content, said):
    with pytest.raises(BrazoError, match=said):
        read_urdf(file(content))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (ROBOT.replace("<link", "<gz:plugin/><link", 1).encode(), "prefix is not declared"),
        (ROBOT.replace("<link", "<!-- a -- b --><link", 1).encode(), "inside a comment"),
        (ROBOT.replace('"r"', '"Jos\xe9"').encode("latin-1"), "not valid in the encoding"),
        (("\n<?xml version='1.0'?>" + ROBOT).encode(), "not at the start"),
    ],
)
def test_harmless_mistakes_are_read_with_a_warning(file, content, said):
    model = read_urdf(file(content))
    assert any(said in finding.message for finding in model.findings)


def test_a_huge_file_is_not_read(file, monkeypatch):
    monkeypatch.setattr(normalise, "MAX_BYTES", 1000)
    with pytest.raises(BrazoError, match="at most 1000 are allowed"):
        read_urdf(file(ROBOT + " " * 1000))


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    for path in (tmp_path / "none.urdf", tmp_path):
        with pytest.raises(BrazoError, match="cannot be read"):
            read_urdf(path)
