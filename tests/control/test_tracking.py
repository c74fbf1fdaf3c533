"""The errors of every controller on both benchmark motions stay below the documented ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import brazo
from brazo.control import PID, ComputedTorque, track
from brazo.control.benchmark import T_END, quintic, sines
from tests.control.test_base import NAMES, fresh

PAGE = Path(__file__).parents[2] / "docs" / "control.md"
MOTIONS = {"sines": sines, "quintic": quintic}
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \|" + r" ([\d.]+) \|" * 6, re.M)


def stated() -> dict[tuple[str, str], list[float]]:
    """Max errors by controller and motion: puma560 mrad, scara2 mrad and mm (each max, then
    rms)."""
    text = PAGE.read_text(encoding="utf-8")
    return {(m[1], m[2]): [float(x) for x in m.groups()[2:]] for m in ROW.finditer(text)}


def test_documentation_lists_every_controller():
    assert set(stated()) == {(law, motion) for law in NAMES for motion in MOTIONS}


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_errors_match_the_documentation(puma, scara, name, motion):
    measured = []
    for arm in (puma, scara):
        result = track(arm, fresh(name, arm), MOTIONS[motion](arm), T_END)
        turning = np.array([kind == "revolute" for kind in arm.joint_kinds])
        for error in (result.max_error, result.rms_error):
            measured.append(1e3 * error[turning].max())
        if not turning.all():
            measured += [1e3 * result.max_error[~turning].max()]
            measured += [1e3 * result.rms_error[~turning].max()]
        assert not result.saturated.any()
    bounds = stated()[name, motion]
    assert len(measured) == len(bounds) == 6
    for value, bound in zip(measured, bounds, strict=True):
        assert 0.4 * bound < value <= bound, (measured, bounds)


def test_benchmark_motions_are_smooth_and_inside_the_limits(any_robot):
    low, high = any_robot.limits.T
    for make in MOTIONS.values():
        path = make(any_robot)
        t = np.linspace(0.0, T_END, 2001)
        q, qd, qdd = (np.array(x) for x in zip(*(path(x) for x in t), strict=True))
        assert (q >= low).all() and (q <= high).all()
        h = t[1]
        assert np.abs(np.gradient(q, h, axis=0)[1:-1] - qd[1:-1]).max() < 1e-3
        assert np.abs(np.gradient(qd, h, axis=0)[1:-1] - qdd[1:-1]).max() < 1e-2 * (
            1 + np.abs(qdd).max()
        )


def test_figures_of_a_run(scara):
    result = track(scara, ComputedTorque(), sines(scara), 0.5, q0=scara.poses["home"], qd0=[0] * 5)
    assert result.error.shape == (501, 5)
    assert np.array_equal(result.max_error, np.abs(result.error).max(axis=0))
    assert (result.rms_error <= result.max_error).all()
    assert (result.rms_torque <= result.peak_torque).all()
    assert (result.torque_use <= 1.0).all()
    assert result.run.method == "ComputedTorque, rk4" and result.run.t[-1] == 0.5
    # Row k's torque is the one held from k on.
    q, qd = scara.dynamics.rk4_step(
        result.run.q[7], result.run.qd[7], result.run.tau[7], np.array([1e-3])
    )
    assert np.array_equal(q, result.run.q[8]) and np.array_equal(qd, result.run.qd[8])


def test_substeps_apply_to_the_robot_not_the_controller(scara):
    one = track(scara, ComputedTorque(), sines(scara), 0.2)
    ten = track(scara, ComputedTorque(), sines(scara), 0.2, substeps=10)
    assert 0.0 < np.abs(one.run.q - ten.run.q).max() < 1e-9


@pytest.mark.parametrize(
    ("trajectory", "words"),
    [
        (lambda t: np.zeros(5), r"expected 3 vectors: q, qd, qdd, each of shape \(5,\)"),
        (lambda t: (np.zeros(4),) * 3, r"q has shape \(4,\); expected \(5,\)"),
        (lambda t: (np.zeros(5), 0.0, 0.0), r"qd has shape \(\); expected \(5,\)"),
        (lambda t: (np.zeros((5, 1)),) * 3, r"q has shape \(5, 1\); expected \(5,\)"),
        (lambda t: None, "returned NoneType"),
        (lambda t: undefined, r"NameError at t = 0 s: .*test_tracking"),  # noqa: F821 # pyright: ignore
        (np.zeros((11, 5)), r"trajectory is a ndarray; expected a function t -> \(q, qd, qdd\)"),
        (
            lambda t: (
                np.zeros(5),
                np.where(np.arange(5) == 3, np.nan if t > 0.004 else 0, 0.0),
                np.zeros(5),
            ),
            r"at t = 0.005 s: qd of joint 4 \(quill\) is nan",
        ),
    ],
)
def test_bad_trajectories_are_refused(scara, trajectory, words):
    with pytest.raises(brazo.BrazoError, match=words):
        track(scara, ComputedTorque(), trajectory, 0.01)


@pytest.mark.parametrize("vector", [np.array, list, tuple])
def test_one_vector_of_three_joints_is_not_q_qd_and_qdd(vector):
    delta = brazo.load("delta")
    goal = vector(next(iter(delta.poses.values())))
    for run in (track, lambda arm, law, *rest: arm.follow(*rest)):
        with pytest.raises(brazo.BrazoError, match=r"expected 3 vectors|expected \(3,\)"):
            run(delta, PID(), lambda t: goal, 0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"t_end": -1.0}, "t_end = -1"),
        ({"t_end": 1.0, "dt": 0.3}, "not a multiple of dt"),
        ({"t_end": 1.0, "substeps": 0}, "substeps = 0"),
        ({"t_end": 1.0, "q0": [np.nan] * 5}, "q0 of joint 1"),
    ],
)
def test_bad_options_are_refused(scara, options, words):
    with pytest.raises(brazo.BrazoError, match=words):
        track(scara, ComputedTorque(), sines(scara), **options)


def test_gains_tuned_before_a_run_are_kept(scara):
    law = ComputedTorque()
    law.bind(scara, 1e-3)
    law.gains["kp"] = 100.0
    track(scara, law, sines(scara), 0.01)
    assert law.gains["kp"].tolist() == [100.0] * 5
