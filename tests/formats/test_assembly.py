"""Which link is taken for the tip, and the order of bodies and coordinates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.formats.assembly import Complaints, Connection, FileLink, Mimic, assemble
from brazo.formats.tip import tool_rank
from brazo.model.description import TipChoice


def build(*rows: tuple[str, str, str], mimics=(), markers=(), tip=None):
    """Rows of (parent, child, kind); the joint is named after its child."""
    names = dict.fromkeys([name for parent, child, _ in rows for name in (parent, child)])
    mimics = dict(mimics)

    def fail(item, text):
        raise BrazoError(text)

    return assemble(
        [FileLink(name, is_marker=name in markers) for name in names],
        [
            Connection(
                name=child,
                parent=parent,
                child=child,
                kind=kind,
                axis=np.array([0.0, 0.0, 1.0]),
                mimic=Mimic(mimics[child]) if child in mimics else None,
            )
            for parent, child, kind in rows
        ],
        Complaints(fail, lambda item, text: None),
        tip,
    )


def tip_of(*rows, **options):
    assembly = build(*rows, **options)
    return next(
        n for n, (i, T) in assembly.named_frames.items() if T is assembly.tool and i == assembly.tip
    )


def chain(*names, kind="revolute"):
    return [(a, b, kind) for a, b in pairwise(names)]


def test_tip_is_at_the_end_of_the_longest_chain():
    assert tip_of(*chain("base", "a", "b", "c"), *chain("base", "d", "tool")) == "c"


def test_a_tool_name_decides_between_equals_then_the_order():
    rows = [*chain("base", "a", "b"), ("b", "camera", "fixed"), ("b", "tcp", "fixed")]
    assert tip_of(*rows) == "tcp"
    assert tip_of(*chain("base", "a"), ("a", "x", "fixed"), ("a", "y", "fixed")) == "x"


def test_fingers_do_not_make_the_chain_longer():
    rows = [*chain("base", "a", "b"), ("b", "palm", "fixed"), ("palm", "l", "prismatic")]
    rows += [("palm", "r", "prismatic")]
    assert tip_of(*rows, mimics={"r": "l"}) == "palm"
    assert tip_of(*rows) == "palm"


def test_two_arms_on_a_torso_are_no_fingers():
    arms = [*chain("torso", "a1", "a2", "a3"), *chain("torso", "b1", "b2", "b3")]
    assert tip_of(*chain("base", "waist", "torso"), *arms) == "a3"


def test_a_passive_rod_beside_the_wrist_is_no_finger():
    rows = [*chain("base", "a", "b", "c"), *chain("c", "wrist1", "wrist2"), *chain("c", "rod")]
    assert tip_of(*rows) == "wrist2"


@pytest.mark.parametrize(
    ("last", "tip"),
    [
        ("wrist=gripper_frame wrist-moving_jaw", "gripper_frame"),
        ("wrist-moving_jaw", "wrist"),
        ("wrist-gripperMover", "wrist"),
        ("wrist=tool0 tool0=plate plate-x", "tool0"),
        ("wrist-roll_link roll_link=hand_camera", "roll_link"),
        ("wrist-link_gripper link_gripper-finger_l link_gripper-finger_r", "link_gripper"),
        ("wrist-hand_thumb hand_thumb-hand_thumb_2 wrist-hand_index", "wrist"),
    ],
)
def test_the_tip_is_no_finger_that_moves(last, tip):
    """`a-b` is a joint, `a=b` a fixed one."""
    rows = chain("base", "shoulder", "elbow", "wrist")
    for text in last.split():
        parent, child = text.replace("=", "-").split("-")
        rows.append((parent, child, "fixed" if "=" in text else "revolute"))
    assert tip_of(*rows) == tip


def test_a_finger_robot_ends_at_its_fingertip():
    assert tip_of(*chain("base", "finger_1", "finger_2", "finger_3")) == "finger_3"


def test_the_choice_states_its_reason():
    rows = [*chain("base", "a", "b"), ("b", "tcp", "fixed"), ("b", "jaw", "revolute")]
    assert build(*rows).tip_choice == TipChoice(
        "tcp", "named like a tool; joint 'jaw' moves fingers"
    )
    assert build(*chain("base", "a")).tip_choice.reason == "the end of the longest chain of joints"
    assert build(*rows, tip="jaw").tip_choice == TipChoice("jaw", "")


def test_a_mimic_along_the_chain_is_no_finger():
    assert tip_of(*chain("base", "a", "b", "c"), mimics={"c": "a"}) == "c"


def test_site_is_the_tip_only_with_a_tool_name():
    rows = [*chain("base", "a"), ("a", "mark", "fixed")]
    assert tip_of(*rows, markers=("mark",)) == "a"
    rows = [*chain("base", "a"), ("a", "tool", "fixed")]
    assert tip_of(*rows, markers=("tool",)) == "tool"


@pytest.mark.parametrize(
    ("better", "worse"),
    [("tool0", "flange"), ("panda_hand_tcp", "panda_hand"), ("ee_link", "wheel"), ("ee", "knee"),
     ("toolFrame", "handle"), ("left_gripper", "forearm"), ("EE", "steering")],
)  # fmt: skip
def test_tool_names_are_ranked(better, worse):
    assert tool_rank(better) < tool_rank(worse)


def test_bodies_come_depth_first_and_mimics_after_their_masters():
    assembly = build(
        *chain("base", "r"), *chain("base", "l"), *chain("l", "ll"), mimics={"r": "l"}
    )  # fmt: skip
    assert [body.name for body in assembly.bodies] == ["base", "l", "ll", "r"]
    assert [b.joint.coordinate for b in assembly.bodies[1:]] == [0, 1, 0]


def test_file_without_moving_joints_is_rejected():
    def fail(item, text):
        raise BrazoError(text)

    complaints = Complaints(fail, lambda item, text: None)
    welded = [FileLink("rock"), FileLink("moss")], [Connection("on", "rock", "moss")]
    for links, connections in (([FileLink("rock")], []), welded):
        with pytest.raises(BrazoError, match="has no moving joint"):
            assemble(links, connections, complaints)
