"""Markers in pictures and videos: the tracked path is the one that was drawn."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from brazo.errors import BrazoError
from brazo.trajectory import draw, track_marker, track_video, video_frames, video_track
from brazo.trajectory.drawing import Drawing
from brazo.trajectory.marker import color_table, find_marker, read_color
from tests.trajectory.marker_videos import (
    GREEN,
    HEIGHT,
    WIDTH,
    circle,
    picture,
    pictures,
    write_video,
)

CENTRE = 0.5 * np.array([WIDTH, HEIGHT])
FRAMES = 60  # 2 s
RED, BLUE, YELLOW, WHITE = (0.9, 0.1, 0.1), (0.1, 0.2, 0.9), (1.0, 0.95, 0.1), (1.0, 1.0, 1.0)


def up(positions: np.ndarray) -> np.ndarray:
    """Positions in px, y up from the centre of the picture."""
    return (positions - CENTRE) * (1.0, -1.0)


def off_circle(points: np.ndarray, radius: float = 40.0) -> float:
    return float(np.abs(np.hypot(*points.T) - radius).max())


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """A circle in 2 s, as a phone would store it (.mp4) and as browsers record (.webm)."""
    folder, frames = tmp_path_factory.mktemp("video"), pictures(circle(FRAMES))
    vp8 = ("-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M")
    return {
        ".mp4": write_video(folder / "circle.mp4", frames, "-preset", "veryfast", "-crf", "20"),
        ".webm": write_video(folder / "circle.webm", frames, *vp8),
    }


@pytest.fixture
def clip(clips):
    return clips[".mp4"]


@pytest.mark.parametrize("color", [RED, GREEN, BLUE, YELLOW, WHITE])
def test_the_position_in_a_picture_is_found_to_a_tenth_of_a_pixel(color):
    # Noise of 6/255 on about 45 px of the rim, each 7 px from the centre of 154 px, displaces the
    # centroid by about 0.02 px; the changing light and the gradient behind the disc by less.
    positions = circle(20) + 0.37
    frames = pictures(
        positions, 0.1 if color == WHITE else 0.3, color=color
    )  # a lamp is not dimmed
    track = track_marker(frames, 30.0, color, WIDTH, smoothing=0.0)
    assert np.abs(track.points - up(positions)).max() < 0.1
    assert track.seen == 20 and track.duration == pytest.approx(19 / 30)
    assert track.size == (WIDTH, HEIGHT)


def points_of(drawing: Drawing) -> list[np.ndarray]:
    """Points (k, 2) of each stroke, twelve on every piece."""
    x = np.linspace(0.0, 1.0, 12)
    return [
        np.concatenate([piece.at(x)[0, :, :2] for piece in stroke]) for stroke in drawing.strokes
    ]


@pytest.mark.parametrize("suffix", [".mp4", ".webm"])
def test_the_path_in_a_video_is_found_to_half_a_pixel(clips, suffix):
    # Videos keep colours at half the resolution, and leave out what hardly changes.
    track = track_video(clips[suffix], GREEN, WIDTH)
    assert len(track.points) == FRAMES == track.seen
    assert np.linalg.norm(track.points - up(circle(FRAMES)), axis=1).max() < 1.0
    (stroke,) = track.strokes
    assert off_circle(stroke) < 0.5
    (line,) = points_of(track.drawing())
    assert off_circle(line) < 0.5
    assert np.linalg.norm(line[0] - (40.0, 0.0)) < 0.5
    path = draw(track.drawing(), (0, 0, 0), np.eye(3), track.duration)
    assert path.duration == pytest.approx((FRAMES - 1) / 30)


def test_corners_are_kept():
    s = np.linspace(0.0, 4.0, 121)
    x = np.interp(s, [0, 1, 2, 3, 4], [-30, 30, 30, -30, -30])
    y = np.interp(s, [0, 1, 2, 3, 4], [-30, -30, 30, 30, -30])
    frames = pictures(CENTRE + np.stack([x, y], axis=1))
    (stroke,) = track_marker(frames, 30.0, GREEN, WIDTH).strokes
    assert np.abs(np.abs(stroke).max(axis=1) - 30.0).max() < 0.7  # smoothed over 0.2 s: 12 px
    for corner in ((-30, 30), (30, 30), (30, -30), (-30, -30)):
        assert np.linalg.norm(stroke - corner, axis=1).min() < 1.2


def test_a_long_gap_lifts_the_pen_and_a_short_one_does_not():
    positions: list = list(circle(FRAMES))
    positions[10:13] = [None] * 3
    positions[30:36] = [None] * 6
    track = track_marker(pictures(positions), 30.0, GREEN, WIDTH)
    assert [len(one) for one in track.strokes] == [27, 24]
    assert track.seen == FRAMES - 9
    assert all(off_circle(one) < 0.15 for one in track.strokes)


def test_a_marker_cut_by_the_edge_is_not_seen():
    table = color_table(GREEN)
    assert find_marker(picture((8.5, 60.0)), table) == pytest.approx((8.5, 60.0), abs=0.1)
    for place in ((5.0, 60.0), (WIDTH - 5.0, 60.0), (80.0, 4.0), (80.0, HEIGHT - 4.0)):
        assert find_marker(picture(place), table) is None


def test_a_highlight_is_part_of_the_marker_and_the_largest_spot_counts():
    frame = picture((60.0, 60.0))
    frame[57:60, 58:61] = 255
    frame[20:24, 100:104] = [int(255 * one) for one in GREEN]
    assert find_marker(frame, color_table(GREEN)) == pytest.approx((60.0, 60.0), abs=0.1)


def test_pictures_that_a_slow_camera_repeats_are_left_out():
    frames = [frame for frame in pictures(circle(20)) for _ in range(5)]  # 6 in a second
    track = track_marker(frames, 30.0, GREEN, WIDTH)
    (stroke,) = track.strokes
    assert len(stroke) == 20 and off_circle(stroke) < 0.1
    assert off_circle(points_of(track.drawing())[0]) < 0.3  # a spline through 20 points


def test_a_marker_at_rest_adds_no_points():
    positions = [*circle(30)[:15], *[circle(30)[15]] * 60]
    (stroke,) = track_marker(pictures(positions), 30.0, GREEN, WIDTH).strokes
    assert len(stroke) <= 17


def test_a_mirrored_picture_has_left_and_right_exchanged():
    frames = pictures(circle(30))
    plain = track_marker(frames, 30.0, GREEN, 0.2)
    mirrored = track_marker(frames, 30.0, GREEN, 0.2, mirror=True)
    assert plain.strokes[0][0] == pytest.approx((0.05, 0.0), abs=1e-3)
    assert np.array_equal(mirrored.points, plain.points * (-1.0, 1.0))
    assert plain.size == pytest.approx((0.2, 0.15))


def test_a_large_upright_video_is_scaled_with_its_aspect(tmp_path):
    positions = [(100.0 + 10.0 * k, 700.0 - 20.0 * k) for k in range(10)]
    frames = [np.full((1000, 360, 3), 90, np.uint8) for _ in positions]
    for frame, (x, y) in zip(frames, positions, strict=True):
        v, u = np.mgrid[:1000, :360] + 0.5
        frame[np.hypot(u - x, v - y) < 30.0] = (25, 190, 50)
    path = write_video(tmp_path / "tall.mkv", frames, "-crf", "10")
    track = track_video(path, GREEN, 360.0, smoothing=0.0)
    assert track.size == pytest.approx((360.0, 360.0 * 480 / 173))  # 172.8 px are not possible
    wanted = (np.array(positions) - (180.0, 500.0)) * (1.0, -1.0)
    # Half a pixel, 2.1 times as large in the file, and 0.1 % of up to 200.
    assert np.abs(track.points - wanted).max() < 1.3


def test_a_stroke_has_a_limited_number_of_points(monkeypatch):
    monkeypatch.setattr(video_track, "MAX_STROKE_POINTS", 20)
    (stroke,) = track_marker(pictures(circle(FRAMES)), 30.0, GREEN, WIDTH).strokes
    assert 10 < len(stroke) <= 20 and off_circle(stroke) < 0.2


def test_colours_are_names_hex_or_numbers():
    assert read_color("Red") == (1.0, 0.0, 0.0)
    assert read_color("#336699") == pytest.approx((0.2, 0.4, 0.6))
    assert read_color([0, 0.5, 1]) == (0.0, 0.5, 1.0)
    for wrong in ("pink", "#12345", (0, 0, 2), (1, 2), "", None):
        with pytest.raises(BrazoError, match="colour"):
            read_color(wrong)


def test_the_colour_is_compared_by_hue_in_light_and_shade():
    table = color_table((0.8, 0.1, 0.1), math.radians(20))
    for light in (0.3, 0.5, 1.0, 1.2):
        r, g, b = (int(255 * light * one) >> 2 for one in (0.8, 0.1, 0.1))
        assert table[r, g, b]
    for other in ((200, 120, 30), (200, 30, 120), (200, 150, 150), (25, 200, 25), (20, 3, 3)):
        r, g, b = (one >> 2 for one in other)
        assert not table[r, g, b], other


def test_what_is_missing_is_reported(clip):
    with pytest.raises(BrazoError, match=r"circle\.mp4: no marker of colour red #ff0000 in 60 f"):
        track_video(clip, "red")
    still = pictures([(60.0, 60.0)] * 8)
    with pytest.raises(BrazoError, match="is seen in 8 of 8 frames, but moves less than 2 %"):
        track_marker(still, 30.0, GREEN)
    with pytest.raises(BrazoError, match="no frames"):
        track_marker([], 30.0, GREEN)
    for frames in ([np.zeros((4, 4))], [still[0], still[0][:5]], [still[0].astype(float)]):
        with pytest.raises(BrazoError, match=r"frame [01] has shape"):
            track_marker(frames, 30.0, GREEN)
    for wrong in ({"width": 0.0}, {"smoothing": -1.0}, {"tolerance": 0.0}, {"rate": 0.0}):
        with pytest.raises(BrazoError, match=next(iter(wrong))):
            track_marker(**{"frames": still, "rate": 30.0, "color": GREEN, **wrong})


def test_files_that_are_no_videos_are_refused(tmp_path, clip):
    text, empty = tmp_path / "text.mp4", tmp_path / "empty.webm"
    text.write_text("no video", encoding="utf-8")
    empty.touch()
    # A playlist would let a file read others.
    playlist, listed = tmp_path / "list.mp4", tmp_path / "list.mkv"
    playlist.write_text(f"#EXTM3U\n#EXTINF:2,\n{clip}\n#EXT-X-ENDLIST\n", encoding="utf-8")
    listed.write_text(f"ffconcat version 1.0\nfile '{clip}'\n", encoding="utf-8")
    for path in (text, empty, playlist, listed):
        with pytest.raises(BrazoError, match=re.escape(f"{path}: not a readable video")):
            track_video(path, "red")
    with pytest.raises(BrazoError, match="no such file"):
        track_video(tmp_path / "none.mp4", "red")
    with pytest.raises(BrazoError, match="it is a folder"):
        track_video(tmp_path, "red")


def test_a_video_that_ends_early_has_the_frames_until_there(tmp_path, clips):
    path, content = tmp_path / "a.webm", clips[".webm"].read_bytes()
    path.write_bytes(content[: int(0.6 * len(content))])
    track = track_video(path, GREEN, WIDTH)
    assert 15 < len(track.t) < 50
    assert off_circle(track.strokes[0]) < 0.7


def test_large_and_long_files_are_refused(clip, monkeypatch):
    monkeypatch.setattr(video_frames, "MAX_DURATION", 1.0)
    with pytest.raises(BrazoError, match="longer than 1 s; cut the video"):
        track_video(clip, GREEN)
    monkeypatch.setattr(video_frames, "MAX_BYTES", 1000)
    with pytest.raises(BrazoError, match="at most 0 MB"):
        track_video(clip, GREEN)


def test_a_decoder_that_stalls_is_ended(clip, tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    monkeypatch.setattr(video_frames, "_STALLED", 0.2)
    with pytest.raises(BrazoError, match=r"decoded no frame for 0\.2 s"):
        track_video(clip, GREEN)
