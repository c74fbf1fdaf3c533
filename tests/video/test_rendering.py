"""Pictures are where a pinhole camera sees things, and a recording becomes as many as it lasts."""

from __future__ import annotations

import math

import imageio_ffmpeg
import numpy as np
import pytest

import brazo
from brazo.errors import BrazoError
from brazo.recording import Export, Recording
from brazo.video.animation import MAX_BYTES, Animation
from brazo.video.rendering import Clip, VideoOptions, render
from brazo.video.stage import FIELD_OF_VIEW_DEG

SMALL = {"size": (160, 120), "shadows": False}
CELL = """
name: ball
floor: {}
bodies:
  - {name: ball, sphere: 100mm, mass: 1, color: [1, 0, 0], xyz: [0.3, -0.2, 0.5]}
"""


@pytest.fixture(scope="module")
def motion() -> Recording:
    """A planar arm that turns its first joint by 90° in 1 s."""
    t = np.linspace(0.0, 1.0, 101)
    columns = {"t": (t, "s")}
    for name, q in zip(brazo.load("planar-2r").joint_names, (t * np.pi / 2, 0.0 * t), strict=True):
        columns[f"q.{name}"] = (q, "rad")
    return Recording(columns, [], {"robot": "planar-2r"})


def test_a_body_is_drawn_where_a_pinhole_camera_sees_it(tmp_path):
    path = tmp_path / "ball.yaml"
    path.write_text(CELL)
    clip = Clip(path, VideoOptions(size=(320, 240), camera=(25.0, 35.0, 2.0), shadows=False))
    with clip.stage() as stage:
        picture = next(iter(clip.frames(stage))).astype(int)
    # Twice the reach of the other colours: the lit side of a red ball.
    red = (picture[..., 0] > 2 * picture[..., 1]) & (picture[..., 0] > 60)
    middle = np.argwhere(red).mean(axis=0)[::-1] + 0.5
    ball = np.array([0.3, -0.2, 0.5])
    a, e = math.radians(25.0), math.radians(35.0)
    back = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
    eye = clip.extent.middle + 2.0 * back
    right = np.array([-math.sin(a), math.cos(a), 0.0])
    up = np.cross(back, right)
    depth = (eye - ball) @ back
    focal = 120.0 / math.tan(math.radians(FIELD_OF_VIEW_DEG) / 2)
    expected = [
        160.0 + focal * (ball - eye) @ right / depth,
        120.0 - focal * (ball - eye) @ up / depth,
    ]
    assert middle == pytest.approx(expected, abs=1.0)
    # A sphere of radius r at distance d covers a disc of radius f r / sqrt(d² - r²).
    radius = focal * 0.1 / math.sqrt(depth**2 - 0.1**2)
    assert red.sum() == pytest.approx(math.pi * radius**2, rel=0.03)  # pixels of its edge


def test_a_recording_becomes_as_many_frames_as_it_lasts(tmp_path, motion):
    reported = []
    options = VideoOptions(fps=10, speed=0.5, **SMALL)
    done = render(motion, tmp_path / "a.mp4", options, progress=reported.append)
    assert done.frames == 21
    assert reported[-1] == 1.0 and sorted(reported) == reported
    count, seconds = imageio_ffmpeg.count_frames_and_secs(str(done.path))
    assert (count, seconds) == (21, pytest.approx(2.1, abs=0.05))
    part = Clip(motion, VideoOptions(fps=10, start=0.25, stop=0.75, **SMALL))
    assert part.count == 6


def test_bodies_are_placed_as_recorded(motion):
    clip = Clip(motion, VideoOptions(fps=4, **SMALL))
    arm = brazo.load("planar-2r")
    base = clip._world.cell.robots[0].base
    own = clip._world.robots["planar-2r"].drawn
    for t, poses in zip((0.0, 0.25, 0.5, 0.75, 1.0), clip._poses(clip._times), strict=True):
        frames = base @ arm.frames([t * np.pi / 2, 0.0])
        assert poses[own] == pytest.approx(frames, abs=1e-12)


def test_the_arm_moves_in_the_pictures(motion):
    clip = Clip(motion, VideoOptions(fps=1, trail=True, **SMALL))
    with clip.stage() as stage:
        first, last = (frame.astype(int) for frame in clip.frames(stage))
    assert (np.abs(first - last).max(axis=2) > 30).mean() > 0.01
    assert first.mean() > 180  # a light picture


def test_a_recording_writes_itself_as_a_video(tmp_path, motion):
    path = motion.to_video(tmp_path / "a.gif", fps=5, **SMALL)
    assert path.read_bytes()[:6] == b"GIF89a"
    with pytest.raises(BrazoError, match="fps"):
        motion.to_video(tmp_path / "b.mp4", fps=0)
    with pytest.raises(BrazoError, match="two rows"):
        motion.to_video(tmp_path / "b.mp4", start=0.5, stop=0.5, **SMALL)
    assert [one.name for one in tmp_path.iterdir()] == ["a.gif"]


def test_an_export_to_video_can_be_cancelled(tmp_path, motion):
    export = Export(motion, tmp_path / "a.mp4")
    export.cancel()
    assert not list(tmp_path.iterdir())


def test_a_robot_is_shown_from_all_sides(tmp_path):
    clip = Clip("planar-2r", VideoOptions(fps=1, turntable=True, **SMALL))
    with clip.stage() as stage:
        pictures = [frame.astype(int) for frame in clip.frames(stage)]
    assert len(pictures) == 8
    assert (np.abs(pictures[0] - pictures[4]).max(axis=2) > 30).mean() > 0.01
    with pytest.raises(BrazoError, match="recordings only"):
        Clip("planar-2r", VideoOptions(speed=2.0))


def test_an_animation_shows_itself_in_a_notebook_and_is_saved(tmp_path):
    arm = brazo.load("planar-2r")
    found = arm.animate(np.linspace([0.0, 0.0], [1.0, 0.5], 5), 0.1, fps=5, **SMALL)
    assert (found.frames, found.suffix) == (3, ".mp4")
    assert found._repr_html_().startswith('<video width="160" height="120"')
    assert found.save(tmp_path / "a.mp4").read_bytes() == found.data
    with pytest.raises(BrazoError, match=r"\.gif"):
        found.save(tmp_path / "a.gif")
    large = Animation(bytes(MAX_BYTES + 1), ".mp4", (160, 120), 3, 0.6)
    assert "save" in large._repr_html_() and len(large._repr_html_()) < 1000


@pytest.mark.parametrize(
    ("qs", "dt", "said"),
    [
        ([0.0, 1.0], 0.1, "shape"),
        ([[0.0, np.nan], [0.0, 0.0]], 0.1, "finite"),
        ([[0.0, 0.0], [1.0, 1.0]], 0.0, "dt"),
        ([[0.0, 0.0], [1.0, 1.0]], 1000.0, "at most"),
    ],
)
def test_animations_of_wrong_values_are_refused(qs, dt, said):
    with pytest.raises(BrazoError, match=said):
        brazo.load("planar-2r").animate(qs, dt)


@pytest.mark.parametrize("speed", [0, -1.0, "2"])
def test_animations_at_a_wrong_speed_are_refused(speed):
    with pytest.raises(BrazoError, match=f"speed is {speed}; it must be greater than 0"):
        brazo.load("planar-2r").animate([[0.0, 0.0], [1.0, 1.0]], 0.1, speed=speed)
