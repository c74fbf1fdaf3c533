"""Which friction acts between two solids, and which is reported to act nowhere."""

from __future__ import annotations

import pytest

from brazo.world import World, cell_names, load_cell, parse_cell
from brazo.world.contact_friction import idle_frictions

BALLS = "{{name: {0}, sphere: 0.1, mass: 1, xyz: [{1}, 0, 0.1], friction: {2}}}"


@pytest.mark.parametrize(
    ("robots", "bodies", "idle"),
    [
        ("[]", [("one", 0, 0.2)], ["one"]),
        ("[]", [("one", 0, 0.5)], []),  # the default
        ("[]", [("one", 0, 0.2), ("two", 1, 0.2)], []),  # between them
        ("[]", [("one", 0, 0.2), ("two", 1, 0.3)], ["one"]),
        ("[{name: a, robot: scara1, base: {xyz: [3, 0, 0]}}]", [("one", 0, 0.4)], ["one"]),
        ("[{name: a, robot: scara1, base: {xyz: [3, 0, 0]}}]", [("one", 0, 0.9)], []),
    ],
)
def test_a_bodys_friction_that_decides_no_contact_is_reported(robots, bodies, idle):
    listed = ", ".join(BALLS.format(*body) for body in bodies)
    world = World(parse_cell(f"name: x\nrobots: {robots}\nbodies: [{listed}]\n"))
    found = [str(f) for f in world.findings if "has no effect in this cell" in str(f)]
    assert [text.split("'")[1] for text in found] == idle


@pytest.mark.parametrize("name", cell_names())
def test_no_friction_of_a_shipped_cell_is_idle(name):
    assert not idle_frictions(load_cell(name))


def test_the_friction_that_acts_is_the_documented_one():
    world = World(
        parse_cell(
            "name: x\nfloor: {friction: 0.7}\nbodies:\n"
            "  - {name: low, box: [0.2, 0.2, 0.1], mass: 1, xyz: [0, 0, 0.0499], friction: 0.1}\n"
            "  - {name: top, box: [0.1, 0.1, 0.1], mass: 1, xyz: [0, 0, 0.1498], friction: 0.3}\n"
        )
    )
    world.step()
    names = world.mj_model.geom_bodyid
    acting = {
        frozenset(world.mj_model.body(names[g]).name for g in contact.geom): contact.friction[0]
        for contact in world.mj_data.contact
    }
    assert acting == {
        frozenset({"world", "low"}): pytest.approx(0.7),
        frozenset({"low", "top"}): pytest.approx(0.3),
    }
