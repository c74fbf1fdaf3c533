"""Path accuracy and repeatability against cycles whose errors are known."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import brazo
from brazo.cli.main import app
from brazo.recording import Recording
from brazo.recording.accuracy import path_accuracy

PERIOD, RADIUS = 2.0, 0.1


def run_of(tool, reference, t) -> Recording:
    """A run of one robot with the given tool positions (m, 3)."""
    columns = {"t": (t, "s"), "q.a": (reference[:, 0], "rad"), "q_ref.a": (reference[:, 0], "rad")}
    for k, axis in enumerate("xyz"):
        columns[f"tool.{axis}"] = tool[:, k], "m"
        columns[f"tool_ref.{axis}"] = reference[:, k], "m"
    return Recording(columns, [], {})


def circle(cycles: int, dt: float = 1e-3):
    t = np.arange(0.0, cycles * PERIOD + 0.5 * dt, dt)
    angle = 2.0 * np.pi * t / PERIOD
    return t, np.stack([RADIUS * np.cos(angle), RADIUS * np.sin(angle), 0.0 * t], axis=-1)


def test_offsets_of_the_cycles_give_accuracy_and_repeatability():
    t, reference = circle(3)
    cycle = np.minimum((t / PERIOD).astype(int), 2)
    heights = np.array([1e-3, 2e-3, 4e-3])
    tool = reference + np.stack([0 * t, 0 * t, heights[cycle]], axis=-1)
    found = path_accuracy(run_of(tool, reference, t))
    assert found.cycles == 3
    assert found.path_accuracy == pytest.approx(heights.mean(), rel=1e-6)
    spread = np.abs(heights - heights.mean())
    expected = spread.mean() + 3.0 * spread.std(ddof=1)
    assert found.path_repeatability == pytest.approx(expected, rel=1e-6)


def test_a_lag_along_the_path_is_no_path_error():
    t, reference = circle(4)
    angle = 2.0 * np.pi * (t - 0.05) / PERIOD
    tool = np.stack([RADIUS * np.cos(angle), RADIUS * np.sin(angle), 0.0 * t], axis=-1)
    found = path_accuracy(run_of(tool, reference, t), 4)
    assert found.path_accuracy < 1e-6 and found.path_repeatability < 1e-6  # of the polygon


def test_a_smaller_circle_has_the_difference_of_the_radii():
    t, reference = circle(2)
    found = path_accuracy(run_of(0.97 * reference, reference, t))
    assert found.path_accuracy == pytest.approx(0.03 * RADIUS, rel=1e-4)
    assert found.path_repeatability < 1e-9


def test_overshoot_and_stabilization_time_of_a_damped_end():
    t = np.arange(0.0, 4.0, 1e-3)
    x = np.clip(t, 0.0, 1.0)
    late = np.maximum(t - 1.0, 0.0)
    ring = 0.05 * np.exp(-3.0 * late) * np.sin(10.0 * late)
    reference, tool = (np.stack([v, 0 * t, 0 * t], axis=-1) for v in (x, x + ring))
    found = path_accuracy(run_of(tool, reference, t), band=0.01, after=2.5)
    peak = np.arctan(10.0 / 3.0) / 10.0  # of the damped sine
    assert found.overshoot == pytest.approx(
        0.05 * math.exp(-3 * peak) * math.sin(10 * peak), rel=1e-4
    )
    last = t[np.flatnonzero(np.abs(tool[:, 0] - 1.0) > 0.01)[-1] + 1]
    entered = t[np.flatnonzero(np.abs(tool[:, 0] - 1.0) <= 0.01)[0]]
    assert found.stabilization_time == pytest.approx(last - entered, abs=1.5e-3)


def test_one_cycle_has_no_repeatability():
    t, reference = circle(1)
    found = path_accuracy(run_of(1.01 * reference, reference, t), 1)
    assert math.isnan(found.path_repeatability) and found.path_accuracy > 0.0


def test_missing_signals_and_wrong_numbers_are_reported():
    t, reference = circle(1)
    run = run_of(reference, reference, t)
    with pytest.raises(brazo.BrazoError, match="no robot named 'b'"):
        path_accuracy(run, robot="b")
    without = brazo.Recording({"t": (t, "s"), "x": (t, "m")})
    for robot in (None, "b"):
        with pytest.raises(brazo.BrazoError, match="this recording has no robot: no signals"):
            path_accuracy(without, robot=robot)
    with pytest.raises(brazo.BrazoError, match="at least 1"):
        path_accuracy(run, 0)
    with pytest.raises(brazo.BrazoError, match="does not move"):
        path_accuracy(run_of(0 * reference, 0 * reference, t))


def test_the_shell_prints_the_numbers(tmp_path):
    t, reference = circle(2)
    run_of(0.97 * reference, reference, t).to_parquet(tmp_path / "run.parquet")
    done = CliRunner().invoke(app, ["accuracy", str(tmp_path / "run.parquet"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["path_accuracy"] == pytest.approx(0.03 * RADIUS, rel=1e-4)
    text = CliRunner().invoke(app, ["accuracy", str(tmp_path / "run.parquet"), "--band", "1mm"])
    assert "path accuracy AT_p" in text.stdout and "3.00" in text.stdout
