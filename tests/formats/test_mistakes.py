"""All mistakes of a robot file at once, and none that only follows from another."""

import pickle
from pathlib import Path

import pytest

from brazo.errors import BrazoError
from brazo.formats.mistakes import mistakes
from brazo.formats.robot_yaml.robot_file import RobotFile

ARM = """\
name: arm
convention: standard
parameters: {L1: 0.3, L2: L1/2}
joints:
  - {name: a, d: 0.4, a: L1, limits: [-L1, 150deg], mass: 2, com: {a: -L1/2}, inertia: [1, 1, 1]}
  - {name: b, type: prismatic, theta: 90deg, limits: [0, 20cm], drive: {max_speed: 2}}
tool: {xyz: [0, 0, L2], rpy: [0, 0, 90deg]}
poses: {home: [45deg, 5cm]}
"""
DELTA = """\
kind: delta
name: delta
parameters: {side: 20cm}
R: side
r: 4cm
L1: 20cm
L2: 50cm
limits: [-40deg, 80deg]
"""


def reported(text: str) -> list[str]:
    """Messages about a robot file, without the file's name."""
    root = RobotFile.parse(text, Path("arm.yaml")).root
    found = mistakes(root, lambda root: RobotFile(root).build())
    return [one.removeprefix("arm.yaml:") for one in found]


def test_valid_file_has_no_mistakes():
    assert reported(ARM) == [] == reported(DELTA)


def test_every_mistake_is_reported_by_its_line():
    text = (
        ARM.replace("standard", "standart")
        .replace("d: 0.4", "d: high")
        .replace("theta: 90deg", "theta: 90kg, colour: red, alpha: up")
        .replace("0, L2]", "0, L2, 0]")
        .replace("5cm]", "5s]")
    )
    assert [one.split(": ")[:2] for one in reported(text)] == [
        ["2", "convention"],
        ["5", "joints[0].d"],
        ["6", "joints[1]"],
        ["6", "joints[1].alpha"],
        ["6", "joints[1].theta"],
        ["7", "tool.xyz"],
        ["8", "poses.home[1]"],
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        # With another type, theta, limits and the pose would be wrong.
        ("prismatic", "prismatc", "6: joints[1].type: 'prismatc' is not allowed"),
        # Without the mass, com would be; without L1, a, limits, com, L2 and the tool.
        ("mass: 2", "mas: 2", "5: joints[0]: unknown field 'mas'"),
        ("mass: 2", "mass: two", "5: joints[0].mass: unknown name 'two'"),
        ("{L1: 0.3", "{L1: 0.3q", "3: parameters.L1: unknown unit 'q'"),
        ("{L1: 0.3", "{L1: L2", "3: parameters.L1: 'L1' depends on itself"),
        ("[-L1, 150deg]", "[-L1, x]", "5: joints[0].limits[1]: unknown name 'x'"),
        ("name: b", "name: a", "6: joints[1].name: joint name 'a' is used twice"),
        ("name: arm\n", "", "1: field 'name' is missing"),
    ],
)
def test_consequences_of_a_mistake_are_not_reported(old, new, said):
    assert old in ARM
    found = reported(ARM.replace(old, new))
    assert len(found) == 1 and found[0].startswith(said)


def test_what_is_computed_from_a_wrong_parameter_is_not_reported():
    text = ARM.replace("{L1: 0.3, L2: L1/2}", "{L1: 3q, L2: L1/2, L3: L2/2}")
    found = reported(text.replace("[-L1, 150deg]", "[0.7, L3]"))  # below for a placeholder
    assert len(found) == 1 and found[0].startswith("3: parameters.L1: unknown unit 'q'")


def test_number_of_reported_mistakes_is_limited():
    joint = "  - {name: a%d, a: long, alpha: up, limits: [-1, 1]}\n"
    found = reported("name: arm\njoints:\n" + "".join(joint % i for i in range(60)))
    assert len(found) == 101 and found[-1] == "there are more mistakes: correct these first"


@pytest.mark.parametrize(
    ("old", "new"), [("R: side", "R: 3kg"), ("20cm}", "20kmh}"), ("kind: delta", "kind: dleta")]
)
def test_wrong_number_does_not_report_short_rods(old, new):
    assert len(reported(DELTA.replace(old, new))) == 1


def test_error_is_pickled_with_its_message():
    with pytest.raises(BrazoError) as raised:
        RobotFile.parse("name: arm", Path("arm.yaml")).build()
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is BrazoError and str(again) == str(raised.value)
