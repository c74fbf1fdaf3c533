"""Execution of programs: every verb has its effect, or reports why it cannot."""

from __future__ import annotations

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.model.transforms import rot_x, rot_z
from brazo.program import Program
from brazo.trajectory import quintic
from tests.program.scenes import ARM, BAR, PILLAR, TWO, program_of, run, sim_of, texts

DOWN = rot_x(np.pi)[:3, :3]


# ---- motion --------------------------------------------------------------------------------


def test_joints_go_to_values_and_to_poses_by_name():
    sim = sim_of(ARM)
    done = run(sim, program_of("arm: [{move_joints: [0, 30deg, -20deg, 10cm, 0]}]"))
    assert done.succeeded
    assert sim.robots["arm"].q == pytest.approx([0, np.pi / 6, -np.pi / 9, 0.1, 0], abs=1e-3)
    assert run(sim, program_of("arm: [{move_joints: home}]")).succeeded
    assert sim.robots["arm"].q == pytest.approx(sim.robots["arm"].arm.poses["home"], abs=1e-3)
    assert run(sim, program_of("arm: [{move_joints: {to: start, time: 2s}}]")).succeeded
    assert sim.robots["arm"].q == pytest.approx(sim.robots["arm"].world.start, abs=1e-3)


@pytest.mark.parametrize(
    ("frame", "offset"), [("world", [0, 0, 0]), ("base", [1, 0, 0]), ("box", [1.4, 0.1, 0.05])]
)
def test_targets_are_in_their_frames(frame, offset):
    cell = ARM.replace("start", "base: {xyz: [1, 0, 0]}, start")
    sim = sim_of(cell + "bodies: [{name: box, sphere: 1cm, mass: 1, xyz: [1.4, 0.1, 0.05]}]\n"
                 "gravity: [0, 0, 0]\n")  # fmt: skip
    goal = np.array([1.45, 0.2, 0.25])
    xyz = (goal - offset).tolist()
    program = Program("t")
    program.robot("arm").move_to(xyz, (np.pi, 0, 0.3), frame)
    assert run(sim, program).succeeded
    tool = sim.robots["arm"].tool()
    assert tool[:3, 3] == pytest.approx(goal, abs=1e-3)
    c, s = np.cos(0.3), np.sin(0.3)
    assert tool[:3, :3] == pytest.approx(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ DOWN,
                                         abs=5e-3)  # fmt: skip


def test_a_line_is_straight_and_a_circle_round():
    sim = sim_of(ARM)
    program = program_of("""
arm:
  - move_to: {xyz: [0.35, 0.1, 0.2], rpy: [180deg, 0, 0]}
  - line: {by: [0, 0.2, 0.05], time: 1s}
  - path: {circle: {centre: [0.35, 0.2, 0.2], radius: 5cm}, time: 2s}
""")
    execution = program.start(sim)
    path, phases = [], []
    while not execution.done:
        sim.step()
        path.append(sim.robots["arm"].tool()[:3, 3])
        phases.append(execution.states["arm"].index)
    assert execution.succeeded
    path, phases = np.array(path), np.array(phases)
    line = path[phases == 1]
    a, b = np.array([0.35, 0.1, 0.2]), np.array([0.35, 0.3, 0.25])
    away = np.linalg.norm(np.cross(line - a, b - a), axis=1) / np.linalg.norm(b - a)
    assert away.max() < 1e-3
    around = path[phases == 2][-1800:] - [0.35, 0.2, 0.2]
    assert np.linalg.norm(around[:, :2], axis=1) == pytest.approx(0.05, abs=1e-3)
    assert np.abs(around[:, 2]).max() < 1e-3
    turned = np.unwrap(np.arctan2(around[:, 1], around[:, 0]))
    assert turned[-1] - turned[0] == pytest.approx(2 * np.pi, abs=0.1)


@pytest.mark.parametrize("robot", ["delta", "puma560", "panda", "pegasus"])
def test_other_robots_follow_lines_and_curves(robot):
    hung = "base: {xyz: [0, 0, 1]}, " if robot == "delta" else ""
    sim = sim_of(f"robots: [{{name: arm, {hung}robot: {robot}}}]\n")
    start = sim.robots["arm"].tool()[:3, 3]
    program = Program("t")
    arm = program.robot("arm")
    arm.line(by=(0, 0, -0.04), orientation="nearest")
    end = start + [0, 0, -0.04] + [0.03, 0, 0]
    arm.path("polyline", points=[start - [0, 0, 0.04], end], orientation="nearest")
    done = run(sim, program)
    assert done.succeeded, done.failure
    assert sim.robots["arm"].tool()[:3, 3] == pytest.approx(end, abs=1e-3)


def test_unreachable_targets_say_why_with_file_and_line():
    sim = sim_of(ARM)
    done = run(sim, program_of("arm:\n  - wait: 0.1s\n  - move_to: {xyz: [2, 0, 0.2]}"))
    assert done.failed and not done.succeeded
    failure = done.failure
    assert (failure.robot, failure.place.line) == ("arm", 5)
    assert str(failure).startswith("task.yaml:5: arm, step 2 (move_to): ")
    assert "reach" in failure.why
    assert texts(sim, "failure") == [str(failure)]


@pytest.mark.parametrize(
    ("robot", "rpy"),
    [
        ("scara1", "[90deg, 0, 0]"),
        ("scara1", "[180, 0, 0]"),  # degrees typed as radians
        ("scara2", "[90deg, 0, 0]"),
        ("scara2", "[180, 0, 0]"),
        ("pegasus", "[170deg, -45deg, 0]"),
        ("delta", "[90deg, 0, 0]"),
    ],
)
def test_an_orientation_the_arm_cannot_take_is_refused_as_by_ik(robot, rpy):
    sim = sim_of(f"robots: [{{name: arm, base: {{xyz: [0, 0, 1]}}, robot: {robot}}}]\n")
    arm = sim.robots["arm"]
    before, there = arm.q.copy(), arm.tool()[:3, 3].tolist()
    done = run(sim, program_of(f"arm: [{{move_to: {{xyz: {there}, rpy: {rpy}}}}}]"))
    assert done.failed and done.failure.place.line == 3
    assert "°" in done.failure.why and " accepts it)" in done.failure.why
    assert "orientation=" not in done.failure.why  # Python's spelling is no advice in a program
    assert arm.q == pytest.approx(before, abs=1e-3)
    path = f"circle: {{centre: {there}, radius: 1mm}}, rpy: {rpy}"
    done = run(sim, program_of(f"arm: [{{path: {{{path}}}}}]"))
    assert done.failed and "°" in done.failure.why
    accepted = f"xyz: {there}, rpy: {rpy}, orientation: nearest, plan: unchecked"
    done = run(sim, program_of(f"arm: [{{move_to: {{{accepted}}}}}]"))
    assert done.succeeded, done.failure


@pytest.mark.parametrize(
    ("corners", "said"),
    [
        ("corners: blend", "corners 'blend' needs 'blend': the distance"),
        ("blend: 5mm", "'corners' must be 'blend', not 'stop'"),
    ],
)
def test_a_mistake_in_a_curve_is_reported_in_the_spelling_of_the_file(corners, said):
    points = "[[0.3, 0.1, 0.1], [0.3, 0.2, 0.1], [0.4, 0.2, 0.1]]"
    step = f"path: {{polyline: {{points: {points}, {corners}}}, rpy: [180deg, 0, 0]}}"
    done = run(sim_of(ARM), program_of(f"arm: [{{{step}}}]"))
    assert done.failed and said in done.failure.why and "=" not in done.failure.why


@pytest.mark.parametrize(("lean", "accepted"), [(0.05, True), (0.2, False)])
def test_a_body_that_leans_a_little_can_be_a_frame_of_a_scara(lean, accepted):
    box = f"{{name: box, sphere: 1cm, mass: 1, xyz: [0.4, 0.1, 0.05], rpy: [{lean}deg, 0, 0]}}"
    sim = sim_of(ARM + f"bodies: [{box}]\ngravity: [0, 0, 0]\n")
    step = "move_to: {xyz: [0, 0, 10cm], rpy: [180deg, 0, 0], in: box}"
    assert run(sim, program_of(f"arm: [{{{step}}}]")).succeeded == accepted


PICK = """
arm:
  - move_to: {xyz: [0, 0, 85mm], rpy: [180deg, 0, 0], in: bar}
  - line: {xyz: [0, 0, 6mm], in: bar}
"""


def test_the_angle_of_a_body_that_is_only_rotated_is_shown():
    sim = sim_of(BAR)
    T = sim.world.pose("bar").copy()
    T[:3, :3] = rot_z(np.radians(30.0))[:3, :3] @ T[:3, :3]
    sim.world.place("bar", T)
    done = run(sim, program_of("arm: [{grip: {body: bar, timeout: 0.1s}}]"))
    assert done.failure.why.startswith(
        "bar was rotated by 30.0° from its start orientation when the program started: reset first"
    )


def test_the_angle_of_a_body_that_is_moved_and_rotated_is_shown():
    sim = sim_of(BAR)
    T = sim.world.pose("bar").copy()
    T[:3, :3] = rot_z(np.radians(30.0))[:3, :3] @ T[:3, :3]
    T[:3, 3] = 2.0, -1.0, 0.015
    sim.world.place("bar", T)
    done = run(sim, program_of("arm: [{grip: {body: bar, timeout: 0.1s}}]"))
    assert "but at (2.000, -1.000, 0.015) m, rotated by 30.0°: reset first" in done.failure.why


@pytest.mark.parametrize(
    ("steps", "then"),
    [
        (PICK, "reach"),
        ("arm: [{grip: {body: bar, timeout: 0.1s}}]", "no grasp"),
        ("arm: [{wait_until: {held: bar, timeout: 0.1s}}]", "does not hold bar"),
    ],
)
def test_displaced_body_is_named_before_its_consequences(steps, then):
    sim = sim_of(BAR)
    T = sim.world.pose("bar").copy()
    T[:3, 3] = 2.0, -1.0, 0.015
    sim.world.place("bar", T)
    done = run(sim, program_of(steps))
    first, _, rest = done.failure.why.partition("); ")
    assert first == (
        "bar was not at its start position (0.300, 0.200, 0.015) m when the program started, but "
        "at (2.000, -1.000, 0.015) m: reset first "
        "(Reset and run in the lab, sim.reset() in Python"
    )
    assert then in rest
    sim.reset()
    assert run(sim, program_of(PICK)).succeeded


def test_body_moved_during_the_run_is_not_named_as_cause():
    sim = sim_of(BAR)
    done = run(sim, program_of("arm: [{move_to: {xyz: [2, 0, 0.1], in: bar}}]"))
    assert done.failed and "start position" not in done.failure.why
    execution = program_of("arm: [{wait: 0.1s}, {move_to: {xyz: [2, 0, 0.1], in: bar}}]").start(sim)
    T = sim.world.pose("bar").copy()
    T[0, 3] += 0.05
    sim.world.place("bar", T)
    while not execution.done:
        sim.step()
    assert execution.failed and "start position" not in execution.failure.why


def test_the_choice_of_branch_is_explained():
    sim = sim_of(ARM.replace("scara2, start: [60deg, 0, 0, 5cm, 0]", "scara1"))
    program = program_of(
        "arm: [{move_to: {xyz: [0.1, -0.3, 0.15], rpy: [180deg, 0, 0], branch: RIGHTY}},"
        " {move_to: {xyz: [0.1, -0.3, 0.15], rpy: [180deg, 0, 0], branch: LEFTY}}]"
    )
    assert run(sim, program).succeeded
    arm = sim.robots["arm"]
    assert arm.arm.configuration(arm.q) == "LEFTY"
    free = program_of("arm: [{move_to: {xyz: [-0.2, -0.35, 0.15], rpy: [180deg, 0, 0]}}]")
    assert run(sim, free).succeeded
    (reported,) = texts(sim, "choice")[-1:]
    assert reported.startswith("arm: branch ") and "out of limits: shoulder" in reported


# ---- obstacles -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["contact", "exact"])
def test_a_direct_motion_into_something_is_refused(mode):
    sim = sim_of(ARM + PILLAR, mode=mode)
    done = run(sim, program_of("arm: [{move_joints: [-60deg, 0, 0, 5cm, 0]}]"))
    why = done.failure.why
    assert "would" in why and " pillar at t = " in why and why.startswith("arm/")
    assert "joints at (" in why
    assert sim.time < 0.01  # before it began


@pytest.mark.parametrize("planner", ["rrt", "ompl"])
def test_free_motion_avoids_the_obstacle(planner):
    sim = sim_of(ARM + PILLAR)
    program = program_of(
        "arm: [{move_joints: {to: [-60deg, 0, 0, 5cm, 0], plan: free}}]", f"planner: {planner}\n"
    )
    execution = program.start(sim)
    nearest = 1.0
    while not execution.done:
        sim.step()
        if sim.world.mj_data.time % 0.01 < 1e-3:
            found = sim.world.distance("arm", "pillar", 1.0)
            nearest = min(nearest, 1.0 if found is None else found.value)
    assert execution.succeeded
    assert nearest > 0.0015  # of the requested 3 mm, minus the tracking error
    assert sim.robots["arm"].q == pytest.approx([-np.pi / 3, 0, 0, 0.05, 0], abs=1e-3)
    assert texts(sim, "plan") and not execution.monitor.collisions


def test_missing_path_names_the_obstacle():
    cell = ARM + "fixtures: [{name: wall, box: [2, 2cm, 3], xyz: [1.25, 0, 0], rpy: [0, 0, 0]}]\n"
    sim = sim_of(cell)
    program = program_of("arm: [{move_joints: {to: [0, 0, 0, 5cm, 0], plan: free}}]")
    why = run(sim, program).failure.why
    assert why.startswith("the goal is in collision: arm/") and "wall" in why


def test_an_unchecked_collision_is_reported_and_stops_the_program():
    sim = sim_of(ARM + PILLAR)
    program = program_of("arm: [{move_joints: {to: [-60deg, 0, 0, 5cm, 0], plan: unchecked}}]")
    done = run(sim, program)
    (touch,) = done.monitor.collisions
    assert touch.first.startswith("arm/") and touch.second == "pillar"
    assert touch.kind == "robot-fixture" and not touch.passes_through
    x, y, z = touch.point
    assert abs(x - 0.45) < 0.035 and abs(y) < 0.035 and 0 < z < 1
    assert done.failure.why == str(touch)
    assert f"at t = {touch.time:.3f} s" in done.failure.why
    assert texts(sim, "collision") == [str(touch)]


def test_without_contact_response_it_warns_and_passes_through():
    for plan in ("unchecked", "direct"):
        sim = sim_of(ARM.replace("start", "contact_response: off, start") + PILLAR)
        program = program_of(
            f"arm: [{{move_joints: {{to: [-60deg, 0, 0, 5cm, 0], plan: {plan}}}}}]"
        )
        done = run(sim, program)
        assert done.succeeded
        assert sim.robots["arm"].q == pytest.approx([-np.pi / 3, 0, 0, 0.05, 0], abs=1e-3)
        assert done.monitor.collisions and all(
            one.passes_through for one in done.monitor.collisions
        )
        warned = texts(sim, "warning")
        assert any("touched pillar" in text and "passes through" in text for text in warned)
        assert ("would" in warned[0]) is (plan == "direct")


def test_watch_warn_continues_after_contact_until_blocked():
    sim = sim_of(ARM + PILLAR)
    program = program_of(
        "arm: [{move_joints: {to: [-60deg, 0, 0, 5cm, 0], plan: unchecked}}]", "watch: warn\n"
    )
    done = run(sim, program)
    touch, why = done.monitor.collisions[0], done.failure.why
    assert done.failure.time > touch.time + 1.0
    assert "s after the planned end of the motion" in why and why.endswith("; it touches pillar")


def test_robot_waits_for_a_moving_robot():
    sim = sim_of(TWO)
    program = program_of("""
left: [{move_joints: [0, 0, 0, 5cm, 0]}, {move_joints: [90deg, 0, 0, 5cm, 0]}]
right: [{wait: 0.1s}, {move_joints: [150deg, 0, 0, 5cm, 0]}]
""")
    done = run(sim, program)
    (waits, *_) = texts(sim, "waits")
    assert waits.startswith("right waits for left: right/") and " left/" in waits
    assert done.succeeded and not done.monitor.collisions


# ---- the gripper ---------------------------------------------------------------------------

PICK = """
arm:
  - move_to: {xyz: [5cm, 0, 8cm], rpy: [180deg, 0, 0], in: bar, gripper_symmetric: on}
  - line: {xyz: [5cm, 0, 6mm], in: bar}
  - grip: {body: bar, force: 100N}
  - line: {by: [0, 0, 8cm]}
"""


def test_a_grip_of_a_held_body_may_be_weaker():
    start = PICK[: PICK.index("  - grip")]
    grips = "".join(f"  - grip: {{body: bar, force: {force}N}}\n" for force in (20, 6, 3))
    sim = sim_of(BAR)
    assert run(sim, program_of(start + grips)).succeeded
    assert sim.world.grasp("arm").force < sim.cell.gripper.hold_force


def test_picked_bar_is_a_load_of_the_controller():
    sim = sim_of(BAR)
    done = run(sim, program_of(PICK))
    assert done.succeeded and not done.monitor.collisions
    assert sim.robots["arm"].control.load == ("bar", 1.0)
    assert sim.world.pose("bar")[2, 3] == pytest.approx(0.095, abs=1e-3)
    assert np.abs(sim.robots["arm"].q - sim.robots["arm"].reference.q).max() < 1e-3
    done = run(sim, program_of("arm: [{line: {by: [0, 0, -79mm]}}, {release: }, {wait: 0.2s}]"))
    assert done.succeeded
    assert sim.robots["arm"].control.load is None and sim.world.grasp("arm").held is None


def test_a_held_body_goes_to_its_own_target():
    sim = sim_of(BAR)
    program = program_of(PICK + "  - move_to: {of: bar, xyz: [0.2, 0.3, 0.15], rpy: [0, 0, 40deg],"
                         " orientation: nearest}\n  - wait: 0.3s")  # fmt: skip
    assert run(sim, program).succeeded
    T = sim.world.pose("bar")
    assert T[:3, 3] == pytest.approx([0.2, 0.3, 0.15], abs=2e-3)
    assert np.degrees(np.arctan2(T[1, 0], T[0, 0])) == pytest.approx(40, abs=1)


def test_pads_on_two_bodies_are_both_reported():
    one = "{name: %s, box: [40cm, 14mm, 3cm], mass: 0.3, xyz: [0.3, %s, 15mm]}"
    pair = f"bodies: [{one % ('near', 0.1925)}, {one % ('far', 0.2075)}]\n"
    sim = sim_of(BAR.partition("bodies")[0] + pair)
    done = run(sim, program_of("""
arm:
  - move_to: {xyz: [0.3, 0.2, 8cm], rpy: [180deg, 0, 0], gripper_symmetric: on}
  - line: {xyz: [0.3, 0.2, 21mm]}
  - grip: {force: 20N, timeout: 2s}
"""))  # fmt: skip
    touched = sorted(sim.world.grasp("arm").left), sorted(sim.world.grasp("arm").right)
    assert sorted(touched) == [["far"], ["near"]]
    left, right = (names[0] for names in touched)
    assert f"the left pad touches {left}, the right pad {right}, gripper opening" in str(
        done.failure
    )


def test_a_body_that_is_still_held_after_a_release_is_reported():
    sim = sim_of(BAR)
    done = run(sim, program_of(PICK + "  - release: {opening: 29.5mm, timeout: 1s}"))
    assert sim.world.grasp("arm").held == "bar"
    assert "the gripper still holds bar 1 s after the start of the release" in done.failure.why


def test_each_pad_presses_with_half_the_drive_force():
    sim = sim_of(BAR)
    narrow = PICK.replace("  - grip: {body: bar, force: 100N}", "  - release: 34mm")
    assert run(sim, program_of(narrow.replace("  - line: {by: [0, 0, 8cm]}\n", ""))).succeeded
    sim.robots["arm"].grip(3.0)
    sim.step(8000)
    grasp = sim.world.grasp("arm")
    assert grasp.body == "bar" and grasp.force == pytest.approx(1.5, abs=1e-3)
    assert grasp.held is None  # hold_force is 2 N


def test_gripping_nothing_is_reported():
    sim = sim_of(BAR)
    done = run(sim, program_of("arm: [{grip: {timeout: 1s}}]"))
    assert "no grasp after 1 s: no pad is in contact" in done.failure.why


def test_target_of_a_body_that_is_not_held_is_rejected():
    sim = sim_of(BAR)
    done = run(sim, program_of("arm: [{move_to: {of: bar, xyz: [0, 0, 0]}}]"))
    assert "the target is for 'bar', but the gripper holds nothing" in done.failure.why


def test_a_dropped_bar_is_named_with_time_and_place():
    sim = sim_of(BAR)
    program = program_of(PICK + "  - wait: 2s")
    execution = program.start(sim)
    while not execution.done and sim.time < 20:
        if execution.states["arm"].text == "wait":
            sim.robots["arm"].world.gripper.grip(3)  # a drive that fails
        sim.step()
    (drop,) = execution.monitor.drops
    assert (drop.robot, drop.body) == ("arm", "bar")
    assert "arm dropped bar at t = " in execution.failure.why
    assert "gripped with 3 N" in drop.how
    assert drop.position == pytest.approx(sim.world.pose("bar")[:3, 3], abs=5e-3)


# ---- waiting, meeting, talking -------------------------------------------------------------


def test_robots_sync_and_signal():
    sim = sim_of(TWO)
    program = program_of("""
left: [{wait: 0.5s}, {sync: here}, {note: left}, {wait: 0.2s}, {set_signal: go}]
right: [{sync: here}, {note: right}, {wait_until: {signal: go}}, {note: went}]
""")
    assert run(sim, program).succeeded
    notes = {event.text: event.t for event in sim.events if event.kind == "note"}
    assert notes["left"] == pytest.approx(0.5, abs=2e-3)
    assert notes["right"] == pytest.approx(notes["left"], abs=2e-3)
    assert notes["went"] == pytest.approx(0.7, abs=0.015)


def test_syncs_can_be_repeated():
    sim = sim_of(TWO)
    program = program_of("""
left: [{repeat: {times: 3, do: [{wait: 0.1s}, {sync: again}]}}]
right: [{repeat: {times: 3, do: [{sync: again}, {note: on}]}}]
""")
    assert run(sim, program).succeeded
    times = [event.t for event in sim.events if event.kind == "note"]
    assert times == pytest.approx([0.1, 0.2, 0.3], abs=5e-3)


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ("wait_until: {signal: never, timeout: 0.2s}", "signal 'never' is off"),
        ("wait_until: {held: bar, timeout: 0.2s}", "the gripper does not hold bar"),
        ("wait_until: {touching: [bar, arm], timeout: 0.2s}", "bar and arm are not in contact"),
    ],
)
def test_wait_has_a_timeout(steps, why):
    sim = sim_of(BAR)
    done = run(sim, program_of(f"arm: [{{{steps}}}]"))
    assert why in done.failure.why and "timeout after 0.2 s" in done.failure.why


def test_conditions_of_contact_and_time():
    sim = sim_of(BAR)
    program = program_of("arm: [{wait_until: {touching: [bar, floor]}}, {wait_until: {at: 0.3s}}]")
    assert run(sim, program).succeeded
    assert sim.time == pytest.approx(0.3, abs=0.02)


def test_misspelt_sync_is_rejected_before_the_start():
    sim = sim_of(TWO)
    with pytest.raises(BrazoError, match=r"only 'left' has a sync named 'hear'; did you mean 'he"):
        program_of("left: [{sync: hear}, {sync: here}]\nright: [{sync: here}]").start(sim)


def test_controller_and_gains_change_during_a_program():
    sim = sim_of(ARM)
    program = program_of("""
arm:
  - set_controller: {controller: PDGravity, gains: {wn: 30}}
  - move_joints: [30deg, 0, 0, 8cm, 0]
  - set_controller: {gains: {kd: [1, 2, 3, 4, 5]}}
""")
    assert run(sim, program).succeeded
    law = sim.robots["arm"].controller
    assert law.name == "PDGravity" and law.gains["kd"] == pytest.approx([1, 2, 3, 4, 5])
    bad = program_of("arm: [{set_controller: {controller: PID, gains: {spin: 3}}}]")
    with pytest.raises(BrazoError, match="no gain of PID 'spin'; available: kp, ki, kd"):
        bad.start(sim)


# ---- pausing -------------------------------------------------------------------------------


def test_pause_and_resume_end_at_the_same_pose():
    sim = sim_of(ARM)
    assert run(sim, program_of("arm: [{move_joints: home}]")).succeeded
    program = program_of("arm: [{line: {by: [-0.1, -0.1, 0.02], time: 2s}}, {note: done}]")
    execution = program.start(sim)
    start = sim.robots["arm"].tool()[:3, 3]
    sim.step(800)
    execution.pause()
    assert execution.paused
    sim.step(1000)
    stood = sim.robots["arm"].tool()
    sim.step(500)
    assert sim.robots["arm"].tool() == pytest.approx(stood, abs=1e-5)
    assert texts(sim, "note") == []
    way = (stood[:3, 3] - start) / np.array([-0.1, -0.1, 0.02])
    assert way == pytest.approx(way.mean(), abs=0.02) and 0.2 < way.mean() < 0.9
    execution.resume()
    while not execution.done:
        sim.step()
    assert execution.succeeded
    assert sim.robots["arm"].tool()[:3, 3] == pytest.approx(start + [-0.1, -0.1, 0.02], abs=1e-3)


def test_no_robot_resumes_if_one_moves_or_was_moved_away():
    sim = sim_of(TWO)
    execution = program_of("""
left: [{move_joints: {to: [60deg, 0, 0, 5cm, 0], time: 2s}}]
right: [{move_joints: {to: [60deg, 0, 0, 5cm, 0], time: 2s}}]
""").start(sim)
    sim.step(800)
    execution.pause()
    sim.step(1000)
    left, right = sim.robots["left"], sim.robots["right"]
    rest = right.reference.q
    away = rest + [0.2, 0, 0, 0, 0]
    right.move(quintic(rest, away, 1.0))
    with pytest.raises(BrazoError, match="'right' is still"):
        execution.resume()
    assert execution.paused and not left.moving
    sim.step(1100)
    with pytest.raises(BrazoError, match="'right' cannot continue: it was moved during the pause"):
        execution.resume()
    assert execution.paused and not left.moving
    right.move(quintic(away, rest, 1.0))
    sim.step(1100)
    execution.resume()
    while not execution.done:
        sim.step()
    assert execution.succeeded, execution.failure


def test_a_robot_stopped_from_outside_fails_its_step():
    sim = sim_of(ARM)
    execution = program_of("arm: [{move_joints: home}, {note: never}]").start(sim)
    sim.step(300)
    sim.robots["arm"].stop()
    while not execution.done:
        sim.step()
    assert "the motion was interrupted" in execution.failure.why
    assert texts(sim, "note") == []


def test_a_robot_does_one_program_at_a_time_and_a_reset_ends_it():
    sim = sim_of(ARM + PILLAR)
    program = program_of("arm: [{move_joints: {to: [-60deg, 0, 0, 5cm, 0], plan: unchecked}}]")
    program.start(sim)
    sim.step(10)
    with pytest.raises(BrazoError, match="'arm' is running program 'test'; stop it first"):
        program.start(sim)
    sim.reset()
    assert run(sim, program).failed
    assert len(texts(sim, "collision")) == 1  # the first execution reports nothing any more


# ---- a cell that does not fit --------------------------------------------------------------


@pytest.mark.parametrize(
    ("robots", "wanted"),
    [
        ("leg: [{wait: 1s}]", "no robot 'leg' in cell 'test'; robots: arm"),
        ("arm: [{move_joints: [1, 2]}]", "task.yaml:3: move_joints: 2 values for the 5 joints"),
        ("arm: [{move_joints: [0, 0, 0, 5deg, 0]}]", "joint 'quill' takes a length"),
        (
            "arm: [{move_joints: [0, 0, 0, 5m, 0]}]",
            "5000 mm is outside the limits 0 .. 200 mm of joint 'quill'",
        ),
        ("arm: [{move_joints: hom}]", "no pose 'hom'; did you mean 'home'?"),
        ("arm: [{move_to: {xyz: [0, 0, 0], in: bat}}]", "no frame 'bat'; did you mean 'bar'?"),
        ("arm: [{grip: {body: bat}}]", "no free body 'bat'"),
        ("arm: [{grip: 200N}]", "force 200 N; the max of the gripper is 120 N"),
        ("arm: [{release: 9cm}]", "opening 0.09 m; the gripper's range is 0 to 0.08 m"),
        ("arm: [{wait_until: {through: chute, body: bar}}]", "no chute 'chute'; available: none"),
        ("arm: [{wait_until: {held: bar, by: leg}}]", "no robot 'leg'"),
        ("arm: [{set_controller: PDI}]", "no controller 'PDI'; did you mean 'PID'?"),
        ("arm: [{for_each: {as: x, of: [bar, bat], do: [{grip: {body: $x}}]}}]", "'bat'"),
    ],
)
def test_names_missing_in_the_cell_are_reported_before_the_first_step(robots, wanted):
    with pytest.raises(BrazoError) as error:
        program_of(robots).start(sim_of(BAR))
    assert wanted in str(error.value) and "task.yaml" in str(error.value)


# ---- how it starts -------------------------------------------------------------------------


def test_program_does_not_start_with_overlapping_bodies():
    cell = BAR.replace("xyz: [0.3, 0.2, 15mm]", "xyz: [0.3, 0.2, 5mm]")
    program = program_of("arm: [{wait: 1s}]")
    with pytest.raises(BrazoError, match=r"cell.yaml:4: bodies\[0\]: 'bar' starts 10 mm inside"):
        program.start(sim_of(cell))


def test_a_contact_at_the_start_counts_as_unintended():
    # A floor below the fingers, then raised by half a millimetre too much: pressed, not planted.
    world = sim_of(ARM + "floor: {height: -1}\n").world
    fingers = {label.name for label in world.labels if label.part.startswith("finger")}
    gaps = [world.distance(finger, "floor", 5.0) for finger in fingers]
    height = min(gap.value for gap in gaps if gap is not None) - 1.0 + 0.0005
    sim = sim_of(ARM + f"floor: {{height: {height}}}\n")
    done = run(sim, program_of("arm: [{wait: 1s}]"))
    touch = done.monitor.collisions[0]
    assert touch.first in fingers and (touch.second, touch.time) == ("floor", 0.0)
    assert done.failed and sim.time < 0.01


# ---- arriving ------------------------------------------------------------------------------


def test_step_ends_on_arrival_not_at_the_planned_time():
    """A soft controller lags behind the reference: the next step has to wait for it."""
    sim = sim_of(ARM)
    program = program_of("""
arm:
  - set_controller:
      controller: PDGravity
      gains: {kp: [30, 20, 5, 1000, 1], kd: [30, 10, 1, 200, 0.05]}
  - move_joints: {to: [0, 0, 0, 5cm, 0], time: 1s, within: 2mm, timeout: 20s}
""")
    done = run(sim, program)
    assert done.succeeded and sim.time > 1.1
    away = sim.robots["arm"].tool()[:3, 3] - sim.robots["arm"].arm.fk([0, 0, 0, 0.05, 0])[:3, 3]
    assert np.linalg.norm(away) <= 0.002


def test_arm_that_does_not_arrive_reports_distance_and_cause():
    sim = sim_of(ARM)
    text = "arm:\n  - set_controller: {controller: PDGravity, gains: {kp: 0, kd: 20}}\n"
    done = run(sim, program_of(text + "  - move_joints: {to: [0, 0, 0, 5cm, 0], timeout: 0.5s}"))
    why = str(done.failure)
    assert why.startswith("task.yaml:5: arm, step 2 (move_joints): arm is ")
    assert "mm and " in why and "0.5 s after the planned end of the motion" in why
    assert (
        "controller PDGravity has a steady-state error at " in why
        and "no drive is saturated" in why
    )


def test_pause_does_not_count_for_the_grip_timeout():
    sim = brazo.Simulation("cooperative")
    execution = brazo.load_program("cooperative").start(sim)
    sim.tasks.add(execution)
    while execution.states["scara1"].text != "grip":
        sim.step()
    sim.step(50)
    execution.pause()
    sim.step(6000)  # longer than a grip may take
    execution.resume()
    while not execution.done and execution.states["scara1"].index < 8:
        sim.step(100)
    assert execution.failure is None


def test_pause_does_not_count_for_the_timeout_of_a_motion():
    sim = sim_of(ARM)
    text = "arm:\n  - set_controller: {controller: PDGravity, gains: {kp: 0, kd: 20}}\n"
    program = program_of(text + "  - move_joints: {to: [0, 0, 0, 5cm, 0], timeout: 0.5s}")
    execution = program.start(sim)
    sim.step()
    while sim.robots["arm"].moving:
        sim.step()
    end = sim.time
    sim.step(100)
    execution.pause()
    sim.step(1000)
    execution.resume()
    while not execution.done:
        sim.step()
    assert execution.failure.time - end == pytest.approx(1.5, abs=0.02)


def test_the_progress_of_a_robot_names_its_step_until_it_is_done():
    sim = sim_of(ARM)
    execution = program_of("arm: [{wait: 0.1s}, {note: end}]").start(sim)
    sim.step()
    assert str(execution.states["arm"]) == "arm: step 1 of 2, wait (task.yaml:3)"
    while not execution.done:
        sim.step()
    assert str(execution.states["arm"]) == "arm: done, 2 steps"


def test_wait_is_suspended_by_a_pause():
    sim = sim_of(ARM)
    execution = program_of("arm: [{wait: 0.5s}, {note: done}]").start(sim)
    sim.step(300)
    execution.pause()
    sim.step(1000)
    execution.resume()
    begin = sim.time
    while not execution.done:
        sim.step()
    assert sim.time - begin == pytest.approx(0.2, abs=2.5 * sim.dt)
