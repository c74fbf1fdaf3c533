"""Workspace maps and sensitivities against geometry: an annulus, sin q2, and degrees of lengths."""

import json

import numpy as np
import pytest

import brazo
from brazo.study import read_workspace, sensitivity, workspace
from brazo.study.workspace_map import WorkspaceMap, joint_samples, manipulability

OUTER = 1.6
INNER = np.sqrt(1.0 + 0.36 + 1.2 * np.cos(np.radians(165.0)))  # at the limit of the elbow


@pytest.fixture(scope="module")
def annulus():
    arm = brazo.load("planar-2r").with_parameters(L1=1.0, L2=0.6)
    return arm, workspace(arm, samples=1 << 17, size=0.04)


def test_a_planar_arm_reaches_an_annulus(annulus) -> None:
    _, found = annulus
    radius = np.linalg.norm(found.points[:, [0, 2]], axis=1)
    half = 0.5 * found.size * 2**0.5
    assert found.reach == pytest.approx(OUTER, abs=1e-6)
    assert np.ptp(found.points[:, 1]) == 0.0
    assert radius.max() <= OUTER + half and radius.min() >= INNER - half
    # Every square within the annulus is reached; at most those that its edges cross are counted.
    whole = (radius < OUTER - half) & (radius > INNER + half)
    area = np.pi * ((OUTER - half) ** 2 - (INNER + half) ** 2)
    assert whole.sum() * found.size**2 == pytest.approx(area, rel=0.01)
    most = np.pi * ((OUTER + 2 * half) ** 2 - (INNER - 2 * half) ** 2)
    assert found.volume / found.size < most


def test_its_manipulability_is_that_of_the_book(annulus) -> None:
    # w = l1 l2 |sin q2|, with the elbow angle that reaches a radius.
    _, found = annulus
    radius = np.linalg.norm(found.points[:, [0, 2]], axis=1)
    inside = (radius > INNER + 0.1) & (radius < 1.5)
    cosine = (radius[inside] ** 2 - 1.0 - 0.36) / 1.2
    expected = 0.6 * np.sqrt(1.0 - cosine**2)
    assert found.manipulability[inside] == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("name", ["puma560", "scara2", "iiwa14", "planar-3r"])
def test_the_determinant_is_the_product_of_singular_values(name) -> None:
    arm = brazo.load(name)
    q = joint_samples(arm, 64)
    for rows in ("linear", "all"):
        found = manipulability(arm, q, rows)
        expected = arm.dexterity(q, rows).manipulability
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_map_is_kept_in_a_file_and_drawn(annulus, tmp_path) -> None:
    _, found = annulus
    again = read_workspace(found.to_parquet(tmp_path / "map.parquet"))
    assert again.volume == found.volume and again.robot == "planar-2r"
    assert np.array_equal(again.points, found.points)
    assert np.array_equal(again.manipulability, found.manipulability)
    found.plot(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 5000


def short_delta() -> brazo.Robot:
    """A Delta whose rods are too short for some angles of its arms."""
    return brazo.load("delta").with_parameters(L2=0.3)


@pytest.mark.parametrize("offset", [0.0, 0.3])  # of the grid, as a fraction of a cube
def test_a_figure_shows_cubes_where_they_are(offset) -> None:
    size = 0.1
    corner = offset * size
    points = np.array([[0.2, -0.1, 0.4], [0.3, -0.1, 0.4], [0.2, -0.1, 0.5]]) + size / 2 + corner
    ones = np.ones(3)
    found = WorkspaceMap("cubes", size, points, ones.astype(int), ones, ones, 1.0)
    side, top = (ax for ax in found.plot().axes if ax.get_images())
    assert side.get_images()[0].get_extent() == pytest.approx(
        [0.2 + corner, 0.4 + corner, 0.4 + corner, 0.6 + corner]
    )
    assert np.isfinite(side.get_images()[0].get_array().filled(np.nan)).tolist() == [
        [True, True],
        [True, False],
    ]
    assert top.get_title() == f"z = {450 + 1e3 * corner:.0f} mm"


def test_poses_that_a_delta_cannot_take_are_skipped() -> None:
    arm = short_delta()
    count = 0
    for q in joint_samples(arm, 256):
        try:
            count += np.isfinite(arm.fk(q)).all()
        except brazo.BrazoError:
            continue
    assert 0 < count < 256
    assert workspace(arm, samples=256).samples.sum() == count


def test_reach_and_volume_have_their_degree_in_lengths(tmp_path) -> None:
    # A planar arm: reach L1 + L2, an area of degree 2 (cubes are one layer thick), w ~ L1 L2.
    found = sensitivity("planar-2r", samples=1 << 16)
    one, two = found["L1"], found["L2"]
    assert one.reach + two.reach == pytest.approx(1.0, abs=2e-3)
    assert one.volume + two.volume == pytest.approx(2.0, abs=0.12)
    assert one.manipulability_volume + two.manipulability_volume == pytest.approx(4.0, abs=0.2)
    assert one.reach == pytest.approx(two.reach, abs=2e-3)
    found.plot(tmp_path / "bars.svg")
    assert "L2" in (tmp_path / "bars.svg").read_text()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: workspace("planar-2r", samples=0), "samples = 0"),
        (
            lambda: workspace("planar-2r", size=-1.0),
            "size is -1; it must be finite and greater than 0",
        ),
        (lambda: workspace("planar-2r", rows="both"), "rows 'both' is not one of all, linear"),
        (
            lambda: sensitivity("planar-2r", ["L9"]),
            "no parameter 'L9'; parameters that can vary: L1, L2",
        ),
        (lambda: sensitivity("planar-2r", step=2.0), "step = 2.0"),
        (lambda: sensitivity("planar-2r", samples=0), "samples = 0"),
        (lambda: sensitivity("planar-2r", rows="both"), "rows 'both' is not one of all, linear"),
        (lambda: workspace(short_delta(), samples=1), "no sampled joint position has a forward"),
        (lambda: sensitivity(short_delta(), samples=1), "no sampled joint position has a forward"),
    ],
)
def test_mistakes_are_named(call, message) -> None:
    with pytest.raises(brazo.BrazoError, match=message):
        call()


def test_the_commands(tmp_path) -> None:
    from typer.testing import CliRunner

    from brazo.cli.main import app

    file = tmp_path / "map.parquet"
    command = ["study", "workspace", "planar-2r", "--samples", "4096", "--json", "-o", str(file)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["cubes"] == len(read_workspace(file))
    again = CliRunner().invoke(app, command)
    assert "map.parquet: already exists" in str(again.exception)
    bars = CliRunner().invoke(app, ["study", "sensitivity", "planar-2r", "--samples", "4096"])
    assert bars.exit_code == 0 and "+0.50" in bars.output
