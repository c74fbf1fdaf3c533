"""Edits of a cell description, and the files they give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.model.shapes import Box, Cylinder
from brazo.model.transforms import pose
from brazo.world import Cell, CellRobot, Chute, Fixture, FreeBody, World, load_cell, parse_cell
from brazo.world import cell_edits as edits
from brazo.world.attachment import AttachedGripper, AttachedTool
from brazo.world.cell import BinShape, Frame, TableShape, default_start
from brazo.world.cell_writer import cell_files
from brazo.world.robot_source import RobotSource

WOOD = (0.7, 0.6, 0.4)


def robot(name: str = "arm", file: str = "puma560", base=None) -> CellRobot:
    source = RobotSource.load(file)
    start = default_start(source.model, source.model.limits)
    return CellRobot(name, source, base=np.eye(4) if base is None else base, start=start)


@pytest.fixture(scope="module")
def cell() -> Cell:
    cell = Cell(name="built")
    for one in (
        robot(),
        FreeBody("box", Box((0.04, 0.05, 0.06)), 0.2, pose((0.5, 0.1, 0.53))),
        FreeBody("tote", BinShape((0.3, 0.2, 0.1), 0.006), 0.4, pose((1.5, 0, 0.006))),
        Fixture.of(
            "table", TableShape((0.6, 0.4, 0.5)), pose((0.6, 0.1, 0.5)), color=(0.7, 0.6, 0.4)
        ),
        Fixture.of("post", Cylinder(0.05, 0.3), pose((-0.6, 0, 0.15), (0, 0, 0.3))),
        Chute("slide", (0.08, 0.08), 0.4, math.radians(30), (0, 1.0, 0.5), 0.2),
        Frame("work", pose((0.6, 0.1, 0.5), (0, 0, math.pi / 2))),
    ):
        cell = edits.add(cell, one)
    return cell


def same(a: Cell, b: Cell) -> None:
    """Two cells have the same elements at the same places."""
    assert [one.name for one in edits.elements(a)] == [one.name for one in edits.elements(b)]
    for one, other in zip(edits.elements(a), edits.elements(b), strict=True):
        assert type(one) is type(other)
        assert np.abs(edits.pose_of(one) - edits.pose_of(other)).max() < 1e-15


def test_the_file_of_a_built_cell_reads_back_to_the_same_cell(cell):
    cell = edits.attach(cell, "arm", AttachedGripper(mount=pose((0, 0, 0.05))))
    ((_, text),) = cell_files(cell).items()
    again = parse_cell(text)
    same(cell, again)
    assert again.bodies[1].shape == BinShape((0.3, 0.2, 0.1), 0.006)
    assert again.fixtures[0].shape == TableShape((0.6, 0.4, 0.5))
    assert again.fixtures[0].color == (0.7, 0.6, 0.4)
    assert np.array_equal(again.robots[0].model.tool, cell.robots[0].model.tool)
    ((_, twice),) = cell_files(again).items()
    assert twice == text
    World(again).step(5)


def test_elements_are_moved_replaced_renamed_duplicated_and_removed(cell):
    T = pose((0.3, 0.2, 0.9), (0.1, 0.2, 0.3))
    for name in ("arm", "box", "table", "work"):
        assert np.array_equal(edits.pose_of(edits.element(edits.move(cell, name, T), name)), T)
    renamed = edits.rename(cell, "box", "part")
    assert [one.name for one in renamed.bodies] == ["part", "tote"]  # at its place in the list
    copied, name = edits.duplicate(cell, "post", (0.0, 0.5, 0.0))
    assert name == "post 2"
    assert edits.pose_of(edits.element(copied, name))[1, 3] == 0.5
    again, third = edits.duplicate(copied, "post 2")
    assert third == "post 3" and len(again.fixtures) == 4
    fixed = edits.replaced(cell, "box", Fixture.of("box", Box((0.1, 0.1, 0.1))))
    assert [one.name for one in fixed.bodies] == ["tote"] and fixed.fixtures[-1].name == "box"
    for one in edits.elements(cell):
        assert one.name not in (x.name for x in edits.elements(edits.remove(cell, one.name)))


def test_a_chute_is_turned_and_tilted_but_not_upwards(cell):
    slide = edits.element(cell, "slide")
    turned = edits.moved(slide, pose((1, 2, 3), (0, math.radians(40), math.radians(70))))
    assert isinstance(turned, Chute)
    assert (turned.angle, turned.yaw) == pytest.approx((math.radians(40), math.radians(70)))
    assert turned.xyz == (1, 2, 3)
    with pytest.raises(BrazoError, match=r"would slope upwards by 20\.0°"):
        edits.moved(slide, pose((0, 0, 0), (0, math.radians(-20), 0)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("table", "is already the name of a fixture"),
        ("a/b", "must not contain '/'"),
        ("floor", "a reserved name"),
        ("tool", "a reserved name"),
        ("", "is not a valid name"),
        (" box", "without spaces at its ends"),
        ("a\nb", "is not a valid name"),
        ("x" * 81, "1 to 80 printable characters"),
    ],
)
def test_invalid_names_are_rejected(cell, name, message):
    with pytest.raises(BrazoError, match=message):
        edits.rename(cell, "box", name)
    with pytest.raises(BrazoError, match=message):
        edits.add(cell, Frame(name, np.eye(4)))


def test_unknown_elements_and_invalid_values_are_rejected(cell):
    with pytest.raises(
        BrazoError, match="nothing named 'x' in cell 'built'; it contains: arm, box"
    ):
        edits.remove(cell, "x")
    with pytest.raises(BrazoError, match="each coordinate must be from -100 to 100 m"):
        edits.move(cell, "box", pose((101, 0, 0)))
    with pytest.raises(BrazoError, match="is not a rotation"):
        edits.move(cell, "box", 2 * np.eye(4))
    with pytest.raises(BrazoError, match="'box' is a body; only a robot has a flange"):
        edits.attach(cell, "box", AttachedGripper())
    scara = edits.add(cell, robot("scara", "scara1"))
    with pytest.raises(BrazoError, match="has a gripper in its robot file"):
        edits.attach(scara, "scara", AttachedTool())
    delta = edits.add(cell, robot("delta", "delta"))
    with pytest.raises(BrazoError, match="closed loops"):
        edits.attach(delta, "delta", AttachedGripper())
    full = cell
    for i in range(15):
        full = edits.add(full, robot(f"r{i}"))
    with pytest.raises(BrazoError, match="at most 16 robots"):
        edits.add(full, robot("more"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("robots: [{name: a, robot: puma560, gripper: three}]", "choose two-finger"),
        ("robots: [{name: a, robot: puma560, gripper: {opening: [5cm, 1cm]}}]", "closed < open"),
        (
            "robots: [{name: a, robot: puma560, gripper: two-finger, tool: {length: 1cm}}]",
            "not both",
        ),
        ("robots: [{name: a, robot: scara1, gripper: two-finger}]", "has a gripper"),
        ("robots: [{name: a, robot: puma560, tool: {length: 100}}]", "is not between"),
        ("fixtures: [{name: a, box: [1, 1, 1], wall: 1cm}]", "only a bin has a wall"),
        ("fixtures: [{name: a, table: [1, 1, 1], top: 1}]", "is not between"),
        ("bodies: [{name: a, table: [1, 1, 1], mass: 1}]", "table"),
        ("fixtures: [{name: a, mesh: none.stl}]", "no such file in the folder of the cell file"),
        ("frames: [{name: a}, {name: a}]", "used twice"),
    ],
)
def test_errors_of_the_new_fields_list_allowed_values(line, message):
    with pytest.raises(BrazoError, match=message):
        parse_cell(f"name: c\n{line}\n")


def test_the_empty_cell_runs():
    world = World(load_cell("empty"))
    world.step(10)
    assert world.time == pytest.approx(0.01) and not world.robots and not world.drawn
