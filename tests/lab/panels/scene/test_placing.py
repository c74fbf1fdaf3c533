"""Places of new elements, without a lab."""

from __future__ import annotations

import pytest

import brazo
from brazo.lab.panels.scene.placing import new_element, placed, support_of
from brazo.world.cell_edits import add, element, pose_of


@pytest.fixture(scope="module")
def cell():
    return brazo.load_cell("cooperative")


@pytest.mark.parametrize(
    ("name", "support"),
    [("scara1", "platform"), ("scara2", "platform"), ("bar 1", "platform"), ("platform", "")],
)
def test_the_fixture_on_which_an_element_stands(cell, name, support):
    assert support_of(cell, element(cell, name)) == support


def test_a_box_is_placed_on_a_fixture_and_another_one_beside_it(cell):
    top = pose_of(element(cell, "platform"))[2, 3] + element(cell, "platform").shape.size[2] / 2
    first = placed(cell, new_element("box", "box"), "platform")
    assert pose_of(first)[2, 3] == pytest.approx(top + 0.03)
    second = placed(add(cell, first), new_element("box", "box"), support_of(cell, first))
    assert pose_of(second)[2, 3] == pytest.approx(top + 0.03)
    assert abs(pose_of(second)[:2, 3] - pose_of(first)[:2, 3]).max() > 0.06 + 0.05 - 1e-9


@pytest.mark.parametrize("kind", ["bin", "table"])
def test_a_fixture_is_placed_on_the_floor_beside_a_fixed_block(cell, kind):
    new = placed(cell, new_element(kind, kind), "platform")
    with_it = add(cell, new)
    assert support_of(with_it, new) != "platform"
    brazo.world.World(with_it)  # raises BrazoError if bodies overlap
