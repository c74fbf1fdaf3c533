"""Names of CAD parts, as programs write them, and the links they mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.formats.cad.assembly_parts import CadPart
from brazo.formats.cad.part_links import RobotLink, match_parts

LINKS = [RobotLink("base"), *(RobotLink(f"link {i}", f"J{i}") for i in range(1, 7))]


def part(*names: str) -> CadPart:
    return CadPart(names[0], names, Path("a.step"), np.eye(3), np.array([[0, 1, 2]]), None, True)


def body(*names: str, beside: tuple[str, ...] = ()) -> int | None:
    return match_parts([part(*names), *map(part, beside)], LINKS, {})[0].body


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("base", 0), ("BASE-1", 0), ("Base:1", 0), ("base_link", 0), ("Pedestal<2>", 0),
        ("shoulder", 1), ("Shoulder.001", 1), ("waist", 1),
        ("upper arm", 2), ("UpperArm", 2), ("forearm", 3), ("fore-arm", 3), ("Lower_Arm", 3),
        ("arm 2", 2), ("2 arm", 2), ("Arm_02", 2), ("second arm", 2),
        ("link 4", 4), ("link4", 4), ("LINK_04", 4), ("J4", 4), ("axis 5", 5), ("joint_3", 3),
        ("wrist", 5), ("flange", 6), ("end-effector", 6), ("End Effector:1", 6), ("gripper", 6),
        ("fingers", 6), ("link 0", 0),
    ],
)  # fmt: skip
def test_names_of_one_part(name, expected):
    assert body(name) == expected


def test_beside_a_shoulder_arms_are_counted_behind_it():
    assert body("1 arm-1", beside=("shoulder-1",)) == 2
    assert body("3 arm", beside=("Shoulder",)) == 4


def test_a_part_inside_a_named_assembly_belongs_to_its_link():
    assert body("M6 screw", "link 3", "robot") == 3
    assert body("M6 screw-12", "screws", "forearm") == 3


@pytest.mark.parametrize("name", ["bracket", "link 7", "arm", "part", "12"])
def test_other_names_are_not_guessed(name):
    with pytest.raises(BrazoError, match="no link found"):
        body(name)


def test_the_user_decides_first():
    found = match_parts([part("base"), part("arm 1")], LINKS, {"BASE": "link 2", "arm*": "6"})
    assert [(one.body, one.reason) for one in found] == [(2, "as in the map"), (6, "as in the map")]
