"""Addresses in the engine: right, or none at all."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from brazo.internals import mujoco as engine_view
from brazo.simulation import Simulation
from brazo.world import World


def layout() -> type[ctypes.Structure]:
    layouts = engine_view._layouts()
    assert layouts is not None
    return layouts["mjData"]


def shifted(name: str) -> type[ctypes.Structure]:
    """The layout with a word too many before a field."""
    fields = []
    for field, kind in layout()._fields_:  # type: ignore[misc]
        if field == name:
            fields.append(("one_too_many", ctypes.c_int64))
        fields.append((field, kind))
    return type("wrong", (ctypes.Structure,), {"_fields_": fields})


def test_view_equals_the_python_interface():
    assert engine_view.unusable() is None
    world = World("cooperative")
    view = engine_view.engine_view(world.mj_model, world.mj_data)
    assert view is not None
    data = world.mj_data
    for _ in range(3):
        world.step(40)
        assert ctypes.c_int.from_address(view.contact_count).value == data.ncon > 0
        assert ctypes.c_double.from_address(view.time).value == data.time
        first = ctypes.c_size_t.from_address(view.contacts).value
        assert first == engine_view.address(data.contact.dist)
        forces = ctypes.c_size_t.from_address(view.forces).value
        assert forces == engine_view.address(data.efc_force)
        last = first + (data.ncon - 1) * view.contact_size
        assert ctypes.c_double.from_address(last + view.dist).value == data.contact.dist[-1]
        geoms = (ctypes.c_int * 2).from_address(last + view.geoms)
        assert list(geoms) == data.contact.geom[-1].tolist()
        at = ctypes.c_int.from_address(last + view.force_at).value
        assert at == data.contact.efc_address[-1]
    numbers = [
        ctypes.c_int.from_address(view.warnings + i * view.warning_size).value
        for i in range(len(data.warning.number))
    ]
    assert np.array_equal(numbers, data.warning.number)


@pytest.mark.parametrize(
    "field", ["solver", "ncon", "nefc", "time", "qpos", "contact", "efc_force"]
)
def test_shifted_layout_is_rejected(field):
    assert engine_view.proven(layout())
    assert not engine_view.proven(shifted(field))


@pytest.mark.parametrize("missing", ["_library", "_layouts"])
def test_without_a_view_steps_are_made_in_python(monkeypatch, missing):
    monkeypatch.setattr(engine_view, missing, lambda: None)
    engine_view.unusable.cache_clear()
    try:
        assert engine_view.unusable() is not None
        sim = Simulation("solo-puma560")
        sim.run(until=0.05)
        assert sim._stepper.native.make(1, False) == 0 and sim.meter.steps == 50
    finally:
        engine_view.unusable.cache_clear()
