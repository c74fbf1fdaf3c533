"""Solids are generated once, on first access, and never by reading a robot."""

from __future__ import annotations

import pickle

import pytest

import brazo
from brazo.body import generate
from brazo.body.delta_body import delta_bodies, delta_parts
from brazo.body.drawing import DrawnParts
from brazo.formats.robot_yaml import delta_fields, serial_fields

DRAWERS = {"iiwa14": "generate_parts", "delta": "delta_parts"}


@pytest.fixture
def drawn(monkeypatch):
    """How often each drawing function ran."""
    count = {"generate_parts": 0, "delta_parts": 0}
    for module, name in ((serial_fields, "generate_parts"), (delta_fields, "delta_parts")):
        own = getattr(module, name)

        def counted(*args, _own=own, _name=name, **options):
            count[_name] += 1
            return _own(*args, **options)

        monkeypatch.setattr(module, name, counted)
    return count


@pytest.mark.parametrize("name", DRAWERS)
def test_reading_a_robot_draws_nothing(drawn, name):
    arm = brazo.load(name)
    arm.fk(next(iter(arm.poses.values())))
    assert arm.findings is not None and not any(drawn.values())
    total = sum(len(parts) for parts in arm.parts)
    assert total > 10 and drawn[DRAWERS[name]] == 1
    assert [part.name for parts in arm.parts for part in parts] and drawn[DRAWERS[name]] == 1


def test_parts_are_a_sequence_like_any_other():
    tail = generate.generate_parts(brazo.load("iiwa14").model.dh, "modified")
    parts = DrawnParts(lambda: tail).parts(1)
    assert len(parts) == len(tail[1]) and parts[0] is tail[1][0]
    assert tuple(parts[1:]) == tail[1][1:] and list(parts) == list(tail[1])
    assert not DrawnParts(lambda: [()]).parts(0)


def test_a_pickle_holds_the_recipe_and_not_the_solids():
    arm = brazo.load("iiwa14")
    before = len(pickle.dumps(arm))
    names = [[part.name for part in parts] for parts in arm.parts]
    data = pickle.dumps(arm)
    assert len(data) == before
    assert [[part.name for part in parts] for parts in pickle.loads(data).parts] == names


def test_bodies_of_a_delta_are_those_that_are_drawn():
    assert set(delta_bodies()) == delta_parts(0.2, 0.05, 0.2, 0.5, (0.0, 2.0, 4.0)).keys()
