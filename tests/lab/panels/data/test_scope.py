"""The scope of the data panel in a real page, and rendering of the open recording."""

from __future__ import annotations

import time

import imageio_ffmpeg
import numpy as np
import pytest

import brazo
from brazo.recording import Recording
from brazo.trajectory import quintic
from tests.lab.panels.acting import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    sim = brazo.Simulation(brazo.load("planar-2r"))
    arm = sim.robots["planar-2r"]
    arm.move(quintic(arm.q, arm.q + [0.4, 0.3], 0.1))
    path = tmp_path_factory.mktemp("runs") / "run.parquet"
    sim.run(until=0.15, record=path)
    return path


@pytest.fixture(scope="module")
def replay(running, recording):
    with running(recording) as lab:
        yield lab


def curves(opened) -> dict[str, np.ndarray]:
    """What the scope draws: points (k, 2) in mm by line."""
    drawn = opened.panel.get_by_label("Scope", exact=True).evaluate("(plot) => plot.data")
    return {one["label"]: np.column_stack([one["x"], one["y"]]) for one in drawn}


def test_the_scope_shows_the_recorded_path_and_its_errors(replay, recording, open_page):
    opened = open_page(replay, "data")
    until(opened.page, lambda: set(curves(opened)) == {"tool", "reference"})
    run = Recording.open(recording)
    path = 1e3 * run.matrix(["planar-2r.tool.x", "planar-2r.tool.y"])
    assert curves(opened)["tool"] == pytest.approx(path, abs=1e-2)
    opened.panel.get_by_role("radio", name="XZ").click()
    path = 1e3 * run.matrix(["planar-2r.tool.x", "planar-2r.tool.z"])
    until(opened.page, lambda: np.allclose(curves(opened)["tool"], path, atol=1e-2))
    until(opened.page, lambda: "Path accuracy AT_p" in opened.panel.inner_text())
    assert "no conformity is claimed" in opened.panel.inner_text()
    assert not opened.errors


def test_the_open_recording_is_rendered_and_saved(replay, tmp_path, monkeypatch):
    panel = next(one for one in replay.panels.values() if one.id == "replay")
    saved = {}
    monkeypatch.setattr(
        panel, "download", lambda name, path: saved.update({name: path.read_bytes()})
    )
    replay.do(panel._render)
    while replay.jobs.busy:  # in a process of low priority
        time.sleep(0.05)
    replay.do(lambda: None)  # after the result was handed over
    assert list(saved) == ["run.mp4"]
    path = tmp_path / "video.mp4"
    path.write_bytes(saved["run.mp4"])
    assert imageio_ffmpeg.count_frames_and_secs(str(path))[0] == 5


def test_a_live_scope_follows_the_tool(lab, open_page):
    opened = open_page(lab, "data")
    robot = lab.robot
    turn = np.zeros(robot.n)
    turn[0] = 0.5
    lab.do(lambda: robot.move(quintic(robot.reference.q, robot.reference.q + turn, 0.5)))
    lab.do(lab.sim.player.play)
    until(opened.page, lambda: not robot.moving)
    tool = 1e3 * robot.tool()[:2, 3]
    until(opened.page, lambda: np.allclose(curves(opened)["tool"][-1:], tool, atol=1.0))
    lab.do(lab.sim.player.pause)
