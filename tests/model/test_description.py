"""What every mechanism has, a tree and a Delta alike."""

import numpy as np
import pytest

import brazo
from brazo.formats.library import robot_names


@pytest.mark.parametrize("name", robot_names())
def test_all_model_kinds_have_the_same_interface(name):
    arm = brazo.load(name)
    model = arm.model
    assert model.n == arm.n and model.joint_names == arm.joint_names
    assert model.joint_kinds == arm.joint_kinds
    assert np.array_equal(model.limits, arm.limits) and not model.limits.flags.writeable
    assert {body: len(parts) for body, parts in model.solids} == {
        body: len(parts) for body, parts in zip(arm.body_names, arm.parts, strict=True)
    }
