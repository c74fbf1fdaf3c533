"""The scope: a tool beside its reference, on curves whose errors are known."""

from __future__ import annotations

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.recording import Recording, plot_scope, scope_statistics

R, OFF = 0.1, 0.001  # m, radius of the circle, and by how much the tool's circle is larger


@pytest.fixture(scope="module")
def run() -> Recording:
    """Two turns on a circle in a vertical plane, the tool 1 mm outside."""
    t = np.linspace(0.0, 4.0, 2001)
    phase = np.pi * t
    columns = {"t": (t, "s"), "arm.q.one": (phase, "rad"), "arm.q_ref.one": (phase, "rad")}
    for name, radius in (("tool", R + OFF), ("tool_ref", R)):
        for axis, values in (
            ("x", np.full_like(t, 0.3)),
            ("y", radius * np.cos(phase)),
            ("z", radius * np.sin(phase)),
        ):
            columns[f"arm.{name}.{axis}"] = (values, "m")
    return Recording(columns)


def test_the_errors_of_concentric_circles_are_the_difference_of_their_radii(run):
    found = scope_statistics(run, "arm")
    assert found.rms_error == pytest.approx(OFF, rel=1e-12)
    assert found.max_error == pytest.approx(OFF, rel=1e-12)
    assert found.accuracy.cycles == 2
    # Chords between rows are h²/8R = 0.1 µm inside the circle.
    assert found.accuracy.path_accuracy == pytest.approx(OFF, abs=2e-7)
    assert dict(found.texts())["Path accuracy AT_p"] == "1.000 mm"


def test_without_a_moving_reference_only_the_errors_are_known(run):
    still = Recording(
        {name: (np.full(5, values[0]) if name != "t" else values[:5], unit)
         for name, (values, unit) in run.columns.items()}
    )  # fmt: skip
    assert [name for name, _ in scope_statistics(still).texts()] == ["RMS error", "Max error"]


def test_the_figure_shows_the_path_in_its_plane(run, tmp_path):
    figure = plot_scope(run, tmp_path / "scope.svg", "yz", robot="arm", time=1.0)
    ax = figure.axes[0]
    lines = [line.get_xydata() for line in ax.lines]
    reference, past, later, mark, cursor = lines
    assert np.hypot(*reference.T) == pytest.approx(1e3 * R)
    for part in (past, later):
        assert np.hypot(*part.T) == pytest.approx(1e3 * (R + OFF))
    assert cursor[0] == pytest.approx([-1e3 * (R + OFF), 0.0], abs=1e-9)
    assert mark[0] == pytest.approx([-1e3 * R, 0.0], abs=1e-9)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("y [mm]", "z [mm]")
    assert "no conformity is claimed" in (tmp_path / "scope.svg").read_text(encoding="utf-8")


def test_all_planes_are_beside_each_other(run):
    figure = run.plot_scope("all")
    assert [ax.get_ylabel() for ax in figure.axes[:3]] == ["y [mm]", "z [mm]", "z [mm]"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"plane": "xw"}, "xy, xz, yz or all"),
        ({"robot": "leg"}, "robots: arm"),
        ({"time": 9.0}, "0 s to 4 s"),
    ],
)
def test_mistakes_are_explained(run, options, said):
    with pytest.raises(BrazoError, match=said):
        plot_scope(run, **options)


def test_a_recording_without_a_tool_has_no_scope(run):
    with pytest.raises(BrazoError, match="no tool signals"):
        plot_scope(run.select("arm.q"))
