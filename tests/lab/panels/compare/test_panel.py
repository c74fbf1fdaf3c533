"""The Compare panel without a browser: which runs are captured, repeated and synchronised."""

from __future__ import annotations

import time

import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.lab.panels.compare.held_runs import MOST_RUNS, HeldRuns
from brazo.lab.panels.compare.run_again import RunAgain
from brazo.operate.playing import Playing
from brazo.recording import Recording
from brazo.recording.metrics import metrics_of
from brazo.recording.robots import robots_of
from brazo.trajectory import quintic

NAME = "scara1"


@pytest.fixture(scope="module")
def lab(running, tmp_path_factory):
    with running(runs=tmp_path_factory.mktemp("runs")) as lab:
        lab.do(lab.sim.player.pause)
        yield lab


@pytest.fixture
def panel(lab):
    """The panel of a lab at its start, with time that passes only in the test."""
    panel = lab.panels["compare"]
    lab.do(lab.sim.player.pause)
    lab.do(lab.sim.reset)
    lab.do(panel._clear)
    advance(lab, 0.05)
    lab.do(lab.live.collect)
    return panel


def advance(lab, seconds: float) -> None:
    for _ in range(round(seconds / 0.05)):
        lab.sim.step(round(0.05 / lab.sim.dt))
        lab.do(lambda: _follow(lab))
    lab.do(lambda: None)  # what was posted is done


def _follow(lab) -> None:
    with lab.sim.lock:
        lab.panels["compare"].follow()


def swing(lab, away: float = 0.0, time: float = 0.5):
    """A motion of two joints; `away` is how far from the robot it starts."""
    q = lab.robot.reference.q
    q[0] += away
    to = q.copy()
    to[:2] += 0.2
    return quintic(q, to, time)


def play(lab, motion) -> Playing:
    playing = Playing(lab.robot, motion, False, lambda why: None)
    lab.sim.tasks.add(playing)
    return playing


def test_a_trajectory_is_captured_without_its_approach(lab, panel):
    motion = swing(lab, away=0.1)
    lab.sim.recording.start()
    play(lab, motion)
    advance(lab, 3.0)
    full = lab.sim.recording.stop()
    (run,) = panel.runs
    assert run.name == "Computed torque"
    rec = run.recording
    # The references are those planned, at the time since the start of the path.
    for t, q_ref in zip(rec.t, rec.matrix(f"{NAME}.q_ref"), strict=True):
        if t <= motion.duration:
            assert q_ref == pytest.approx(motion.sample(float(t)).q, abs=1e-9)
    # Every row is one of the recording at full rate.
    at = np.searchsorted(full.t, rec.t + run.began - 1e-6)
    for signal in ("q.elbow", "torque.elbow", "tool.x"):
        name = f"{NAME}.{signal}"
        if name in rec:
            assert rec[name] == pytest.approx(full[name][at], abs=1e-12)
    # 100 rows per second give the RMS error of 1000 to some parts in a thousand.
    cut = full[run.began : run.began + float(rec.t[-1])]
    (ours,), (theirs,) = robots_of(rec), robots_of(cut)
    for a, b in zip(metrics_of(ours)[1:-1], metrics_of(theirs)[1:-1], strict=True):
        assert a.rms_error == pytest.approx(b.rms_error, rel=2e-2, abs=1e-9)


def test_run_stopped_in_approach_or_by_reset_is_not_added(lab, panel):
    play(lab, swing(lab, away=0.3))
    advance(lab, 0.1)
    lab.stop_motion()
    advance(lab, 2.0)
    play(lab, swing(lab))
    advance(lab, 0.2)
    lab.do(lab.sim.reset)
    advance(lab, 2.0)
    assert len(panel.runs) == 0


def test_the_cursor_is_the_time_of_the_active_run(lab, panel):
    motion = swing(lab)
    play(lab, motion)
    advance(lab, 2.0)
    assert len(panel.runs) == 1 and not panel._ghosts
    play(lab, swing(lab))  # another motion: it is not compared
    advance(lab, 0.3)
    assert panel._cursor == pytest.approx(0.3, abs=2e-3) and not panel._ghosts
    advance(lab, 2.0)
    playing = play(lab, motion)
    while not playing.on_path:
        advance(lab, 0.05)
    advance(lab, 0.2)
    assert panel._cursor == pytest.approx(lab.sim.time - playing.began, abs=1e-9)
    ((run, ghost),) = panel._ghosts.values()
    assert ghost._shown == pytest.approx(
        lab.robot.base @ lab.robot.arm.frames(run.positions_at(panel._cursor)), abs=3e-6
    )
    advance(lab, 2.0)
    assert len(panel.runs) == 3 and not panel._ghosts


def test_a_motion_of_the_pendant_is_kept_on_demand(lab, panel):
    with pytest.raises(BrazoError, match="moved"):
        lab.do(panel._keep)
    robot = lab.robot
    robot.move(swing(lab))
    advance(lab, 1.0)
    lab.do(panel._keep)
    (run,) = panel.runs
    assert run.compared(NAME).end(0.0) == pytest.approx(0.5, abs=0.02)
    with pytest.raises(BrazoError, match="already in the list: Computed torque"):
        lab.do(panel._keep)


def test_the_last_trajectory_is_repeated_once_the_robot_rests(lab, panel):
    with pytest.raises(BrazoError, match="run one in the Trajectory panel"):
        lab.do(panel._run_again)
    play(lab, swing(lab))
    advance(lab, 2.0)
    with pytest.raises(BrazoError, match="the simulation is paused"):
        lab.do(panel._run_again)
    lab.sim.tasks.add(RunAgain(panel.runs[panel._last_played().number].playing, lambda why: None))
    advance(lab, 0.4)
    assert not any(isinstance(task, Playing) for task in lab.sim.tasks)
    advance(lab, 3.0)
    first, second = panel.runs
    assert [first.name, second.name] == ["Computed torque", "Computed torque 2"]
    a, b = (run.metrics(NAME)[1] for run in (first, second))
    assert a.max_error == pytest.approx(b.max_error, rel=0.05)
    lab.sim.tasks.add(RunAgain(first.playing, lambda why: None))
    advance(lab, 0.1)
    lab.stop_motion()
    advance(lab, 2.0)
    assert len(panel.runs) == 2


def test_a_recording_opened_as_a_replay_is_compared_with_itself(running, tmp_path):
    t = np.arange(0.0, 3.0, 0.01)
    moved = np.clip(t - 1.0, 0.0, 1.0)
    arm = brazo.load(NAME)
    columns = {"t": (t, "s")}
    for k, (joint, kind) in enumerate(zip(arm.joint_names, arm.joint_kinds, strict=True)):
        values = (0.2 if k == 0 else 0.0) * moved
        columns[f"{NAME}.q.{joint}"] = (values, "rad" if kind == "revolute" else "m")
    path = Recording(columns, [], {"robot": NAME}).to_parquet(tmp_path / "one.parquet")
    with running(path) as lab:
        panel, replay = lab.panels["compare"], lab.sim
        lab.do(panel._keep)
        lab.jobs._threads[-1].join(20)
        lab.do(lambda: None)
        assert [run.name for run in panel.runs] == ["one"]
        lab.do(lambda: panel._seek(0.5))
        assert replay.time == pytest.approx(1.5, abs=0.011)
        lab.do(lambda: _follow(lab))
        assert panel._cursor == pytest.approx(0.5, abs=0.011)
        ((run, _),) = panel._ghosts.values()
        assert run.positions_at(panel._cursor)[0] == pytest.approx(0.1, abs=0.003)


def test_oldest_unnamed_run_is_removed():
    t = np.arange(3.0)
    recording = Recording({"t": (t, "s"), "q.j": (t, "rad")})
    runs = HeldRuns()
    for _ in range(MOST_RUNS):
        runs.add("PID", recording)
    runs.rename(1, "  kept\n ")
    runs.add("PID", recording)
    numbers = [run.number for run in runs]
    assert len(numbers) == MOST_RUNS and 1 in numbers and 2 not in numbers
    assert runs[1].name == "kept"
    assert len({run.name for run in runs}) == MOST_RUNS
    for run in runs:
        run.named = True
    with pytest.raises(BrazoError, match="at most 24 runs"):
        runs.add("PID", recording)
    with pytest.raises(BrazoError, match="cannot be empty"):
        runs.rename(1, " ")
    with pytest.raises(BrazoError, match="no longer exists"):
        runs.remove(2)


def test_runs_are_kept_in_the_project(running, line, tmp_path, monkeypatch):
    monkeypatch.setenv("BRAZO_PROJECTS", str(tmp_path / "projects"))
    with running("robot:scara1", keep=True) as lab, line(lab) as page:
        lab.do(lab.sim.player.pause)
        advance(lab, 0.05)
        for _ in range(2):
            play(lab, swing(lab))
            advance(lab, 2.0)
        first, second = lab.panels["compare"].runs
        page.send(["compare/rename", first.number, "stiff: 1"], ["compare/remove", second.number])
        page.send(["undo"], ["undo"], ["redo"])
        assert [run.name for run in lab.panels["compare"].runs] == ["stiff: 1", second.name]
        folder = lab.saving.project.folder
        page.send(["project/save-as", "mine"])
    assert len(list((folder / "compare").glob("*.parquet"))) == 2
    for path in (folder, tmp_path / "projects" / "mine"):
        with running(path) as lab:
            runs = lab.panels["compare"].runs
            deadline = time.monotonic() + 20
            while len(runs) < 2:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            for run, old in zip(runs, (first, second), strict=True):
                assert run.name == old.name and run.named is old.named
                assert run.recording.about == old.recording.about
                for name in old.recording.names:
                    assert np.array_equal(run.recording[name], old.recording[name])
                assert run.metrics(NAME) == old.metrics(NAME)
            lab.do(lambda runs=runs: lab.panels["compare"]._remove(next(iter(runs)).number))
    with running(folder) as lab:
        assert len(list((folder / "compare").glob("*.parquet"))) == 1
