"""Steps in machine code, single and in batches, are bit-identical to steps in Python."""

from __future__ import annotations

from _thread import interrupt_main
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import brazo
from brazo.codegen import Graph, compile_kernel, sqrt
from brazo.codegen.call_route import native
from brazo.control import CompiledController, Controller, Gain
from brazo.errors import BrazoError
from brazo.simulation import Simulation
from brazo.simulation.clock import MAX_BATCH, steps_before
from brazo.simulation.conditions import Condition
from brazo.simulation.faults import EncoderBias, JointLocked, TorqueLoss
from brazo.trajectory import quintic
from brazo.world import Diverged, parse_cell
from tests.simulation.scenes import approach, both_holding_sim, holding_sim
from tests.world.scenes import cell

Act = Callable[[Simulation], object]


def both_ways(make: Callable[[], Simulation], act: Act) -> tuple[Simulation, Simulation]:
    """The same done in Python and in machine code; what is recorded and reported is the same."""
    sims, found = [], []
    for machine_code in (False, True):
        sim = make()
        sim.native = machine_code
        counted = count_native(sim)
        found.append(act(sim))
        sims.append(sim)
        assert (counted() > 0) == (machine_code and native())
    single, fast = sims
    assert [event.row() for event in single.events] == [e.row() for e in fast.events]
    for a, b in zip(single.robots.values(), fast.robots.values(), strict=True):
        same_robot(a, b)
    assert np.array_equal(single.world.save().engine, fast.world.save().engine)
    assert np.array_equal(single.world.observer.grips, fast.world.observer.grips)
    if isinstance(found[0], brazo.Recording):
        same_recording(*found)  # type: ignore[arg-type]
    else:
        assert found[0] == found[1]
    return single, fast


def count_native(sim: Simulation) -> Callable[[], int]:
    """How many steps were made in machine code since this call."""
    made, make = [], sim._stepper.native.make

    def counting(most: int, timed: bool) -> int:
        made.append(make(most, timed))
        return made[-1]

    sim._stepper.native.make = counting  # type: ignore[method-assign]
    return lambda: sum(made)


def same_robot(a, b) -> None:
    assert np.array_equal(a.motion.row, b.motion.row) and a.moving == b.moving
    if isinstance(a.controller, CompiledController):
        assert np.array_equal(a.controller.wanted, b.controller.wanted)
        for name, values in a.controller.state.items():
            assert np.array_equal(values, b.controller.state[name])


def same_recording(a: brazo.Recording, b: brazo.Recording) -> None:
    assert list(a.columns) == list(b.columns) and len(a) == len(b)
    for name in a.columns:
        assert np.array_equal(a[name], b[name], equal_nan=True), name
    assert a.events == b.events


def swing(sim: Simulation, seconds: float = 0.3) -> None:
    """Every joint of the first robot there and a bit on."""
    robot = next(iter(sim.robots.values()))
    q = robot.reference.q
    robot.move(quintic(q, q + 0.2, seconds))


# ---- whole runs --------------------------------------------------------------------------------


def test_the_cooperative_task_with_its_hand_over():
    counts = []

    def run(sim: Simulation) -> brazo.Recording:
        counts.append(count_native(sim))
        return sim.run(brazo.load_program("cooperative"), until=17.0)

    _, sim = both_ways(lambda: Simulation("cooperative"), run)
    kinds = {event.kind for event in sim.events}
    assert {"grasped", "released", "contact begin", "contact end"} <= kinds
    held = [(e.robot, e.kind) for e in sim.events if e.kind in ("grasped", "released")]
    assert ("scara1", "grasped") in held and ("scara2", "released") in held
    if native():
        assert counts[1]() == sim.meter.steps


@pytest.mark.parametrize("law", ["PID", "PDGravity", "SlidingMode", "Adaptive", "ComputedTorque"])
def test_controllers_with_and_without_a_state(law):
    def run(sim: Simulation) -> brazo.Recording:
        swing(sim)
        return sim.run(until=0.5)

    both_ways(lambda: Simulation("solo-puma560", {"puma560": law}), run)


def test_robot_without_a_controller_falls():
    make = lambda: Simulation("solo-puma560", {"puma560": None})  # noqa: E731
    both_ways(make, lambda sim: sim.run(until=0.2))


def test_both_robots_hold_one_bar():
    both_ways(both_holding_sim, lambda sim: sim.run(until=sim.time + 0.3))


def test_a_run_ends_with_the_motion():
    def run(sim: Simulation) -> int:
        swing(sim)
        return len(sim.run())

    single, fast = both_ways(lambda: Simulation("solo-puma560"), run)
    assert single.time == fast.time > 0.29


@pytest.mark.parametrize("until", [0.0, 0.001, 0.0015, 0.01, 0.1, 0.2004, 0.2005, 0.2006])
def test_a_run_ends_in_time(until):
    counts = []
    for machine_code in (False, True):
        sim = Simulation("solo-puma560")
        sim.native = machine_code
        counts.append((len(sim.run(until=until)), sim.time))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    "shape", ["box: [0.5, 0.03, 0.03]", "cylinder: [0.015, 0.1]", "sphere: 0.015"]
)
def test_bodies_of_every_shape_in_the_gripper(shape):
    text = (
        "floor: none\n"
        "robots: [{name: arm, robot: scara2, start: [0, 0, 0, 0.1, 0]}]\n"
        f"bodies: [{{name: thing, {shape}, mass: 0.1, xyz: [0.6, 0, 0.2]}}]\n"
    )

    def make() -> Simulation:
        sim = Simulation(cell(text))
        gripper = sim.robots["arm"].world.gripper
        assert gripper is not None
        gripper.place(0.031)
        sim.robots["arm"].grip(60)
        return sim

    def act(sim: Simulation) -> brazo.Recording:
        approach(sim)
        sim.recording.start()
        sim.step(400)
        sim.robots["arm"].open()
        sim.step(300)
        return sim.recording.stop()

    _, sim = both_ways(make, act)
    assert "grasped" in [event.kind for event in sim.events]
    assert sim.events[-1].kind in ("released", "contact end")


# ---- what happens in between ------------------------------------------------------------------


def test_collision_is_reported_in_the_same_step():
    text = (
        "floor: none\n"
        "robots: [{name: arm, robot: scara2, start: [60deg, 0, 0, 5cm, 0]}]\n"
        "fixtures: [{name: pillar, box: [6cm, 6cm, 1m], xyz: [0.45, 0, 0.5]}]\n"
    )

    def act(sim: Simulation) -> brazo.Recording:
        arm = sim.robots["arm"]
        q = arm.reference.q
        arm.move(quintic(q, q - [1.2, 0, 0, 0, 0], 0.6))
        return sim.run(until=0.8)

    _, sim = both_ways(lambda: Simulation(cell(text)), act)
    assert {"contact warning", "contact begin"} <= {event.kind for event in sim.events}


def test_dropped_bar_is_detected_in_the_same_step():
    def act(sim: Simulation) -> brazo.Recording:
        sim.step(200)
        sim.robots["arm"].grip(2.0)
        return sim.run(until=sim.time + 0.5)

    _, sim = both_ways(holding_sim, act)
    assert "released" in [event.kind for event in sim.events]


def test_faults_start_in_their_step():
    def run(sim: Simulation) -> brazo.Recording:
        swing(sim, 0.4)
        joints = sim.robots["puma560"].arm.joint_names
        sim.inject(JointLocked("puma560", joints[1]), at=0.1234)
        sim.inject(TorqueLoss("puma560", joints[2], 0.5), at=0.2)
        sim.inject(EncoderBias("puma560", joints[0], 0.01), at=0.3005)
        return sim.run(until=0.4)

    _, sim = both_ways(lambda: Simulation("solo-puma560"), run)
    times = [event.t for event in sim.events if event.kind == "fault"]
    assert times == pytest.approx([0.123, 0.2, 0.3005], abs=0.5001e-3)


@pytest.mark.parametrize("deed", ["edit", "reset", "restore", "grip"])
def test_a_callback_acts_in_the_middle(deed):
    def act(sim: Simulation) -> list[float]:
        start, times = sim.save(), []

        def on(event) -> None:
            if event.kind == "grasped" and not times:
                times.append(sim.time)
                if deed == "edit":
                    sim.edit("arm", width=1.1)
                elif deed == "reset":
                    sim.reset()
                elif deed == "restore":
                    sim.restore(start)
                else:
                    sim.robots["arm"].grip(60)

        sim.on_event(on)
        approach(sim)
        sim.recording.start()
        sim.step(300)
        assert times
        return [*times, sim.time]

    both_ways(holding_sim, act)


class Brittle(CompiledController):
    """Gives nothing that is a number once the first joint is beyond a limit."""

    GAINS = (Gain("k", "push", "N m"),)

    def default_gains(self, robot):
        return {"k": 1.0}

    def law(self, x, gains, state):
        return [k * sqrt(0.05 - x.q[0]) for k in gains["k"]], state


def test_a_controller_that_fails_is_reported_with_the_same_message():
    reported = []
    for machine_code in (False, True):
        sim = Simulation("solo-puma560", {"puma560": Brittle(k=[2, 0, 0, 0, 0, 0])})
        sim.native = machine_code
        with pytest.raises(BrazoError, match="Brittle: the torque of joint") as error:
            sim.run(until=2.0)
        reported.append((str(error.value), sim.time, len(sim.events)))
    assert reported[0] == reported[1] and reported[0][1] > 0.01


class Mad(CompiledController):
    """Pushes the harder the faster the joint runs."""

    GAINS = (Gain("k", "madness", "N m s"),)

    def default_gains(self, robot):
        return {"k": 20.0}

    def law(self, x, gains, state):
        return [k * (qd + 1e-3) for k, qd in zip(gains["k"], x.qd, strict=True)], state


def test_diverged_simulation_writes_the_same_dump(tmp_path):
    reported = []
    for machine_code in (False, True):
        sim = Simulation("solo-puma560", {"puma560": Mad()})
        sim.dump_folder, sim.native = tmp_path / str(machine_code), machine_code
        with pytest.raises(Diverged) as error:
            sim.run(until=5.0)
        assert error.value.dump is not None and sim.world.stepper.last_steps is not None
        again = Simulation.replay_dump(error.value.dump)
        assert again.reproduced and again.exact
        states = sim.world.stepper.last_steps.states()
        reported.append((error.value.time, error.value.where, sim.meter.steps, states))
    assert reported[0][:3] == reported[1][:3]
    assert np.array_equal(reported[0][3], reported[1][3])


def test_interrupt_leaves_a_consistent_state(monkeypatch):
    def sim_at(interrupted: bool) -> Simulation:
        sim = Simulation("solo-puma560", {"puma560": "PID"})
        swing(sim)
        sim.step(10)
        call = sim._stepper.native._call if native() else None
        if interrupted and call is not None:

            def interrupt(at: int) -> int:
                made = call(at)
                sim._stepper.native._call = call
                interrupt_main()  # raised as soon as Python resumes
                return made

            sim._stepper.native._call = interrupt
            with pytest.raises(KeyboardInterrupt):
                sim.step(100)
            assert sim.time == pytest.approx(0.11)
        else:
            sim.step(100)
        sim.step(100)
        return sim

    a, b = sim_at(False), sim_at(True)
    assert a.time == b.time and np.array_equal(a.world.save().engine, b.world.save().engine)
    same_robot(a.robots["puma560"], b.robots["puma560"])


# ---- tasks -------------------------------------------------------------------------------------


class Counter:
    """Counts its ticks."""

    background = True

    def __init__(self) -> None:
        self.times: list[float] = []

    def tick(self, sim: Simulation) -> None:
        self.times.append(sim.time)


def test_task_without_a_due_time_is_called_every_step():
    sim, task = Simulation("solo-puma560"), Counter()
    sim.tasks.add(task)
    sim.run(until=0.1)
    assert len(task.times) == 100


class Now(Counter):
    """Acts every 50 steps."""

    due = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.acted: list[float] = []

    def tick(self, sim: Simulation) -> None:
        super().tick(sim)
        if sim.time >= self.due:
            self.acted.append(sim.time)
            self.due = sim.time + 50 * sim.dt


def test_task_is_called_when_due():
    tasks: list[Now] = []

    def act(sim: Simulation) -> list[float]:
        swing(sim)
        tasks.append(Now())
        sim.tasks.add(tasks[-1])
        sim.run(until=0.5)
        return tasks[-1].acted

    both_ways(lambda: Simulation("solo-puma560"), act)
    assert len(tasks[0].acted) == 10
    if native():
        assert len(tasks[1].times) < 2 * len(tasks[1].acted) < len(tasks[0].times)


class Idle(Counter):
    """Is never due."""

    due = np.inf


def test_a_run_ends_with_its_task_although_the_task_starts_another():
    class Last:
        due = 0.0

        def tick(self, sim: Simulation) -> bool:
            sim.tasks.add(Idle())
            return False

    assert len(Simulation("solo-puma560").run(Last())) == 1


# ---- where there are none -----------------------------------------------------------------------


class Plain(Controller):
    """A controller in Python."""

    def command(self, t, q, qd, reference):
        return -0.1 * qd


@pytest.mark.parametrize(
    "make",
    [
        lambda: Simulation("solo-puma560", mode="exact"),
        lambda: Simulation("solo-puma560", {"puma560": "ideal"}),
        lambda: Simulation("solo-puma560", {"puma560": Plain()}),
        lambda: Simulation("delta"),
    ],
)
def test_unsupported_parts_run_in_python(make):
    sim = make()
    counted = count_native(sim)
    sim.run(until=0.05)
    assert counted() == 0 and sim.time == pytest.approx(0.05)


def test_subscriber_to_all_classes_receives_all_contacts():
    sim = Simulation("cooperative")
    reported = []
    sim.world.on_contact(reported.append)
    counted = count_native(sim)
    sim.step(300)
    assert counted() == 0


def test_welding_gripper_is_checked_every_step():
    text = (
        "name: weld\nfloor: none\n"
        "robots: [{name: arm, robot: scara2, start: [0, 0, 0, 0.1, 0], grasp: weld}]\n"
        "bodies: [{name: bar, box: [0.5, 0.03, 0.03], mass: 0.4, xyz: [0.73, 0, 0.2]}]\n"
    )
    sim = Simulation(parse_cell(text, Path("cell.yaml")))
    counted = count_native(sim)
    sim.step(50)
    assert counted() == 0


# ---- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0.05, 0.3])
def test_saved_motion_is_not_changed_by_the_run(length):
    sim = Simulation("solo-puma560")
    swing(sim, length)
    sim.step(20)
    state = sim.save()
    row = sim.robots["puma560"].motion.row.copy()
    sim.step(100)
    sim.restore(state)
    assert np.array_equal(sim.robots["puma560"].motion.row, row)


def test_steps_before():
    assert [steps_before(x * 1e-3, 1e-3) for x in (-1, 0, 0.5, 1, 1.5, 10, 10.4)] == [
        1, 1, 1, 1, 2, 10, 11,
    ]  # fmt: skip
    assert steps_before(1e9, 1e-3) == steps_before(float("inf"), 1e-3) == MAX_BATCH


def test_costs_of_batches_add_up():
    sim = Simulation("cooperative")
    sim.run(until=1.0)
    costs = sim.costs
    assert costs.steps == 1000
    assert min(costs.engine, costs.control, costs.recording, costs.other) > 0.0
    assert 1e6 * sim.meter.whole / 1000 == pytest.approx(costs.total, rel=1e-6)


@pytest.mark.parametrize("in_machine_code", [True, False])
def test_a_batch_ends_when_a_condition_of_a_task_no_longer_holds(in_machine_code):
    """The last tick is that after the first step beyond a limit of the first joint."""
    sim = brazo.Simulation("solo-puma560")
    sim.native = in_machine_code
    robot = sim.robots["puma560"]
    g = Graph()
    (q,), (limit,) = g.inputs("q", 1), g.inputs("limit", 1)
    kernel = compile_kernel("below", g, {"margin": [limit - q]})
    goal = robot.q + 0.3
    robot.move(quintic(robot.q, goal, 1.0))

    class Watching:
        due = np.inf
        conditions = (Condition(kernel, (robot.world.q[:1], np.array([robot.q[0] + 0.1]))),)

        def __init__(self) -> None:
            self.times: list[float] = []

        def tick(self, sim: brazo.Simulation) -> bool:
            self.times.append(sim.time)
            return self.conditions[0].holds

    task = Watching()
    sim.tasks.add(task)
    rec = sim.run(until=1.0)
    beyond = rec["puma560.q.waist"] > rec["puma560.q.waist"][0] + 0.1
    assert task.times[-1] == rec["t"][np.argmax(beyond)]
    if in_machine_code and native():
        assert len(task.times) <= 1 + len(rec) // MAX_BATCH + 1
    assert not len(sim.tasks)
