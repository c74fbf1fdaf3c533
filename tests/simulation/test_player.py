"""The player: real time, in a separate thread."""

from __future__ import annotations

import threading
from time import perf_counter

import pytest

import brazo
from brazo.simulation import player as players
from brazo.simulation.step_lock import StepLock


@pytest.fixture
def sim():
    sim = brazo.Simulation("solo-puma560")
    yield sim
    sim.player.close()


class Until:
    """A task that sets an event when a time is reached."""

    def __init__(self, time: float) -> None:
        self.time, self.reached = time, threading.Event()

    def tick(self, sim) -> bool:
        if sim.time >= self.time:
            self.reached.set()
            return False
        return True


def play_until(sim, time: float) -> float:
    """Wall time it takes."""
    task = Until(time)
    sim.tasks.add(task)
    begin = perf_counter()
    sim.player.play()
    assert task.reached.wait(20.0)
    return perf_counter() - begin


@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_simulation_is_not_faster_than_real_time(sim, speed):
    sim.player.speed = speed
    # A loaded machine may be slower, never faster.
    assert play_until(sim, 0.4) >= 0.4 / speed - 0.01
    assert sim.player.running
    sim.player.pause()
    assert sim.player.real_time_factor == 0.0


def test_after_a_pause_no_step_is_made(sim):
    play_until(sim, 0.05)
    sim.player.pause()
    then = sim.time
    assert sim.player.wait(5.0) and not sim.player.running
    sim.player.step(3)
    assert sim.time == pytest.approx(then + 3 * sim.dt)


def test_speed_zero_pauses_and_resumes(sim):
    play_until(sim, 0.02)
    sim.player.speed = 0.0
    with sim.lock:
        then = sim.time
    task = Until(then + 0.05)
    sim.tasks.add(task)
    assert not task.reached.wait(0.1)
    sim.player.speed = 2.0
    assert task.reached.wait(20.0)


def test_a_step_that_raises_stops_the_player_and_is_kept(sim):
    class Bad:
        def tick(self, sim):
            if sim.time > 0.01:
                raise brazo.BrazoError("no such place")

    sim.tasks.add(Bad())
    sim.player.play()
    assert sim.player.wait(20.0)
    assert str(sim.player.error) == "no such place" and not sim.player.running
    assert sim.events[-1].kind == "error"
    sim.player.reset()
    assert sim.time == 0.0 and sim.player.error is None
    play_until(sim, 0.01)


def test_missed_deadlines_are_counted_and_dropped(sim, monkeypatch):
    monkeypatch.setattr(players, "LAG", 0.005)

    class Slow:
        def tick(self, sim):
            end = perf_counter() + 0.004
            while perf_counter() < end:
                pass

    sim.tasks.add(Slow())
    play_until(sim, 0.05)
    sim.player.pause()
    assert sim.player.overruns > 0


def test_other_threads_get_the_lock_between_steps():
    lock, taken = StepLock(), threading.Event()

    def ask() -> None:
        with lock:
            taken.set()

    thread = threading.Thread(target=ask)
    with lock.inner:
        thread.start()
    begin = perf_counter()
    while not taken.is_set() and perf_counter() - begin < 10.0:
        with lock.inner:
            pass
        lock.hand_over()
    thread.join(10.0)
    assert taken.is_set()


def test_a_player_runs_from_inside_a_callback(sim):
    """Pausing in an event, where the player's own thread holds the lock, does not hang."""
    sim.on_event(lambda event: sim.player.pause())

    class Says:
        def tick(self, sim):
            sim.log("here", "now")
            return False

    sim.tasks.add(Says())
    sim.player.play()
    assert sim.player.wait(20.0)
    with sim.lock:  # the step that paused is finished
        assert sim.time == pytest.approx(sim.dt)


@pytest.mark.parametrize("speed", [-0.1, 4.1, float("nan")])
def test_speeds_are_between_zero_and_four(sim, speed):
    with pytest.raises(brazo.BrazoError, match="from 0 to 400 %"):
        sim.player.speed = speed
