"""Robots made, changed and written in Python."""

import pickle
import tempfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brazo
from brazo.model.transforms import pose
from tests import oracles

sizes = st.floats(-2.0, 2.0, allow_subnormal=False)
angles = st.floats(-3.1, 3.1, allow_subnormal=False)
URDF = """<robot name="swing"><link name="base"/><link name="arm"><inertial>
  <origin xyz="0.2 0 0"/><mass value="1.5"/>
  <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pivot" type="revolute"><parent link="base"/><child link="arm"/>
  <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="10" velocity="3"/></joint></robot>"""
MJCF = """<mujoco model="pair"><worldbody><body name="upper" pos="0 0 0.5">
  <joint name="shoulder" type="hinge" axis="0 1 0" range="-120 120"/>
  <geom type="capsule" size="0.04" fromto="0 0 0 0.4 0 0" mass="2"/></body></worldbody></mujoco>"""


@st.composite
def arms(draw) -> brazo.Robot:
    n = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = [[draw(angles), draw(sizes), draw(sizes), draw(angles)] for _ in range(n)]
    factors = rng.uniform(0.1, 1.0, (n, 3, 3)) - 0.5
    limits = [(-2.0 - x, 1.0 + x) if x > 0.3 else (-np.inf, np.inf) for x in rng.uniform(0, 1, n)]
    return brazo.Robot.from_dh(
        rows,
        draw(st.sampled_from(["standard", "modified"])),
        types="".join(draw(st.sampled_from("RRP")) for _ in range(n)),
        name="random",
        limits=limits,
        masses=rng.uniform(0.1, 5.0, n),
        com=rng.uniform(-0.3, 0.3, (n, 3)),
        inertia=0.1 * np.eye(3) + 0.01 * (factors + factors.transpose(0, 2, 1)),
        base=pose(rng.uniform(-1, 1, 3), rng.uniform(-3, 3, 3)),
        tool=pose(rng.uniform(-1, 1, 3), rng.uniform(-3, 3, 3)),
        poses={"home": rng.uniform(-0.5, 0.5, n)},
    )


def gap(one: brazo.Robot, other: brazo.Robot, seed: int = 0) -> float:
    """Largest difference of poses and torques, relative to the largest torque."""
    rng = np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-2, 2, (3, 4, one.n))
    tau = one.inverse_dynamics(q, qd, qdd)
    return max(
        float(np.abs(one.fk(q) - other.fk(q)).max()),
        float(np.abs(tau - other.inverse_dynamics(q, qd, qdd)).max() / np.abs(tau).max()),
    )


@settings(max_examples=6, deadline=None)
@given(arms())
def test_yaml_gives_the_same_robot(arm):
    twin = brazo.loads(arm.to_yaml())
    assert gap(arm, twin) <= 1e-13
    assert np.array_equal(twin.limits, arm.limits)
    assert np.array_equal(twin.poses["home"], arm.poses["home"])
    assert twin.to_yaml() == arm.to_yaml()


@settings(max_examples=2, deadline=None)
@given(arms())
def test_urdf_and_mjcf_give_the_same_robot(arm):
    assert gap(arm, brazo.loads(arm.to_urdf())) <= 1e-12
    assert gap(arm, brazo.loads(arm.to_mjcf())) <= 1e-12


@settings(max_examples=2, deadline=None)
@given(arms())
def test_table_agrees_with_another_engine(arm):
    other = oracles.pinocchio(arm.model)
    q = np.random.default_rng(1).uniform(-2, 2, arm.n)
    assert np.abs(arm.fk(q) - other.tool(q)).max() <= 1e-12


def test_rows_may_be_numbers_or_fields():
    quarter = np.pi / 2
    table = brazo.Robot.from_dh([[0.1, 0.4, 0.0, quarter], [quarter, 0.0, 0.3, 0.0]], types="RP")
    named = brazo.Robot.from_dh(
        [
            {"d": "H", "alpha": "90deg", "offset": 0.1},
            {"type": "prismatic", "theta": "90deg", "a": "30cm"},
        ],
        parameters={"H": 0.4},
    )
    q = [0.3, 0.2]
    assert np.array_equal(table.fk(q), named.fk(q))
    assert named.with_parameters(H=0.5).fk(q)[2, 3] == pytest.approx(named.fk(q)[2, 3] + 0.1)
    assert table.joint_kinds == ("revolute", "prismatic")
    assert not table.has_dynamics


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": [[0, 1, 2]]}, r"rows\[0\]: 3 values; expected theta, d, a, alpha"),
        ({"rows": [[0, 1, 2, float("nan")]]}, r"alpha: expected a finite number, got nan"),
        ({"rows": "table"}, "rows: expected a list"),
        ({"rows": [[0, 0, 1, 0]], "types": "X"}, "'X' is not a joint type; use R"),
        ({"rows": [[0, 0, 1, 0]], "types": "RR"}, "types: 2 types for 1 rows"),
        ({"rows": [[0, 0, 1, 0]], "limits": [[1, -1]]}, "lower limit must be below"),
        (
            {"rows": [[0, 0, 1, 0]], "limits": [[0, np.nan]]},
            r"^joints\[0\].limits\[1\]: expected a",
        ),
        ({"rows": [[0, 0, 1, 0]], "limits": np.zeros((2, 2))}, "limits: 2 entries for 1 joints"),
        ({"rows": [[0, 0, 1, 0]], "convention": "craig"}, "choose standard or modified"),
        ({"rows": [[0, 0, 1, 0]], "tool": np.ones((4, 4))}, r"tool: .* not a rotation"),
        ({"rows": [{"lenght": 1}]}, "unknown field 'lenght'"),
        ({"rows": [[0, 0, 1, 0]], "com": [[0, 0, 0]]}, "given without a mass"),
        ({"rows": [[0, 0, 1, 0]], "mases": [1]}, r"unknown argument 'mases'; allowed: .*masses"),
    ],
)
def test_mistakes_in_a_table_are_named(options, message):
    with pytest.raises(brazo.BrazoError, match=message):
        brazo.Robot.from_dh(options.pop("rows"), **options)


def test_text_of_every_format_is_read():
    assert brazo.loads(URDF).name == "swing"
    assert brazo.loads(MJCF).name == "pair"
    assert brazo.loads("name: a\njoints: [{a: 1}]").n == 1
    assert brazo.loads(URDF).model.path is None
    with pytest.raises(brazo.BrazoError, match=r"^joints: expected a list"):
        brazo.loads("name: a\njoints: 3")
    with pytest.raises(brazo.BrazoError, match=r"^text: .*starts with <html>"):
        brazo.loads("<html/>")
    with pytest.raises(brazo.BrazoError, match="format 'json' is not one of yaml, urdf"):
        brazo.loads("{}", "json")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: brazo.loads(b"name: a"), "text: expected a str .*, got bytes; decode"),  # type: ignore[arg-type]
        (lambda: brazo.loads(5, "yaml"), "text: expected a str .*, got int"),  # type: ignore[arg-type]
        (lambda: brazo.loads("name: a\nabout: \ud800"), r"text:2: character U\+D800 is half"),
        (lambda: brazo.loads('<robot name="\udfff"/>'), r"text:1: character U\+DFFF is half"),
    ],
)
def test_mistakes_in_a_text_are_named(call, message):
    with pytest.raises(brazo.BrazoError, match=message):
        call()


@pytest.mark.parametrize("pair", [(1, 2, 3), (1,), "x", "12", 3.0, None])
def test_limits_that_are_no_pair_are_refused(pair):
    arm = brazo.load("planar-2r")
    with pytest.raises(brazo.BrazoError, match=r"limits of joint 'elbow': expected \(low, high\)"):
        arm.with_limits({"elbow": pair})
    limits = arm.with_limits({"elbow": np.array([-1, 2])}).limits
    assert limits.tolist() == [arm.limits[0].tolist(), [-1.0, 2.0]]


@pytest.mark.parametrize("targets", ["foo", [[1, 2], [3]], [{}]])
def test_targets_that_are_no_numbers_are_refused(targets):
    with pytest.raises(brazo.BrazoError, match="ik_batch: T: not an array of numbers"):
        brazo.load("planar-2r").ik_batch(targets)


def test_a_relative_include_in_a_text_is_named_as_given():
    include = '<xacro:include filename="parts/arm.xacro"/><link'
    text = URDF.replace("<link", include, 1).replace(
        "<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ', 1
    )
    with pytest.raises(brazo.BrazoError) as error:
        brazo.loads(text, "xacro")
    message = str(error.value)
    assert "brazo-" not in message and tempfile.gettempdir() not in message
    assert "arm.xacro" in message and "absolute paths or $(find PACKAGE)" in message


@pytest.mark.parametrize("text", [URDF, MJCF])
def test_changes_of_a_robot_without_a_robot_file(text):
    arm = brazo.loads(text)
    T, B = pose((0.1, 0.2, 0.3), (1, 2, 3)), pose((-0.5, 0.1, 1), (0.3, 0.2, 0.1))
    q = [0.4]
    changed = arm.with_payload(2.0, (0, 0, 0.1)).with_tool(T).with_base(np.eye(4)).with_base(B)
    last = arm.frames(q)[-1]
    assert changed.fk(q) == pytest.approx(B @ last @ T, abs=1e-15)
    loaded = arm.with_tool(T).with_payload(2.0, (0, 0, 0.1)).with_base(B)
    assert changed.inverse_dynamics(q, q, q) == loaded.inverse_dynamics(q, q, q)
    assert changed.energy(q, q)[0] > arm.energy(q, q)[0]
    twin = pickle.loads(pickle.dumps(changed.with_limits([[-1, 1]])))
    assert np.array_equal(twin.fk(q), changed.fk(q)) and twin.limits.tolist() == [[-1, 1]]
    with pytest.raises(brazo.BrazoError, match=r"no D-H table.* to_urdf or to_mjcf"):
        changed.to_yaml()


def test_a_tool_is_placed_in_the_tip_link(tmp_path):
    flange = """<link name="tool0"/><joint name="flange" type="fixed"><parent link="arm"/>
      <child link="tool0"/><origin xyz="0.3 0 0.1" rpy="0 1.5 0.2"/></joint></robot>"""
    site = '<site name="tool0" pos="0.3 0 0.1" euler="0 80 10"/></body></worldbody>'
    path = tmp_path / "arm.xml"
    path.write_text(MJCF.replace("</body></worldbody>", site))
    q, T = [0.4], pose((0.1, 0.2, 0.3), (1, 2, 3))
    for arm in (brazo.loads(URDF.replace("</robot>", flange)), brazo.load(path, tip="tool0")):
        tip = arm.frame(q, "tool0")
        assert arm.fk(q) == pytest.approx(tip, abs=1e-15)
        assert arm.with_tool(np.eye(4)).fk(q) == pytest.approx(tip, abs=1e-15)
        moved = arm.with_tool([1, 2, 3]).with_tool(T).with_base([0, 0, 1])
        assert moved.fk(q) == pytest.approx(pose((0, 0, 1)) @ tip @ T, abs=1e-15)


@pytest.mark.parametrize(("multiplier", "offset"), [(1.0, 0.0), (-1.0, 0.0), (2.0, 0.1)])
def test_limits_of_a_joint_that_others_mimic(multiplier, offset):
    ends = sorted(multiplier * end + offset for end in (-0.5, 0.5))  # of the mimic joint
    text = f"""<robot name="hand"><link name="base"/><link name="one"/><link name="two"/>
      <joint name="master" type="revolute"><parent link="base"/><child link="one"/>
        <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
      <joint name="follower" type="revolute"><parent link="one"/><child link="two"/>
        <axis xyz="0 1 0"/><mimic joint="master" multiplier="{multiplier}" offset="{offset}"/>
        <limit lower="{ends[0]}" upper="{ends[1]}" effort="1" velocity="1"/></joint></robot>"""
    arm = brazo.loads(text)
    assert arm.limits == pytest.approx(np.array([[-0.5, 0.5]]), abs=1e-15)
    narrow = arm.with_limits({"master": (-0.2, 0.3)})
    assert narrow.limits.tolist() == [[-0.2, 0.3]]
    assert narrow.with_limits(arm.limits).limits == pytest.approx(arm.limits, abs=1e-15)
    assert narrow.model.bodies[2].joint.limits == tuple(ends)
    with pytest.raises(brazo.BrazoError, match=r"-1 to 0.4; its mimic joint .follower. .* -0.5 to"):
        arm.with_limits([[-1.0, 0.4]])


def test_changes_of_a_robot_file_stay_in_its_text():
    arm = brazo.load("scara1")
    T, B = pose((0.1, 0.2, 0.3), (1, 2, 3)), pose((-0.5, 0.1, 1), (0.3, 0.2, 0.1))
    q = [0.4, 0.5, 0.1, 0.2, 0.3]
    changed = (
        arm.with_parameters(L1=0.35).with_payload(2.0, (0, 0, 0.1)).with_tool(T).with_base(B)
    ).with_limits({"elbow": (-1, 1)})
    assert changed.fk(q) == pytest.approx(
        B @ arm.with_parameters(L1=0.35).frames(q)[-1] @ T, abs=1e-15
    )
    assert changed.limits[1].tolist() == [-1, 1]
    assert np.array_equal(np.delete(changed.limits, 1, 0), np.delete(arm.limits, 1, 0))
    twin = brazo.loads(changed.to_yaml())
    assert gap(changed, twin) <= 1e-14
    assert np.array_equal(twin.limits, changed.limits)
    assert twin.parameters == changed.parameters
    assert "a: L1" in changed.to_yaml()  # expressions are kept
    assert np.array_equal(pickle.loads(pickle.dumps(changed)).fk(q), changed.fk(q))
    unlimited = changed.with_limits(np.tile([-np.inf, np.inf], (5, 1)))
    assert np.isinf(brazo.loads(unlimited.to_yaml()).limits).all()
    with pytest.raises(brazo.BrazoError, match="no joint named 'elbw'; joints: shoulder"):
        arm.with_limits({"elbw": (0, 1)})
    with pytest.raises(brazo.BrazoError, match="both limits must be finite"):
        arm.with_limits({"elbow": (0, np.inf)})


def test_a_loaded_delta_is_written_with_its_platform():
    arm = brazo.load("delta").with_tool([0, 0, -0.05]).with_payload(0.4)
    twin = brazo.loads(arm.to_yaml())
    q = arm.poses["home"] if "home" in arm.poses else np.zeros(3)
    assert np.array_equal(twin.fk(q), arm.fk(q))
    assert twin.gravity(q) == pytest.approx(arm.gravity(q), rel=1e-14)
    assert arm.with_limits([[-1, 0.5]] * 3).limits.tolist() == [[-1, 0.5]] * 3
    with pytest.raises(brazo.BrazoError, match="Delta, whose robot file has no field 'base'"):
        arm.with_base(np.eye(4))
    with pytest.raises(brazo.BrazoError, match="same finite limits"):
        arm.with_limits({"arm 1": (-1, 0.5)})


def test_poses_of_spatialmath_are_accepted():
    """An SE3 has its matrix in the attribute A."""

    class SE3:
        A = pose((0.0, 0.0, 0.1), (0.3, 0.0, 0.0))

    arm = brazo.load("puma560")
    T: Any = SE3()
    assert np.array_equal(arm.with_tool(T).model.tool, arm.with_tool(SE3.A).model.tool)
