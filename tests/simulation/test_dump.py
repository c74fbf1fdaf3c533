"""Runs that break down: stopped, explained, kept, and run again to the same end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import brazo
from brazo.control import Controller, Gain
from brazo.errors import RunFailed
from brazo.recording.recording import Recording
from brazo.simulation import Simulation, dump
from brazo.simulation.dump import free_name
from brazo.world import Diverged
from brazo.world.divergence_guard import DivergenceGuard


class Mad(Controller):
    """Pushes the harder the faster the joint runs."""

    GAINS = (Gain("k", "madness", "N m s"),)

    def default_gains(self, robot):
        return {"k": 20.0}

    def command(self, t, q, qd, reference):
        return self.gains["k"] * (qd + 1e-3)


def broken(folder, mode: str = "contact", record=None) -> tuple[Simulation, Diverged]:
    sim = Simulation("solo-puma560", {"puma560": Mad()}, mode=mode)
    sim.dump_folder = folder
    with pytest.raises(Diverged) as error:
        sim.run(until=5.0, record=record)
    return sim, error.value


@pytest.mark.parametrize("mode", ["contact", "exact"])
def test_dump_replays_the_last_steps_to_the_same_end(tmp_path, mode):
    sim, error = broken(tmp_path / "new", mode)
    assert error.where.startswith("joint 'puma560/") and error.dump is not None
    assert "replay_dump" in str(error) and f"{error.time:.4f} s" in str(error)
    again = Simulation.replay_dump(error.dump)
    assert again.reproduced and again.exact
    assert (again.time, again.where) == (error.time, error.where)
    assert again.about["robots"] == "puma560 (Mad)"
    assert np.diff(again.t) == pytest.approx(sim.dt)
    assert sim.events[-1].kind == "diverged"


def test_a_replay_that_ends_with_a_full_memory_has_a_result(tmp_path, monkeypatch):
    # How much memory is just too small depends on the version of the engine.
    _, error = broken(tmp_path)

    class Full(DivergenceGuard):
        def check(self):
            try:
                super().check()
            except Diverged:
                raise RunFailed("too many contacts") from None

    monkeypatch.setattr(dump, "DivergenceGuard", Full)
    again = Simulation.replay_dump(error.dump)
    assert again.reproduced and again.t[-1] < error.time


def test_second_dump_does_not_replace_the_first(tmp_path):
    paths = {broken(tmp_path)[1].dump for _ in range(2)}
    assert len(paths) == 2 and all(path is not None and path.is_file() for path in paths)


def test_recording_before_the_divergence_is_readable(tmp_path):
    sim, error = broken(tmp_path, record=tmp_path / "run.parquet")
    rec = Recording.open(tmp_path / "run.parquet.part")
    assert rec["t"][-1] == pytest.approx(error.time, abs=2.1 * sim.dt)
    assert rec.events[-1]["kind"] == "diverged"


def test_the_player_keeps_the_error(tmp_path):
    sim = Simulation("solo-puma560", {"puma560": Mad()})
    sim.dump_folder = None
    sim.player.speed = 4.0
    sim.player.play()
    assert sim.player.wait(30.0)
    assert isinstance(sim.player.error, Diverged) and sim.player.error.dump is None
    sim.player.reset()
    sim.robots["puma560"].controller = "ComputedTorque"
    sim.step(10)
    sim.player.close()


def test_a_damaged_dump_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(brazo.BrazoError, match="no such file"):
        Simulation.replay_dump(path)
    path.write_bytes(b"PK\x03\x04 nothing of use")
    with pytest.raises(brazo.BrazoError, match="not a dump"):
        Simulation.replay_dump(path)
    _, error = broken(tmp_path)
    assert error.dump is not None
    whole = error.dump.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(brazo.BrazoError, match="not a dump"):
        Simulation.replay_dump(path)


class Raises(Controller):
    def command(self, t, q, qd, reference):
        if t > 0.0045:
            raise ZeroDivisionError("division by zero")
        return np.zeros(len(q))


class Nothing(Controller):
    def command(self, t, q, qd, reference):
        return np.full(len(q), np.nan if t > 0.0045 else 0.0)


class Short(Controller):
    def command(self, t, q, qd, reference):
        return [0.0]


@pytest.mark.parametrize(
    ("law", "match"),
    [
        (
            Raises,
            r"robot 'puma560', controller Raises, t = 0\.0050 s: ZeroDivisionError: division by",
        ),
        (Nothing, r"robot 'puma560', controller Nothing, t = 0\.0050 s: .*joint 1 .* is nan"),
        (
            Short,
            r"robot 'puma560', controller Short, t = 0\.0000 s: .*shape \(1,\); expected \(6,\)",
        ),
    ],
)
def test_controller_without_torque_is_named(law, match):
    sim = Simulation("solo-puma560", {"puma560": law()})
    with pytest.raises(brazo.BrazoError, match=match):
        sim.step(10)


def test_python_controller_drives_a_robot():
    class Spring(Controller):
        def command(self, t, q, qd, reference):
            arm = self.robot
            feedback = 400.0 * (reference.q - q) - 40.0 * qd
            return arm.gravity(q) + arm.mass_matrix(q) @ feedback

    sim = Simulation("solo-puma560", {"puma560": Spring()})
    robot = sim.robots["puma560"]
    goal = robot.reference.q + 0.1
    from brazo.trajectory import quintic

    robot.move(quintic(robot.reference.q, goal, 0.3))
    sim.run(until=1.5)
    assert np.abs(robot.q - goal).max() < 1e-4


@pytest.mark.parametrize("name", ["../../x", "a/b", "..\\c", "...", "two robots", ""])
def test_dump_stays_in_its_folder_for_any_cell_name(tmp_path, name):
    first = free_name(tmp_path, name, ".npz")
    assert first.parent == tmp_path and first.name == Path(first.name.replace("\\", "/")).name
    first.touch()
    second = free_name(tmp_path, name, ".npz")
    assert second.parent == tmp_path and second != first
