"""The table of masses and friction has the values of the file and their fields."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.formats.library import robot_directory
from brazo.formats.robot_yaml.link_table import link_table
from brazo.formats.robot_yaml.robot_file import RobotFile

ARM = """\
name: arm
parameters: {L: 0.4, m: 2}
joints:
  - {name: a, a: L, mass: m, com: {a: -L/2, alpha: 90deg}, inertia: [0.1, 0.2, 0.25],
     friction: {viscous: 0.3, coulomb: 0.5}}
  - {a: 0.2}
tool: {xyz: [0, 0, 5cm], mass: 500g, com: [0, 0, 1cm], inertia: {sphere: 2cm}}
"""


def test_a_row_has_the_file_s_own_numbers_also_where_the_model_adds_the_tool():
    rows = link_table(RobotFile.parse(ARM), {"m": 3.0})
    assert [row.name for row in rows] == ["a", "joint 2", "tool"]
    first, second, tool = rows
    assert first.mass == 3.0 and first.inertia.com == pytest.approx([-0.2, 0, 0])
    assert (first.friction.viscous, first.friction.coulomb) == (0.3, (0.5, 0.5))
    assert second.mass is None and second.inertia is None
    assert tool.mass == 0.5 and tool.friction_field == ""


def test_rows_know_the_fields_an_edit_writes():
    first, second, tool = link_table(RobotFile.parse(ARM))
    assert first.with_mass(4) == {"joints[0].mass": 4.0}
    assert second.with_friction(viscous=0.1) == {"joints[1].friction.viscous": 0.1}
    assert first.with_friction(coulomb=(1, 2)) == {"joints[0].friction.coulomb": [1.0, 2.0]}
    assert tool.with_com([0, 0, 1]) == {"tool.com": [0.0, 0.0, 1.0]}


def test_a_centre_that_turned_the_tensor_leaves_the_tensor_as_it_was():
    row = link_table(RobotFile.parse(ARM))[0]
    fields = row.with_com([0.1, 0.0, 0.0])
    assert fields["joints[0].com"] == [0.1, 0.0, 0.0]
    # Turned by 90° about x: y and z change places.
    assert np.allclose(fields["joints[0].inertia"], np.diag([0.1, 0.25, 0.2]))


def test_a_delta_has_arms_rods_and_a_platform():
    rows = link_table(RobotFile.read(robot_directory() / "delta.yaml"))
    found = [(row.name, row.mass_field, row.mass) for row in rows]
    assert found == [
        ("arms", "arm.mass", 0.4),
        ("rods", "rod_mass", 0.12),
        ("platform", "platform_mass", 0.25),
    ]
    assert rows[0].friction_field == "friction" and rows[1].com_field == ""
