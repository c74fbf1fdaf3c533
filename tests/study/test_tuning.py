"""Tuning: better on held-out trajectories, never unstable, resumable; files and messages."""

import json
import pickle
import sqlite3

import numpy as np
import pytest

import brazo
from brazo.control import LQR, PID, ComputedTorque, Controller, LoopConditions
from brazo.control.benchmark import quintic
from brazo.errors import BrazoError
from brazo.program.controller_file import load_controllers
from brazo.study import Case, tune, tuning_cases
from brazo.study.tuning import evaluation, trial_storage
from brazo.study.tuning.evaluation import Evaluation

SMALL = {"trials": 48, "batch": 16, "duration": 0.6, "threads": 1}


@pytest.fixture(scope="module", params=["scara2", "puma560"])
def tuned(request):
    return tune(request.param, "PID", seed=1, **SMALL | {"trials": 96})


def test_tuned_gains_beat_the_shipped_ones_on_a_held_out_trajectory(tuned) -> None:
    assert tuned.improved and tuned.improvement > 0.3
    # Measured again, independently of the result.
    arm, errors = tuned.robot, []
    for controller in (PID(), tuned.controller):
        run = brazo.control.track(arm, controller, quintic(arm), 0.6)
        tool = run.run.tool[:, :3, 3] - run.reference_tool
        errors.append(np.sqrt((tool**2).sum(axis=1).mean()))
    assert errors[1] < 0.7 * errors[0]
    assert 1.0 - errors[1] / errors[0] == pytest.approx(tuned.improvement, rel=1e-6)


def test_tuned_gains_are_stable_when_the_robot_differs(tuned) -> None:
    assert tuned.after.check.stable and tuned.after.check.radius < 1.0 + 1e-6
    arm, rng = tuned.robot, np.random.default_rng(5)
    count = 64
    conditions = LoopConditions(
        payload=rng.uniform(0.0, 1.4, count) * tuning_cases(arm)[1].payload,
        mass_scale=rng.uniform(0.75, 1.25, count),
        delay=rng.integers(0, 2, count) * 1e-3,
    )
    start = np.array(quintic(arm)(0.0)[0]) + rng.uniform(-0.02, 0.02, (count, arm.n))
    runs = arm.closed_loop(
        tuned.controller, quintic(arm), 2.0, q0=start, conditions=conditions, every=200
    )
    assert np.isnan(runs.failed_at).all()
    assert np.abs(runs.qd[:, -1]).max() < 0.05  # at rest after the motion
    assert np.abs(runs.q[:, -1] - runs.reference[0, -1]).max() < 0.02


def test_no_candidate_that_fails_the_check_is_returned(monkeypatch) -> None:
    """Every better candidate is rejected in turn, until none is left but the start."""
    seen = []
    check = Evaluation.check

    def strict(self, gains):
        start = self.controller.gain_values()
        same = all(np.allclose(gains[name], start[name]) for name in ("kp", "ki", "kd"))
        seen.append(same)
        found = check(self, gains)
        return found if same else evaluation.StabilityCheck(False, "refused", found.radius)

    monkeypatch.setattr(Evaluation, "check", strict)
    result = tune("puma560", "PID", **SMALL)
    assert not result.improved and result.rejected > 3 and len(seen) > 4
    for name, value in result.before.gains.items():
        assert np.array_equal(result.controller.gains[name], value)


def test_no_stable_gains_is_an_error() -> None:
    wild = PID(kp=[1.0] * 5, ki=[1e3] * 5, kd=[1e-3] * 5)  # an integrator without damping
    with pytest.raises(BrazoError, match=r"no stable gains found for PID on scara2 in .* candidat"):
        tune("scara2", wild, gains=["ki"], span=1.5, **SMALL | {"trials": 0, "duration": 0.1})


class Killed(Exception):
    pass


def test_an_interrupted_search_continues_as_if_it_had_not_been(tmp_path, monkeypatch) -> None:
    url = f"sqlite:///{tmp_path / 'tuning.db'}"
    options = SMALL | {"duration": 0.2, "storage": url, "name": "scara"}
    whole = tune("scara2", "ComputedTorque", **options | {"storage": None})

    def stop(progress) -> None:
        if progress.done > 20:
            raise Killed

    with pytest.raises(Killed):
        tune("scara2", "ComputedTorque", progress=stop, **options)
    with sqlite3.connect(tmp_path / "tuning.db") as database:  # killed while a batch was written
        (count,) = database.execute("select count(*) from trials").fetchone()
        for table in ("trial_values", "trial_params", "trial_system_attributes"):
            database.execute(f"delete from {table} where trial_id = {count}")
        database.execute(f"delete from trials where trial_id = {count}")
    database.close()
    computed = []
    scores = Evaluation.scores
    monkeypatch.setattr(
        Evaluation,
        "scores",
        lambda self, gains, *a: (computed.append(len(gains["kp"])), scores(self, gains, *a))[1],
    )
    done = tune("scara2", "ComputedTorque", **options)
    assert sum(computed) < len(done.history) == len(whole.history)
    assert np.array_equal(done.history, whole.history)
    computed.clear()
    again = tune("scara2", "ComputedTorque", **options)
    assert not computed and np.array_equal(again.after.gains["kp"], whole.after.gains["kp"])
    with pytest.raises(BrazoError, match=r"'scara' in sqlite.* has the trials of another robot"):
        tune("scara2", "PID", **options)


class Attack:
    def __init__(self, path) -> None:
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_stored_optimiser_state_is_never_unpickled(tmp_path) -> None:
    """The databases of others: Optuna would load `cma:optimizer:0` of the last trial."""
    import optuna

    url, mark = f"sqlite:///{tmp_path / 'tuning.db'}", tmp_path / "executed"
    options = SMALL | {"batch": 8, "duration": 0.05, "cases": [Case()], "storage": url, "name": "x"}
    tune("scara2", "ComputedTorque", **options | {"trials": 8})
    state = pickle.dumps(Attack(mark)).hex()
    pickle.loads(bytes.fromhex(state)).close()
    assert mark.exists()  # the attack works
    mark.unlink()
    with sqlite3.connect(tmp_path / "tuning.db") as database:
        for (trial,) in database.execute("select trial_id from trials").fetchall():
            for key, value in (("cma:optimizer:0", state), ("cma:generation", 0)):
                database.execute(
                    "insert into trial_system_attributes (trial_id, key, value_json) "
                    "values (?, ?, ?)",
                    (trial, key, json.dumps(value)),
                )
    database.close()
    stored = optuna.load_study(study_name="x", storage=url).get_trials()
    assert all(trial.system_attrs["cma:optimizer:0"] == state for trial in stored)
    done = tune("scara2", "ComputedTorque", **options | {"trials": 24})
    assert len(done.history) >= 24 and not mark.exists()
    whole = tune("scara2", "ComputedTorque", **options | {"trials": 24, "storage": None})
    assert np.array_equal(done.history, whole.history)


def test_several_objectives_give_a_front_of_stable_sets(tmp_path) -> None:
    result = tune(
        "scara2", "PDGravity", objectives=("error", "peak_torque"), cases=[Case()],
        **SMALL | {"duration": 0.3, "trials": 64},
    )  # fmt: skip
    assert len(result.front) > 2 and all(one.check.stable for one in result.front)
    scores = np.array([list(one.scores.values()) for one in result.front])
    assert (np.diff(scores[:, 0]) > 0).all() and (np.diff(scores[:, 1]) < 0).all()
    page = result.to_html(tmp_path / "tuning.html").read_text()
    assert "Trade-off" in page and "Before and after" in page


def test_gains_are_written_to_a_file_of_controllers(tmp_path) -> None:
    path = tmp_path / "controllers.yaml"
    path.write_text("other:\n  controller: PID\n  gains: {kp: [1, 2]}\n")
    options = SMALL | {"trials": 8, "duration": 0.1, "cases": [Case()]}
    result = tune("scara2", ComputedTorque(wn=10.0), per_joint=False, **options)
    result.write(path)
    read = load_controllers(path)
    assert set(read) == {"other", "scara2"} and "kp: [1.0, 2.0]" in path.read_text()
    read["scara2"].bind(brazo.load("scara2"), 1e-3)
    for name, value in result.after.gains.items():
        assert np.array_equal(read["scara2"].gains[name], value)
    ratio = result.after.gains["kp"] / result.before.gains["kp"]
    assert ratio == pytest.approx(ratio[0])


def test_an_lqr_is_tuned_by_its_weights() -> None:
    options = SMALL | {"trials": 8, "batch": 8, "duration": 0.1, "cases": [Case()]}
    result = tune("scara2", LQR(), per_joint=False, **options)
    assert result.after.scores["error"] < result.before.scores["error"]
    assert [one.name for one in result.rules] == ["bryson"]


def test_a_rule_is_used_only_if_its_gains_are_stable(tmp_path) -> None:
    result = tune("scara2", "PID", rule="pole-placement", duration=0.2, threads=1)
    assert result.after.name == "pole-placement" and result.after.check.stable
    assert "pole-placement" in result.to_html(tmp_path / "rule.html").read_text()
    with pytest.raises(BrazoError, match=r"rule ziegler-nichols for PID on scara2 fail the check"):
        tune("scara2", "PID", rule="ziegler-nichols", duration=0.2, threads=1)


class InPython(Controller):
    listed = False

    def command(self, t, q, qd, reference):
        return np.zeros(len(q))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"controller": "Magic"}, "no controller 'Magic'; controllers: "),
        ({"controller": InPython()}, "InPython is a controller in Python; tuning needs a compiled"),
        ({"objectives": ["speed"]}, "objective 'speed' is not one of error, energy"),
        ({"objectives": ["error", "error"]}, "each objective only once"),
        ({"gains": ["kx"]}, "PID has no gain 'kx'; gains: kp, ki, kd"),
        ({"gains": ["tf"]}, "gain 'tf' is 0 and cannot be scaled"),
        ({"span": 1.0}, "span = 1.0; it must be a number greater than 1"),
        ({"trials": 1.5}, "trials = 1.5; it must be an integer"),
        ({"cases": []}, "no cases; give at least one"),
        ({"cases": [Case("late", delay=0.06)]}, r"it must be at most 0.049 s, 49 control"),
        ({"tasks": []}, "no tasks; give at least one"),
        ({"sampler": "grid"}, "sampler 'grid' is not one of cmaes, tpe"),
        (
            {"sampler": "cmaes", "objectives": ["error", "energy"]},
            "'cmaes' supports only one objective",
        ),
        ({"storage": "sqlite:////nowhere/at/all.db"}, "storage 'sqlite:////nowhere/at/all.db' can"),
        ({"storage": "redis://here:6379"}, "data in Redis can run code when it is read"),
        ({"storage": "tuning.db"}, "storage 'tuning.db' cannot be used.*e.g. sqlite:///tuning.db"),
    ],
)
def test_bad_input(options, message) -> None:
    given = {"controller": "PID", "duration": 0.05, "trials": 1, "threads": 1} | options
    with pytest.raises(BrazoError, match=message):
        tune("scara2", **given)


def test_a_missing_library_is_named(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(BrazoError, match=r'pip install "brazo\[tuning\]"'):
        trial_storage.TrialStorage(None, "x", 1, "")
