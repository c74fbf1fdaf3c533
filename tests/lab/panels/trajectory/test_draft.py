"""What the trajectory manager plans: curves of every kind, limits marked, motions played."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.formats.library import robot_names
from brazo.lab.panels.trajectory.draft import Draft, plan_of, sentence
from brazo.lab.panels.trajectory.tool_curve import CURVES, PLANES
from brazo.operate.playing import Playing, require_free
from brazo.trajectory import parse_via_list, quintic
from brazo.world.cell import default_start


@pytest.fixture(scope="module")
def arm():
    return brazo.load("puma560")


@pytest.fixture
def draft(arm):
    return Draft(arm, Q)


Q = np.array([0.1, 0.8, -2.5, 0.2, 0.6, 0.1])


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("kind", CURVES)
def test_a_curve_begins_where_the_tool_is_and_lies_in_its_plane(arm, draft, kind, plane):
    draft.curved, draft.curve.kind, draft.curve.plane = True, kind, plane
    plan = plan_of(arm, draft, Q)
    start = arm.fk(Q)[:3, 3]
    assert np.abs(plan.path[0] - start).max() < 1e-9
    assert np.abs(plan.motion.sample(0.0).q - Q).max() < 1e-9
    normal = PLANES[plane][2]
    rise = 0.02 if kind == "helix" else 0.0
    assert np.ptp(plan.path[:, normal]) == pytest.approx(rise, abs=1e-4)
    assert plan.motion.duration == 4.0


@pytest.mark.parametrize("name", robot_names())
def test_every_shipped_robot_runs_the_default_curves_from_its_start(name):
    arm = brazo.load(name)
    q = default_start(arm.model, arm.limits)
    planar = name.startswith("planar")
    for kind in set(CURVES) - {"helix"} if planar else CURVES:
        for plane in ["xz"] if planar else PLANES:
            draft = Draft(arm, q)
            draft.curved, draft.curve.kind, draft.curve.plane = True, kind, plane
            assert plan_of(arm, draft, q).violations == (), (kind, plane)


def test_a_refused_curve_names_the_point_the_joint_and_its_limit():
    arm = brazo.load("rv2aj")
    q = np.radians([0, 10, 80, 90, 0])  # J4 on its limit
    draft = Draft(arm, q)
    draft.curved = True
    with pytest.raises(BrazoError) as error:
        plan_of(arm, draft, q)
    text = str(error.value)
    assert text.startswith("t = 1.8 s, tool at (0.1117, 0.0276, 0.3991) m: joint 4 (J4) exceeds")
    assert "90.10°, allowed -90.00 to 90.00°; start at another pose" in text


def test_a_circle_has_its_radius_and_its_length(arm, draft):
    draft.curved = True
    draft.curve.sizes["circle.radius"] = 0.03
    plan = plan_of(arm, draft, Q)
    centre = arm.fk(Q)[:3, 3] - [0.03, 0.0, 0.0]
    assert np.abs(np.linalg.norm(plan.path - centre, axis=1) - 0.03).max() < 2e-5
    assert plan.length == pytest.approx(2 * np.pi * 0.03, rel=1e-3)


def test_points_too_close_in_time_are_marked_and_slowed_until_they_fit(arm, draft):
    draft.add(arm, Q)
    draft.add(arm, Q + 0.4, 0.05)
    draft.add(arm, Q, 2.0)
    plan = plan_of(arm, draft, Q)
    assert plan.violations and not plan.stuck
    assert plan.past[5] and not plan.past[-1]  # the first piece is the fast one
    kinds = {one.kind for one in plan.violations}
    assert "speed" in kinds and any(text.count("°/s") for text in map(sentence, plan.violations))
    draft.slow(40.0)
    slow = plan_of(arm, draft, Q)
    assert not slow.violations and not slow.past.any()
    assert slow.motion.duration == pytest.approx(40.0 * 2.0)


def test_a_joint_past_its_limit_is_red_only_there(arm, draft):
    high = arm.limits[0, 1]
    for k, value in enumerate((0.0, high + 0.3, 0.0)):
        draft.add(arm, np.array([value, *Q[1:]]), 4.0 * k)
    plan = plan_of(arm, draft, Q)
    assert plan.stuck and plan.past[200] and not plan.past[0] and not plan.past[-1]


def test_points_written_to_a_file_come_back(arm, draft):
    draft.space = "tool"
    for k in range(3):
        draft.add(arm, Q + 0.1 * k)
    plan = plan_of(arm, draft, Q)
    other = Draft(arm, Q)
    other.take(arm, parse_via_list(draft.file(plan), arm), Q)
    assert other.space == "tool" and [row.t for row in other.rows] == [0.0, 1.0, 2.0]
    again = plan_of(arm, other, Q)
    assert np.abs(again.motion.sample([0.3, 1.7]).q - plan.motion.sample([0.3, 1.7]).q).max() < 1e-9


def test_a_curve_written_to_a_file_is_the_same_motion(arm, draft):
    draft.curved, draft.curve.kind = True, "lissajous"
    plan = plan_of(arm, draft, Q)
    back = parse_via_list(draft.file(plan), arm).trajectory(arm)
    t = np.linspace(0.0, 4.0, 500)
    assert np.abs(back.sample(t).q - plan.motion.sample(t).q).max() < 1e-9


def test_one_point_is_no_plan_and_a_point_out_of_reach_says_which(arm, draft):
    draft.add(arm, Q)
    with pytest.raises(BrazoError, match="at least 2"):
        plan_of(arm, draft, Q)
    draft.space = "tool"
    draft.add(arm, Q).T[0, 3] = 9.0
    with pytest.raises(BrazoError, match="point 2, t = 1 s"):
        plan_of(arm, draft, Q)


def test_a_motion_is_approached_played_and_played_again():
    sim = brazo.Simulation("solo-puma560")
    robot = next(iter(sim.robots.values()))
    q = robot.reference.q
    draft = quintic(q + 0.1, q + 0.3, 0.5)
    ended = []
    playing = Playing(robot, draft, True, ended.append)
    sim.tasks.add(playing)
    with pytest.raises(BrazoError, match="a trajectory moves puma560: stop it first"):
        require_free(sim, robot)
    at = []
    while playing.round < 3:
        before = playing.round
        sim.step()
        if playing.round != before:
            at.append(robot.reference.q)
    assert len(at) == 3 and all(np.abs(one - (q + 0.1)).max() < 1e-3 for one in at)
    playing.loop = False
    sim.step(600)
    assert ended == [""] and playing not in sim.tasks
    assert np.abs(robot.reference.q - (q + 0.3)).max() < 1e-9


@pytest.mark.parametrize("how", ["stop", "other"])
def test_what_takes_the_robot_over_ends_it(how):
    sim = brazo.Simulation("solo-puma560")
    robot = next(iter(sim.robots.values()))
    q = robot.reference.q
    ended = []
    playing = Playing(robot, quintic(q, q + 0.3, 1.0), True, ended.append)
    sim.tasks.add(playing)
    sim.step(100)
    if how == "stop":
        playing.pause()
    robot.stop()
    sim.step(400)
    assert ended == ["stopped" if how == "stop" else "another motion of the robot was started"]
    assert not robot.moving and playing not in sim.tasks
