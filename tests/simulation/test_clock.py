"""Moments on the grid of steps: as people write them, the same for one and for many."""

import copy
from importlib.metadata import version

import numpy as np
import pytest

import brazo
from brazo.control import Controller
from brazo.recording import Recording
from brazo.simulation import Event, Simulation
from brazo.simulation.clock import exact_time, exact_times
from tests.world.scenes import cell


@pytest.mark.parametrize("dt", ["0.001", "0.002", "0.0005", "0.003", "0.1", "0.0123"])
def test_added_up_steps_read_as_multiples(dt):
    step = float(dt)
    raw = np.concatenate([[0.0], np.cumsum(np.full(50_000, step))])
    clean = exact_times(raw, step)
    places = len(dt) - 2
    wanted = [float(f"{k * int(dt[2:]) / 10**places:.{places}f}") for k in range(len(raw))]
    assert clean.tolist() == wanted
    assert [exact_time(t, step) for t in raw[::97]] == clean[::97].tolist()


def test_a_clock_set_between_two_steps_is_left_alone():
    raw = np.array([0.0005, 0.0015, 0.0025])
    assert (exact_times(raw, 1e-3) == raw).all() and exact_time(0.0005, 1e-3) == 0.0005


def test_a_run_is_recorded_at_multiples_of_its_step():
    sim = Simulation(cell("floor: none\nrobots: [{name: arm, robot: scara1}]\n"))
    sim.step(1200)
    sim.recording.start()
    sim.step(14)
    sim.log("mark", "here")
    sim.step(1)
    recording = sim.recording.stop()
    assert recording.t.tolist() == [k / 1000 for k in range(1200, 1215)]
    assert sim.events[-1].t == 1.214 and sim.time == 1.215
    assert recording.about["brazo"] == version("brazo")
    assert recording.events_of("mark")[0]["t"] == 1.214


def test_events_of_a_simulation_are_read_like_those_of_a_recording():
    event = Event(1.5, "mark", "here", {"robot": "a"})
    for one in (event, recording_of(event)):
        assert one.kind == one["kind"] == one.get("kind") == "mark" and one.t == one["t"] == 1.5
        assert one.robot == one["robot"] == one.data["robot"] == "a"
        assert dict(one) == event.row() and "robot" in one and one.get("body") is None
        with pytest.raises(AttributeError, match="has no field 'body'"):
            _ = one.body
    assert copy.deepcopy(event) == event


def recording_of(event: Event):
    return Recording({"t": (np.zeros(1), "s")}, [event.row()]).events[0]


def test_a_robot_alone_is_simulated_on_a_floor():
    """Computed torque holds the pose against gravity."""
    arm = brazo.load("spatial-3r").with_parameters(L2=0.45)
    sim = Simulation(arm)
    assert list(sim.robots) == ["spatial-3r"] and sim.cell.floor is not None
    assert sim.robots["spatial-3r"].arm.parameters["L2"] == 0.45
    start = sim.robots["spatial-3r"].q.copy()
    assert np.array_equal(start, arm.poses["ready"])
    sim.run(until=0.05)
    assert np.abs(sim.robots["spatial-3r"].q - start).max() < 1e-6


def test_errors_list_the_available_names():
    sim = Simulation(cell("floor: none\nrobots: [{name: arm, robot: scara1}]\n"))
    with pytest.raises(brazo.BrazoError, match="no robot named 'lft' in this cell; robots: arm"):
        _ = sim.robots["lft"]
    with pytest.raises(brazo.BrazoError, match="must not be before the current time 0 s"):
        sim.run(until=-1)
    assert sim.robots.get("lft") is None and "arm (ComputedTorque)" in repr(sim)

    class Forgetful(Controller):
        def command(self, t, q, qd, reference):
            pass

    sim.robots["arm"].controller = Forgetful()
    with pytest.raises(brazo.BrazoError, match="returned None; is a return statement missing"):
        sim.step()
