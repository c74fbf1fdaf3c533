"""Copies of a robot, also in another process, give bit-identical results."""

import copy
import multiprocessing
import operator
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import brazo
from brazo.formats.library import robot_directory

MJCF = """<mujoco model="pair"><worldbody><body name="upper" pos="0 0 0.5">
  <joint name="shoulder" type="hinge" axis="0 1 0" range="-120 120"/>
  <geom type="capsule" size="0.04" fromto="0 0 0 0.4 0 0" mass="2"/>
  <body name="lower" pos="0.4 0 0"><joint name="elbow" type="hinge" axis="0 1 0"/>
    <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="1"/></body>
</body></worldbody></mujoco>"""
URDF = """<robot name="swing"><link name="base"/><link name="arm"><inertial>
  <origin xyz="0.2 0 0"/><mass value="1.5"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pivot" type="revolute"><parent link="base"/><child link="arm"/>
  <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="10" velocity="3"/></joint></robot>"""
KINDS = ("yaml", "urdf", "mjcf", "delta")


def robot_whose_file_is_deleted(kind: str, folder: Path) -> brazo.Robot:
    path = folder / {"urdf": "a.urdf", "mjcf": "a.xml"}.get(kind, "a.yaml")
    name = {"yaml": "scara2", "delta": "delta"}.get(kind, "")
    texts = {"urdf": URDF, "mjcf": MJCF}
    path.write_text(texts.get(kind) or (robot_directory() / f"{name}.yaml").read_text("utf-8"))
    arm = brazo.load(path)
    path.unlink()
    return arm


def numbers(arm: brazo.Robot) -> list[np.ndarray]:
    q = arm.random_q(seed=3) * 0.5
    values = [arm.fk(q), arm.frames(q), arm.jacobian(q), arm.limits, arm.ik(arm.fk(q), q0=q).q]
    values += [arm.mass_matrix(q), arm.gravity(q), arm.energy(q, q), arm.inverse_dynamics(q, q, q)]
    return values


def same(one: brazo.Robot, other: brazo.Robot) -> bool:
    return all(map(np.array_equal, numbers(one), numbers(other)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda arm: pickle.loads(pickle.dumps(arm))]
)
def test_copy_of_a_used_robot(kind, make, tmp_path):
    arm = robot_whose_file_is_deleted(kind, tmp_path)
    numbers(arm)
    assert same(make(arm), arm)
    heavy = arm.with_payload(1.5, com=(0.0, 0.0, 0.05))
    assert same(make(heavy), heavy)
    assert not same(make(heavy), arm)


def test_copy_keeps_parameters_and_accepts_others():
    arm = brazo.load("scara2").with_parameters(L1=0.3).with_payload(2.0)
    twin = pickle.loads(pickle.dumps(arm))
    assert twin.parameters == arm.parameters and twin.parameters["L1"] == 0.3
    assert same(twin, arm)
    assert same(twin.with_parameters(L2=0.25), arm.with_parameters(L2=0.25))
    with pytest.raises(brazo.BrazoError, match="parameter"):
        twin.with_parameters(nothing=1.0)


def test_a_pickled_description_stays_read_only():
    twin = pickle.loads(pickle.dumps(brazo.load("puma560")))
    for array in (twin.poses["ready"], twin.model.gravity, twin.model.tool):
        assert not array.flags.writeable
    assert all(not b.joint.before.flags.writeable for b in twin.model.bodies[1:])
    with pytest.raises(brazo.BrazoError, match="read-only"):
        twin.model.poses["new"] = np.zeros(6)


def test_a_fresh_process_gives_the_same_numbers(tmp_path):
    arms = [robot_whose_file_is_deleted(kind, tmp_path).with_payload(0.7) for kind in KINDS]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        for arm in arms:
            q = arm.random_q(seed=5) * 0.5
            there = pool.submit(operator.methodcaller("inverse_dynamics", q, q, q), arm).result(60)
            assert np.array_equal(there, arm.inverse_dynamics(q, q, q))
