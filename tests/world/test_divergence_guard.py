"""Warnings of the engine as errors with a truthful message."""

from __future__ import annotations

import pytest

from brazo.errors import RunFailed
from brazo.formats.mjcf.engine import engine
from brazo.world.divergence_guard import Diverged, DivergenceGuard

ONE = '<mujoco><worldbody><body><joint name="a"/><geom size="1"/></body></worldbody></mujoco>'


@pytest.fixture
def guarded():
    mujoco = engine()
    model = mujoco.MjModel.from_xml_string(ONE)
    data = mujoco.MjData(model)
    return model, data, DivergenceGuard(model, data)


@pytest.mark.parametrize("kind", ["mjWARN_CONTACTFULL", "mjWARN_CNSTRFULL"])
def test_a_full_memory_is_not_reported_as_divergence(guarded, kind):
    _, data, guard = guarded
    # How much memory is just too small depends on the version of the engine.
    data.warning.number[int(getattr(engine().mjtWarning, kind))] += 1
    with pytest.raises(RunFailed, match=r"t = 0\.0000 s: too many contacts") as error:
        guard.check()
    assert not isinstance(error.value, Diverged)
    assert "diverged" not in str(error.value) and "gains" not in str(error.value)
    guard.check()  # reported once


def test_a_huge_velocity_is_divergence(guarded):
    model, data, guard = guarded
    data.qvel[0] = 1e12
    engine().mj_step(model, data)
    with pytest.raises(Diverged, match="the simulation diverged"):
        guard.check()
