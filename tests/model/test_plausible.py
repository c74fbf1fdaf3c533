"""Numbers that were probably meant in mm or degrees are reported, ordinary ones are not."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.formats.library import robot_names
from brazo.formats.robot_yaml.robot_file import RobotFile
from brazo.model.plausible import target_doubt
from brazo.program import load_program
from brazo.program.program_file import parse_program, program_names
from brazo.world import World, cell_names, load_cell, parse_cell


def doubts(findings) -> list[tuple[str, str]]:
    """Field and suggestion of each finding about a unit."""
    found = [(f.field, f.message) for f in findings if "without a unit" in f.message]
    return [(field, text.split("did you mean ")[1].split("?")[0]) for field, text in found]


def robot(joints: str, more: str = ""):
    return RobotFile.parse(f"name: x\n{more}\njoints:\n{joints}").build()


def test_a_link_in_millimetres_is_reported_and_still_read_in_metres():
    model = robot("  - {a: 350, d: -400}\n  - {a: L}\n", "parameters: {L: 30}")
    assert doubts(model.findings) == [
        ("joints[0].d", "-400mm"),
        ("joints[0].a", "350mm"),
        ("parameters.L", "30mm"),
    ]
    assert [finding.line for finding in model.findings] == [4, 4, 2]
    assert all(finding.slip for finding in model.findings)
    assert model.dh[0].a == 350.0


@pytest.mark.parametrize(
    "joints",
    [
        "  - {a: 350m}\n",  # with a unit
        "  - {a: 350mm}\n",
        "  - {a: 1.5}\n  - {a: 1.5}\n",  # an arm of 3 m
        "  - {type: prismatic, limits: [0, 20]}\n  - {a: 20}\n",  # a crane of 20 m
    ],
)
def test_values_with_units_and_large_robots_are_not_reported(joints):
    assert not doubts(robot(joints).findings)


def test_a_field_is_reported_once():
    more = "base: {rpy: [0, 0, 90]}\nposes: {up: [90]}"
    findings = robot("  - {a: 0.3, limits: [-150, 150]}\n", more).findings
    assert sorted(f.field for f in findings) == ["base.rpy", "joints[0].limits", "poses.up[0]"]


def test_another_build_of_a_file_reports_its_own_values():
    file = RobotFile.parse("name: x\nparameters: {L: 0.3}\njoints: [{a: L}]\n")
    assert not doubts(file.build().findings)
    assert doubts(file.build({"L": 300.0}).findings) == [("joints[0].a", "300mm")]
    assert not doubts(file.build().findings)


def test_a_build_with_other_values_does_not_report_those_of_the_file():
    file = RobotFile.parse("name: x\nparameters: {L: 300}\njoints: [{a: L}]\n")
    assert doubts(file.build().findings) == [("parameters.L", "300mm")]
    assert not doubts(file.build({"L": 0.3}).findings)


def test_a_parameter_is_reported_once_at_its_own_line():
    more = "parameters:\n  H: 600\n  L: H / 2\n  k: 0.5\n  reach: 300mm"
    joints = "  - {a: k * L, d: H}\n  - {type: prismatic, limits: [0, reach], a: 100 * k}\n"
    findings = robot(joints, more).findings
    assert doubts(findings) == [("parameters.H", "600mm"), ("joints[1].a", "50mm")]
    assert findings[0].line == 3


def test_every_value_of_a_pose_past_the_limits_is_reported():
    joints = "  - {a: 0.3, limits: [-150deg, 150deg]}\n  - {type: prismatic, limits: [0, 0.3]}\n"
    findings = robot(joints, "poses: {far: [90, 10], near: [2.7, 400mm]}").findings
    assert [(f.field, f.slip) for f in findings] == [
        ("poses.far[0]", True),
        ("poses.far[1]", True),
        ("poses.near[0]", False),  # a little past the limits
        ("poses.near[1]", False),
    ]
    assert "did you mean 10mm?" in findings[1].message


def test_angles_above_one_turn_are_reported_only_without_a_unit():
    joints = "  - {a: 0.3, alpha: %s, limits: %s}\n"
    bare = robot(joints % ("90", "[-150, 150]"), "base: {rpy: [0, 0, 90]}").findings
    assert len(bare) == 3 and all(f.slip for f in bare)
    assert not any(f.slip for f in robot(joints % ("400deg", "[-1500deg, 1500deg]")).findings)


@pytest.mark.parametrize(
    ("joint", "meant"),
    [
        ("{a: 0.3, drive: {max_speed: 180}}", ["180deg/s"]),
        ("{a: 0.3, drive: {max_speed: 40}}", []),
        ("{a: 0.3, drive: {max_speed: 3000deg/s}}", []),
        ("{type: prismatic, drive: {max_speed: 500}}", ["500mm/s"]),
    ],
)
def test_implausible_drive_speeds_are_reported(joint, meant):
    assert [text for _, text in doubts(robot(f"  - {joint}\n").findings)] == meant


def test_cells_and_programs_report_missing_units():
    cell = parse_cell(
        "name: x\nbodies:\n"
        "  - {name: b, box: [0.1, 0.1, 0.1], mass: 1, xyz: [400, 0, 0.1], rpy: [0, 0, 90]}\n"
    )
    wanted = [("bodies[0].xyz[0]", "400mm"), ("bodies[0].rpy[2]", "90deg")]
    assert doubts(cell.findings) == wanted
    assert doubts(World(cell).findings) == wanted
    program = parse_program("name: p\nrobots:\n  a:\n    - line: {by: [0, 0, -70]}\n")
    assert doubts(program.findings) == [("robots.a[0].line.by[2]", "-70mm")]


def test_rejected_size_suggests_the_unit():
    text = "name: x\nbodies: [{name: b, box: [500, 30, 30], mass: 1}]\n"
    with pytest.raises(BrazoError, match=r"sizes must be between .* did you mean 500mm\?"):
        parse_cell(text)


def test_shipped_files_have_no_implausible_values():
    for name in robot_names():
        assert not any(finding.slip for finding in brazo.load(name).findings), name
    for name in cell_names():
        assert not doubts(load_cell(name).findings), name
    for name in program_names():
        assert not doubts(load_program(name).findings), name


@pytest.mark.parametrize("name", robot_names())
def test_reach_bounds_the_tool(name):
    arm = brazo.load(name)
    q = arm.random_q(200, seed=0) if name != "delta" else np.stack(list(arm.poses.values()))
    farthest = np.linalg.norm(arm.fk(q)[:, :3, 3], axis=-1).max()
    assert farthest <= arm.model.reach + 1e-12
    assert not target_doubt(arm.fk(q[0])[:3, 3], arm.model)
    assert "did you mean 400mm 100mm 500mm?" in target_doubt(np.array([400, 100, 500]), arm.model)
