"""Where the camera is: fixed views, a revolution, and keyframes of a file."""

from __future__ import annotations

import math

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.video.camera import MAX_LINES, VIEWS, camera_path, fixed_view, read_keys
from brazo.video.extent import Extent

FOV, ASPECT = 35.0, 4 / 3
RNG = np.random.default_rng(5)


def extent() -> Extent:
    return Extent(RNG.uniform([-1.0, 0.2, 0.0], [0.5, 0.9, 1.2], (200, 3)), 0.0)


def seen(view, points) -> np.ndarray:
    """Image coordinates (k, 2), 1 at the edges, by the matrix of a pinhole camera."""
    z = (view.position - view.look_at) / np.linalg.norm(view.position - view.look_at)
    x = np.cross([0.0, 0.0, 1.0], z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z])
    p = (points - view.position) @ R.T
    assert (p[:, 2] < 0.0).all()
    high = math.tan(math.radians(FOV) / 2)
    return p[:, :2] / -p[:, 2:] / [high * ASPECT, high]


@pytest.mark.parametrize("name", VIEWS)
def test_every_point_is_in_view_and_the_picture_is_filled(name):
    one = extent()
    view = camera_path(name, one, ASPECT, FOV, False)(0.0, 0.0)
    largest = np.abs(seen(view, one.points)).max()
    assert 0.85 < largest <= 1.0


def test_a_turntable_turns_once_and_never_cuts_anything_off():
    one = extent()
    path = camera_path("default", one, ASPECT, FOV, True)
    views = [path(0.0, share) for share in np.linspace(0.0, 1.0, 25)]
    assert views[-1].azimuth - views[0].azimuth == pytest.approx(360.0)
    assert max(np.abs(seen(view, one.points)).max() for view in views) <= 1.0
    assert len({round(view.distance, 12) for view in views}) == 1


def test_numbers_give_a_view():
    assert fixed_view("30,20") == (30.0, 20.0, None)
    assert fixed_view((30, 20, 2.5)) == (30.0, 20.0, 2.5)


@pytest.mark.parametrize(
    "camera", ["nowhere", "1", "1,2,3,4", "a,b", "10,nan", 3, "0,91", "0,0,-1"]
)
def test_other_cameras_are_refused(camera):
    with pytest.raises(BrazoError, match="camera"):
        fixed_view(camera)


def test_keyframes_are_passed_through_and_not_overshot(tmp_path):
    path = tmp_path / "path.yaml"
    path.write_text(
        "camera:\n"
        "  - {time: 0, azimuth: 10, elevation: 20, distance: 2, look_at: [0, 0, 0]}\n"
        "  - {time: 1000ms, azimuth: 90deg, elevation: 20deg, distance: 2, look_at: [0, 0, 1]}\n"
        "  - {time: 3, position: [0, 3, 1], look_at: [0, 0, 1]}\n"
    )
    view = camera_path(path, extent(), ASPECT, FOV, False)
    assert [view(t, 0.0).azimuth for t in (-1.0, 0.0, 1.0, 3.0, 9.0)] == pytest.approx(
        [10.0, 10.0, 90.0, 90.0, 90.0]
    )
    assert view(3.0, 0.0).position == pytest.approx([0.0, 3.0, 1.0])
    between = [view(t, 0.0) for t in np.linspace(0.0, 3.0, 50)]
    assert max(one.azimuth for one in between) <= 90.0 + 1e-9
    assert max(one.look_at[2] for one in between) <= 1.0 + 1e-12


@pytest.mark.parametrize("second", ["position: [-2, -0.1, 1]", "azimuth: -177", "azimuth: 183"])
def test_the_camera_takes_the_shorter_arc_from_and_to_a_position(tmp_path, second):
    path = tmp_path / "path.yaml"
    path.write_text(
        "camera:\n"
        "  - {time: 0, position: [-2, 0.1, 1], look_at: [0, 0, 0]}\n"
        f"  - {{time: 1, {second}, look_at: [0, 0, 0]}}\n"
        "  - {time: 2, position: [-2, 0.1, 1], look_at: [0, 0, 0]}\n"
    )
    view = camera_path(path, extent(), ASPECT, FOV, False)
    assert all(view(t, 0.0).position[0] < -1.0 for t in np.linspace(0.0, 2.0, 41))


def test_given_azimuths_may_turn_the_camera_more_than_once(tmp_path):
    path = tmp_path / "path.csv"
    path.write_text("time,azimuth\n0,0\n1,720\n")
    view = camera_path(path, extent(), ASPECT, FOV, False)
    assert view(0.5, 0.0).azimuth == pytest.approx(360.0)


def test_a_table_with_too_many_lines_is_refused(tmp_path):
    path = tmp_path / "path.csv"
    path.write_text("time\n" + "".join(f"{k}\n" for k in range(MAX_LINES)))
    with pytest.raises(BrazoError, match=rf"path\.csv: more than {MAX_LINES} lines"):
        read_keys(path)
    path.write_text("time\n" + "".join(f"{k}\n" for k in range(MAX_LINES - 1)))
    assert len(read_keys(path)) == MAX_LINES - 1


def test_a_table_gives_the_same_keyframes(tmp_path):
    path = tmp_path / "path.csv"
    path.write_text("time,x,y,z,look_x,look_y,look_z\n0,2,0,1,0,0,1\n2,0,3,1,0,0,1\n")
    view = camera_path(str(path), extent(), ASPECT, FOV, False)
    assert view(0.0, 0.0).position == pytest.approx([2.0, 0.0, 1.0])
    assert view(2.0, 0.0).position == pytest.approx([0.0, 3.0, 1.0])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "camera:\n - {time: 0, angle: 3}\n", ":2: camera"),
        ("a.yaml", "camera:\n - {azimuth: 3}\n", "'time' is missing"),
        ("a.yaml", "camera: []\n", "no keyframes"),
        ("a.yaml", "- {time: 0, position: [1, 0, 0]}\n", "look_at"),
        ("a.yaml", "- {time: 0, elevation: 95}\n", "elevation"),
        ("a.yaml", "- {time: 1, azimuth: 0}\n- {time: 1, azimuth: 2}\n", "must increase"),
        ("a.csv", "time,azimut\n0,1\n", "azimut"),
        ("a.csv", "time,azimuth\n0,one\n", "a.csv:2: "),
        ("a.csv", "time,x\n0,1\n", "all three"),
    ],
)
def test_mistakes_of_a_camera_file_are_located(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(BrazoError, match=said):
        read_keys(path)


def test_a_turntable_and_a_camera_file_exclude_each_other(tmp_path):
    with pytest.raises(BrazoError, match="turntable"):
        camera_path(tmp_path / "path.csv", extent(), ASPECT, FOV, True)
