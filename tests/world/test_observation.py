"""How steps are looked at: patterns, grips, hand sensors, distances; locks; the last steps."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.formats.mjcf.engine import engine
from brazo.model.transforms import rot_z, translate
from brazo.world import World
from brazo.world.contact_pattern import NEAR, TOUCHING, PatternReader
from brazo.world.distances import Nearest
from brazo.world.grasps import face_angle
from brazo.world.last_steps import LastSteps, model_bytes, model_of
from tests.world.control import run
from tests.world.scenes import both_holding, cell, holding

ALL = frozenset(
    ["robot-robot", "self", "robot-object", "robot-fixture", "object-object", "object-fixture"]
)


def levels_of(world: World, wanted) -> dict:
    """By the contacts read in full."""
    found: dict = {}
    for contact, first, second in zip(
        world.contacts(), world.contacts().first, world.contacts().second, strict=True
    ):
        if contact.kind in wanted:
            pair = int(first), int(second)
            found[pair] = max(found.get(pair, NEAR), TOUCHING if contact.touching else NEAR)
    return found


@pytest.mark.parametrize("wanted", [ALL, frozenset(["robot-object"])])
def test_levels_of_a_pattern_are_those_of_the_contacts(wanted):
    world, one, two = both_holding()
    patterns = PatternReader(world.compiled.reader, world.mj_data, wanted)
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(40):
        one.hold = one.hold + rng.uniform(-1, 1, 5) * 1e-3
        run(world, 0.005, one, two)
        levels = patterns.read().levels
        assert levels == levels_of(world, wanted)
        seen += len(levels)
    assert seen > 100


def test_incremental_grasps_equal_those_of_a_full_read():
    """Gripping, shaking, letting go: in every step the same body and the same force."""
    world, hand = holding()
    events = []
    world.on_grasp(lambda event: events.append(event.phase))
    rng = np.random.default_rng(1)
    held = None
    for k in range(400):
        if k == 250:
            hand.robot.gripper.open()
        hand.hold = hand.hold + rng.uniform(-1, 1, 5) * 2e-4
        run(world, world.dt, hand)
        grasp = world.grasp("arm") if held is None else world.compiled.grasps["arm"].read(
            world.contacts(), world.mj_data, held
        )  # fmt: skip
        body, force, welded = world.observer.grips[0]
        assert (body == 0.0) == (grasp.held == "bar") and welded == 0.0
        if grasp.held:
            assert force == pytest.approx(grasp.force, abs=1e-12)
        held = grasp.held
    assert events == ["grasped", "released"]


def test_the_hand_sensor_gives_the_force_on_the_body():
    world, one, two = both_holding()
    sensors = [hand.robot.gripper.sensors for hand in (one, two)]
    data = world.mj_data.sensordata[None]
    forces = np.array([s.forces(data, np.array([0]))[0] for s in sensors])
    for hand, force in zip((one, two), forces, strict=True):
        reported = sum(
            contact.force for contact in world.contacts().of("bar 1")
            if contact.first.startswith(f"{hand.robot.name}/finger")
        )  # fmt: skip
        assert force == pytest.approx(reported, abs=1e-12)
    assert forces.sum(axis=0)[2] == pytest.approx(0.4 * 9.81, rel=0.05)
    assert not sensors[0].forces(data, np.array([-1])).any()
    assert not sensors[0].forces(data, np.array([1])).any()  # bar 2 lies on the platform


@pytest.mark.parametrize("yaw", [0.0, 0.1, 0.7, 1.2])
def test_the_sensor_of_the_fingers_direction_is_that_of_the_frames(yaw):
    world, _ = holding()
    world.place("bar", world.pose("bar") @ rot_z(yaw))
    robot = world.robots["arm"]
    along = world.pose("bar")[:3, :3].T @ robot.tool()[:3, 1]
    sensors = robot.gripper.sensors
    assert world.mj_data.sensordata[sensors.along["bar"]] == pytest.approx(along, abs=1e-12)
    shape = world.cell.bodies[0].shape
    sensed = world.compiled.grasps["arm"]._along["bar"]
    assert face_angle(shape, sensed) == pytest.approx(face_angle(shape, along), abs=1e-7)


def test_repeated_distance_queries_equal_a_full_query():
    world = World("cooperative")
    one, two = world.robots["scara1"], world.robots["scara2"]
    nearest = Nearest(world.mj_model, world.labels, ("scara1", "scara2"), 2.0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        one.set_state(one.start + rng.uniform(-1, 1, 5) * [1.5, 1, 0.02, 1, 1])
        two.set_state(two.start + rng.uniform(-1, 1, 5) * [1.5, 1, 1, 0.02, 1])
        found = world.distance("scara1", "scara2", 2.0)
        assert found is not None
        assert nearest.value(world.mj_data) == pytest.approx(found.value, abs=1e-9)
    assert (
        Nearest(world.mj_model, world.labels, ("scara1", "scara2"), 1e-6).value(world.mj_data)
        <= 1e-6
    )
    assert Nearest(world.mj_model, world.labels, ("scara1", "floor"), 2.0).value(
        world.mj_data
    ) == pytest.approx(world.distance("scara1", "floor", 2.0).value, abs=1e-9)


@pytest.mark.parametrize("mode", ["contact", "exact"])
def test_locked_joint_moves_by_nanoradians_under_full_torque(mode):
    world = World(
        cell("floor: none\nrobots: [{name: arm, robot: scara2, start: [0, 0.6, 0.4, 0.1, 0]}]"),
        mode,
    )
    arm = world.robots["arm"]
    for joint in range(5):
        arm.lock(joint)
    where = arm.q.copy()
    arm.torque[:] = [60, -40, 30, -200, 10]
    world.step(500)
    assert arm.locked.all() and np.abs(arm.q - where).max() < 1e-8
    arm.unlock(2)
    world.step(20)
    assert arm.locked.tolist() == [True, True, False, True, True]
    assert abs(arm.q[2] - where[2]) > 1e-3 and np.abs(np.delete(arm.q - where, 2)).max() < 1e-8


def test_a_locked_arm_of_a_delta_keeps_its_angle():
    world = World("delta")
    delta = world.robots["delta"]
    where = delta.q[0]
    delta.lock(0)
    delta.torque[:] = [3.0, -1.0, 0.5]
    world.step(60)
    assert abs(delta.q[0] - where) < 1e-6 and np.abs(delta.qd[1:]).max() > 0.05


def test_drive_delivers_its_fraction_of_the_torque():
    world = World("cooperative")
    arm = world.robots["scara1"]
    arm.drive_gain = [1.0, 0.5, 1.0, 0.0, 1.0]
    arm.torque[:] = [10.0, 10.0, 10.0, 5.0, 5.0]
    world.step()
    assert arm.drive_torque.tolist() == [10.0, 5.0, 10.0, 0.0, 5.0]
    with pytest.raises(BrazoError, match="drive_gain of 'scara1'"):
        arm.drive_gain = -1.0


def test_ring_buffer_replays_the_last_steps_bit_for_bit():
    world, one, two = both_holding()
    world.stepper.remember()
    run(world, 0.1, one, two)
    assert isinstance(world.stepper.last_steps, LastSteps)
    states = world.stepper.last_steps.states()
    end = world.mj_data.qpos.copy()
    mujoco = engine()
    model = model_of(model_bytes(world.mj_model))
    data = mujoco.MjData(model)
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    assert len(states) == 64
    for state in states:
        mujoco.mj_setState(model, data, state, kind)
        mujoco.mj_step(model, data)
    assert (data.qpos == end).all()


@pytest.mark.parametrize("name", ["cooperative", "delta", "solo-puma560"])
def test_compiled_models_are_valid(name):
    """The engine checks a model when it is loaded; patched inertias must not have broken it."""
    model = World(name).mj_model
    again = model_of(model_bytes(model))
    assert (again.body_inertia == model.body_inertia).all()


def test_joint_with_nonphysical_inertia_is_computed_exactly(tmp_path):
    """Its mass matrix needs room for what the compiler would leave out of a centred body."""
    path = tmp_path / "one.yaml"
    path.write_text(
        "name: one\njoints: [{name: j, mass: 0, inertia: [0.1, 0.1, 0.5]}]\n", encoding="utf-8"
    )
    world = World(
        cell(
            f"floor: none\nrobots: [{{name: a, robot: {path}}}]\n"
            "bodies: [{name: ball, sphere: 0.05, mass: 2.0, xyz: [1, 1, 1]}]\n"
        )
    )
    model_of(model_bytes(world.mj_model))
    world.robots["a"].torque[:] = 2.0
    world.step()
    assert world.robots["a"].qdd[0] == pytest.approx(4.0, rel=1e-12)
    assert world.velocity("ball")[2] == pytest.approx(-9.81e-3, rel=1e-6)


def test_a_state_and_an_edit_keep_locks(tmp_path):
    world = World("cooperative")
    arm = world.robots["scara2"]
    arm.lock(1)
    state = world.save()
    world.edit("scara2", {"L1": 0.26})
    assert world.robots["scara2"].locked.tolist() == [False, True, False, False, False]
    world.robots["scara2"].unlock(1)
    world.restore(state)
    assert world.robots["scara2"].locked[1]


def test_body_placed_by_a_callback_causes_no_event_of_the_previous_step():
    """What a callback changes is looked at in the next step, not compared with the one before."""
    world, hand = holding()
    reported = []

    def take_away(event):
        reported.append(event.phase)
        world.place("bar", translate(3.0, 0.0, 1.0))

    world.on_grasp(take_away)
    run(world, 0.1, hand)
    assert reported == ["grasped", "released"]
