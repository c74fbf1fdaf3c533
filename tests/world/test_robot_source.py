"""Edits of a robot in a cell: fields of its file, and the resulting file."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.world import World
from brazo.world.robot_source import Edits, RobotSource


def test_a_field_is_written_into_the_file_and_read_again():
    source = RobotSource.load("scara1")
    heavy = source.edited(Edits(fields={"joints[1].mass": 7.0, "joints[1].com": [0.01, 0, 0]}))
    body, before = heavy.model.bodies[2], source.model.bodies[2]
    assert body.inertia.mass == 7.0 and body.inertia.com == pytest.approx([0.01, 0, 0])
    # A box of another mass: its tensor follows.
    assert np.allclose(body.inertia.tensor, 2.0 * before.inertia.tensor, rtol=1e-14)
    again = heavy.edited(Edits({"L1": 0.5}, fields={"joints[0].friction.viscous": 0.2}))
    assert again.model.bodies[2].inertia.mass == 7.0
    assert again.model.joints[0].friction.viscous == 0.2
    assert again.edits.fields.keys() == {
        "joints[1].mass", "joints[1].com", "joints[0].friction.viscous",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"joints[1].mass": -1.0}, "joints[1].mass: -1 is below the minimum, 0"),
        ({"joints[9].mass": 1.0}, "joints[9].mass: there is no entry 9; the list has 5"),
        ({"joints[0].weight": 1.0}, "unknown field 'weight'"),
        ({"joints[0].mass": float("nan")}, "an edit must be a finite number, got nan"),
        ({"joints[0].mass": "rm -rf"}, "an edit must be a finite number, got 'rm -rf'"),
        ({"joints 0": 1.0}, "'joints 0' is not a field of a robot file"),
        ({"joints[0].com": [1.0, 2.0]}, "expected a list of 3 numbers, got a list of 2"),
    ],
)
def test_a_field_that_cannot_be_is_refused(fields, said):
    with pytest.raises(BrazoError) as error:
        RobotSource.load("scara1").edited(Edits(fields=fields))
    assert said in str(error.value)


def test_the_edited_robot_is_a_robot_file():
    source = RobotSource.load("scara1").edited(
        Edits({"L1": 0.37}, 1.25, (0.03, 0.012, 0.05), (0.0, 0.06), {"joints[0].mass": 6.5})
    )
    model = RobotFile.parse(source.text()).build()
    assert model.parameters["L1"] == 0.37 and model.gripper.opening == (0.0, 0.06)
    for a, b in zip(model.bodies, source.model.bodies, strict=True):
        if a.inertia is not None:
            assert np.array_equal(a.inertia.tensor, b.inertia.tensor)
            assert a.inertia.mass == b.inertia.mass
    assert "width: 1.25" in source.text()


@pytest.mark.parametrize(
    ("name", "edits"),
    [
        ("scara1", Edits({"L1": 0.2}, width=1.2)),
        ("delta", Edits({"L2": 0.45})),
        ("scara2", Edits()),
    ],
)
def test_flanges_stay_as_they_are_in_the_file_that_is_saved(name, edits):
    source = RobotSource.load(name).edited(edits)
    model = RobotFile.parse(source.text()).build()
    again = RobotSource(model, Edits(), RobotFile.parse(source.text()))
    for one in (model, again.edited(Edits({"L1": model.parameters["L1"]})).model):
        mine, its = (_radii(m) for m in (one, source.model))
        assert mine == pytest.approx(its, rel=1e-12)


def _radii(model):
    groups = model.parts.values() if hasattr(model, "parts") else (b.parts for b in model.bodies)
    parts = [part for group in groups for part in group]
    return [getattr(part.shape, "radius", 0.0) for part in parts]


def test_a_loaded_robot_can_be_edited_like_its_file():
    robot = brazo.load("scara1")
    source = RobotSource(robot.model, Edits(), _source=robot._source)
    assert source.edited(Edits(width=2.0)).edits.width == 2.0
    loaded = robot.with_payload(1.0)
    wide = RobotSource(loaded.model, Edits(), _source=loaded._source).edited(Edits(width=2.0))
    mass = loaded.model.bodies[-1].inertia.mass
    assert mass == robot.model.bodies[-1].inertia.mass + 1.0
    assert wide.model.bodies[-1].inertia.mass == mass
    assert RobotFile.parse(wide.text()).build().bodies[-1].inertia.mass == mass
    bare = brazo.loads(robot.to_urdf())
    with pytest.raises(BrazoError, match="was not read from a robot file"):
        RobotSource(bare.model, Edits(), _source=bare._source).edited(Edits(width=2.0))


def test_edits_are_taken_back_in_the_world():
    world = World("cooperative")
    first = world.cell.robots[0].source
    M = brazo.load("scara1").with_parameters(L_base=0.525).mass_matrix(world.robots["scara1"].q)
    world.edit("scara1", {"L1": 0.5}, fields={"joints[0].mass": 9.0})
    assert world.robots["scara1"].model.bodies[1].inertia.mass == 9.0
    world.edit("scara1", source=first)
    assert world.cell.robots[0].source is first
    robot = world.robots["scara1"]
    assert np.allclose(brazo.load("scara1").mass_matrix(robot.q), M)
    with pytest.raises(BrazoError, match="the new description has"):
        world.edit("scara1", source=world.cell.robots[1].source)
    world.step()


def test_composed_joints_are_those_of_the_file(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("name: a\njoints:\n  - {name: x, type: universal, a: 0.1}\n  - {a: 0.3}\n")
    source = RobotSource.load(path)
    assert source.is_its_file
    path.write_text(path.read_text().replace("0.3", "0.4"))
    assert not source.is_its_file
