"""The Delta's MJCF closes its loops as in the closed form, and missing data is reported."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.formats.load import load_source
from brazo.formats.mjcf.delta import assembled
from brazo.formats.mjcf.writer import export_mjcf, write_mjcf


@pytest.fixture(scope="module")
def delta():
    return load_source("delta").model


def settle(compiled, names, theta, steps=4000):
    """Drive the arms to the angles with damped servos, until everything is at rest."""
    data = mujoco.MjData(compiled)
    addresses = [compiled.joint(name).qposadr[0] for name in names]
    dofs = [compiled.joint(name).dofadr[0] for name in names]
    for k in range(steps):
        aim = theta * min(1.0, 2 * k / steps)
        data.ctrl[:] = 200 * (aim - data.qpos[addresses]) - 8 * data.qvel[dofs]
        if k > 0.7 * steps:
            data.qvel[:] *= 0.98
        mujoco.mj_step(compiled, data)
    mujoco.mj_forward(compiled, data)
    return data, addresses


def test_it_starts_assembled(delta):
    compiled = mujoco.MjModel.from_xml_string(write_mjcf(delta))
    data = mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    theta0, z0 = assembled(delta)
    assert np.abs(data.site("tool").xpos - [0, 0, z0]).max() < 1e-15
    for k in (1, 2, 3):
        gap = data.site(f"rod {k}a end").xpos - data.site(f"platform socket {k}").xpos
        assert np.abs(gap).max() < 1e-15
    assert [data.qpos[compiled.joint(n).qposadr[0]] for n in delta.joint_names] == [theta0] * 3


@pytest.mark.parametrize("case", [1, 2, 3, 4])
def test_the_platform_goes_where_the_closed_form_says(delta, golden, case):
    entry = golden["robots"]["delta"]["fk"][case]
    theta, x = np.radians(entry["theta_deg"]), np.array(entry["P"])
    wide = replace(delta, drive=replace(delta.drive, max_torque=np.inf))
    wide = replace(wide, limits=np.array([[-np.inf, np.inf]] * 3), gravity=np.zeros(3))
    compiled = mujoco.MjModel.from_xml_string(write_mjcf(wide))
    data, addresses = settle(compiled, delta.joint_names, theta)
    assert np.abs(data.qpos[addresses] - theta).max() < 1e-9
    assert np.abs(data.site("tool").xpos - x).max() < 1e-9
    for k in (1, 2, 3):
        pair = [data.body(f"rod {k}{which}").xmat for which in "ab"]
        assert np.abs(pair[0] - pair[1]).max() < 1e-9


def test_holding_torques_balance_the_weight(delta):
    """At rest the arms carry everything: virtual work of the weights against the drives'."""
    compiled = mujoco.MjModel.from_xml_string(write_mjcf(delta))
    theta = np.radians([-20.0, -20.0, -20.0])
    data, addresses = settle(compiled, delta.joint_names, theta)
    h = 1e-4
    heights = []
    for step in (-h, h):
        angle = float(data.qpos[addresses[0]]) + step
        reach = delta.R + delta.L1 * np.cos(angle) - delta.r
        elbow = delta.L1 * np.sin(angle)
        platform = elbow - np.sqrt(delta.L2**2 - reach**2)
        heights.append(
            3 * delta.arm_inertia.mass * delta.arm_inertia.com[0] * np.sin(angle)
            + 3 * delta.rod_mass * (elbow + platform) / 2
            + delta.platform_mass * platform
        )
    work = 9.81 * (heights[1] - heights[0]) / (2 * h)
    assert data.ctrl.sum() == pytest.approx(work, rel=1e-5)


def test_files_with_visuals_load(delta, tmp_path):
    export_mjcf(delta, tmp_path / "delta.xml")
    compiled = mujoco.MjModel.from_xml_path(str(tmp_path / "delta.xml"))
    data = mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    assert compiled.ngeom == sum(len(parts) for parts in delta.parts.values())
    assert data.ncon == 0


def test_unknown_masses_are_marked(delta):
    bare = replace(delta, arm_inertia=None, rod_mass=None, platform_mass=None)
    text = write_mjcf(bare)
    assert text.count("is not known: a placeholder") == 10
    mujoco.MjModel.from_xml_string(text)


def test_rods_that_cannot_reach_are_refused(delta):
    with pytest.raises(BrazoError, match="too short to reach"):
        write_mjcf(replace(delta, L2=0.05))


def test_exported_delta_round_trips(tmp_path):
    arm = brazo.load("delta").with_tool([0.01, 0.02, -0.05])
    path = tmp_path / "delta.xml"
    export_mjcf(arm.model, path)
    for twin in (brazo.load(path), brazo.loads(arm.to_mjcf())):
        assert twin.model.kind == "delta" and twin.joint_names == arm.joint_names
        assert twin.limits == pytest.approx(arm.limits, abs=1e-15)
        assert list(twin.poses) == list(arm.poses) == ["home", "low"]
        assert all(np.array_equal(twin.poses[name], arm.poses[name]) for name in arm.poses)
        q = np.radians([10.0, 20.0, -5.0])
        qd = np.array([0.3, -0.2, 0.5])
        assert twin.fk(q) == pytest.approx(arm.fk(q), abs=1e-15)
        tau = arm.inverse_dynamics(q, qd, qd)
        assert twin.inverse_dynamics(q, qd, qd) == pytest.approx(tau, rel=1e-12)
        assert twin.ik(twin.fk(q)).success and not twin.findings
    longer = arm.to_mjcf().replace("rod 1a end", "rod one end")
    with pytest.raises(
        BrazoError, match="rod 1a end: this site is missing; an exported Delta must have it"
    ):
        brazo.loads(longer)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<body name="base"', '<body name="base" pos="0 0 1"', "base: .* at the origin"),
        ('<body name="base"', '<body name="base" euler="0 0 5"', "base: .* at the origin"),
        ('<joint name="arm 2"', '<joint name="arm 2" damping="7"', "drives .* differ"),
        ('<joint name="arm 3"', '<joint name="arm 3" armature="7"', "drives .* differ"),
        ('joint="arm 3" ctrlrange="-12 12"', 'joint="arm 3" ctrlrange="-5 5"', "drives .* differ"),
    ],
)
def test_base_and_drives_of_a_delta(delta, old, new, message):
    text = write_mjcf(delta)
    assert text.count(old) == 1
    with pytest.raises(BrazoError, match=message):
        brazo.loads(text.replace(old, new))


def test_equal_inertias_of_a_delta(delta):
    first, last = write_mjcf(delta).rsplit('mass="0.4"', 1)
    with pytest.raises(BrazoError, match="arm 3: the inertia differs from that of 'arm 1'"):
        brazo.loads(f'{first}mass="0.5"{last}')
