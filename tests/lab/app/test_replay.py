"""A recording as a simulation: its rows, its clock, and notes if its cell differs."""

from __future__ import annotations

import shutil
import time

import numpy as np
import pytest

import brazo
import brazo.trajectory
from brazo.errors import BrazoError
from brazo.lab.app import replay as module
from brazo.lab.app.replay import RecordingReplay
from brazo.lab.app.session import as_shown
from brazo.lab.panels.common.feeds import outlined
from brazo.lab.scene.snapshot import SceneSnapshot
from brazo.recording import Recording
from brazo.recording.origin import SOURCE
from brazo.world.cell_file import cell_directory


def recorded(sim, path=None, steps=400):
    """A bar falls and a robot moves."""
    arm = next(reversed(sim.robots.values()))
    by = np.zeros(arm.n)
    by[0] = 0.4
    arm.move(brazo.trajectory.quintic(arm.q, arm.q + by, duration=0.3))
    sim.recording.start(path)
    sim.log("note", "off we go")
    sim.step(steps)
    return sim.recording.stop()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("replay") / "run.parquet"
    sim = brazo.Simulation("cooperative")
    pose = sim.world.pose("bar 1").copy()
    pose[:3, 3] += [0.0, 0.0, 0.3]
    sim.world.place("bar 1", pose)
    recorded(sim, path)
    return path


def test_every_row_reproduces_the_state_of_the_run(run):
    replay, recording = RecordingReplay(run), Recording.open(run)
    assert replay.notes == []
    for t in (0.0, 0.3, 0.399, 0.05):  # forwards and backwards
        replay.seek(t)
        moment = SceneSnapshot.of(replay)
        row = int(np.argmin(np.abs(recording.t - t)))
        assert moment.time == recording.t[row]
        for robot in replay.robots.values():
            for k, joint in enumerate(robot.arm.joint_names):
                assert robot.q[k] == recording[f"{robot.name}.q.{joint}"][row]
                assert robot.qd[k] == pytest.approx(recording[f"{robot.name}.qd.{joint}"][row])
                wanted = recording[f"{robot.name}.q_ref.{joint}"][row]
                assert moment.references[robot.name][k] == wanted
            tool = [recording[f"{robot.name}.tool.{axis}"][row] for axis in "xyz"]
            assert np.abs(robot.tool()[:3, 3] - tool).max() < 1e-9
        bar = [recording[f"bar 1.{axis}"][row] for axis in "xyz"]
        names = [one.name for one in replay.world.drawn]
        assert np.abs(moment.poses[names.index("bar 1"), :3, 3] - bar).max() < 1e-12
        assert not np.any(moment.contacts.force)  # none is made up


def test_time_passes_from_row_to_row_and_ends_at_the_last(run):
    replay = RecordingReplay(run)
    replay.step(3)
    assert replay.row == 3 and replay.time == pytest.approx(0.003)
    replay.seek(1e9)
    assert replay.time == replay.end == pytest.approx(0.399)
    replay.step()
    assert replay.row == replay.rows - 1
    replay.player.play()  # at the end: from the start again
    assert replay.player.wait(20.0) and replay.row == replay.rows - 1
    replay.reset()
    assert replay.time == replay.start
    replay.player.close()


@pytest.mark.parametrize("speed", [0.5, 4.0])
def test_playback_has_the_set_speed(speed):
    t = np.arange(20_001) * 1e-3
    arm = brazo.load("scara1")
    columns = {"t": (t, "s")} | {f"q.{j}": (0.0 * t, "rad") for j in arm.joint_names}
    replay = RecordingReplay(Recording(columns, [], {"robot": "scara1"}))
    replay.player.speed = speed
    begin = time.perf_counter()
    replay.player.play()
    while replay.time < 0.5 * speed:
        assert time.perf_counter() < begin + 20.0
        time.sleep(0.002)
    elapsed = time.perf_counter() - begin
    replay.player.close()
    assert elapsed >= 0.5 - 0.01  # never faster; slower only where the machine is
    assert not any("tool" in note for note in replay.notes)


def test_a_single_robot_without_its_name(tmp_path):
    arm = brazo.load("puma560")
    fall = arm.simulate(q0=arm.poses["ready"], t_end=0.2)
    path = Recording(fall.columns(), [], {"robot": "puma560"}).to_parquet(tmp_path / "fall.parquet")
    replay = as_shown(str(path))
    assert isinstance(replay, RecordingReplay)
    replay.seek(0.2)
    SceneSnapshot.of(replay)
    assert np.array_equal(replay.robots["puma560"].q, fall.q[-1])
    joint = arm.joint_names[0]
    assert replay.table([f"puma560.q.{joint}"])[-1, 0] == fall.q[-1, 0]


def test_a_robot_alone_in_the_lab(tmp_path):
    path = tmp_path / "alone.parquet"
    recorded(as_shown("robot:scara1"), path, steps=50)
    replay = RecordingReplay(path)
    assert replay.notes == [] and list(replay.robots) == ["scara1"]


def test_csv_replay_needs_the_cell_option(run, tmp_path):
    table = Recording.open(run).to_csv(tmp_path / "run.csv")
    with pytest.raises(BrazoError, match=r"does not name its cell.*--cell"):
        RecordingReplay(table)
    replay = RecordingReplay(table, cell="cooperative")
    assert replay.rows == 400 and replay.notes == []


def own_cell(folder):
    file = folder / "my-cell.yaml"
    text = (cell_directory() / "cooperative.yaml").read_text(encoding="utf-8")
    file.write_text(text.replace("name: cooperative", "name: my-cell"), encoding="utf-8")
    return file


def test_changed_cell_file_is_reported(tmp_path):
    file, path = own_cell(tmp_path), tmp_path / "run.parquet"
    recorded(brazo.Simulation(file), path, steps=20)
    assert RecordingReplay(path).notes == []
    file.write_text(file.read_text(encoding="utf-8") + "# another thought\n", encoding="utf-8")
    (note,) = RecordingReplay(path).notes
    assert f"{file} was changed since the run" in note
    (note,) = RecordingReplay(without_source(path)).notes
    assert "has changed since the run" in note and str(file) in note


def without_source(path):
    """The recording without the text of its cell, as earlier versions wrote it."""
    run = Recording.open(path)
    about = {key: value for key, value in run.about.items() if key != SOURCE}
    return Recording(run.columns, run.events, about).to_parquet(path.with_suffix(".old.parquet"))


def test_missing_cell_file_is_not_needed(tmp_path):
    file, path = own_cell(tmp_path), tmp_path / "run.parquet"
    recorded(brazo.Simulation(file), path, steps=20)
    file.unlink()
    replay = RecordingReplay(path)
    assert replay.notes == [] and replay.cell.name == "my-cell" and replay.cell.path == file


def test_missing_cell_file_is_reported(tmp_path):
    file, path = own_cell(tmp_path), tmp_path / "run.parquet"
    recorded(brazo.Simulation(file), path, steps=20)
    path = without_source(path)
    elsewhere = tmp_path / "elsewhere.yaml"
    shutil.move(file, elsewhere)
    with pytest.raises(BrazoError, match=r"made in cell 'my-cell', which is not found.*--cell"):
        RecordingReplay(path)
    assert RecordingReplay(path, cell=elsewhere).notes == []
    # A cell with the name of a shipped one is reported.
    again = tmp_path / "again.parquet"
    file = tmp_path / "cooperative.yaml"
    text = (cell_directory() / "cooperative.yaml").read_text(encoding="utf-8")
    file.write_text(text + "# mine\n", encoding="utf-8")
    recorded(brazo.Simulation(file), again, steps=20)
    file.unlink()
    (note,) = RecordingReplay(without_source(again)).notes
    assert "no longer exists" in note and str(file) in note
    # The same content at another path is not reported: a shipped cell on another machine.
    moved = tmp_path / "moved.parquet"
    file.write_text(text, encoding="utf-8")
    recorded(brazo.Simulation(file), moved, steps=20)
    file.unlink()
    assert RecordingReplay(without_source(moved)).notes == []


def test_robot_edited_before_the_run_is_reported(tmp_path):
    sim = brazo.Simulation("cooperative")
    base = sim.robots["scara1"].base.copy()
    base[0, 3] += 0.01
    sim.edit("scara1", base=base)
    recorded(sim, tmp_path / "run.parquet", steps=20)
    assert RecordingReplay(tmp_path / "run.parquet").notes == []
    (note,) = RecordingReplay(without_source(tmp_path / "run.parquet")).notes
    assert note.startswith("scara1 differs from the run") and "10 mm" in note


def test_long_recording_is_downsampled_with_a_note(run, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 150)
    replay, recording = RecordingReplay(run), Recording.open(run)
    assert replay.stride == 3 and replay.rows == 134
    assert np.array_equal(replay.table(["t"])[:, 0], recording.t[::3])
    assert np.array_equal(
        replay.table(["scara2.q.shoulder"])[:, 0], recording["scara2.q.shoulder"][::3]
    )


def test_an_outline_keeps_every_peak():
    rng = np.random.default_rng(1)
    t, y = np.arange(100_000) * 1e-3, rng.normal(size=(100_000, 2))
    y[54_321, 0], y[777, 1], y[5, 0] = 99.0, -99.0, np.nan
    thin, rows = outlined(t, y, 3000)
    assert len(thin) == len(rows) == 3000 and (np.diff(thin) > 0).all()
    assert np.nanmax(rows[:, 0]) == 99.0 and np.nanmin(rows[:, 1]) == -99.0
    assert thin[0] == t[0] and thin[-1] == t[-1] and np.isfinite(rows).all()
    assert abs(thin[np.argmax(rows[:, 0])] - t[54_321]) < 0.07


def test_robots_cannot_be_moved_in_a_replay(run, running, line):
    with running(run) as lab:
        assert not lab.sim.player.running  # it waits for a page
        shown = [panel.id for panel in lab.display.shown_panels]
        assert shown == ["view", "inspector", "data", "compare", "replay"]
        with line(lab) as page:
            assert page.reported["replay"] is True
            assert [one["id"] for one in page.reported["panels"]] == [
                panel.id for panel in lab.display.shown_panels
            ]
            before = lab.robot.q.copy()
            page.send(["pendant/step", 0, 1], ["scene/delete"], ["simulation/dt", 2.0])
            assert np.array_equal(lab.robot.q, before) and len(lab.sim.robots) == 2
            with pytest.raises(BrazoError, match="cannot be moved in a replay"):
                lab.set_q(before)
            page.send(["replay/seek", 0.2])
            assert lab.sim.time == pytest.approx(0.2)
            page.send(["play"])
            page.send(["stop"])
            lab._stopper.press()
            page.until("clock/running", False)
            # Another cell is a lab again, with everything in it.
            page.send(["open", "robot:scara1"])
            page.until("replay", False)
            assert "pendant" in [one["id"] for one in page.reported["panels"]]
            assert lab.sim.player.running and not isinstance(lab.sim, RecordingReplay)
