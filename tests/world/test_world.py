"""The world moves as the models predict, is deterministic, and can be edited while running."""

from __future__ import annotations

import time

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.description import TreeModel
from brazo.model.transforms import pose, translate
from brazo.world import Cell, CellRobot, Diverged, World, load_cell
from brazo.world.robot_source import RobotSource
from tests.formats.urdf.sample import SAMPLE
from tests.oracles import pinocchio
from tests.world.control import Hand, run
from tests.world.scenes import both_holding, cell

ROBOTS = ["scara1", "scara2", "puma560", "puma560-drives", "srm1", "panda", "delta"]
TREES = [name for name in ROBOTS if name != "delta"]


def crowd(names=ROBOTS, extra: str = "") -> World:
    """Several robots far apart, each on a tilted base."""
    rows = [
        f"  - {{name: r{i}, robot: {name}, base: {{xyz: [{4 * i}, {i}, 3], rpy: [{0.3 * i}, "
        f"-0.2, {i}]}}}}"
        for i, name in enumerate(names)
    ]
    text = "floor: none\n" + extra + "robots:\n" + "\n".join(rows) + "\n"
    return World(cell(text))


@pytest.fixture(scope="module")
def everyone() -> World:
    return crowd()


@pytest.mark.parametrize("name", ROBOTS)
def test_poses_are_the_frames_of_the_model(everyone, name):
    arm = brazo.load(name)
    robot = everyone.robots[f"r{ROBOTS.index(name)}"]
    for q in arm.random_q(5, seed=1):
        robot.set_state(q)
        assert np.abs(robot.frames() - robot.base @ arm.frames(q)).max() < 1e-12
        assert np.abs(robot.tool() - robot.base @ arm.fk(q)).max() < 1e-12
        assert np.array_equal(robot.q, q)


@pytest.mark.parametrize("name", TREES)
def test_inverse_dynamics_in_the_cell_is_that_of_the_robot(everyone, name):
    """The engine with everything in it against Pinocchio's model of the lone robot."""
    world, rng = everyone, np.random.default_rng(2)
    robot = world.robots[f"r{ROBOTS.index(name)}"]
    m, d, mujoco = world.mj_model, world.mj_data, engine()
    model = robot.model
    assert isinstance(model, TreeModel)
    alone = pinocchio(model)
    alone.robot.gravity.linear = robot.base[:3, :3].T @ world.cell.gravity
    dofs = [int(m.joint(f"{robot.name}/{joint}").dofadr[0]) for joint in robot.joint_names]
    scale = 0.0
    for q in brazo.load(name).random_q(5, seed=3):
        qd, qdd = rng.normal(size=(2, robot.n))
        robot.set_state(q, qd)
        if robot.gripper is not None:
            robot.gripper.place(
                rng.uniform(*robot.gripper.description.opening)
            )  # it weighs the same
        d.qacc[:] = 0.0
        d.qacc[dofs] = qdd
        mujoco.mj_inverse(m, d)
        viscous = [joint.friction.viscous for joint in model.coordinates]
        wanted = alone.inverse_dynamics(q, qd, qdd) + viscous * qd
        # Limits and dry friction are constraints of the engine and are excluded here.
        found = d.qfrc_inverse[dofs] + d.qfrc_constraint[dofs]
        scale = max(scale, np.abs(wanted).max())
        assert np.abs(found - wanted).max() < 2e-13 * max(scale, 10.0)


@pytest.mark.parametrize("name", ["srm1", "puma560-drives", "scara1"])
def test_exact_mode_accelerates_as_the_analytic_model(name):
    """Friction and all, at speeds of both signs."""
    world = World(cell(f"floor: none\nrobots: [{{name: a, robot: {name}}}]\n"), mode="exact")
    arm, robot, rng = brazo.load(name), world.robots["a"], np.random.default_rng(4)
    for q in arm.random_q(5, seed=5):
        qd, tau = rng.normal(size=robot.n), rng.uniform(-9, 9, robot.n)  # within the drives
        robot.set_state(q, qd)
        robot.set_torque(tau)
        world.compiled.friction.apply(world.mj_data)
        world.forward()
        wanted = arm.forward_dynamics(q, qd, tau)
        assert np.abs(robot.qdd - wanted).max() < 1e-11 * max(np.abs(wanted).max(), 10.0)


def test_exact_mode_swings_as_the_analytic_run():
    world = World(cell("floor: none\nrobots: [{name: a, robot: srm1}]\n"), mode="exact")
    arm, robot = brazo.load("srm1"), world.robots["a"]
    q0 = np.array([0.3, -0.8, 0.5, 0.4, -0.7, 0.2])
    robot.set_state(q0)
    world.step(500)
    run_ = arm.simulate(q0=q0, t_end=0.5, dt=1e-3)
    assert np.abs(robot.q - run_.q[-1]).max() < 1e-10


def test_joints_are_views_of_the_engines_memory(everyone):
    for robot in everyone.robots.values():
        for view, memory in (
            (robot.q, everyone.mj_data.qpos),
            (robot.qd, everyone.mj_data.qvel),
            (robot.torque, everyone.mj_data.ctrl),
        ):
            assert np.shares_memory(view, memory)
            assert view.shape == (robot.n,)


def test_drive_torques_are_limited():
    world = World("cooperative")
    robot = world.robots["scara1"]
    robot.set_torque([1000, -1000, 1000, -1000, 1000])
    world.step()
    assert robot.drive_torque.tolist() == [60, -40, 200, -10, 10]


def test_joints_stop_at_their_limits():
    world = World(cell("floor: none\nrobots: [{name: a, robot: scara2, start: zero}]\n"))
    robot = world.robots["a"]
    robot.torque[1] = 2.0
    world.step(3000)
    limit = np.radians(140)
    assert robot.q[1] == pytest.approx(limit, abs=2e-3)
    assert abs(robot.qd[1]) < 1e-3


def fingerprint(world: World) -> bytes:
    return world.mj_data.qpos.tobytes() + world.mj_data.qvel.tobytes()


def test_runs_with_contacts_are_deterministic_with_or_without_observers():
    first, *hands = both_holding(0.05)
    start = first.save()
    run(first, 2.0, *hands)
    assert len(first.contacts()) >= 16
    end = fingerprint(first)
    second, *others = both_holding(0.05)
    assert second.save().engine.tobytes() == start.engine.tobytes()
    second.on_contact(lambda event: None)
    for k in range(2000):
        for hand in others:
            hand.tick()
        second.step()
        if k % 10 == 0:
            second.poses()
            second.distance("scara1", "scara2")
            second.grasp("scara1")
    assert fingerprint(second) == end
    first.restore(start)
    run(first, 2.0, *hands)
    assert fingerprint(first) == end


def test_a_saved_state_holds_grippers_switches_and_welds():
    world = World(load_cell("cooperative"))
    robot = world.robots["scara1"]
    robot.gripper.grip(50)
    robot.contact_response = False
    robot.gripper.weld = True
    world.mj_data.eq_active[robot.gripper.weld_ids["bar 1"]] = 1
    world.mj_model.eq_data[robot.gripper.weld_ids["bar 1"], 3] = 0.125
    state = world.save()
    world.reset()
    assert robot.gripper.command == ("opening", 0.08)
    assert robot.contact_response and not robot.gripper.weld
    world.restore(state)
    assert world.time == state.time
    assert robot.gripper.command == ("force", 50.0)
    assert not robot.contact_response and robot.gripper.weld
    assert world.mj_data.eq_active[robot.gripper.weld_ids["bar 1"]] == 1
    assert world.mj_model.eq_data[robot.gripper.weld_ids["bar 1"], 3] == 0.125
    with pytest.raises(BrazoError, match="saved from another world"):
        World("solo-puma560").restore(state)


def test_reset_restores_the_start_of_the_file():
    world = World("cooperative")
    start = fingerprint(world)
    world.robots["scara1"].torque[:] = 5.0
    world.step(200)
    assert fingerprint(world) != start
    world.reset()
    assert fingerprint(world) == start and world.time == 0.0
    assert not world.robots["scara1"].torque.any()


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A URDF with branches, a mimic and a capsule, standing in a cell."""
    path = tmp_path_factory.mktemp("urdf") / "sample.urdf"
    path.write_text(SAMPLE, encoding="utf-8")
    return path, World(cell(f"floor: none\nrobots: [{{name: s, robot: {path}}}]\n"))


def test_robots_of_other_formats_can_be_placed_in_cells(foreign):
    path, world = foreign
    arm, robot = brazo.load(path), world.robots["s"]
    q = arm.random_q(seed=2)
    robot.set_state(q)
    assert np.array_equal(robot.q, q)
    assert np.abs(robot.frames() - arm.frames(q)).max() < 1e-12


def test_a_joint_that_mimics_follows_its_master(foreign):
    _, world = foreign
    robot = world.robots["s"]
    world.reset()
    robot.torque[robot.joint_names.index("left")] = 2.0
    world.step(30)
    left, right = (world.mj_data.joint(f"s/{name}").qpos[0] for name in ("left", "right"))
    assert left > 0.005 and right == pytest.approx(0.005 - left, abs=2e-4)
    assert robot.external_torque().shape == (robot.n,)
    with pytest.raises(BrazoError, match=r"not read from a robot file \(.yaml\), so its width"):
        world.edit("s", width=2.0)
    with pytest.raises(BrazoError, match="has no parameters"):
        world.edit("s", {"L1": 2.0})


@pytest.mark.parametrize("name", ["scara2", "delta"])
def test_a_robot_without_a_start_starts_in_its_home_pose(name):
    world = World(Cell(name="a", robots=(CellRobot("arm", RobotSource.load(name)),)))
    assert world.robots["arm"].q == pytest.approx(brazo.load(name).poses["home"], abs=1e-12)


def test_a_callback_may_edit_the_world():
    world = World("cooperative")
    world.place("bar 1", translate(-0.3, -0.4, 0.05))
    edits = []

    def grow(event):
        edits.append(event)
        world.edit("scara1", {"L1": 0.31})

    world.on_contact(grow, kinds=["object-fixture"])
    world.step(200)
    assert edits and world.time == pytest.approx(0.2)
    assert world.robots["scara1"].model.parameters["L1"] == 0.31


def test_gravity_of_a_robot_file_is_ignored_with_a_warning(tmp_path):
    path = tmp_path / "light.yaml"
    path.write_text(
        "name: light\ngravity: [0, 0, -1.6]\njoints: [{a: 1, mass: 1, inertia: [1, 1, 1]}]\n",
        encoding="utf-8",
    )
    world = World(cell(f"floor: none\nrobots: [{{name: m, robot: {path}}}]\n"))
    assert any("the gravity in its file is not used" in str(f) for f in world.findings)


def test_a_singular_robot_is_named(tmp_path):
    path = tmp_path / "point.yaml"
    path.write_text(
        "name: point\njoints: [{a: 0.3, mass: 1, inertia: [1, 1, 1]}, "
        "{name: tip, mass: 0, inertia: [0, 0, 0]}]\n",
        encoding="utf-8",
    )
    world = World(cell(f"floor: none\nrobots: [{{name: p, robot: {path}}}]\n"))
    with pytest.raises(Diverged, match=r"joint 'p/tip'.*The mass matrix is singular"):
        world.step()


# ---- edits ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        ({"parameters": {"L1": 0.36}}, {"L1": 0.36}),
        ({"parameters": {"L_base": 0.8, "L2": 0.2}}, {"L_base": 0.8, "L2": 0.2}),
        ({"width": 1.4}, {}),
        ({"finger": (0.03, 0.012, 0.05)}, {}),
        ({"opening": (0.0, 0.06)}, {}),
        ({"base": pose((0.5, 0.1, 0.02), (0.1, 0.0, 1.0))}, {}),
    ],
)
def test_an_edit_keeps_the_state_of_everything_and_moves_the_frames(edit, changed):
    world = World("cooperative")
    arm, other = world.robots["scara1"], world.robots["scara2"]
    arm.torque[:] = 0.5
    arm.gripper.grip(30)
    world.place("bar 2", translate(-0.3, -0.4, 0.5))
    world.step(40)
    before = {
        "q": arm.q.copy(), "qd": arm.qd.copy(), "torque": arm.torque.copy(),
        "other": other.q.copy(), "time": world.time, "bar": world.pose("bar 2"),
        "speed": world.velocity("bar 2"), "opening": arm.gripper.opening,
    }  # fmt: skip
    world.edit("scara1", **edit)
    arm, other = world.robots["scara1"], world.robots["scara2"]
    assert np.array_equal(arm.q, before["q"]) and np.array_equal(arm.qd, before["qd"])
    assert np.array_equal(arm.torque, before["torque"])
    assert np.array_equal(other.q, before["other"])
    assert np.array_equal(world.pose("bar 2"), before["bar"])
    assert np.array_equal(world.velocity("bar 2"), before["speed"])
    assert world.velocity("bar 2")[2] < -0.3  # it continues to fall
    assert world.time == before["time"]
    widest = edit.get("opening", (0.0, 0.08))[1]
    assert arm.gripper.opening == min(before["opening"], widest)
    assert arm.gripper.command == ("force", 30.0)
    robot = brazo.load("scara1").with_parameters(**{"L_base": 0.525, **changed})
    assert np.abs(arm.frames() - arm.base @ robot.frames(arm.q)).max() < 1e-12
    world.step(10)


def test_width_and_fingers_change_the_solids():
    world = World("cooperative")
    before = {one.name: one.parts for one in world.drawn}
    world.edit("scara1", width=2.0)
    world.edit("scara1", finger=(0.03, 0.012, 0.05))
    after = {one.name: one.parts for one in world.drawn}
    wide, slim = after["scara1/link 1"][0].shape, before["scara1/link 1"][0].shape
    assert wide.radii[0] == pytest.approx(2 * slim.radii[0]) and wide.length == slim.length
    assert after["scara1/finger left"][0].shape.size == (0.03, 0.012, 0.05)
    assert world.cell.robots[0].source.edits.width == 2.0


def test_an_edit_takes_less_than_30_ms():
    world = World("cooperative")
    best = 1.0
    for k in range(8):
        start = time.process_time()
        world.edit("scara1", {"L1": 0.3 + 0.005 * k})
        best = min(best, time.process_time() - start)
    assert best < 0.030


def test_a_delta_is_closed_again_after_an_edit():
    world = World("delta")
    robot = world.robots["delta"]
    robot.set_state([-0.4, -0.3, -0.2], [0.5, -0.4, 0.3])
    world.edit("delta", {"L2": 0.55})
    robot = world.robots["delta"]
    assert robot.q == pytest.approx([-0.4, -0.3, -0.2], abs=0)
    longer = brazo.load("delta").with_parameters(L2=0.55)
    assert np.abs(robot.tool() - robot.base @ longer.fk(robot.q)).max() < 1e-12
    rate = longer.jacobian(robot.q)[:3] @ robot.qd
    at = int(world.mj_model.joint("delta/platform x").dofadr[0])
    assert world.mj_data.qvel[at : at + 3] == pytest.approx(rate, abs=1e-12)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"parameters": {"L9": 1.0}}, "unknown parameter 'L9'; this robot has: L_base, L1"),
        ({"width": -1.0}, "body.width: -1 must be greater than 0"),
        ({"finger": (0.0, 0.01, 0.06)}, "gripper.finger: finger sizes must be greater than 0"),
        ({"opening": (0.05, 0.01)}, "gripper.opening"),
        ({"base": np.eye(3)}, "a pose must be a 4x4 matrix"),
        ({"base": np.diag([2.0, 1, 1, 1])}, "is not a rotation"),
    ],
)
def test_a_refused_edit_changes_nothing(edit, said):
    world = World("cooperative")
    model, state = world.mj_model, fingerprint(world)
    with pytest.raises(BrazoError) as error:
        world.edit("scara1", **edit)
    assert said in str(error.value)
    assert world.mj_model is model and fingerprint(world) == state
    world.step()


def test_a_delta_that_could_not_be_closed_is_not_edited():
    world = World("delta")
    model = world.mj_model
    with pytest.raises(BrazoError, match="the rods do not meet"):
        world.edit("delta", {"L2": 0.3})
    assert world.mj_model is model
    world.step(5)


def test_contacts_after_a_restart_are_those_of_the_saved_switches():
    world = World("cooperative")
    arm = world.robots["scara2"]
    at = arm.tool()[:3, 3]
    world.place("bar 1", translate(at[0], at[1], at[2] + 0.055))  # in its palm
    assert any(c.force.any() for c in world.contacts().of("scara2"))
    state = world.save()
    arm.contact_response = False
    world.restore(state)
    assert any(c.force.any() for c in world.contacts().of("scara2"))


# ---- guards --------------------------------------------------------------------------------


def test_diverged_simulation_names_the_place_and_prints_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    world = World("cooperative")
    world.robots["scara2"].torque[2] = np.nan
    with pytest.raises(Diverged) as error:
        world.step()
    assert "drive 'scara2/forearm'" in str(error.value)
    world.reset()
    world.step()
    world.robots["scara2"].qd[0] = 1e12
    with pytest.raises(Diverged) as error:
        world.step(5)
    assert "joint 'scara2/" in error.value.where
    world.reset()
    world.step(5)
    assert list(tmp_path.iterdir()) == [] and capfd.readouterr() == ("", "")


def test_invalid_calls_state_what_is_expected():
    world = World("cooperative")
    robot = world.robots["scara1"]
    for call, said in (
        (lambda: world.step(-1), "cannot make -1 steps"),
        (lambda: World("cooperative", mode="fast"), "mode 'fast' is not one of contact, exact"),  # type: ignore[arg-type]
        (lambda: robot.set_torque([1, 2]), r"torque of 'scara1' has shape \(2,\); expected \(5,\)"),
        (lambda: robot.set_torque([np.nan] * 5), "torque of 'scara1': every value must be finite"),
        (lambda: robot.set_state("abc"), "q of 'scara1': not an array of numbers"),
        (lambda: robot.gripper.grip(500), "the force is 500 N; it must be from -120 to 120 N"),
        (lambda: robot.gripper.open(0.2), "the opening is 0.2 m; it must be 0 to 0.08 m"),
        (lambda: world.edit("scara3"), "no robot named 'scara3' in this cell; robots: scara1"),
        (lambda: world.pose("bar 9"), "nothing named 'bar 9' in this cell; it contains: "),
        (lambda: world.place("platform", np.eye(4)), "no free body named 'platform'"),
        (lambda: world.distance("scara1", "x"), "nothing named 'x' in this cell; it contains: fl"),
        (lambda: world.on_contact(print, ["robot"]), "no contact class 'robot'; choose from"),  # type: ignore[list-item]
        (lambda: world.on_grasp(3), "a callback must be a function that takes the event"),  # type: ignore[arg-type]
        (lambda: World("solo-puma560").grasp("puma560"), "robot 'puma560' has no gripper"),
    ):  # fmt: skip
        with pytest.raises(BrazoError, match=said):
            call()


def test_gravity_and_step_are_the_cells():
    world = World(cell(
        "gravity: [1, 0, 0]\nstep: 0.5ms\nfloor: none\n"
        "bodies: [{name: ball, sphere: 1cm, mass: 1}]\n"
    ))  # fmt: skip
    world.step(1000)
    assert world.time == pytest.approx(0.5)
    assert world.velocity("ball")[:3] == pytest.approx([0.5, 0, 0], abs=1e-12)


def test_every_part_is_drawn_once_at_its_pose():
    world = World("delta")
    assert len(world.drawn) == len(world.poses()) == len({one.name for one in world.drawn})
    names = [one.name for one in world.drawn if one.kind == "robot"]
    assert names == [f"delta/{name}" for name in brazo.load("delta").body_names]
    table = next(one for one in world.drawn if one.name == "table")
    assert table.kind == "fixture" and table.parts[0].color == (0.55, 0.57, 0.60)
    assert world.pose("puck 1")[:3, 3] == pytest.approx([0.12, 0, 0.365])


def test_an_arm_held_by_its_controller_stays_where_it_is():
    world = World("solo-puma560")
    hand = Hand(world, "puma560")
    run(world, 0.5, hand)
    assert np.abs(world.robots["puma560"].q - hand.hold).max() < 1e-12
