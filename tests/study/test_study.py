"""Studies: results against runs made one by one, resuming, failures and study files."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import brazo
from brazo.control import PID, ComputedTorque, Controller, Reference, track
from brazo.control.benchmark import quintic
from brazo.study import Case, Study, StudyFault, execution, grid, read_results, uniform, values
from brazo.study.execution import CHUNKS, RESULTS
from brazo.study.results import proportion


class Damped(Controller):
    """PD in Python; raises for a reference of joint 1 above `above`."""

    above: float = np.inf

    def command(self, t: float, q, qd, reference: Reference):
        if reference.q[0] > self.above:
            raise RuntimeError("the reference is too large")
        return 400.0 * (reference.q - q) + 40.0 * (reference.qd - qd)


class Fragile(Damped):
    """As above, with a limit that the benchmark motion exceeds."""

    above = 1e-3


def small(**options) -> Study:
    given = {
        "factors": {"payload": grid(0.0, 2.0, 3), "PID.kp.scale": uniform(0.5, 2.0)},
        "samples": 4,
        "duration": 0.1,
        "cases": [Case(), Case("noise", position_noise=1e-4, start_error=1e-3)],
        "repetitions": 2,
    }
    controllers = {"PID": PID(), "CT": ComputedTorque()}
    return Study("scara2", controllers, ["quintic"], **(given | options))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    study = small()
    return study, study.run(tmp_path_factory.mktemp("finished") / "out", jobs=2)


def test_a_run_of_a_study_is_that_of_track(finished) -> None:
    study, results = finished
    assert len(results) == study.runs == 2 * 2 * 12 * 2 and results.complete
    arm = brazo.load("scara2")
    nominal = results.select(case="nominal", controller="PID")
    for i in np.flatnonzero(nominal)[::7]:
        mass, scale = results["payload"][i], results["PID.kp.scale"][i]
        controller = PID()
        controller.bind(arm, 1e-3)
        controller.gains["kp"] = scale * controller.gains["kp"]
        run = track(arm.with_payload(mass), controller, quintic(arm), 0.1, model=arm)
        joints = [f"rms_error.{name}" for name in arm.joint_names]
        assert [results[name][i] for name in joints] == pytest.approx(run.rms_error, rel=1e-9)
        assert results["peak_torque.shoulder"][i] == pytest.approx(run.peak_torque[0], rel=1e-9)


def test_controllers_are_tested_under_the_same_conditions(finished) -> None:
    _, results = finished
    noisy = [results.select(case="noise", controller=name) for name in ("PID", "CT")]
    for column in ("payload", "PID.kp.scale", "row", "repetition"):
        assert np.array_equal(*(results[column][mask] for mask in noisy))
    # Repetitions have other noise, runs without noise are equal.
    first = results["repetition"] == 0
    error = results["rms_error.tool"]
    for mask, same in ((noisy[0], False), (results.select(case="nominal"), True)):
        assert (error[mask & first] == error[mask & ~first]).all() == same


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_file_does_not_depend_on_threads_and_interruptions(finished, tmp_path, jobs) -> None:
    study, results = finished
    fresh, shown = small(), []

    def stop(progress) -> None:
        shown.append(progress)
        if progress.done >= 24 and len(shown) > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fresh.run(tmp_path, jobs=jobs, progress=stop)
    partial = read_results(tmp_path)
    assert 0 < len(partial) < study.runs and not partial.complete
    assert "Incomplete: " in partial.to_html(tmp_path / "report.html").read_text()
    done = small().run(tmp_path, jobs=jobs)
    assert done.complete and not (tmp_path / CHUNKS).exists()
    for name, column in results.columns.items():
        assert np.array_equal(column, done[name], equal_nan=True), name


def test_a_changed_task_function_of_the_same_name_is_another_study() -> None:
    def fingerprint(size: float) -> str:
        def move(robot):
            start = np.array(robot.poses["home"])
            return brazo.trajectory.quintic(start, start + size, 0.1)

        return Study("scara2", ["PID"], [move], duration=0.1).fingerprint

    assert fingerprint(0.05) == fingerprint(0.05) != fingerprint(0.06)


KILLED = """
import sys, time
from tests.study.test_study import small
def slowly(progress):
    print(progress.done, flush=True)
    time.sleep(0.3)
small().run(sys.argv[1], jobs=1, progress=slowly)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_killed_study_continues(finished, tmp_path, monkeypatch) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path.cwd())])}
    command = [sys.executable, "-c", KILLED, str(tmp_path / "out")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) == 0:
            pass
        process.send_signal(signal.SIGKILL)
    kept = sorted((tmp_path / "out" / CHUNKS).iterdir())
    assert kept and not (tmp_path / "out" / RESULTS).exists()
    _, results = finished
    computed = []
    compute = execution.compute_chunk
    monkeypatch.setattr(
        execution, "compute_chunk", lambda *a: (computed.append(a[1]), compute(*a))[1]
    )
    done = small().run(tmp_path / "out", jobs=2)
    assert all(np.array_equal(results[k], done[k], equal_nan=True) for k in results.columns)
    assert computed and not {int(path.stem) for path in kept} & set(computed)


def test_python_controllers_and_failures(tmp_path) -> None:
    controllers = {"good": Damped(), "bad": Fragile()}
    study = Study("scara2", controllers, ["quintic"], duration=0.1, success={"max_error.tool": 1.0})
    results = study.run(tmp_path, jobs=1)
    assert np.array_equal(results["success"], [1.0, 0.0])
    assert list(results.failures) == [1] and "the reference is too large" in results.failures[1]
    arm = brazo.load("scara2")
    alone = track(arm, Damped(), quintic(arm), 0.1)
    # MuJoCo's steps instead of brazo's: the same motion, but for their errors.
    assert results["rms_error.shoulder"][0] == pytest.approx(alone.rms_error[0], rel=2e-2)
    assert results.success().value == 0.5
    assert "the reference is too large" in results.to_html(tmp_path / "r.html").read_text()


def test_a_simulated_run_has_the_control_period_of_the_study(tmp_path) -> None:
    study = Study("scara2", {"own": Damped()}, ["quintic"], duration=0.2, dt=4e-3)
    results = study.run(tmp_path, jobs=1)
    arm = brazo.load("scara2")
    coarse, fine = (
        track(arm, Damped(), quintic(arm), 0.2, dt=dt).rms_error[0] for dt in (4e-3, 1e-3)
    )
    assert coarse > 10 * fine
    assert results["rms_error.shoulder"][0] == pytest.approx(coarse, rel=2e-2)


@pytest.mark.parametrize(
    ("controllers", "options", "message"),
    [
        ({"own": Damped()}, {}, "substeps = 4.*case 'nominal' with controller 'own'.*smaller dt"),
        ("PID", {"physics": "contact"}, "substeps = 4.*with controller 'PID' are simulations"),
        ("PID", {"cases": [Case("f", faults=(StudyFault("joint locked", 1),))]}, "case 'f'"),
    ],
)
def test_simulated_runs_reject_substeps(controllers, options, message) -> None:
    with pytest.raises(brazo.BrazoError, match=message):
        Study("scara2", controllers, substeps=4, **options)
    Study("scara2", controllers, **options)


@pytest.mark.parametrize("dt", [5e-6, 0.02])
@pytest.mark.parametrize(
    ("controllers", "options"), [({"own": Damped()}, {}), ("PID", {"physics": "contact"})]
)
def test_simulated_runs_have_the_step_sizes_of_cells(controllers, options, dt) -> None:
    message = rf"dt = {1e3 * dt:g} ms.*are simulations.*from 0\.01 ms to 10 ms"
    with pytest.raises(brazo.BrazoError, match=message):
        Study("scara2", controllers, dt=dt, **options)
    assert Study("scara2", "PID", dt=dt).dt == dt  # compiled


def test_compiled_runs_accept_substeps() -> None:
    assert Study("scara2", "PID", substeps=4).substeps == 4


@pytest.mark.parametrize("task", ["sines", Path("via.csv"), quintic])
def test_a_single_task_is_one_entry(task) -> None:
    assert Study("scara2", ["PID"], task).tasks == [task]


def test_a_single_controller_name_is_one_entry() -> None:
    assert list(Study("scara2", "PID").controllers) == ["PID"]


def test_a_diverging_run_is_recorded(tmp_path) -> None:
    factors = {"PID.kd.scale": values(1.0, 1e4)}
    study = Study("puma560", {"PID": PID()}, duration=0.1, factors=factors)
    results = study.run(tmp_path)
    assert np.array_equal(results["success"], [1.0, 0.0])
    assert "diverged at t =" in results.failures[1] and np.isfinite(results["failed_at"][1])


def test_a_controller_that_cannot_be_bound_fails_its_runs_only(tmp_path) -> None:
    controllers = {"PID": PID(), "short": PID(kp=[1.0, 2.0])}
    results = Study("scara2", controllers, duration=0.1).run(tmp_path)
    assert np.array_equal(results["success"], [1.0, 0.0])
    assert "kp" in results.failures[1]


def test_a_folder_of_another_study_is_rejected(tmp_path) -> None:
    small(repetitions=1).run(tmp_path / "a")
    message = "results of another study.*--replace in the shell, replace=True in Python"
    with pytest.raises(brazo.BrazoError, match=message):
        small().run(tmp_path / "a")
    assert len(small().run(tmp_path / "a", replace=True)) == small().runs
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "letter.txt").write_text("mine")
    with pytest.raises(brazo.BrazoError, match="not empty and not a study folder"):
        small().run(tmp_path / "b")


def test_results_of_older_rules_are_those_of_another_study(tmp_path, monkeypatch) -> None:
    with monkeypatch.context() as older:
        older.setattr("brazo.study.study._RULES", 1)
        small(repetitions=1).run(tmp_path)
    study = small(repetitions=1)
    assert not execution.is_complete(study, tmp_path)
    with pytest.raises(brazo.BrazoError, match=r"results of another study.*replace=True in Python"):
        study.run(tmp_path)
    assert len(study.run(tmp_path, replace=True)) == study.runs


def test_ranking_has_the_order_of_the_errors(finished) -> None:
    _, results = finished
    ranks = results.ranking("scara2")
    logs = {
        rank.controller: np.log(
            results["rms_error.tool"][results.select(controller=rank.controller)]
        )
        for rank in ranks
    }
    for rank in ranks:
        assert rank.score.value == pytest.approx(np.exp(logs[rank.controller].mean()), rel=1e-9)
        assert rank.score.low <= rank.score.value <= rank.score.high
    assert ranks[0].score.value < ranks[1].score.value


def test_wilson_interval() -> None:
    from scipy.stats import binomtest

    for successes, runs in ((0, 10), (7, 10), (50, 200), (10, 10)):
        expected = binomtest(successes, runs).proportion_ci(method="wilson")
        found = proportion(successes, runs)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


FILE = """
    name: gains
    robots: [scara2]
    controllers:
      PID: {wn: 20, feedforward: gravity}
      stiff: {controller: ComputedTorque, wn: 40}
    tasks: [step]
    duration: 100ms
    cases:
      nominal: {}
      weak: {payload: 500g, faults: [{kind: torque loss, joint: elbow, at: 50ms, value: 0.4}]}
    factors:
      PID.kp.scale: {values: [0.5, 2]}
      mass_error: {uniform: [-0.1, 0.1]}
    samples: 3
    success: {max_error.tool: 5cm}
"""


def test_a_study_file_is_a_study() -> None:
    study = brazo.study.parse_study(textwrap.dedent(FILE))
    assert study.runs == 2 * 2 * 6 and study.duration == 0.1
    assert study.cases[1].payload == 0.5
    assert study.cases[1].faults == (StudyFault("torque loss", "elbow", 0.05, 0.4),)
    assert study.success == {"max_error.tool": 0.05}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass_error: {uniform: [-0.1", "payload: {uniform: [0.0", "a value of case 'weak'"),
        ("[0.5, 2]", "[]", "13: factors.PID.kp.scale.values: no values"),
        ("mass_error: {un", "mas_error: {un", "14: factors.mas_error: unknown factor"),
        ("PID.kp.scale", "PID.kx.scale", "13: factors.PID.kx.scale: .*has no gain 'kx'; gains: kp"),
        ("[-0.1, 0.1]", "[0.1, -0.1]", "14: .*the first number must be the smaller"),
        ("joint: elbow", "joint: knee", "11: .*joint: robot 'scara2' has no joint 'knee'"),
        ("max_error.tool", "max_eror.tool", "16: success.max_eror.tool: no metric"),
        ("tasks: [step]", "tasks: [jump]", "7: tasks.* choose sines, quintic, step"),
        ("wn: 20", "wm: 20", "5: controllers.PID: PID has no option 'wm'; options: wn"),
        ("controller: ComputedTorque", "controller: Computed", "6: .*choose"),
        ("value: 0.4", "value: 4", "11: .*torque loss: the value is 4; it must be from 0 to 1"),
        ("samples: 3", "samples: 2.5", "15: samples: 2.5 is not a whole number"),
        ("100ms", "100.5ms", "not a multiple of dt"),
        ("robots: [scara2]", "robots: []", "3: robots: the list is empty"),
        ("robots: [scara2]", "robots: [scarra2]", "3: robots.*did you mean 'scara2'"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file_name_line_and_field(old, new, message) -> None:
    text = textwrap.dedent(FILE)
    assert old in text
    with pytest.raises(brazo.BrazoError, match=message):
        brazo.study.parse_study(text.replace(old, new, 1), Path("s.yaml"))


def test_the_shipped_comparison_is_valid() -> None:
    study = brazo.load_study("compare")
    assert [robot.name for robot in study.robots] == ["puma560", "scara2"]
    assert len(study.controllers) == 8 and all(study.compiled(group) for group in study.groups)


def test_the_command_runs_and_continues(tmp_path) -> None:
    from typer.testing import CliRunner

    from brazo.cli.main import app

    file = tmp_path / "gains.yaml"
    file.write_text(textwrap.dedent(FILE))
    command = ["study", "run", str(file), "-o", str(tmp_path / "out"), "--json"]
    first, again = (CliRunner().invoke(app, command) for _ in range(2))
    assert first.exit_code == 0, first.output
    assert json.loads(first.output) == json.loads(again.output)
    found = json.loads(first.output)
    assert found["complete"] and found["runs"] == 24 and len(found["ranking"]["scara2"]) == 2
    page = (tmp_path / "out" / "report.html").read_text()
    assert "scara2: ranking" in page and "<script" not in page


def test_a_delay_that_is_too_long_is_an_error_of_its_case_only(tmp_path) -> None:
    cases = [Case(), Case("late", delay=1.0)]
    study = Study("scara2", "PID", "quintic", cases=cases, duration=0.05)
    results = study.run(tmp_path, jobs=1)
    assert list(results.failures) == [1] and "delay = 1.0 s" in results.failures[1]
