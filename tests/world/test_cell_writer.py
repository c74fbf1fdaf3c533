"""A cell written and read back is the same cell, down to the physics it compiles to."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import brazo
from brazo.cli.main import app
from brazo.errors import BrazoError
from brazo.formats.urdf.writer import export_urdf
from brazo.kinematics.orientation import matrix_from_rpy
from brazo.model.description import Part, frozen
from brazo.model.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from brazo.simulation import Simulation
from brazo.study.cell_study import cell_key
from brazo.world import World, cell_names, load_cell, parse_cell
from brazo.world.cell import (
    Cell,
    CellRobot,
    Chute,
    ContactSettings,
    Fixture,
    Floor,
    FreeBody,
    GripperSettings,
    default_start,
)
from brazo.world.cell_writer import cell_files, save_cell
from brazo.world.robot_source import Edits, RobotSource

BIT = 1e-15  # of the numbers of a rotation


def same(first: Cell, second: Cell) -> None:
    """All data of a cell; orientations to rounding, everything else exactly."""
    for key in ("name", "about", "chutes", "floor", "contact", "gripper", "step"):
        one, other = getattr(first, key), getattr(second, key)
        if key == "chutes":
            one, other = ([_fields(c) for c in chutes] for chutes in (one, other))
        assert one == other, key
    assert np.array_equal(first.gravity, second.gravity)
    assert [r.name for r in first.robots] == [r.name for r in second.robots]
    for one, other in zip(first.robots, second.robots, strict=True):
        assert np.array_equal(one.base[:3, 3], other.base[:3, 3])
        assert np.abs(one.base - other.base).max() <= BIT
        assert np.array_equal(one.start, other.start)
        assert (one.contact_response, one.grasp) == (other.contact_response, other.grasp)
        assert dict(one.model.parameters) == dict(other.model.parameters)
        assert [_link(row) for row in one.source.links()] == [
            _link(row) for row in other.source.links()
        ]
        assert one.source.width == other.source.width
    for one, other in zip(first.bodies, second.bodies, strict=True):
        assert (one.name, one.shape, one.mass) == (other.name, other.shape, other.mass)
        assert (one.friction, one.color) == (other.friction, other.color)
        assert np.abs(one.pose - other.pose).max() <= BIT
    for one, other in zip(first.fixtures, second.fixtures, strict=True):
        assert (one.name, one.friction) == (other.name, other.friction)
        assert one.parts[0].shape == other.parts[0].shape
        assert one.parts[0].color == other.parts[0].color
        assert np.abs(one.pose - other.pose).max() <= BIT


def same_physics(first: Cell, second: Cell) -> None:
    """The engine's model of both, number by number."""
    one, other = World(first).mj_model, World(second).mj_model
    assert (one.nq, one.nv, one.nbody, one.ngeom) == (other.nq, other.nv, other.nbody, other.ngeom)
    compared = 0
    for key in dir(one):
        value = None if key.startswith("_") else getattr(one, key)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            np.testing.assert_allclose(
                value, getattr(other, key), rtol=1e-12, atol=1e-12, err_msg=key
            )
            compared += 1
    assert compared > 100


def _fields(chute: Chute) -> tuple:
    return tuple(getattr(chute, key) for key in Chute.__slots__)


def _link(row) -> tuple:
    inertia = (
        None if row.inertia is None else (row.inertia.com.tolist(), row.inertia.tensor.tolist())
    )
    return row.name, row.mass, inertia, row.friction


def _standing(source: RobotSource) -> CellRobot:
    return CellRobot("r", source, start=default_start(source.model, source.model.limits))


def again(cell: Cell, folder) -> Cell:
    path, *_ = save_cell(cell, folder / "saved.yaml")
    return load_cell(path)


@pytest.mark.parametrize("name", cell_names())
def test_every_shipped_cell(name, tmp_path):
    cell = load_cell(name)
    read = again(cell, tmp_path)
    same(cell, read)
    same_physics(cell, read)
    assert [file.name for file in tmp_path.iterdir()] == ["saved.yaml"]  # robots are named
    assert CliRunner().invoke(app, ["check", str(tmp_path / "saved.yaml")]).exit_code == 0


def test_robots_moved_and_edited(tmp_path):
    sim = brazo.Simulation("cooperative")
    base = np.eye(4)
    base[:3, :3] = matrix_from_rpy([0.1, -0.2, 2.5])
    base[:3, 3] = [1 / 3, -0.7, 0.01]
    sim.edit("scara1", {"L1": 0.271}, base=base, width=1.3, fields={"joints[1].mass": 3.21})
    sim.edit("scara2", finger=(0.011, 0.02, 0.055))
    read = again(sim.cell, tmp_path)
    same(sim.cell, read)
    same_physics(sim.cell, read)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "cooperative-scara1.yaml", "cooperative-scara2.yaml", "saved.yaml",
    ]  # fmt: skip
    # Expressions stay expressions, and a second save is the first.
    assert "a: L1" in (tmp_path / "cooperative-scara1.yaml").read_text(encoding="utf-8")
    texts = cell_files(sim.cell)
    assert list(cell_files(read).values()) == list(texts.values())


def test_custom_robot_file_is_copied_with_the_cell(tmp_path):
    own, there = tmp_path / "own", tmp_path / "there"
    own.mkdir()
    there.mkdir()
    text = RobotSource.load("scara1").text()
    (own / "mine.yaml").write_text(text.replace("name: scara1", "name: mine"), encoding="utf-8")
    cell = Cell(name="my cell", robots=(_standing(RobotSource.load(own / "mine.yaml")),))
    path, robot = save_cell(cell, there / "cell.yaml")
    assert robot == there / "my-cell-r.yaml"
    (own / "mine.yaml").unlink()
    same(cell, load_cell(path))


def test_other_robot_formats_are_referenced_by_path(tmp_path):
    urdf = tmp_path / "arm.urdf"
    export_urdf(RobotSource.load("scara1").model, urdf)
    cell = Cell(name="outside", robots=(_standing(RobotSource.load(urdf)),))
    read = again(cell, tmp_path)
    assert read.robots[0].model.path == urdf
    same_physics(cell, read)
    texts = cell_files(cell, lambda path: f"robots/{path.name}")
    assert "robot: robots/arm.urdf" in texts["outside.yaml"]


TURNED = np.array([[0.0, 0, 1, 0.1], [0, 1, 0, 0], [-1, 0, 0, 0.2], [0, 0, 0, 1]])


@pytest.mark.parametrize(
    "change",
    [
        lambda arm: arm.with_parameters(L1=0.77),
        lambda arm: arm.with_tool(TURNED),
        lambda arm: arm.with_limits([(-1.0, 1.0), (-2.0, 2.0)]),
        lambda arm: arm.with_payload(2.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25)),
        lambda arm: arm.with_parameters(L2=0.3).with_payload(1.0).with_base((0.0, 0.0, 0.5)),
    ],
)
def test_a_robot_changed_in_python(change, tmp_path):
    arm = change(brazo.load("planar-2r"))
    read = again(Simulation(arm).cell, tmp_path)
    same_physics(Simulation(arm).cell, read)
    (robot,) = Simulation(read).robots.values()
    q = [0.3, 0.4]
    assert np.abs(robot.arm.fk(q) - arm.fk(q)).max() < BIT
    assert np.array_equal(robot.arm.limits, arm.limits)
    assert np.allclose(robot.arm.mass_matrix(q), arm.mass_matrix(q), rtol=1e-14, atol=0)


def test_an_imported_robot_changed_in_python_is_refused(tmp_path):
    export_urdf(RobotSource.load("scara1").model, tmp_path / "arm.urdf")
    arm = brazo.load(tmp_path / "arm.urdf").with_tool(TURNED)
    with pytest.raises(BrazoError, match=r"differs from .*arm\.urdf.*to_urdf"):
        save_cell(Simulation(arm).cell, tmp_path / "cell.yaml")


def test_content_that_a_cell_file_cannot_describe_is_rejected(tmp_path):
    cell = load_cell("solo-puma560")
    part = cell.bodies[0].shape
    double = Fixture("two", (Part("a", part), Part("b", part)), frozen(np.eye(4)))
    with pytest.raises(BrazoError, match=r"'two'.*each part a separate fixture"):
        cell_files(replace(cell, fixtures=(double,)))
    round_box = replace(cell.bodies[0], shape=Box((0.1, 0.1, 0.1), bevel=0.01))
    with pytest.raises(BrazoError, match="'box' has rounded edges"):
        cell_files(replace(cell, bodies=(round_box,)))
    with pytest.raises(BrazoError, match=r"end in \.yaml"):
        save_cell(cell, tmp_path / "cell.txt")
    with pytest.raises(BrazoError, match="cannot be written"):
        save_cell(cell, tmp_path / "nowhere" / "cell.yaml")


# ---- any cell ------------------------------------------------------------------------------

SOURCES = {name: RobotSource.load(name) for name in ("scara1", "puma560", "delta")}
number = st.floats(-5.0, 5.0, allow_nan=False)
positive = st.floats(1e-3, 5.0)
share = st.floats(0.0, 1.0)
angle = st.one_of(
    st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi, math.radians(30)]),
    st.floats(-math.pi, math.pi),
)
friction = st.one_of(
    share.map(lambda mu: (mu, 0.005, 0.0001)), st.tuples(share, positive, positive)
)
color = st.tuples(share, share, share)
shape = st.one_of(
    st.builds(Box, st.tuples(positive, positive, positive)),
    st.builds(Cylinder, positive, positive),
    st.builds(Capsule, positive, positive),
    st.builds(Sphere, positive),
)
label = st.text("abc XYZ019_-äß:#'{", min_size=1, max_size=8).map(lambda s: f"n{s}".strip())


@st.composite
def poses(draw):
    T = np.eye(4)
    T[:3, :3] = matrix_from_rpy([draw(angle) for _ in range(3)])
    T[:3, 3] = [draw(number) for _ in range(3)]
    return frozen(T)


@st.composite
def robots(draw, name):
    which = draw(st.sampled_from(sorted(SOURCES)))
    source = SOURCES[which]
    if which == "scara1":
        if draw(st.booleans()):
            source = source.edited(Edits({"L1": draw(st.floats(0.1, 0.5))}))
        if draw(st.booleans()):
            source = source.edited(Edits(width=draw(st.floats(0.5, 2.0))))
    low, high = source.model.limits.T
    low, high = np.maximum(low, -3.0), np.minimum(high, 3.0)
    start = frozen([low_ + draw(share) * (h - low_) for low_, h in zip(low, high, strict=True)])
    start = frozen(np.clip(start, low, high))
    grasp = draw(st.sampled_from(["friction", "weld"])) if source.model.gripper else "friction"
    return CellRobot(name, source, draw(poses()), start, draw(st.booleans()), grasp)


@st.composite
def cells(draw):
    names = draw(st.lists(label, min_size=5, max_size=9, unique=True))
    count = draw(st.integers(1, 2))
    rest = names[count:]
    k, m = sorted(draw(st.lists(st.integers(0, len(rest)), min_size=2, max_size=2)))
    return Cell(
        name=draw(label),
        about=draw(st.sampled_from(["", "short", "With: colon # and more.", "word " * 40 + "end"])),
        robots=tuple(draw(robots(name)) for name in names[:count]),
        bodies=tuple(
            FreeBody(n, draw(shape), draw(positive), draw(poses()), draw(friction), draw(color))
            for n in rest[:k]
        ),
        fixtures=tuple(
            Fixture(n, (Part(n, draw(shape), color=draw(color)),), draw(poses()), draw(friction))
            for n in rest[k:m]
        ),
        chutes=tuple(
            Chute(
                n, (draw(positive), draw(positive)), draw(positive),
                draw(st.floats(0.0, math.pi / 2)), (draw(number), draw(number), draw(number)),
                draw(angle), draw(positive), draw(friction), draw(color),
            )
            for n in rest[m:]
        ),
        floor=draw(st.one_of(st.none(), st.builds(Floor, number, friction))),
        gravity=frozen([draw(number) for _ in range(3)]),
        contact=ContactSettings(
            solref=(draw(positive), draw(positive)), noslip=draw(st.integers(0, 50)),
            impratio=1.0 + draw(positive), pad_friction=draw(friction),
            pad_dimension=draw(st.sampled_from([3, 4, 6])), warning=draw(share),
        ),
        gripper=GripperSettings(
            hold_force=draw(positive), angle=draw(st.floats(0.01, math.pi / 4))
        ),
        step=draw(st.floats(1e-5, 1e-2)),
    )  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(cells())
def test_any_cell_reads_back(tmp_path_factory, cell):
    folder = tmp_path_factory.mktemp("cells")
    (name, text), *others = cell_files(cell).items()
    for other, content in others:
        (folder / other).write_text(content, encoding="utf-8")
    same(cell, parse_cell(text, folder / name))


@pytest.mark.parametrize(("one", "other"), [("arm 2", "arm-2"), ("Arm", "arm")])
def test_names_with_equal_file_names_get_separate_files(tmp_path, one, other):
    source = RobotSource.load("scara1")
    cell = Cell(
        name="my cell",
        robots=tuple(
            replace(_standing(source.edited(Edits(width=width))), name=name)
            for name, width in ((one, 1.3), (other, 0.7))
        ),
    )
    files = cell_files(cell)
    assert len({name.casefold() for name in files}) == 3
    save_cell(cell, tmp_path / "cell.yaml")
    assert [robot.source.width for robot in load_cell(tmp_path / "cell.yaml").robots] == [1.3, 0.7]


def test_existing_file_names_are_not_reused():
    cell = Cell(
        name="arm", robots=(_standing(RobotSource.load("scara1").edited(Edits(width=2.0))),)
    )
    plain = list(cell_files(cell))
    names = list(cell_files(cell, taken=["ARM.yaml", plain[1], "arm-2.yaml"]))
    assert names[0] == "arm-3.yaml" and names[1] not in plain


def test_cell_is_not_saved_over_its_robot_files(tmp_path):
    source = RobotSource.load("scara1")
    cell = Cell(name="one", robots=(replace(_standing(source.edited(Edits(width=2.0))), name="a"),))
    save_cell(cell, tmp_path / "one-a.yaml")  # the name the robot's file would have
    assert load_cell(tmp_path / "one-a.yaml").robots[0].source.width == 2.0

    own = tmp_path / "own.yaml"
    own.write_text((tmp_path / "one-a-2.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    text = own.read_text(encoding="utf-8")
    cell = Cell(name="two", robots=(_standing(RobotSource.load(own)),))
    with pytest.raises(BrazoError, match=r"own\.yaml: robot 'r' was read from this file"):
        save_cell(cell, own)
    assert own.read_text(encoding="utf-8") == text


def test_a_robot_file_beside_it_is_overwritten_by_its_own_robot_only(tmp_path):
    wide = RobotSource.load("scara1").edited(Edits(width=2.0))
    first = Cell(name="cell", robots=(replace(_standing(wide), name="a"),))
    path = tmp_path / "cell.yaml"
    save_cell(first, path)
    robot = load_cell(path).robots[0]
    assert robot.source.model.path == tmp_path / "cell-a.yaml"
    # Saved again, with another edit: the same files.
    again = replace(robot, source=robot.source.edited(Edits(width=3.0)))
    save_cell(replace(first, robots=(again,)), path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cell-a.yaml", "cell.yaml"]
    assert load_cell(path).robots[0].source.width == 3.0
    # Another robot of that name takes another file.
    taken = (tmp_path / "cell-a.yaml").read_bytes()
    both = (replace(again, name="b"), replace(_standing(wide), name="a"))
    save_cell(replace(first, robots=both), path)
    assert (tmp_path / "cell-a.yaml").read_bytes() == taken
    assert [one.source.width for one in load_cell(path).robots] == [3.0, 2.0]


def test_the_tip_of_an_imported_robot_is_read_and_written(tmp_path):
    urdf = tmp_path / "arm.urdf"
    export_urdf(RobotSource.load("scara1").model, urdf)
    text = f"name: one\nrobots: [{{name: a, robot: {urdf}, tip: link_2}}]\n"
    cell = parse_cell(text)
    assert cell.robots[0].model.tip == 2
    assert parse_cell(cell_files(cell)["one.yaml"], tmp_path / "one.yaml").robots[0].model.tip == 2
    with pytest.raises(BrazoError, match="tip: no link is named 'hook'"):
        parse_cell(text.replace("link_2", "hook"))
    with pytest.raises(BrazoError, match="'tip' is only allowed for URDF and MJCF"):
        parse_cell("name: one\nrobots: [{name: a, robot: scara1, tip: link_2}]\n")


def test_mesh_does_not_replace_another_with_the_same_name(tmp_path):
    inside, outside = tmp_path / "cell", tmp_path / "other"
    fixtures = []
    for folder, side in ((inside, 0.1), (outside, 0.2)):
        folder.mkdir()
        trimesh.creation.box((side, side, side)).export(folder / "bracket.stl")
        fixtures.append(Fixture.of(f"at {side}", Mesh(folder / "bracket.stl")))
    save_cell(Cell(name="two", fixtures=tuple(fixtures)), inside / "two.yaml")
    read = load_cell(inside / "two.yaml")
    extents = [float(trimesh.load_mesh(one.shape.path).extents[0]) for one in read.fixtures]
    assert extents == pytest.approx([0.1, 0.2])


def test_edited_robot_with_shipped_meshes_is_written(tmp_path):
    source = RobotSource.load("rv2aj").edited(Edits(fields={"joints[1].mass": 4.5}))
    cell = Cell(
        name="c",
        robots=(CellRobot("r", source, start=default_start(source.model, source.model.limits)),),
    )
    main, robot = save_cell(cell, tmp_path / "c.yaml")
    (read,) = load_cell(main).robots
    assert read.model.path == robot and read.model.bodies[2].inertia.mass == 4.5
    meshes = [p.shape for _, parts in read.model.solids for p in parts if isinstance(p.shape, Mesh)]
    assert meshes and all(mesh.path.is_file() for mesh in meshes)
    assert "c-r.yaml" in cell_files(cell)
    assert cell_key(cell) != cell_key(parse_cell("name: c\nrobots: [{name: r, robot: rv2aj}]\n"))
