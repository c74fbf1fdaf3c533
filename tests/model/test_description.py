"""What every mechanism has, a tree and a Delta alike."""

import numpy as np
import pytest

import brazo
from brazo.formats.library import robot_names

TELESCOPE = """<robot name="telescope">
  <link name="base"/><link name="middle"/><link name="inner"/>
  <joint name="lift" type="prismatic">
    <parent link="base"/><child link="middle"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.1" effort="1" velocity="1"/>
  </joint>
  <joint name="follower" type="prismatic">
    <parent link="middle"/><child link="inner"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.05" effort="1" velocity="1"/><mimic joint="lift" MIMIC/>
  </joint>
</robot>"""


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


@pytest.mark.parametrize(
    ("mimic", "sum_of_strokes"),
    [
        ('multiplier="0.5"', 0.15),
        ('multiplier="-0.4" offset="0.05"', 0.15),
        ('multiplier="0" offset="0.02"', 0.12),
    ],
)
def test_reach_of_a_telescope_is_the_sum_of_its_strokes(mimic, sum_of_strokes, tmp_path):
    path = tmp_path / "telescope.urdf"
    path.write_text(TELESCOPE.replace("MIMIC", mimic), encoding="utf-8")
    arm = brazo.load(path, tip="inner")
    assert arm.model.reach == pytest.approx(sum_of_strokes)
    assert np.linalg.norm(arm.fk([[0.0], [0.1]])[:, :3, 3], axis=1).max() <= arm.model.reach + 1e-12
