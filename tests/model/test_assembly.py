"""Which link is taken for the tip, and the order of bodies and coordinates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.model.assembly import Complaints, Connection, Link, Mimic, assemble, tool_rank


def build(*rows: tuple[str, str, str], mimics=(), markers=(), tip=None):
    """Rows of (parent, child, kind); the joint is named after its child."""
    names = dict.fromkeys([name for parent, child, _ in rows for name in (parent, child)])
    mimics = dict(mimics)

    def fail(item, text):
        raise BrazoError(text)

    return assemble(
        [Link(name, is_marker=name in markers) for name in names],
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


def test_the_longest_chain_wins():
    assert tip_of(*chain("base", "a", "b", "c"), *chain("base", "d", "tool")) == "c"


def test_a_tool_name_decides_between_equals_then_the_order():
    rows = [*chain("base", "a", "b"), ("b", "camera", "fixed"), ("b", "tcp", "fixed")]
    assert tip_of(*rows) == "tcp"
    assert tip_of(*chain("base", "a"), ("a", "x", "fixed"), ("a", "y", "fixed")) == "x"


def test_fingers_do_not_make_the_chain_longer():
    rows = [*chain("base", "a", "b"), ("b", "palm", "fixed"), ("palm", "l", "prismatic")]
    rows += [("palm", "r", "prismatic")]
    assert tip_of(*rows, mimics={"r": "l"}) == "palm"
    assert tip_of(*rows) == "l"


def test_a_mimic_along_the_chain_is_no_finger():
    assert tip_of(*chain("base", "a", "b", "c"), mimics={"c": "a"}) == "c"


def test_a_site_is_the_tip_only_if_its_name_says_so():
    rows = [*chain("base", "a"), ("a", "mark", "fixed")]
    assert tip_of(*rows, markers=("mark",)) == "a"
    rows = [*chain("base", "a"), ("a", "tool", "fixed")]
    assert tip_of(*rows, markers=("tool",)) == "tool"


@pytest.mark.parametrize(
    ("better", "worse"),
    [("tool0", "flange"), ("panda_hand_tcp", "panda_hand"), ("ee_link", "wheel"), ("ee", "knee"),
     ("toolFrame", "handle"), ("left_gripper", "forearm"), ("EE", "steering")],
)  # fmt: skip
def test_words_that_mean_a_tool(better, worse):
    assert tool_rank(better) < tool_rank(worse)


def test_bodies_come_depth_first_and_mimics_after_their_masters():
    assembly = build(
        *chain("base", "r"), *chain("base", "l"), *chain("l", "ll"), mimics={"r": "l"}
    )  # fmt: skip
    assert [body.name for body in assembly.bodies] == ["base", "l", "ll", "r"]
    assert [b.joint.coordinate for b in assembly.bodies[1:]] == [0, 1, 0]


def test_what_has_no_moving_joint_is_no_robot():
    def fail(item, text):
        raise BrazoError(text)

    complaints = Complaints(fail, lambda item, text: None)
    welded = [Link("rock"), Link("moss")], [Connection("on", "rock", "moss")]
    for links, connections in (([Link("rock")], []), welded):
        with pytest.raises(BrazoError, match="has no moving joint"):
            assemble(links, connections, complaints)
