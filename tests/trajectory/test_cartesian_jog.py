"""The tool while a button is held: straight, within every joint's limits, stopped with a reason."""

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.formats.library import robot_names
from brazo.kinematics.orientation import angle_between, rotvec_from_matrix
from brazo.trajectory import CartesianJog, Limits, Sample, ToolLimits, limits_of
from brazo.world.cell import default_start

DT = 0.01
STARTS = {
    "puma560": np.radians([10, 60, -150, 20, 40, -40]),
    "panda": None,
    "scara1": None,
    "scara2": None,
    "pegasus": None,
    "delta": None,
}


def start(name):
    arm = brazo.load(name)
    q = STARTS[name]
    return arm, np.array(next(iter(arm.poses.values()))) if q is None else q


def held(jog, velocity, steps, frame="base"):
    """States while a button is held, checked against the limits of the joints."""
    limits, states = jog.limits, [jog.state]
    for _ in range(steps):
        jog.run(velocity, frame)
        states.append(checked(jog, limits))
    return states


def released(jog, steps=200):
    jog.stop()
    return [checked(jog, jog.limits) for _ in range(steps)]


def checked(jog, limits):
    before, after = jog.state, jog.update(DT)
    assert (np.abs(after.qd) <= limits.speed * (1 + 1e-9)).all()
    assert (np.abs(after.qdd) <= limits.acceleration * (1 + 1e-9)).all()
    assert (np.abs(after.qdd - before.qdd) <= limits.jerk * DT * (1 + 1e-6) + 1e-9).all()
    assert (after.q >= limits.position[:, 0] - 1e-9).all()
    assert (after.q <= limits.position[:, 1] + 1e-9).all()
    drift = np.abs(after.q - before.q - 0.5 * DT * (after.qd + before.qd))
    assert (drift <= limits.jerk * DT**3 / 3 + 1e-9).all()
    return after


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("direction", [(-1, 0, 0), (0, 1, 0), (0, 0, -1), (-1, 1, 0)])
def test_tool_moves_straight_within_the_joint_limits(name, direction):
    arm, q = start(name)
    jog = CartesianJog(arm, limits_of(arm), q)
    u = np.array(direction) / np.linalg.norm(direction)
    states = held(jog, [*(0.08 * u), 0, 0, 0], 80)
    way = arm.fk(np.array([s.q for s in states]))[:, :3, 3]
    away = way - way[0]
    assert jog.reason == ""
    assert np.linalg.norm(away[-1]) > 0.01
    assert np.linalg.norm(away - np.outer(away @ u, u), axis=1).max() < 1e-9
    if arm.mobility == 6:
        turned = angle_between(arm.fk(states[-1].q)[:3, :3], arm.fk(q)[:3, :3])
        assert turned < 1e-9
    rest = released(jog)
    end = arm.fk(rest[-1].q)[:3, 3] - way[0]
    assert not jog.moving
    assert np.linalg.norm(end - (end @ u) * u) < 1e-9


def test_speed_and_acceleration_of_the_tool_are_limited():
    arm, q = start("puma560")
    tool = ToolLimits(speed=0.2, acceleration=0.5, jerk=4.0)
    jog = CartesianJog(arm, limits_of(arm, acceleration=50.0, jerk=1000.0), q, tool)
    states = held(jog, [0, 0.2, 0, 0, 0, 0], 120)
    v = np.array([arm.jacobian(s.q)[:3] @ s.qd for s in states])[:, 1]
    assert v.max() == pytest.approx(0.2, rel=1e-9)
    a = np.diff(v) / DT
    assert a.max() == pytest.approx(0.5, rel=1e-6)
    assert np.abs(np.diff(a) / DT).max() < 4.0 * (1 + 1e-6)


def test_turning_keeps_the_point():
    arm, q = start("puma560")
    jog = CartesianJog(arm, limits_of(arm), q)
    states = held(jog, [0, 0, 0, 0, 0, 0.3], 60)
    T = arm.fk(np.array([s.q for s in states]))
    assert np.abs(T[:, :3, 3] - T[0, :3, 3]).max() < 1e-9
    assert angle_between(T[0, :3, :3], T[-1, :3, :3]) > 0.05
    axis = T[-1, :3, :3] @ T[0, :3, :3].T
    assert np.abs(axis @ [0, 0, 1] - [0, 0, 1]).max() < 1e-9


def test_in_the_tools_own_axes():
    arm, q = start("puma560")
    jog = CartesianJog(arm, limits_of(arm), q)
    states = held(jog, [0, 0, 0.05, 0, 0, 0], 60, "tool")
    T = arm.fk(np.array([s.q for s in states]))
    away = T[-1, :3, 3] - T[0, :3, 3]
    z = T[0, :3, 2]
    assert away @ z > 0.01 and np.linalg.norm(away - (away @ z) * z) < 1e-9


@pytest.mark.parametrize("axis", range(6))
def test_oblique_axes_are_followed_to_rounding(axis):
    arm = brazo.load("puma560")
    q = arm.poses["nominal"] + np.array([0.2, 0.1, 0.1, 0.3, -0.2, 0.1])
    jog = CartesianJog(arm, limits_of(arm), q)
    T = arm.fk(q)
    velocity = np.zeros(6)
    velocity[axis] = -0.25 if axis < 3 else -1.0
    jog.run(velocity, "tool")
    for _ in range(300):
        jog.update(1e-3)
    jog.stop()
    while jog.moving:
        jog.update(1e-3)
    end = arm.fk(jog.state.q)
    way = T[:3, :3].T @ (end[:3, 3] - T[:3, 3])
    turn = T[:3, :3].T @ rotvec_from_matrix(end[:3, :3] @ T[:3, :3].T)
    moved = np.concatenate([way, turn])
    assert moved[axis] < -0.02
    moved[axis] = 0.0
    assert np.abs(moved).max() < 1e-12


def test_jog_slows_and_stops_near_a_singularity_with_a_reason():
    arm, q = start("scara1")
    jog = CartesianJog(arm, limits_of(arm), q)
    states = held(jog, [0.2, 0, 0, 0, 0, 0], 300)
    assert "singularity" in jog.reason or "reach" in jog.reason
    assert not jog.moving
    away = arm.fk(np.array([s.q for s in states]))[:, :3, 3] - arm.fk(q)[:3, 3]
    assert away[-1, 0] > 0.1 and np.abs(away[:, 1:]).max() < 1e-9
    assert arm.configuration(jog.state.q) == arm.configuration(q)
    # It stays at rest in the same direction and moves in the opposite one.
    before = jog.state.q
    held(jog, [0.2, 0, 0, 0, 0, 0], 20)
    assert np.array_equal(jog.state.q, before)
    held(jog, [-0.1, 0, 0, 0, 0, 0], 60)
    assert jog.reason == "" and not np.array_equal(jog.state.q, before)


def test_a_singularity_is_reported_with_its_joints():
    arm = brazo.load("puma560")
    q = arm.poses["nominal"] + np.radians([0, 0, 0, 0, -35, 0])
    jog = CartesianJog(arm, limits_of(arm), q)
    held(jog, [0, 0, 0, 0, 0.3, 0], 300)
    assert jog.reason == "the arm approaches a singularity of joints 4 (wrist roll) and 6 (flange)"


@pytest.mark.parametrize(
    ("name", "axis"), [("delta", 3), ("delta", 5), ("scara2", 3), ("teleop-scara", 4)]
)
def test_missing_degree_of_freedom_is_reported(name, axis):
    arm = brazo.load(name)
    jog = CartesianJog(arm, limits_of(arm), arm.poses["home"])
    velocity = np.zeros(6)
    velocity[axis] = 0.3
    held(jog, velocity, 20)
    assert jog.reason == (
        f"the arm cannot turn its tool about this axis: it has {arm.mobility} degrees of freedom"
    )
    assert not jog.moving and np.array_equal(jog.state.q, arm.poses["home"])
    # Another direction is accepted at once.
    held(jog, [0, -0.05, 0, 0, 0, 0], 40)
    assert jog.reason == "" and jog.moving


@pytest.mark.parametrize("name", robot_names())
def test_every_shipped_robot_jogs_along_all_its_axes_from_its_start(name):
    arm = brazo.load(name)
    q = default_start(arm.model, arm.limits)
    J = arm.jacobian(q)
    for axis in range(12):
        velocity = np.zeros(6)
        velocity[axis % 6] = (0.05 if axis % 6 < 3 else 0.3) * (1 if axis < 6 else -1)
        jog = CartesianJog(arm, limits_of(arm), q)
        held(jog, velocity, 30)
        # With the point at rest, which part of the turn can the joints make?
        free = np.eye(arm.n) - np.linalg.pinv(J[:3], rcond=1e-9) @ J[:3]
        feasible = (
            np.linalg.norm(J[:3].T @ velocity[:3]) > 1e-6  # not across the plane of a planar arm
            or np.linalg.norm(free @ J[3:].T @ velocity[3:]) > 1e-6
        )
        moved = rotvec_from_matrix(arm.fk(jog.state.q)[:3, :3] @ arm.fk(q)[:3, :3].T)
        moved = np.concatenate([(arm.fk(jog.state.q) - arm.fk(q))[:3, 3], moved])
        assert (moved @ velocity > 1e-4) == feasible
        assert (jog.reason == "") == feasible


def test_the_limit_that_a_step_would_pass_is_named_with_its_unit():
    arm, q = start("scara2")
    limits = Limits(
        [np.pi, np.pi, np.pi, 0.5, np.pi], [9, 9, 9, 2, 9], [99, 99, 99, 20, 99], arm.limits
    )
    jog = CartesianJog(arm, limits, q)
    rest = np.zeros(arm.n)
    here = Sample(q, rest, rest)

    def step(joint, speed=0.0, acceleration=0.0, dt=1.0):
        unit = np.eye(arm.n)[joint]
        return jog._breach(here, Sample(q, speed * unit, acceleration * unit), dt, 1.0)

    assert step(1, speed=4.0) == "joint 2 (elbow) would pass its speed limit, 180.00°/s"
    assert step(3, speed=0.6) == "joint 4 (quill) would pass its speed limit, 500.00 mm/s"
    assert step(3, acceleration=3.0).endswith("its acceleration limit, 2000.00 mm/s²")
    assert step(3, acceleration=1.0, dt=0.01).endswith("its jerk limit, 20000.00 mm/s³")


def test_at_a_joint_limit_it_stops_with_a_reason():
    arm, q = start("scara2")
    jog = CartesianJog(arm, limits_of(arm), q)
    held(jog, [0, 0, -0.2, 0, 0, 0], 200)
    assert jog.reason == "joint 4 (quill) is at its upper limit, 200.00 mm"
    assert arm.limits[3, 1] - 0.01 < jog.state.q[3] <= arm.limits[3, 1] + 1e-9


def test_it_runs_until_it_is_stopped():
    arm, q = start("scara1")
    jog = CartesianJog(arm, limits_of(arm), q)
    jog.run([-0.1, 0, 0, 0, 0, 0])
    states = [jog.update(DT) for _ in range(15)]
    jog.stop()
    for _ in range(185):
        jog.update(DT)
    assert states[10].qd.any() and not jog.moving
    assert jog.update_seconds > 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda jog: jog.run([1, 0, 0, 0, 0, 0]), "speed of the tool is 1 m/s; at most 0.25 m/s"),
        (lambda jog: jog.run([0, 0, 0, 0, 0, 2]), "angular speed of the tool is 2"),
        (lambda jog: jog.run([0, 0, 0]), "velocity has shape (3,)"),
        (lambda jog: jog.run([0] * 6, "world"), "'world' is not one of base, tool"),
        (lambda jog: jog.update(0), "dt is 0"),
        (lambda jog: ToolLimits(speed=0), "speed is 0"),
    ],
)
def test_bad_input_is_refused(call, words):
    arm, q = start("scara1")
    with pytest.raises(BrazoError) as error:
        call(CartesianJog(arm, limits_of(arm), q))
    assert words in str(error.value)
