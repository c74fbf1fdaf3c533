"""The cell file: meaning of its fields, and errors with their location."""

import math
import pickle
import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brazo.errors import BrazoError
from brazo.model.shapes import Box, Cylinder
from brazo.simulation.cell_arm import arm_of
from brazo.world import World, cell_names, load_cell, parse_cell
from brazo.world.cell_file import cell_directory

FILE = Path("cell.yaml")
CELL = """\
name: demo
about: Two robots and a box.
step: 2ms
gravity: [0, 0, -9.81]
floor: {height: -10cm, friction: 0.6}
contact: {noslip: 5, warning: 10mm, pad_friction: 0.8}
gripper: {hold_force: 5N, angle: 15deg}
robots:
  - name: left
    robot: scara1
    base: {xyz: [0.3, 0, 0], rpy: [0, 0, 90deg]}
    parameters: {L1: 0.35}
    start: home
    contact_response: off
  - {name: right, robot: scara2, start: [0, 45deg, 45deg, 5cm, 0], grasp: weld}
bodies:
  - {name: bar, box: [0.5, 30mm, 30mm], mass: 400g, xyz: [0.4, 0.4, 0], friction: [0.3, 1mm, 0.1mm]}
  - {name: can, cylinder: [3cm, 12cm], mass: 0.2, rpy: [90deg, 0, 0], color: "#2b6cb0"}
fixtures:
  - {name: wall, box: [1, 0.1, 1], xyz: [0, 1, 0.5]}
chute: {name: chute, inner: [60mm, 50mm], length: 0.3, angle: 30deg, xyz: [1, 0, 0.4], yaw: 90deg}
"""


@pytest.mark.parametrize("name", cell_names())
def test_a_cell_and_its_edited_robots_pickle(name):
    cell = load_cell(name)
    twin = pickle.loads(pickle.dumps(cell))
    for one, other in zip(cell.robots, twin.robots, strict=True):
        q, arm = one.start, arm_of(one, cell.gravity)
        again = pickle.loads(pickle.dumps(arm_of(other, twin.gravity)))
        assert np.array_equal(arm.fk(q), again.fk(q))
        assert np.array_equal(arm.gravity(q), again.gravity(q))


def test_cell_file_sets_every_field():
    cell = parse_cell(CELL, FILE)
    assert (cell.name, cell.step, cell.floor.height) == ("demo", 0.002, -0.1)
    assert cell.contact.noslip == 5 and cell.contact.warning == 0.01
    assert cell.contact.pad_friction[0] == 0.8 and cell.contact.impratio == 10.0
    assert cell.gripper.hold_force == 5.0 and cell.gripper.angle == pytest.approx(math.radians(15))
    left, right = cell.robots
    assert left.model.parameters["L1"] == 0.35
    assert left.start == pytest.approx([math.radians(30), math.radians(60), 0.05, 0, 0])
    assert left.base[:3, 0] == pytest.approx([0, 1, 0]) and left.base[0, 3] == 0.3
    assert (left.contact_response, right.contact_response) == (False, True)
    assert (left.grasp, right.grasp) == ("friction", "weld")
    bar, can = cell.bodies
    assert isinstance(bar.shape, Box) and bar.mass == 0.4
    assert bar.friction == pytest.approx((0.3, 1e-3, 1e-4))
    assert isinstance(can.shape, Cylinder) and can.color[2] == pytest.approx(0xB0 / 255)
    chute = cell.chutes[0]
    assert chute.pose[:3, 0] == pytest.approx([0, math.cos(math.pi / 6), -0.5])
    assert [part.name for part in chute.fixture.parts] == ["bottom", "top", "left", "right"]
    assert cell.path == FILE


def test_plates_of_a_chute_leave_the_clear_section_free():
    chute = parse_cell(CELL, FILE).chutes[0]
    bottom, top, left, right = chute.fixture.parts
    for plate, axis, sign, clear in (
        (bottom, 2, -1, 0.05), (top, 2, 1, 0.05), (left, 1, 1, 0.06), (right, 1, -1, 0.06),
    ):  # fmt: skip
        inner_face = abs(plate.pose[axis, 3]) - plate.shape.size[axis] / 2
        assert inner_face == pytest.approx(clear / 2)
        assert math.copysign(1, plate.pose[axis, 3]) == sign
        assert plate.pose[0, 3] == pytest.approx(plate.shape.size[0] / 2) == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: demo", "nam: demo", "cell.yaml:1: unknown field 'nam'; did you mean 'name'?"),
        ("name: demo\n", "", "field 'name' is missing"),
        ("step: 2ms", "step: 2s", "cell.yaml:3: step: 2000 ms; must be from 0.01 ms to 10 ms"),
        ("step: 2ms", "step: 2mm", "step: '2mm' is a length, expected a time"),
        ("gravity: [0, 0, -9.81]", "gravity: [0, 0]", "cell.yaml:4: gravity: expected a list of 3"),
        ("friction: 0.6", "friction: -0.6", "floor.friction: -0.6 is below the minimum, 0"),
        ("noslip: 5", "noslip: 1.5", "contact.noslip: 1.5: expected a whole number from 0 to 50"),
        ("noslip: 5", "solref: [0, 1]", "contact.solref[0]: 0 must be greater than 0"),
        ("noslip: 5", "solimp: [1, 1, 1, 1, 1]", "contact.solimp: expected [d0, d1"),
        ("noslip: 5", "pad_dimension: 5", "contact.pad_dimension: 5 is not one of 3, 4, 6"),
        ("warning: 10mm", "warning: 2m", "contact.warning: 2 m; must be at most 1 m"),
        ("hold_force: 5N", "hold_force: 5m", "gripper.hold_force: '5m' is a length, expected"),
        ("angle: 15deg", "angle: 80deg", "gripper.angle: must be at most 45deg"),
        ("robot: scara1", "robot: scara9", "cell.yaml:10: robots[0].robot: no robot named"),
        ("robot: scara1", "robot: none.yaml", "robots[0].robot: none.yaml: no such file"),
        ("    robot: scara1\n", "", "cell.yaml:9: robots[0]: field 'robot' is missing"),
        ("{L1: 0.35}", "{L7: 0.35}", "robots[0].parameters: unknown field 'L7'; allowed: L_base"),
        ("start: home", "start: away", "robots[0].start: robot 'scara1' has no pose 'away'; its"),
        ("5cm, 0]", "5cm]", "cell.yaml:15: robots[1].start: 4 values for 5 joints"),
        ("5cm, 0]", "90cm, 0]", "robots[1].start: 900 mm is outside the limits 0 .. 200 mm of"),
        ("5cm, 0]", "5deg, 0]", "robots[1].start[3]: '5deg' is an angle, expected a length"),
        ("response: off", "response: half", "'half' is not allowed; choose on or off"),
        ("grasp: weld", "grasp: glue", "robots[1].grasp: 'glue' is not allowed; choose friction"),
        ("name: right", "name: left", "cell.yaml:15: robots[1].name: 'left' is used twice (first"),
        ("name: bar", "name: floor", "bodies[0].name: 'floor' is a reserved name"),
        ("name: wall", "name: world", "fixtures[0].name: 'world' is a reserved name"),
        ("name: bar", "name: a/b", "bodies[0].name: 'a/b': a name must not contain '/'"),
        ("mass: 400g, ", "", "cell.yaml:17: bodies[0]: field 'mass' is missing"),
        ("mass: 400g", "mass: 0", "bodies[0].mass: 0 kg is not between 1e-06 and 1e+06 kg"),
        ("box: [0.5, 30mm, 30mm], ", "", "bodies[0]: give exactly one shape: box, cylinder"),
        ("box: [0.5, 30mm, 30mm]", "box: [0.5, 0, 30mm]", "bodies[0].box: sizes must be between"),
        ("[0.3, 1mm, 0.1mm]", "[0.3, 1mm]", "bodies[0].friction: expected a coefficient, or"),
        ("inner: [60mm, 50mm], ", "", "cell.yaml:21: chute: field 'inner' is missing"),
        ("length: 0.3", "length: 0", "chute.length: 0 m is not between"),
        ("angle: 30deg", "angle: 120deg", "chute.angle: 120 degrees; must be 0 (horizontal)"),
        ("floor: {height: -10cm, friction: 0.6}", "floor: maybe", "floor: 'maybe' is not allowed"),
    ],
)  # fmt: skip
def test_errors_name_file_line_and_field(old, new, said):
    assert old in CELL
    with pytest.raises(BrazoError) as error:
        parse_cell(CELL.replace(old, new, 1), FILE)
    assert said in str(error.value)
    assert str(error.value).startswith("cell.yaml:")


@pytest.mark.parametrize("name", ["base", "tool"])
@pytest.mark.parametrize(
    ("group", "fields"),
    [
        ("robots", "robot: scara1"),
        ("bodies", "sphere: 2cm, mass: 1kg"),
        ("fixtures", "sphere: 2cm"),
        ("frames", "xyz: [1, 0, 0]"),
    ],
)
def test_an_element_with_the_name_of_a_frame_of_the_robots_gives_a_warning(name, group, fields):
    cell = parse_cell(f"name: a\n{group}:\n  - {{name: {name}, {fields}}}\n", FILE)
    (found,) = getattr(cell, group)
    assert found.name == name
    assert [str(finding) for finding in cell.findings] == [
        f"cell.yaml:3: {group}[0].name: as a frame, '{name}' is hidden by the {name} frame of each "
        "robot; rename it"
    ]


def test_robot_file_is_relative_to_the_cell_file(tmp_path):
    (tmp_path / "arm.yaml").write_text(
        "name: arm\njoints: [{a: 0.3, mass: 1, inertia: [1, 1, 1]}]\n", encoding="utf-8"
    )
    file = tmp_path / "cell.yaml"
    file.write_text("name: own\nrobots: [{name: a, robot: arm.yaml}]\n", encoding="utf-8")
    cell = load_cell(file)
    assert cell.robots[0].model.name == "arm"
    (tmp_path / "arm.yaml").write_text("name: arm\njoints: [{mass: 1deg}]\n", encoding="utf-8")
    with pytest.raises(BrazoError, match=r"cell.yaml:2: robots\[0\].robot: .*arm.yaml:2: joints"):
        load_cell(file)


def test_unknown_cells_are_refused_with_the_known_ones():
    with pytest.raises(BrazoError, match="no cell named 'coperative'; did you mean 'cooperative'"):
        load_cell("coperative")
    with pytest.raises(BrazoError, match="no such file"):
        load_cell("nowhere.yaml")


@pytest.mark.parametrize("name", cell_names())
def test_shipped_cells_load_and_rest_without_unintended_contacts(name):
    cell = load_cell(name)
    assert cell.name == name and len(cell.about) > 80
    world = World(cell)
    assert {c.kind for c in world.contacts() if c.touching} <= {"object-fixture"}
    assert all("are ignored" not in str(finding) for finding in world.findings)


def test_the_names_of_shipped_cells():
    assert cell_names() == [
        "cooperative",
        "delta",
        "empty",
        "solo-puma560",
        "teleop-wall",
        "teleop-wall-scara",
    ]


def test_massless_robot_moves_as_commanded_unaffected_by_contacts():
    cell = parse_cell("name: x\nrobots: [{name: a, robot: rv2aj-maker}]", FILE)
    world = World(cell)
    q = world.robots["a"].q.copy()
    world.robots["a"].torque[:] = 50.0
    world.step(200)
    assert np.abs(world.robots["a"].q - q).max() < 1e-6
    world.robots["a"].set_state(q - 0.1, np.full(len(q), 0.2))
    world.step(100)
    assert world.robots["a"].q == pytest.approx(q - 0.1 + 0.2 * 0.1, abs=1e-6)


NASTY = [
    "", "~", ".nan", ".inf", "-1", "0", "1e400", "1e-400", "1e30", "true", "off", "[]", "{}",
    "[[]]", "{a: 1}", "[1, 2, 3]", "*x", "&x [*x]", "!!set {}", "'", '"\\0"', "\u202e",
    "\U0001f916", "- - -", ": :", "|", "(" * 80, "1" * 300, "1/0", "9^9^9^9", "scara1",
    "../../etc/passwd.yaml", "cell.yaml",
    ".", "/", "home", "weld", "floor", "left", "# x", "---", "{box: [0, 0, 0]}",
    "1e12", "1e-12", "[1e9, 1e9, 1e9]",
]  # fmt: skip
SOURCES = [CELL, *((cell_directory() / f"{n}.yaml").read_text("utf-8") for n in cell_names())]


@st.composite
def mutated(draw) -> str:
    """A cell file with random mutations."""
    text = draw(st.sampled_from(SOURCES))
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.integers(0, 6))
        at = draw(st.integers(0, max(len(text) - 1, 0)))
        lines = text.split("\n")
        row = draw(st.integers(0, len(lines) - 1))
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + draw(st.sampled_from(NASTY)) + text[at + 1 :]
        elif kind == 2:
            del lines[row]
            text = "\n".join(lines)
        elif kind == 3:
            lines.insert(row, lines[draw(st.integers(0, len(lines) - 1))])
            text = "\n".join(lines)
        elif kind == 4:
            text = text[:at] + draw(st.text(max_size=8)) + text[at:]
        else:
            # Replace one value behind a colon or inside brackets.
            spots = [i for i, c in enumerate(text) if c in ":[,{"]
            if spots:
                start = spots[draw(st.integers(0, len(spots) - 1))] + 1
                end = next((i for i in range(start, len(text)) if text[i] in ",]}\n"), len(text))
                text = text[:start] + " " + draw(st.sampled_from(NASTY)) + text[end:]
    return text


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(mutated())
def test_mutated_file_loads_or_is_rejected_with_file_and_line(text):
    start = time.process_time()
    try:
        cell = parse_cell(text.encode("utf-8", "surrogatepass"), FILE)
    except BrazoError as error:
        assert str(error).startswith("cell.yaml:"), str(error)
        return
    finally:
        assert time.process_time() - start < 2.0
    try:
        world = World(cell)
    except BrazoError:
        return  # sizes no engine can compute with, or a robot without masses
    assert np.isfinite(world.poses()).all()


def test_cells_in_the_documentation_load():
    page = Path(__file__).parents[2] / "docs" / "cells.md"
    blocks = re.findall(r"^```\{code-block\} yaml\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    assert blocks
    for block in blocks:
        World(parse_cell(block, FILE)).step(10)
