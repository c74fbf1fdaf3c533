"""A part that cannot be drawn is found before anything draws it: by `check` and by an edit."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import brazo
from brazo.body.drawable import require_drawable, undrawable
from brazo.body.solids import mesh
from brazo.cli.main import app
from brazo.errors import BrazoError
from brazo.formats.library import robot_names
from brazo.lab.app.session import as_shown
from brazo.model.shapes import Beam, Box, Cylinder

URDF = """<robot name="arm"><link name="base"><visual><geometry>{shape}</geometry></visual></link>
<link name="one"/><joint name="a" type="revolute"><parent link="base"/><child link="one"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize("name", robot_names())
def test_shipped_robots_can_be_drawn(name):
    assert undrawable(brazo.load(name).model) == []


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (Beam(0.7, (2e-13, 2e-13), (2e-13, 2e-13), 1.0, 1e-14), "beam: too thin"),
        (Cylinder(1e-300, 1.0), "cylinder: too thin"),
        (Box((1.0, 1.0, 1e9)), "box: larger than 1e\\+06 m"),
        (Box((1e300, 1e300, 1e300)), "box: "),
    ],
)
def test_a_shape_without_a_solid_is_refused(shape, said):
    with pytest.raises(BrazoError, match=said):
        mesh(shape)


@pytest.mark.parametrize(
    ("robot", "edit"),
    [
        ("iiwa14", {"width": 1e-12}),
        ("srm1", {"parameters": {"H": 1e9}}),
        ("srm1", {"parameters": {"H": 1e300}}),
        ("delta", {"width": 1e-12}),
        ("delta", {"parameters": {"L1": 1e300}}),
    ],
)
def test_an_edit_without_a_drawable_body_is_refused_and_changes_nothing(robot, edit):
    sim = as_shown(f"robot:{robot}")
    name = next(iter(sim.robots))
    before = sim.cell.robots[0].model
    with pytest.raises(BrazoError, match=robot):
        sim.edit(name, **edit)
    assert sim.cell.robots[0].model is before
    require_drawable(before)
    sim.edit(name, width=1.1)
    sim.step()


def test_check_finds_a_mesh_that_the_lab_refuses(tmp_path):
    (tmp_path / "bad.stl").write_bytes(b"solid\n")
    path = tmp_path / "arm.urdf"
    path.write_text(URDF.format(shape='<mesh filename="bad.stl"/>'))
    with pytest.raises(BrazoError, match=r"bad\.stl"):
        as_shown(path)
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert result.exit_code == 2
    assert "bad.stl" in json.loads(result.stdout)["errors"][0]
    (tmp_path / "cell.yaml").write_text("name: c\nrobots: [{name: a, robot: arm.urdf}]\n")
    result = CliRunner().invoke(app, ["check", str(tmp_path / "cell.yaml"), "--json"])
    assert result.exit_code == 2
    assert "bad.stl" in result.stdout
