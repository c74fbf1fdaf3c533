"""Meshes of a robot file: formats, scale per axis, collision pieces, shipped meshes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import trimesh
from typer.testing import CliRunner

import brazo
from brazo.body.solids import triangles
from brazo.cli.main import app
from brazo.errors import BrazoError
from brazo.world.collision import primitives

FILE = "name: a\nparameters: {{L: 0.5}}\njoints: [{{a: L, parts: [{{mesh: {mesh}}}]}}]\n"
CUBE = "#VRML V2.0 utf8\nShape { geometry Box { size 0.1 0.1 0.1 } }"


def written(folder, mesh: str):
    path = folder / "a.yaml"
    path.write_text(FILE.format(mesh=mesh))
    return path


def test_a_mesh_is_scaled_per_axis_and_follows_parameters(tmp_path):
    (tmp_path / "cube.wrl").write_text(CUBE)
    path = written(tmp_path, 'cube.wrl, scale: [L/0.1, 1, 2], xyz: [-L/2, 0, 0], color: "#112233"')
    for arm, length in ((brazo.load(path), 0.5), (brazo.load(path).with_parameters(L=0.8), 0.8)):
        (part,) = arm.parts[1]
        vertices = triangles(part.shape)[0] + part.pose[:3, 3]
        np.testing.assert_allclose(vertices.min(axis=0), [-length, -0.05, -0.1], atol=1e-15)
        np.testing.assert_allclose(vertices.max(axis=0), [0, 0.05, 0.1], atol=1e-15)


def test_collision_pieces_collide_instead_of_the_hull(tmp_path):
    for k, x in enumerate((-0.2, 0.2)):
        box = trimesh.creation.box((0.1, 0.1, 0.1))
        box.apply_translation((x, 0, 0))
        box.export(tmp_path / f"piece_{k}.stl")
    trimesh.creation.box((0.5, 0.1, 0.1)).export(tmp_path / "whole.stl")
    pieces = "whole.stl, scale: [2, 1, 1], collision: [piece_0.stl, piece_1.stl]"
    (part,) = brazo.load(written(tmp_path, pieces)).parts[1]
    low, high = (one.vertices.mean(axis=0) for one in primitives(part))
    np.testing.assert_allclose([low, high], [[-0.4, 0, 0], [0.4, 0, 0]], atol=1e-7)


@pytest.mark.parametrize(
    ("mesh", "said"),
    [
        ("none.stl", "no such file in the folder of the robot file"),
        ("a.txt", "is not a mesh file; allowed: .stl, .obj"),
        ("../a.stl", "outside the folder of the robot file"),
        ("library:rv2aj/none.stl", "brazo has no mesh of this name"),
        ("library:../robots/rv2aj.yaml", "brazo has no mesh of this name"),
        ("cube.wrl, scale: [1, 0, 1]", "greater than 0"),
        ("cube.wrl, scale: [1, 1]", "3"),
        ("cube.wrl, collision: [none.stl]", "no such file"),
    ],
)
def test_wrong_fields_are_named(tmp_path, mesh, said):
    (tmp_path / "cube.wrl").write_text(CUBE)
    with pytest.raises(BrazoError, match=said) as caught:
        brazo.load(written(tmp_path, f'"{mesh}"' if mesh.startswith("library") else mesh))
    assert "a.yaml:3" in str(caught.value)


def test_a_shipped_mesh_needs_no_folder():
    arm = brazo.loads(FILE.format(mesh='"library:rv2aj/base.stl"'))
    assert len(triangles(arm.parts[1][0].shape)[1]) > 1000
    again = brazo.loads(brazo.load("rv2aj").to_yaml())
    assert len(again.parts[5]) == 3


@pytest.mark.parametrize("bad", ["mesh: bad.step", "mesh: cube.wrl, collision: [bad.step]"])
def test_check_refuses_a_mesh_that_cannot_be_read(tmp_path, bad):
    (tmp_path / "cube.wrl").write_text(CUBE)
    (tmp_path / "bad.step").write_text("ISO-10303-21;")
    path = written(tmp_path, bad.removeprefix("mesh: "))
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert result.exit_code == 2
    (error,) = json.loads(result.stdout)["errors"]
    assert "part 'part 1' cannot be drawn" in error and "bad.step: the file is incomplete" in error


def test_check_refuses_a_cell_whose_body_has_an_unreadable_mesh(tmp_path):
    (tmp_path / "bad.wrl").write_text("nothing")
    cell = tmp_path / "cell.yaml"
    cell.write_text("name: c\nbodies: [{name: b, mesh: bad.wrl, mass: 1, xyz: [0, 0, 1]}]\n")
    result = CliRunner().invoke(app, ["check", str(cell), "--json"])
    assert result.exit_code == 2 and "bad.wrl" in result.stdout
