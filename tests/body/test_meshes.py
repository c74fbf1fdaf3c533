"""Mesh files to triangles in metres, and back to STL."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
import trimesh

from brazo.body import meshes
from brazo.body.meshes import load_triangles, mesh_triangles, stl_bytes
from brazo.errors import BrazoError
from brazo.model.shapes import Mesh
from tests.formats.foreign import KUKA, ROOT, foreign

COLLADA = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="inch" meter="0.0254"/><up_axis>{up}</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array>
      <technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
      <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>
    </source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
      <p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node id="n"><translate>10 0 0</translate>
    <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


@pytest.mark.parametrize("up", ["Z_UP", "Y_UP", "X_UP"])
def test_collada_units_count_and_the_up_axis_does_not(tmp_path, up):
    path = tmp_path / "part.dae"
    path.write_text(COLLADA.format(up=up))
    vertices, faces = load_triangles(path)
    assert len(faces) == 4
    assert np.allclose(vertices.min(axis=0), [0.254, 0, 0])
    assert np.allclose(np.ptp(vertices, axis=0), [0.0254, 0.0508, 0.0762])


@pytest.mark.parametrize("link", ["link_2", "link_3", "link_4", "link_5"])
def test_a_robot_in_inches_lies_where_its_collision_mesh_lies(link):
    (part,) = next(body for body in foreign("kr210l150.urdf").bodies if body.name == link).parts
    folder = ROOT / KUKA / "kuka_kr210" / "meshes" / "kr210l150"
    assert part.shape.path.suffix == ".dae"
    seen = mesh_triangles(part.shape)[0] @ part.pose[:3, :3].T + part.pose[:3, 3]
    felt, _ = load_triangles(folder / "collision" / f"{link}.stl")
    assert np.allclose(seen.min(axis=0), felt.min(axis=0), atol=0.02)
    assert np.allclose(seen.max(axis=0), felt.max(axis=0), atol=0.02)


@pytest.mark.parametrize("suffix", ["stl", "obj", "ply", "off", "glb"])
def test_many_formats_one_answer(tmp_path, suffix):
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    path = tmp_path / f"part.{suffix}"
    box.export(path)
    vertices, faces = load_triangles(path)
    assert vertices.dtype == np.float64
    assert faces.dtype == np.int32
    assert len(faces) == 12
    assert np.allclose(np.ptp(vertices, axis=0), [0.1, 0.2, 0.3])
    assert trimesh.Trimesh(vertices, faces).volume == pytest.approx(0.006, rel=1e-6)


def test_a_mirror_keeps_the_outside_outside(tmp_path):
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    box.export(tmp_path / "box.stl")
    for scale in ((1, 1, -1), (-1, -1, -1), (2, -1, 1), (-1, -1, 1)):
        shape = Mesh(path=tmp_path / "box.stl", scale=scale)
        volume = trimesh.Trimesh(*mesh_triangles(shape), process=False).volume
        assert volume == pytest.approx(abs(np.prod(scale)))


def test_given_triangles_need_no_file():
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    vertices, faces = mesh_triangles(
        Mesh(vertices=np.array(box.vertices), faces=np.array(box.faces), scale=(1, 2, 3))
    )
    assert np.array_equal(vertices, box.vertices * (1, 2, 3))
    assert len(faces) == 12
    with pytest.raises(BrazoError, match="needs a path, or vertices and faces"):
        mesh_triangles(Mesh())


def test_stl_there_and_back(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=2)
    path = tmp_path / "ball.stl"
    path.write_bytes(stl_bytes(ball.vertices, ball.faces))
    again = trimesh.load_mesh(path)
    assert again.is_watertight
    assert again.volume == pytest.approx(ball.volume, rel=1e-6)


def test_flat_triangles_do_not_trouble_stl(tmp_path):
    vertices, faces = np.zeros((3, 3)), np.array([[0, 1, 2]])
    assert len(stl_bytes(vertices, faces)) == 84 + 50


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("none.stl", None, "no such mesh file"),
        ("a.stl", b"", "cannot be read as a mesh|no triangles"),
        ("a.stl", b"solid x\nendsolid", "cannot be read as a mesh|no triangles"),
        ("a.obj", b"v 0 0 0", "cannot be read as a mesh|no triangles"),
        ("a.dae", b"<x/>", "cannot be read as a mesh"),
        ("a.docx", b"words", "cannot be read as a mesh"),
        ("a.off", b"OFF\n3 1 0\nnan 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "finite|as a mesh|no tri"),
    ],
)
def test_bad_files_are_named(tmp_path, name, data, said):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BrazoError, match=said) as caught:
        load_triangles(path)
    assert str(path) in str(caught.value)


def test_large_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "box.stl"
    trimesh.creation.box((1, 1, 1)).export(path)
    monkeypatch.setattr(meshes, "MAX_TRIANGLES", 5)
    with pytest.raises(BrazoError, match="12 triangles; the maximum is 5"):
        load_triangles(path)
    monkeypatch.setattr(meshes, "MAX_BYTES", 100)
    with pytest.raises(BrazoError, match="the maximum for a mesh file is 100"):
        load_triangles(path)


@pytest.mark.parametrize("kind", ["stl", "obj"])
def test_a_file_that_may_not_be_read_is_an_error_of_the_user(tmp_path, monkeypatch, kind):
    path = tmp_path / f"part.{kind}"
    trimesh.creation.box((1, 1, 1)).export(path)
    refuse = Mock(side_effect=PermissionError(13, "Permission denied"))  # root may read all files
    monkeypatch.setattr("brazo.body.meshes.read_binary_stl", refuse)
    monkeypatch.setattr("brazo.body.mesh_process.reader.read", refuse)
    with pytest.raises(BrazoError, match=rf"part\.{kind}: cannot be read: Permission denied"):
        load_triangles(path)
